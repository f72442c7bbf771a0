// SPDX-License-Identifier: MIT
// Perfetto's protobuf (trace_packet.proto, track_event.proto, track_descriptor.proto): a track for
// each coroutine below that of its thread, slices for calls, flows from the slice in which a
// coroutine resumes or yields to an instant on the other coroutine's track. Names are interned.
#include <map>
#include <ostream>
#include <set>

#include "analyzer/collect/call_writer.h"
#include "analyzer/output/formats/names.h"
#include "analyzer/output/formats/proto.h"

namespace luatrace::analyze {
namespace {

// Field numbers.
namespace trace {
enum { kPacket = 1 };
}
namespace packet {
enum {
  kTimestamp = 8,
  kSequence = 10,
  kTrackEvent = 11,
  kInterned = 12,
  kSequenceFlags = 13,
  kDescriptor = 60
};
}
namespace event {
enum {
  kCategoryIid = 3,
  kType = 9,
  kNameIid = 10,
  kTrack = 11,
  kName = 23,
  kLocationIid = 34,
  kFlow = 47,
  kFlowEnds = 48
};
enum { kBegin = 1, kEnd = 2, kInstant = 3 };
}  // namespace event
namespace descriptor {
enum { kUuid = 1, kName = 2, kProcess = 3, kThread = 4, kParent = 5 };
}
namespace interned {
enum { kCategories = 1, kNames = 2, kLocations = 4 };
}

enum { kStateCleared = 1, kNeedsState = 2 };     // Of packet::kSequenceFlags.
enum { kCallCategory = 1, kCoroutineCategory };  // Interned.
constexpr uint64_t kSequenceId = 1;
// UUIDs of tracks: coroutines use their numbers, threads and processes start at these.
constexpr uint64_t kThreadUuids = uint64_t{1} << 40, kProcessUuids = uint64_t{2} << 40;

class PerfettoWriter : public CallWriter {
 public:
  explicit PerfettoWriter(std::ostream& out) : out_(out) {}
  void define(SliceFunctionId function, const FrameName& name) override;
  void track(const Track& track, const TrackNames& names) override;
  void begin(const Track& track, const Slice& slice, uint64_t ns) override;
  void end(const Track& track, uint64_t ns, const SliceTimes&) override {
    put(track_event(track, event::kEnd), ns);
  }
  void arrive(const Track& track, uint64_t flow, uint64_t ns) override;

 private:
  void start();
  void write(const ProtoMessage& packet);
  void put(const ProtoMessage& track_event, uint64_t ns);
  void put_interned(const ProtoMessage& state, uint64_t flags);
  void put_descriptor(const ProtoMessage& track);
  ProtoMessage track_event(const Track& track, uint64_t type);
  uint64_t process(const Track& track, const std::string& command);
  uint64_t thread(const Track& track, const std::string& command);

  std::ostream& out_;
  bool started_ = false;
  std::set<int32_t> processes_;
  std::map<std::pair<int32_t, uint32_t>, uint64_t> threads_;
};

void PerfettoWriter::write(const ProtoMessage& packet) {
  out_ << ProtoMessage().message(trace::kPacket, packet).bytes();
}

// Writes the first packet, which resets the interned names.
void PerfettoWriter::start() {
  if (started_) return;
  started_ = true;
  ProtoMessage call, coroutine, state;
  call.integer(1, kCallCategory).text(2, "call");
  coroutine.integer(1, kCoroutineCategory).text(2, "coroutine");
  state.message(interned::kCategories, call).message(interned::kCategories, coroutine);
  put_interned(state, kStateCleared);
}

void PerfettoWriter::define(SliceFunctionId function, const FrameName& name) {
  start();
  ProtoMessage text, location, state;
  text.integer(1, function).text(2, name.name);
  location.integer(1, function).text(2, name.file).text(3, name.name).integer(4, name.line);
  state.message(interned::kNames, text).message(interned::kLocations, location);
  put_interned(state, kNeedsState);
}

void PerfettoWriter::put_interned(const ProtoMessage& state, uint64_t flags) {
  ProtoMessage packet;
  packet.integer(packet::kSequence, kSequenceId).integer(packet::kSequenceFlags, flags);
  write(packet.message(packet::kInterned, state));
}

void PerfettoWriter::put_descriptor(const ProtoMessage& track) {
  ProtoMessage packet;
  write(packet.integer(packet::kSequence, kSequenceId).message(packet::kDescriptor, track));
}

uint64_t PerfettoWriter::process(const Track& track, const std::string& command) {
  const uint64_t uuid = kProcessUuids + static_cast<uint32_t>(track.pid);
  if (!processes_.insert(track.pid).second) return uuid;
  ProtoMessage process, message;
  process.integer(1, static_cast<uint32_t>(track.pid)).text(6, command);
  put_descriptor(message.integer(descriptor::kUuid, uuid).message(descriptor::kProcess, process));
  return uuid;
}

uint64_t PerfettoWriter::thread(const Track& track, const std::string& command) {
  const uint64_t parent = process(track, command);
  auto [it, fresh] =
      threads_.emplace(std::pair{track.pid, track.tid}, kThreadUuids + threads_.size());
  if (!fresh) return it->second;
  ProtoMessage thread, message;
  thread.integer(1, static_cast<uint32_t>(track.pid)).integer(2, track.tid);
  thread.text(5, "thread " + std::to_string(track.tid));
  message.integer(descriptor::kUuid, it->second).integer(descriptor::kParent, parent);
  put_descriptor(message.message(descriptor::kThread, thread));
  return it->second;
}

void PerfettoWriter::track(const Track& track, const TrackNames& names) {
  start();
  ProtoMessage message;
  const uint64_t parent = thread(track, *names.process);
  message.integer(descriptor::kUuid, track.number).integer(descriptor::kParent, parent);
  put_descriptor(message.text(descriptor::kName, track_name(track, names.of_vm)));
}

void PerfettoWriter::put(const ProtoMessage& track_event, uint64_t ns) {
  ProtoMessage packet;
  packet.integer(packet::kTimestamp, ns).integer(packet::kSequence, kSequenceId);
  packet.integer(packet::kSequenceFlags, kNeedsState);
  write(packet.message(packet::kTrackEvent, track_event));
}

ProtoMessage PerfettoWriter::track_event(const Track& track, uint64_t type) {
  return ProtoMessage().integer(event::kType, type).integer(event::kTrack, track.number);
}

void PerfettoWriter::begin(const Track& track, const Slice& slice, uint64_t ns) {
  ProtoMessage message = track_event(track, event::kBegin);
  if (slice.kind == Slice::kCall) {
    message.integer(event::kCategoryIid, kCallCategory).integer(event::kNameIid, slice.function);
    message.integer(event::kLocationIid, slice.function);
  } else {
    message.integer(event::kCategoryIid, kCoroutineCategory);
    message.text(event::kName, marker_name(slice.kind, slice.coroutine));
  }
  if (slice.flow) message.fixed64(event::kFlow, slice.flow);
  put(message, ns);
}

void PerfettoWriter::arrive(const Track& track, uint64_t flow, uint64_t ns) {
  ProtoMessage message = track_event(track, event::kInstant);
  message.integer(event::kCategoryIid, kCoroutineCategory).text(event::kName, "runs");
  put(message.fixed64(event::kFlowEnds, flow), ns);
}

}  // namespace

std::unique_ptr<CallWriter> make_perfetto_writer(std::ostream& out) {
  return std::make_unique<PerfettoWriter>(out);
}

}  // namespace luatrace::analyze
