// SPDX-License-Identifier: MIT
// The interface of export formats that store single calls: slices on tracks. A track is one
// coroutine; its slices are nested like the calls of its stack and come in the order of time.
//
// Besides calls, there are slices for the time in which a coroutine does not run itself: it waits
// for one that it has resumed, or is suspended. So the time of a call's slice minus the slices in
// it is the call's self time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "analyzer/read/model.h"

namespace luatrace::analyze {

// How a format names a function. All strings are printable (base/escape.h); the format does any
// further escaping itself.
struct FrameName {
  std::string label;   // Unique among all functions, in the selected style: "work (app.lua:12)".
  std::string name;    // For formats with separate file and line: "work". The label in styles other
                       // than ours.
  std::string unique;  // Unique within its file: "work:12".
  std::string file;    // "app.lua", "/usr/lib/libc.so.6", "" if unknown.
  uint32_t line = 0;   // 0: main chunk or not Lua.
};

// Of a function in define(), from 1.
using SliceFunctionId = Id<struct FunctionsOfSlices>;
constexpr SliceFunctionId kNoSliceFunction{0};

// The numbers used so far, by all files of an output.
struct SliceNumbers {
  uint64_t tracks = 0, flows = 0;
  SliceFunctionId functions;
};

struct Track {
  uint64_t number = 0;  // From 1, across all files.
  int32_t pid = 0;
  ThreadId tid;
  StreamId stream;
  CoroutineId coroutine;
};

// The name of a track; not in Track, as a million tracks may exist at one time.
struct TrackNames {
  std::shared_ptr<const std::string> process;  // Beginning of the command line; not null.
  bool of_vm = false;                          // Its file has several Lua VMs.
};

struct Slice {
  enum Kind : uint8_t {
    kCall,
    kResumed,    // The coroutine has resumed another one, which runs.
    kSuspended,  // The coroutine is suspended.
    kFiltered,   // A call runs that filters leave out.
    kUnknown,    // It is unknown what runs: the stack was lost.
  };
  Kind kind = kCall;
  SliceFunctionId function;  // kCall.
  CoroutineId coroutine;     // kResumed: the resumed coroutine.
  uint64_t flow = 0;   // Of an arrow from the beginning of this slice to another track; 0: none.
  uint64_t track = 0;  // kResumed: number of that coroutine's track; 0: it has none.
};

// Of a call that ends: inclusive and self time, and how long its coroutine was suspended meanwhile.
struct SliceTimes {
  uint64_t inclusive_ns = 0, self_ns = 0, suspended_ns = 0;
};

class CallWriter {
 public:
  virtual ~CallWriter() = default;
  // Defines a function; comes before the first slice that uses its number.
  virtual void define(SliceFunctionId function, const FrameName& name) = 0;
  virtual void track(const Track& track, const TrackNames& names) = 0;
  virtual void begin(const Track& track, const Slice& slice, uint64_t ns) = 0;
  // The innermost open slice ends. times: of a call only.
  virtual void end(const Track& track, uint64_t ns, const SliceTimes& times) = 0;
  // An arrow ends on this track.
  virtual void arrive(const Track&, uint64_t /*flow*/, uint64_t /*ns*/) {}
  // The coroutine is gone: no more slices follow on the track. Not called for coroutines that are
  // alive when the file ends.
  virtual void leave(const Track&) {}
  virtual void finish() {}
};

}  // namespace luatrace::analyze
