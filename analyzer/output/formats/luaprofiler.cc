// SPDX-License-Identifier: MIT
// LuaProfiler's log: a header and one tab-separated line per call, written at its return. Times are
// in seconds, with all digits. Traces do not have the line of a call (current_line): it is -1, as
// in Lua itself.
#include <cstdio>
#include <ostream>
#include <unordered_map>

#include "analyzer/collect/call_writer.h"
#include "analyzer/output/formats/names.h"
#include "base/escape.h"
#include "base/grow_array.h"

namespace luatrace::analyze {
namespace {

std::string seconds(uint64_t ns) {
  char text[40];
  snprintf(text, sizeof text, "%llu.%09llu", static_cast<unsigned long long>(ns / 1000000000),
           static_cast<unsigned long long>(ns % 1000000000));
  return text;
}

class LuaProfilerWriter : public CallWriter {
 public:
  explicit LuaProfilerWriter(std::ostream& out) : out_(out) {
    out_ << "stack_level\tfile_defined\tfunction_name\tline_defined\tcurrent_line\tlocal_time\t"
            "total_time\n";
  }
  void define(SliceFunctionId, const FrameName& name) override {
    names_.push_back(cut_bytes(tsv_cell(name.file), kLongest) + '\t' +
                     cut_bytes(tsv_cell(name.name), kLongest) + '\t' + std::to_string(name.line) +
                     "\t-1\t");
  }
  void track(const Track&, const TrackNames&) override {}
  void begin(const Track& track, const Slice& slice, uint64_t) override {
    open_[track.number].push_back(slice.kind == Slice::kCall ? slice.function : kNoSliceFunction);
  }
  void end(const Track& track, uint64_t, const SliceTimes& times) override;

 private:
  static constexpr size_t kLongest = 500;  // Limit of names, which each line repeats.
  std::ostream& out_;
  std::vector<std::string> names_{""};
  // By track: functions; kNoSliceFunction for slices that are not calls.
  std::unordered_map<uint64_t, GrowArray<SliceFunctionId>> open_;
};

void LuaProfilerWriter::end(const Track& track, uint64_t, const SliceTimes& times) {
  auto& open = open_[track.number];
  const SliceFunctionId function = open.back();
  open.pop_back();
  if (function)
    out_ << open.size() + 1 << '\t' << names_[function] << seconds(times.self_ns) << '\t'
         << seconds(times.inclusive_ns) << '\n';
  if (open.empty()) open_.erase(track.number);
}

}  // namespace

std::unique_ptr<CallWriter> make_luaprofiler_writer(std::ostream& out) {
  return std::make_unique<LuaProfilerWriter>(out);
}

}  // namespace luatrace::analyze
