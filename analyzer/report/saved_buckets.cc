// SPDX-License-Identifier: MIT
#include "analyzer/report/saved_buckets.h"

#include <algorithm>
#include <utility>

namespace luatrace::analyze {
namespace {

constexpr uint64_t BucketNode::*kNodeMembers[] = {&BucketNode::calls, &BucketNode::self_ns,
                                                  &BucketNode::cost_ps, &BucketNode::suspended_ns,
                                                  &BucketNode::part_ns};

// The entries in the order of their numbers in the file: each has the distance from the one before.
template <class Entry, class Key, class Write>
void write_entries(ByteWriter& w, const std::vector<Entry>& list, Key Entry::*key,
                   const std::vector<uint32_t>& number, Write write) {
  std::vector<std::pair<uint32_t, const Entry*>> order;
  for (const Entry& e : list) order.emplace_back(number[e.*key], &e);
  std::sort(order.begin(), order.end());
  w.number(order.size());
  uint32_t last = 0;
  for (const auto& [at, entry] : order) {
    w.number(at - std::exchange(last, at));
    write(*entry);
  }
}

template <class Entry, class Key, class Read>
void read_entries(ByteReader& in, std::vector<Entry>& list, Key Entry::*key, size_t limit,
                  Read read) {
  uint64_t at = 0;
  for (size_t n = in.count(); n > 0; n--) {
    const uint64_t step = in.number();
    if (step >= limit - at || (step == 0 && !list.empty()))
      throw Malformed{"a time bucket with a function or node that does not exist"};
    Entry& e = list.emplace_back();
    e.*key = Key(static_cast<uint32_t>(at += step));
    read(e);
  }
}

TimeBucket read_bucket(ByteReader in, size_t functions, size_t nodes) {
  TimeBucket b;
  for (auto sum : kBucketSums) in.number(b.*sum);
  read_entries(in, b.functions, &BucketFunction::function, functions, [&](BucketFunction& f) {
    if (f.function < kReportFirst) throw Malformed{"a time bucket with a false function"};
    read_figures(in, f);
  });
  read_entries(in, b.nodes, &BucketNode::node, nodes, [&](BucketNode& node) {
    for (auto figure : kNodeMembers) in.number(node.*figure);
  });
  if (in.at_end()) return b;  // It is not of samples.
  in.number(b.filtered_ns);
  for (auto sum : kSampleSums) in.number(b.samples.*sum);
  return b;
}

}  // namespace

void write_figures(ByteWriter& w, const FunctionFigures& f) {
  for (auto figure : kFigureMembers) w.number(f.*figure);
  w.number(static_cast<uint64_t>(f.times.squares));
  w.number(static_cast<uint64_t>(f.times.squares >> 64));
  w.list(f.times.buckets, [&](const auto& b) { w.number(b.bucket), w.number(b.count); });
}

void read_figures(ByteReader& in, FunctionFigures& f) {
  for (auto figure : kFigureMembers) in.number(f.*figure);
  const uint64_t low = in.number();
  f.times.squares = Square{in.number()} << 64 | low;
  uint64_t next = 0;
  for (size_t n = in.count(); n > 0; n--) {
    const uint64_t bucket = in.number(), count = in.number();
    if (bucket < next || bucket >= kBuckets)
      throw Malformed{"the buckets of a histogram are out of order"};
    next = bucket + 1;
    f.times.buckets.push_back({static_cast<uint32_t>(bucket), count});
  }
}

void write_inside(ByteWriter& w, const std::vector<const FunctionFigures*>& figures) {
  const auto has = [](const FunctionFigures* f) { return f && f->segments->inside; };
  w.number(static_cast<uint64_t>(std::count_if(figures.begin(), figures.end(), has)));
  uint64_t last = 0;
  for (uint64_t i = 0; i < figures.size(); i++) {
    if (!has(figures[i])) continue;
    w.number(i - std::exchange(last, i));
    w.number(figures[i]->segments->inside);
    w.number(figures[i]->segments->inside_ns);
  }
}

void read_inside(ByteReader& in, const std::vector<FunctionFigures*>& figures) {
  uint64_t at = 0;
  for (size_t n = in.count(); n > 0; n--) {
    const uint64_t step = in.number();
    if (step == 0 || step >= figures.size() - at || !figures[at + step])
      throw Malformed{"calls inside segments of a function that does not exist"};
    SegmentFigures& f = figures[at += step]->segments.own();
    in.number(f.inside);
    in.number(f.inside_ns);
  }
}

ByteWriter write_buckets(const TimeBuckets& buckets, bool sampled,
                         const std::vector<uint32_t>& function, const std::vector<uint32_t>& node) {
  ByteWriter all;
  all.number(buckets.width_ns);
  all.number(buckets.buckets.size());
  uint64_t last = 0;
  for (const auto& [number, bucket] : buckets.buckets) {
    all.number(number - std::exchange(last, number));
    ByteWriter w;
    for (auto sum : kBucketSums) w.number(bucket.*sum);
    write_entries(w, bucket.functions, &BucketFunction::function, function,
                  [&](const BucketFunction& f) { write_figures(w, f); });
    write_entries(w, bucket.nodes, &BucketNode::node, node, [&](const BucketNode& n) {
      for (auto figure : kNodeMembers) w.number(n.*figure);
    });
    if (sampled) {
      w.number(bucket.filtered_ns);
      for (auto sum : kSampleSums) w.number(bucket.samples.*sum);
    }
    all.text(w.bytes());
  }
  return all;
}

TimeBuckets read_buckets(ByteReader& in, size_t functions, size_t nodes) {
  TimeBuckets all;
  all.width_ns = in.number();
  if (!is_bucket_width(all.width_ns)) throw Malformed{"time buckets of a false length"};
  const uint64_t limit = UINT64_MAX / all.width_ns;
  uint64_t number = 0;
  for (size_t n = in.count(); n > 0; n--) {
    const uint64_t step = in.number();
    if (step > limit - 1 - number || (step == 0 && !all.buckets.empty()))
      throw Malformed{"the time buckets are out of order"};
    number += step;
    all.buckets.emplace(number, read_bucket(in.part(), functions, nodes));
  }
  return all;
}

}  // namespace luatrace::analyze
