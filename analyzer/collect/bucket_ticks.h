// SPDX-License-Identifier: MIT
// What of a file fell into each time bucket (--bucket), as it is collected. Buckets are equally
// long and begin at multiples of their length since 1970, so that those of different files are the
// same.
//
// Lists of a bucket grow by entries that may be there already: append() unites them now and then,
// so that memory is bounded by what is different in a bucket, and time nearly linear.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/collect/profile.h"
#include "analyzer/collect/sample_sums.h"

namespace luatrace::analyze {

// Of a file: a month of minutes, and how many entries these have in all.
constexpr size_t kMaxTimeBuckets = 50000;
constexpr uint64_t kMaxBucketEntries = 1u << 24;

// The buckets of a trace on its clock. A bucket is a number: its beginning / its length.
struct BucketClock {
  Clock clock;
  uint64_t width_ns = 0;

  uint64_t begin(uint64_t bucket) const;  // Its first tick.
  uint64_t bucket_of(uint64_t tick) const;
};

// In the unit of the file's profile: ticks, of samples ns.
struct BucketNodeTicks {
  NodeId node;
  uint64_t calls = 0, self = 0, suspended = 0;
  uint64_t part = 0;  // Of self: without the processor; of samples, in compiled code.

  BucketNodeTicks& operator+=(const BucketNodeTicks& other);
};
struct BucketCalls {  // Of a function, those that ended.
  FunctionId function;
  CallStats stats;
  Distribution times;

  BucketCalls& operator+=(const BucketCalls& other);
};
struct BucketTicks {
  uint64_t gap = 0;
  uint64_t filtered = 0;  // Of samples, as are their numbers.
  SampleSums samples;
  std::vector<BucketNodeTicks> nodes;  // In the end sorted, each node once; as are the calls.
  std::vector<BucketCalls> calls;

  bool empty() const {
    return nodes.empty() && calls.empty() && !gap && !filtered && samples == SampleSums();
  }
  void unite();
};

// All of them, by number.
using BucketMap = std::map<uint64_t, BucketTicks>;
struct FileBuckets {
  BucketClock clock;
  BucketMap buckets;
};

// Throws the UsageError of a file with too much in its buckets.
[[noreturn]] void refuse_buckets(const std::string& file);

// Sorts by `key`, and adds up what has the same.
template <class Entry, class Key>
void unite(std::vector<Entry>& list, Key Entry::*key) {
  auto less = [&](const Entry& a, const Entry& b) { return a.*key < b.*key; };
  if (std::adjacent_find(list.begin(), list.end(),
                         [&](const Entry& a, const Entry& b) { return !less(a, b); }) == list.end())
    return;
  std::sort(list.begin(), list.end(), less);
  size_t n = 0;
  for (size_t i = 1; i < list.size(); i++) {
    if (list[n].*key == list[i].*key)
      list[n] += list[i];
    else if (++n != i)
      list[n] = std::move(list[i]);
  }
  list.resize(n + 1);
}

// Unites when the list has doubled.
template <class Entry, class Key>
void append(std::vector<Entry>& list, Entry entry, Key Entry::*key) {
  if (list.size() == list.capacity() && list.size() > 64) {
    unite(list, key);
    list.reserve(2 * list.size());
  }
  list.push_back(std::move(entry));
}

}  // namespace luatrace::analyze
