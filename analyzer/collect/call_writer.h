// SPDX-License-Identifier: MIT
// What formats that tell single calls are given: slices on tracks. A track is one coroutine; its
// slices lie in each other like the calls of its stack, and come in the order of time.
//
// Beside calls there are slices for the time in which a coroutine does not run itself: it waits
// for one that it has resumed, or it is suspended. So a slice's own time, without the slices in it,
// is the self time of its call.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace luatrace::analyze {

// How a format names a function. All strings are printable (base/escape.h); what else a format must
// escape it escapes itself.
struct FrameName {
  std::string label;   // In the style wanted, tells functions apart: "work (app.lua:12)".
  std::string name;    // Alone, for formats with file and line of their own: "work". Other styles
                       // than ours: the label.
  std::string unique;  // Told apart within its file: "work:12".
  std::string file;    // "app.lua", "/usr/lib/libc.so.6", "" if unknown.
  uint32_t line = 0;   // 0: main chunk or not Lua.
};

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

}  // namespace luatrace::analyze
