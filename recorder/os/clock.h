// SPDX-License-Identifier: MIT
// The clock of event words as the recorder sees it, and its rate. Invariant: a file has one clock
// (LT_CLOCK_*), chosen like the VM's.
#pragma once

#include <cstdint>
#include <string>

#include "luatrace_format.h"

namespace luatrace::record {

constexpr uint64_t kMillisecond = 1'000'000, kSecond = 1'000'000'000;  // ns

// LT_CLOCK_TSC where the TSC runs at a constant rate on all CPUs and the kernel trusts it, too. On
// arm64 always LT_CLOCK_CNTVCT: the architecture promises both.
uint32_t default_clock();
// invariant: the CPU's flag. source: the kernel's clock source, "" if unknown.
bool tsc_is_reliable(bool invariant, const std::string& source);

// A program that an emulator runs may have a clock that this processor does not have. The program
// has read it when CLOCK_MONOTONIC was mono_ns. The first reading counts, for all programs: they
// have the same emulator. Without one, and if it has not come yet, read_tick() gives nanoseconds.
void learn_clock(uint32_t clock, uint64_t tick, uint64_t mono_ns, uint64_t hz);

uint64_t read_tick(uint32_t clock);
uint64_t monotonic_ns();
uint64_t thread_cpu_ns();  // of this thread
// How often this thread has waited for something else than a processor, so far (getrusage(2)).
uint64_t thread_waits();

// The three clocks at one moment: of several tries the least disturbed one.
lt_clock_info sample_clocks(uint32_t clock);

struct ClockRate {  // ns = (ticks * mult) >> shift
  uint64_t mult = 1;
  uint32_t shift = 0;
};

// The rate between two samples; LT_CLOCK_MONOTONIC always has one tick per nanosecond. Without a
// distance between the samples it is one tick per nanosecond, too.
ClockRate rate_between(uint32_t clock, const lt_clock_info& from, const lt_clock_info& to);

// The first call of this program takes the sample that rate_until() uses.
void take_first_sample();
// Waits until it is 10 ms old: afterwards rate_until() is right to 0.1 %, mostly to 0.01 %.
void wait_for_rate();
// The same until now; from the first sample on if `from` is less than 100 ms ago: a sample may be
// wrong by a microsecond, a disturbed one by more.
ClockRate rate_until(uint32_t clock, const lt_clock_info& from, const lt_clock_info& to);

double ticks_to_ns(const ClockRate& rate, uint64_t ticks);
uint64_t ns_to_ticks(const ClockRate& rate, uint64_t ns);
uint32_t rate_khz(const ClockRate& rate);

}  // namespace luatrace::record
