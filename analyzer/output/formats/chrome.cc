// SPDX-License-Identifier: MIT
// Chrome's trace events (JSON object format), for chrome://tracing, Perfetto's UI, speedscope and
// other readers. A track is a "thread" of the process; its number is not a thread ID, but its name
// contains that. Times are in microseconds with three decimals, so they are exact.
#include <ostream>
#include <unordered_map>

#include "analyzer/collect/call_writer.h"
#include "analyzer/output/formats/names.h"
#include "base/escape.h"
#include "base/grow_array.h"

namespace luatrace::analyze {
namespace {

class ChromeWriter : public CallWriter {
 public:
  explicit ChromeWriter(std::ostream& out) : out_(out) {
    out_ << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[";
  }
  void define(SliceFunctionId, const FrameName& name) override {
    std::string text =
        "\"name\":" + json_string(cut_bytes(name.name, kLongest)) + ",\"cat\":\"call\"";
    if (!name.file.empty())
      text += ",\"args\":{\"file\":" + json_string(cut_bytes(name.file, kLongest)) +
              (name.line ? ",\"line\":" + std::to_string(name.line) : "") + '}';
    names_.push_back(text);
  }
  void track(const Track& track, const TrackNames& names) override;
  void begin(const Track& track, const Slice& slice, uint64_t ns) override;
  void end(const Track& track, uint64_t ns, const SliceTimes&) override {
    auto& open = open_[track.number];
    event('E', track, ns) << ',' << text_of(open.back()) << '}';
    open.pop_back();
    if (open.empty()) open_.erase(track.number);
  }
  void arrive(const Track& track, uint64_t flow, uint64_t ns) override {
    event('f', track, ns) << kFlow << flow << ",\"bp\":\"e\"}";
  }
  void finish() override { out_ << "\n]}\n"; }

 private:
  static constexpr size_t kLongest = 500;  // Limit of names, which each event repeats.
  static constexpr const char* kFlow = ",\"name\":\"control\",\"cat\":\"coroutine\",\"id\":";
  std::ostream& event(char phase, const Track& track, uint64_t ns);
  struct Open {
    Slice::Kind kind;
    SliceFunctionId function;
    CoroutineId coroutine;
  };
  std::string text_of(const Open& slice) const;
  std::ostream& metadata(const char* what, const Track& track) {
    return next() << "{\"ph\":\"M\",\"name\":\"" << what << "\",\"pid\":" << track.pid
                  << ",\"tid\":" << track.number << ",\"args\":{";
  }
  std::ostream& next() {
    out_ << (first_ ? "\n" : ",\n");
    first_ = false;
    return out_;
  }

  std::ostream& out_;
  bool first_ = true;
  std::vector<std::string> names_{""};
  std::unordered_map<uint64_t, GrowArray<Open>> open_;  // By track.
  std::string process_;
};

std::ostream& ChromeWriter::event(char phase, const Track& track, uint64_t ns) {
  return next() << "{\"ph\":\"" << phase << "\",\"pid\":" << track.pid
                << ",\"tid\":" << track.number << ",\"ts\":" << microseconds(ns);
}

// The name fields of a begin event, and of an end event because speedscope expects them there.
std::string ChromeWriter::text_of(const Open& slice) const {
  if (slice.kind == Slice::kCall) return names_[slice.function];
  return "\"name\":\"" + marker_name(slice.kind, slice.coroutine) + "\",\"cat\":\"coroutine\"";
}

void ChromeWriter::track(const Track& track, const TrackNames& names) {
  if (process_ != *names.process)
    metadata("process_name", track)
        << "\"name\":" << json_string(process_ = *names.process) << "}}";
  std::string name = "thread " + std::to_string(track.tid) + ", " + track_name(track, names.of_vm);
  metadata("thread_name", track) << "\"name\":" << json_string(name) << "}}";
  metadata("thread_sort_index", track) << "\"sort_index\":" << track.number << "}}";
}

void ChromeWriter::begin(const Track& track, const Slice& slice, uint64_t ns) {
  const Open open{slice.kind, slice.function, slice.coroutine};
  event('B', track, ns) << ',' << text_of(open) << '}';
  open_[track.number].push_back(open);
  if (slice.flow) event('s', track, ns) << kFlow << slice.flow << '}';
}

}  // namespace

std::unique_ptr<CallWriter> make_chrome_writer(std::ostream& out) {
  return std::make_unique<ChromeWriter>(out);
}

}  // namespace luatrace::analyze
