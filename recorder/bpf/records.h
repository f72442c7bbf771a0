// SPDX-License-Identifier: MIT
// SingleEvents: passes the records of single events to the HitWriter. Invariant: the contents of a
// record (addresses, ids, strings) come from the traced process and are passed on unchecked.
#pragma once

#include <cstdint>
#include <string>

#include "recorder/bpf/attached.h"
#include "recorder/bpf/wire.h"

namespace luatrace::record::bpf {

class SingleEvents {
 public:
  // The recording must outlive this object.
  explicit SingleEvents(Recording& recording) : r_(recording) {}

  // A record of that kind (LTB_*) of a process whose output takes it.
  void take(AttachedProcess& a, const ltb_hit& hit, uint32_t kind);
  void lose(AttachedProcess& a, const ltb_loss& loss);
  // The process has ended, or executed another program, at that time (of the kernel).
  void exit(AttachedProcess& a, uint64_t time);

 private:
  void call(AttachedProcess& a, const ltb_hit& hit, uint32_t kind);
  void coroutine(AttachedProcess& a, const ltb_co& record, uint32_t kind);
  void other(AttachedProcess& a, const ltb_hit& hit, uint32_t kind);
  void function(AttachedProcess& a, const ltb_func& f);
  void give(AttachedProcess& a, const Hit& hit);
  std::string text(AttachedProcess& a, const char* bytes, int32_t length, uint64_t address);
  static uint64_t key(AttachedProcess& a, uint64_t state, uint32_t id);

  Recording& r_;
};

}  // namespace luatrace::record::bpf
