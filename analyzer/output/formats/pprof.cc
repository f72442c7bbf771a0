// SPDX-License-Identifier: MIT
// pprof's profile.proto: a sample per node of the call tree with its values and its stack, leaf
// first. A function is one location, at the line of its definition.
#include "analyzer/output/formats/pprof.h"

#include <algorithm>
#include <map>
#include <ostream>

#include "analyzer/output/format.h"
#include "analyzer/output/formats/gzip.h"
#include "analyzer/output/formats/names.h"
#include "analyzer/output/formats/proto.h"
#include "analyzer/output/formats/sample_labels.h"
#include "analyzer/report/stack_limit.h"

namespace luatrace::analyze {
namespace {

// Field numbers of profile.proto.
enum Profile_ { kSampleType = 1, kSample, kMapping, kLocation, kFunction, kStrings };
enum {
  kTimeNanos = 9,
  kDurationNanos = 10,
  kPeriodType = 11,
  kPeriod = 12,
  kComment = 13,
  kDefaultType = 14
};

// The name of the type of self time.
const char* time_type(const Report& r) {
  if (!r.is_sampled()) return "time";
  return r.sampled == SampleKind::kCpu ? "cpu" : "off_cpu";
}

// The time for which a sample stands, on average.
uint64_t period(const Report& r) {
  const bool known = r.sampled == SampleKind::kCpu && r.samples.samples;
  return known ? std::max<uint64_t>(r.traced_ns / r.samples.samples, 1) : 1;
}

class PprofWriter {
 public:
  PprofWriter(std::ostream& out, const Report& report, bool all)
      : gzip_(out), report_(report), all_(all), labels_(report, all) {}
  void write(const std::vector<FrameName>& names);

 private:
  uint64_t string(const std::string& text);
  ProtoMessage type(const char* what, const char* unit);
  void put(const ProtoMessage& fields) { gzip_.write(fields.bytes()); }
  void header();
  void function(uint64_t id, const FrameName& name);
  void samples();

  GzipWriter gzip_;
  const Report& report_;
  const bool all_;
  const SampleLabels labels_;
  std::vector<std::string> strings_{""};
  std::map<std::string, uint64_t> numbers_{{"", 0}};
};

uint64_t PprofWriter::string(const std::string& text) {
  auto [it, fresh] = numbers_.emplace(text, strings_.size());
  if (fresh) strings_.push_back(text);
  return it->second;
}

ProtoMessage PprofWriter::type(const char* what, const char* unit) {
  return ProtoMessage().integer(1, string(what)).integer(2, string(unit));
}

void PprofWriter::header() {
  ProtoMessage fields;
  for (const SampleValue& value : sample_values(report_, all_))
    fields.message(kSampleType, type(value.type, value.unit));
  fields.integer(kDefaultType, string(time_type(report_)));
  fields.message(kPeriodType, type(time_type(report_), "nanoseconds"));
  fields.integer(kPeriod, period(report_));
  if (!report_.files.empty() && report_.files[0].start_real_ns)
    fields.integer(kTimeNanos, report_.files[0].start_real_ns);
  fields.integer(kDurationNanos, report_.duration_ns);
  fields.integer(kComment, string("trust: " + trust_line(report_)));
  put(fields);
}

// A function and its location have the same ID: index + 1, because 0 means none.
void PprofWriter::function(uint64_t id, const FrameName& name) {
  ProtoMessage f, line, location, fields;
  f.integer(1, id).integer(2, string(name.name));
  f.integer(3, string(name.unique));
  f.integer(4, string(name.file)).integer(5, name.line);
  line.integer(1, id).integer(2, name.line);
  location.integer(1, id).message(4, line);
  put(fields.message(kFunction, f).message(kLocation, location));
}

void PprofWriter::samples() {
  const CallTree& tree = report_.tree;
  const NodeValues values(report_, all_);
  const auto kinds = sample_values(report_, all_);
  std::vector<uint64_t> stack, numbers;
  ProtoMessage sample, fields;
  for (NodeId i{1}; i < tree.size(); ++i) {
    numbers.clear();
    bool any = false;
    for (const SampleValue& value : kinds) {
      numbers.push_back(values.of(i, value.kind));
      any |= numbers.back() != 0 && value.kind != SampleValue::kInclusive;
    }
    if (!any) continue;
    stack.clear();
    for (NodeId at = i; at != kRootNode; at = tree[at].parent)
      stack.push_back(tree[at].function + 1);
    sample.clear();
    fields.clear();
    sample.integers(1, stack).integers(2, numbers);
    for (const auto& [key, value] : labels_.of(report_.functions[stack.back() - 1]))
      sample.message(3, ProtoMessage().integer(1, string(key)).integer(2, string(value)));
    put(fields.message(kSample, sample));
  }
}

void PprofWriter::write(const std::vector<FrameName>& names) {
  header();
  for (size_t i = 0; i < names.size(); i++) function(i + 1, names[i]);
  samples();
  for (const auto& text : strings_) put(ProtoMessage().text(kStrings, text));
  gzip_.finish();
}

void write(std::ostream& out, const Report& report, const ExportOptions& options, bool all) {
  constexpr uint64_t kBytes = 8;  // More than a location takes, as finding it costs time, too.
  const auto limit = stack_limit(report, std::vector<uint64_t>(report.functions.size(), kBytes));
  if (!limit) return PprofWriter(out, report, all).write(frame_names(report, options));
  Report cut = report;
  cut_stacks(cut, *limit);
  PprofWriter(out, cut, all).write(frame_names(cut, options));
}

}  // namespace

NodeValues::NodeValues(const Report& report, bool all)
    : report_(report), inclusive_(all ? inclusive_ns(report.tree) : std::vector<uint64_t>()) {}

uint64_t NodeValues::of(NodeId node, SampleValue::Kind kind) const {
  switch (kind) {
    case SampleValue::kCalls:
      return report_.tree[node].calls;
    case SampleValue::kSelf:
      return report_.tree[node].self;
    case SampleValue::kInclusive:
      return inclusive_[node];
    case SampleValue::kCpu: {
      const uint64_t self = report_.tree[node].self;
      return self - std::min(self, report_.cpu.off.at(node));
    }
    default:
      return report_.node_suspended_ns[node];
  }
}

std::vector<SampleValue> sample_values(const Report& report, bool all) {
  if (report.is_sampled())
    return {{SampleValue::kCalls, "samples", "count"},
            {SampleValue::kSelf, time_type(report), "nanoseconds"}};
  std::vector<SampleValue> values{{SampleValue::kCalls, "calls", "count"},
                                  {SampleValue::kSelf, "time", "nanoseconds"}};
  if (all) {
    values.push_back({SampleValue::kInclusive, "inclusive", "nanoseconds"});
    values.push_back({SampleValue::kSuspended, "suspended", "nanoseconds"});
  }
  if (report.cpu.known()) values.push_back({SampleValue::kCpu, "cpu", "nanoseconds"});
  return values;
}

void write_pprof(std::ostream& out, const Report& report, const ExportOptions& options) {
  write(out, report, options, false);
}

void write_whole_pprof(std::ostream& out, const Report& report) {
  write(out, report, {}, true);
}

}  // namespace luatrace::analyze
