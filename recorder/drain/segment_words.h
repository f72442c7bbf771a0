// SPDX-License-Identifier: MIT
// SegmentWords: what the recorder does with the segments of a stream (struct lt_segment): those
// without a time get that of the record before them, and the events for which they stand are
// counted, for the summary.
//
// Invariant: descriptions and words come from the target and may be anything; a word costs a few
// steps, and memory is proportional to the descriptions: gaps between their ids are limited, and
// what is before a larger one is forgotten. What is not described counts as no event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace luatrace::record {

class SegmentWords {
 public:
  // A valid description (segment_is_valid).
  void describe(std::span<const std::byte> record);
  // The next words. Stops at an incomplete record: it comes again, with what follows.
  void run(std::span<uint64_t> words);

  // Is this one whole record of segments?
  static bool is_one(std::span<const uint64_t> record);
  // Of such a record: are its places described, and all of the paths to them?
  bool knows(std::span<const uint64_t> record) const;
  // The path goes on after its place: the next word stands for what follows.
  bool goes_on(std::span<const uint64_t> record) const;

  uint64_t words() const { return words_; }    // words or records of segments, ...
  uint64_t events() const { return events_; }  // ... and the events for which they stand

 private:
  struct Place {
    uint32_t trace = 0;        // index, from 1; 0: not described
    uint32_t events : 31 = 0;  // before it, on all of its path, without whole iterations
    uint32_t goes_on : 1 = 0;  // the path, after it
  };
  struct Trace {
    uint32_t events = 0;  // of an iteration
    uint32_t level = 0;
    uint32_t counter = 0;  // index of the innermost trace of its path that counts, itself included
    uint32_t outside = 0;  // the same, without itself
    bool whole = false;    // so are all traces of its path
  };

  Place place_of(uint64_t id) const;
  uint32_t count(uint32_t id);
  void count_packed(uint64_t word);
  void count_iterations(const Trace& innermost, std::span<const uint64_t> iterations);

  uint32_t first_ = 0;                  // id of the first place
  std::vector<Place> places_;           // by id, from there on
  std::vector<Trace> traces_{Trace{}};  // the first one is none
  uint32_t told_ = 0;  // events of the path that goes on, stored with a place inside of it
  uint64_t last_time_ = 0;
  uint64_t words_ = 0, events_ = 0;
};

}  // namespace luatrace::record
