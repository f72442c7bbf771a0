// SPDX-License-Identifier: MIT
#include "recorder/os/clock.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <fstream>
#include <mutex>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace luatrace::record {
namespace {

// ns per tick as a fixed-point number: 40 bits after the point are exact to 1 ns in 10 minutes.
constexpr uint32_t kShift = 40;

uint64_t read_clock(clockid_t id) {
  timespec ts;
  clock_gettime(id, &ts);
  return static_cast<uint64_t>(ts.tv_sec) * 1000000000u + static_cast<uint64_t>(ts.tv_nsec);
}

bool cpu_has_invariant_tsc() {
#if defined(__x86_64__)
  unsigned a, b, c, d;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) != 0 && (d >> 8 & 1) != 0;
#else
  return false;
#endif
}

// Empty if it cannot be read (in some containers).
std::string clock_source() {
  std::ifstream in("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  std::string name;
  in >> name;
  return name;
}

// The virtual counter of arm64.
#if defined(__aarch64__)
uint64_t read_counter() {
  uint64_t now;
  __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(now)::"memory");
  return now;
}
#else
struct Reading {
  uint64_t tick, mono_ns, hz;
};
Reading first_reading;
std::once_flag learned_once;
std::atomic<bool> learned;

uint64_t read_counter() {
  const uint64_t now = monotonic_ns();
  if (!learned.load(std::memory_order_acquire)) return now;
  const Reading& r = first_reading;
  const auto since = static_cast<__int128>(now) - static_cast<__int128>(r.mono_ns);
  return r.tick + static_cast<uint64_t>(since * static_cast<__int128>(r.hz) / 1000000000);
}
#endif

struct FirstSample {
  uint32_t clock = default_clock();
  lt_clock_info info = sample_clocks(clock);
};

const FirstSample& first_sample() {
  static const FirstSample first;
  return first;
}

}  // namespace

// A kernel that takes its own time from the TSC has checked it, and goes on to do so, whatever the
// CPU's flags are: hypervisors clear them for machines that may move, emulators have none. The
// clocks of hypervisors are computed from the TSC.
bool tsc_is_reliable(bool invariant, const std::string& source) {
  if (source == "tsc") return true;
  return invariant &&
         (source.empty() || source == "kvm-clock" || source == "hyperv_clocksource_tsc_page");
}

uint32_t default_clock() {
#if defined(__aarch64__)
  return LT_CLOCK_CNTVCT;
#endif
  return tsc_is_reliable(cpu_has_invariant_tsc(), clock_source()) ? LT_CLOCK_TSC
                                                                  : LT_CLOCK_MONOTONIC;
}

uint64_t monotonic_ns() {
  return read_clock(CLOCK_MONOTONIC);
}

uint64_t thread_cpu_ns() {
  return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t thread_waits() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return static_cast<uint64_t>(usage.ru_nvcsw);
}

void learn_clock([[maybe_unused]] uint32_t clock, [[maybe_unused]] uint64_t tick,
                 [[maybe_unused]] uint64_t mono_ns, [[maybe_unused]] uint64_t hz) {
#if !defined(__aarch64__)
  if (clock != LT_CLOCK_CNTVCT) return;
  std::call_once(learned_once, [&] {
    first_reading = {tick, mono_ns, hz};
    learned.store(true, std::memory_order_release);
  });
#endif
}

uint64_t read_tick(uint32_t clock) {
#if defined(__x86_64__)
  if (clock == LT_CLOCK_TSC) return __rdtsc();
#endif
  if (clock == LT_CLOCK_CNTVCT) return read_counter();
  return monotonic_ns();
}

lt_clock_info sample_clocks(uint32_t clock) {
  lt_clock_info best{};
  uint64_t shortest = UINT64_MAX;
  for (int i = 0; i < 8; i++) {
    const uint64_t before = read_tick(clock);
    const uint64_t mono = read_clock(CLOCK_MONOTONIC);
    const uint64_t middle = read_tick(clock);
    const uint64_t real = read_clock(CLOCK_REALTIME);
    if (middle - before >= shortest) continue;
    shortest = middle - before;
    best = {before + (middle - before) / 2, mono, real};
  }
  if (clock == LT_CLOCK_MONOTONIC) best.tick = best.mono_ns;
  return best;
}

ClockRate rate_between(uint32_t clock, const lt_clock_info& from, const lt_clock_info& to) {
  if (clock == LT_CLOCK_MONOTONIC || to.tick <= from.tick || to.mono_ns <= from.mono_ns) return {};
  const auto ns = static_cast<long double>(to.mono_ns - from.mono_ns);
  const auto ticks = static_cast<long double>(to.tick - from.tick);
  const long double mult = std::ldexp(ns / ticks, kShift) + 0.5L;
  if (mult < 1 || mult > 1e18L) return {};
  return {static_cast<uint64_t>(mult), kShift};
}

void take_first_sample() {
  first_sample();
}

void wait_for_rate() {
  const uint64_t age = monotonic_ns() - first_sample().info.mono_ns;
  if (age < 10 * kMillisecond) usleep(static_cast<useconds_t>((10 * kMillisecond - age) / 1000));
}

ClockRate rate_until(uint32_t clock, const lt_clock_info& from, const lt_clock_info& to) {
  const auto& [kind, first] = first_sample();
  const bool is_short = to.mono_ns < from.mono_ns + 100 * kMillisecond;
  const bool use_first = is_short && kind == clock && first.mono_ns < from.mono_ns;
  return rate_between(clock, use_first ? first : from, to);
}

double ticks_to_ns(const ClockRate& rate, uint64_t ticks) {
  return std::ldexp(static_cast<double>(ticks) * static_cast<double>(rate.mult),
                    -static_cast<int>(rate.shift));
}

uint64_t ns_to_ticks(const ClockRate& rate, uint64_t ns) {
  return static_cast<uint64_t>(std::ldexp(static_cast<double>(ns), static_cast<int>(rate.shift)) /
                               static_cast<double>(rate.mult));
}

uint32_t rate_khz(const ClockRate& rate) {
  return static_cast<uint32_t>(ns_to_ticks(rate, 1000000));
}

}  // namespace luatrace::record
