// SPDX-License-Identifier: MIT
// What formats that tell single calls are given: slices on tracks. A track is one coroutine; its
// slices lie in each other like the calls of its stack, and come in the order of time.
//
// Beside calls there are slices for the time in which a coroutine does not run itself: it waits
// for one that it has resumed, or it is suspended. So a slice's own time, without the slices in it,
// is the self time of its call.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>

#include "analyzer/export/names.h"

namespace luatrace {

struct Track {
  uint64_t number = 0;  // From 1, in all files together.
  int32_t pid = 0;
  uint32_t tid = 0;
  uint32_t stream = 0, coroutine = 0;  // In its file.
};

// What a track is called; apart, as there may be a million of them at one time.
struct TrackNames {
  std::shared_ptr<const std::string> process;  // Command line, its beginning; not null.
  bool of_state = false;                       // Its file has several Lua states.
};

// "coroutine 7", "state 1, coroutine 7".
std::string track_name(const Track& track, bool of_state);

struct Slice {
  enum Kind : uint8_t {
    kCall,
    kResumed,    // The coroutine has resumed another one, which runs.
    kSuspended,  // The coroutine is suspended.
    kFiltered,   // What runs is left out by filters.
    kUnknown,    // What runs is not known: its stack was lost.
  };
  Kind kind = kCall;
  uint32_t function = 0;   // kCall: number of define().
  uint32_t coroutine = 0;  // kResumed: which.
  // Of an arrow that goes out from the moment of this slice's beginning to another track, 0: none.
  uint64_t flow = 0;
  uint64_t track = 0;  // kResumed: number of that coroutine's track, 0: it has none.
};

// Name of a slice that is no call: "[coroutine 7]", "[yielded]", "[filtered]", "[unknown]".
std::string marker_name(Slice::Kind kind, uint32_t coroutine);

class CallWriter {
 public:
  virtual ~CallWriter() = default;
  // Before the first slice that has this number (from 1).
  virtual void define(uint32_t function, const FrameName& name) = 0;
  virtual void track(const Track& track, const TrackNames& names) = 0;
  virtual void begin(const Track& track, const Slice& slice, uint64_t ns) = 0;
  // The innermost open slice ends. Of a call: its running time, and its own time.
  virtual void end(const Track& track, uint64_t ns, uint64_t running_ns, uint64_t self_ns) = 0;
  // The end of an arrow: control has come here.
  virtual void arrive(const Track&, uint64_t /*flow*/, uint64_t /*ns*/) {}
  // Nothing will come on the track any more: the coroutine is gone. Not told of those that live on
  // when the file ends.
  virtual void leave(const Track&) {}
  virtual void finish() {}
};

std::unique_ptr<CallWriter> make_chrome_writer(std::ostream& out);
std::unique_ptr<CallWriter> make_perfetto_writer(std::ostream& out);
std::unique_ptr<CallWriter> make_luaprofiler_writer(std::ostream& out);

}  // namespace luatrace
