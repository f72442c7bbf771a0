// SPDX-License-Identifier: MIT
#include "analyzer/report/time_buckets.h"

#include <algorithm>
#include <utility>

#include "analyzer/collect/bucket_ticks.h"
#include "base/escape.h"
#include "cli/usage_error.h"

namespace luatrace::analyze {
namespace {

constexpr uint64_t kSecond = 1000000000, kDay = 86400 * kSecond;

// Both are sorted.
template <class Entry, class Key>
void merge(std::vector<Entry>& list, const std::vector<Entry>& other, Key Entry::*key) {
  std::vector<Entry> all;
  all.reserve(list.size() + other.size());
  auto a = list.begin();
  for (const Entry& b : other) {
    while (a != list.end() && (*a).*key < b.*key) all.push_back(std::move(*a++));
    if (a != list.end() && (*a).*key == b.*key)
      all.emplace_back(std::move(*a++)) += b;
    else
      all.push_back(b);
  }
  all.insert(all.end(), std::move_iterator(a), std::move_iterator(list.end()));
  list.swap(all);
}

// "14:00:30", of the day or with the date.
std::string point_text(uint64_t ns, bool of_day) {
  const auto seconds = static_cast<time_t>(ns / kSecond);
  char text[40] = "";
  tm parts{};
  if (gmtime_r(&seconds, &parts))
    strftime(text, sizeof text, of_day ? "%H:%M:%S" : "%Y-%m-%dT%H:%M:%S", &parts);
  return of_day && ns == kDay ? "24:00:00" : text;
}

}  // namespace

BucketFunction& BucketFunction::operator+=(const BucketFunction& other) {
  add_figures(*this, other);
  return *this;
}

BucketNode& BucketNode::operator+=(const BucketNode& other) {
  calls += other.calls;
  self_ns += other.self_ns;
  cost_ps += other.cost_ps;
  suspended_ns += other.suspended_ns;
  part_ns += other.part_ns;
  return *this;
}

void TimeBucket::add(const TimeBucket& other) {
  duration_ns += other.duration_ns;
  traced_ns += other.traced_ns;
  self_ns += other.self_ns;
  idle_ns += other.idle_ns;
  gap_ns += other.gap_ns;
  filtered_ns += other.filtered_ns;
  samples += other.samples;
  merge(functions, other.functions, &BucketFunction::function);
  merge(nodes, other.nodes, &BucketNode::node);
}

void TimeBucket::unite() {
  analyze::unite(functions, &BucketFunction::function);
  analyze::unite(nodes, &BucketNode::node);
}

void TimeBuckets::widen(uint64_t width) {
  std::map<uint64_t, TimeBucket> wide;
  for (auto& [number, bucket] : buckets) wide[number / (width / width_ns)].add(bucket);
  buckets.swap(wide);
  width_ns = width;
}

bool is_bucket_width(uint64_t ns) {
  return ns >= kSecond && ns <= kDay && kDay % ns == 0;
}

std::string width_text(uint64_t ns) {
  const uint64_t s = ns / kSecond;
  if (ns % kSecond) return std::to_string(ns) + "ns";
  if (s % 3600 == 0) return std::to_string(s / 3600) + 'h';
  return s % 60 == 0 ? std::to_string(s / 60) + 'm' : std::to_string(s) + 's';
}

void BucketRange::check(uint64_t width_ns, const std::string& name) const {
  for (const TimePoint& p : {from_, to_}) {
    if (p.kind == TimePoint::kOpen) continue;
    const bool of_day = p.kind == TimePoint::kTimeOfDay;
    if (!of_day && p.kind != TimePoint::kAbsolute)
      throw UsageError("--time-range: " + printable(name) +
                       " is a saved profile, of which only time buckets are known: give times of "
                       "day (14:00~15:00) or dates (2026-11-21T14:00:00~)");
    const uint64_t begin = p.ns - p.ns % width_ns;
    if (begin != p.ns)
      throw UsageError("--time-range: " + point_text(p.ns, of_day) + " is inside of a bucket of " +
                       printable(name) + ", which has buckets of " + width_text(width_ns) +
                       ": give " + point_text(begin, of_day) + " or " +
                       point_text(begin + width_ns, of_day));
  }
}

bool BucketRange::has(uint64_t bucket, uint64_t width_ns) const {
  const uint64_t begin = bucket * width_ns;
  const auto at = [&](const TimePoint& p) {
    return p.kind == TimePoint::kTimeOfDay ? begin % kDay : begin;
  };
  return (from_.kind == TimePoint::kOpen || at(from_) >= from_.ns) &&
         (to_.kind == TimePoint::kOpen || at(to_) < to_.ns);
}

}  // namespace luatrace::analyze
