// SPDX-License-Identifier: MIT
// CpuTime (--cpu): puts records of when a Lua VM's thread did not run (LTX_CPU) among the VM's
// event words. A thread that does not run has no events, so each such time lies between two words.
//
// Invariants: the words of the VM stay as they are, in their order; times of records do not go
// back; what is not known (a thread is followed from the moment on at which it is seen, and the
// kernel may lose switches) is recorded as unknown. Everything but the switches themselves comes
// from the traced program and is not trusted.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "recorder/os/clock.h"
#include "recorder/os/switch_events.h"

namespace luatrace::record {

class CpuTime {
 public:
  static constexpr size_t kMaxThreads = 64;  // of one Lua VM; others are not followed

  // Of the VM of that process, whose main thread is followed from now on; null if that is not
  // possible (logged once for all). start_tick: of the VM's words.
  static std::unique_ptr<CpuTime> of(pid_t pid, uint32_t clock, uint64_t start_tick);

  // Takes whole records from the run and appends them to `out` with what belongs among them.
  // Returns the number of words taken. not_before: see WordScanner::scan(). The words must have
  // been copied before the call: the switches before them are read now.
  size_t run(std::span<const uint64_t> words, uint64_t not_before, std::vector<uint64_t>& out);
  // Takes the switches so far. Call it often: the kernel keeps about 2,000 of them, and a VM that
  // only waits has no words.
  void read();

 private:
  struct Absence {
    uint64_t from, to, length;  // ticks; length: of several it is less than what is between
    uint32_t kind;              // LTC_*
  };
  struct Thread {
    std::unique_ptr<SwitchEvents> events;   // null: it cannot be followed
    SwitchEvent last{SwitchEvent::kIn, 0};  // at first: that it is followed
    std::deque<Absence> absences;
  };

  CpuTime(pid_t pid, uint32_t clock, uint64_t start_tick);
  Thread& follow(uint32_t tid, uint64_t since);
  static void add(Thread& thread, const Absence& a);
  void take(Thread& thread, const SwitchEvent& e, const lt_clock_info& now, const ClockRate& rate);
  void look_at(std::span<const uint64_t> record);
  void move_to(Thread& thread);
  void put_due(uint64_t tick, std::vector<uint64_t>& out);
  void put(const Absence& a, uint64_t tick, std::vector<uint64_t>& out);

  const pid_t pid_;
  const uint32_t clock_;
  const lt_clock_info start_;
  uint64_t tick_;                       // of the last word
  std::map<uint32_t, Thread> threads_;  // by the id that the VM knows
  Thread* current_ = nullptr;
  uint64_t since_ = 0;  // since when the VM runs on that thread
  std::vector<SwitchEvent> scratch_;
};

}  // namespace luatrace::record
