// SPDX-License-Identifier: MIT
// Guardian: a process of ours whose only task is to outlive us. If we are killed it immediately
// switches off what we have switched on; without it the VM would notice after 5 seconds, and a
// sleeping process would stay switched on until it runs. Invariants: forked before there is any
// thread; it acts only where the control structure still holds our number; it ends with us; a
// process that blocks it keeps no other one switched on.
#pragma once

#include <sys/types.h>

#include <map>
#include <vector>

#include "recorder/vm/target.h"
#include "trace/descriptor.h"

namespace luatrace::record::direct {

class Guardian {
 public:
  Guardian();
  ~Guardian();  // after a normal end: it has nothing to do, unless targets were left. Up to 0.5 s

  // A target that is about to be claimed. Returns a number for remove(); -1: it is not watched.
  int add(const vm::Target& target);
  void remove(int number);
  // If we end normally, too, has it to release targets?
  void leave_targets(bool any) { has_work_ = any; }

 private:
  struct Entry;
  void watch(int pipe) const;
  static void release_all(std::map<pid_t, std::vector<vm::Target>>& targets);

  Entry* entries_ = nullptr;  // shared with the guardian
  Descriptor pipe_, pidfd_;
  pid_t pid_ = -1;
  bool has_work_ = false;  // after a normal end
};

// Releases a target for good: switches it off and waits until its running VMs have closed their
// rings, but no longer than `limit_ms`.
void release_and_wait(vm::Target& target, int limit_ms);

}  // namespace luatrace::record::direct
