// SPDX-License-Identifier: MIT
// pprof's profile.proto: a sample per node of the call tree with two values, calls and self time
// (and the CPU time, if it is known), and its stack, leaf first. A function is one location, at the
// line of its definition.
#include <algorithm>
#include <map>
#include <ostream>

#include "analyzer/output/format.h"
#include "analyzer/output/formats/gzip.h"
#include "analyzer/output/formats/names.h"
#include "analyzer/output/formats/proto.h"
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

class PprofWriter {
 public:
  PprofWriter(std::ostream& out, const Report& report) : gzip_(out), report_(report) {}
  void write(const std::vector<FrameName>& names);

 private:
  uint64_t string(const std::string& text);
  ProtoMessage type(const char* what, const char* unit);
  void put(const ProtoMessage& fields) { gzip_.write(fields.bytes()); }
  void header();
  void function(uint64_t id, const FrameName& name);
  void samples();
  std::string label_key() const;

  GzipWriter gzip_;
  const Report& report_;
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
  fields.message(kSampleType, type("calls", "count"));
  fields.message(kSampleType, type("time", "nanoseconds"));
  if (report_.cpu.known()) fields.message(kSampleType, type("cpu", "nanoseconds"));
  fields.integer(kDefaultType, string("time"));
  fields.message(kPeriodType, type("time", "nanoseconds"));
  fields.integer(kPeriod, 1);
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

// The key of the label by whose values all files are grouped; "": they are not.
std::string PprofWriter::label_key() const {
  std::string key;
  for (const ReportFile& f : report_.files) {
    const std::string groups = f.signature ? f.signature->groups : "";
    if (!groups.starts_with("label:") || (!key.empty() && groups != "label:" + key)) return "";
    key = groups.substr(sizeof "label:" - 1);
  }
  return key;
}

void PprofWriter::samples() {
  const CallTree& tree = report_.tree;
  const std::string key = label_key();
  std::vector<uint64_t> stack;
  ProtoMessage sample, fields;
  for (NodeId i{1}; i < tree.size(); ++i) {
    if (tree[i].self == 0 && tree[i].calls == 0) continue;
    stack.clear();
    for (NodeId at = i; at != kRootNode; at = tree[at].parent)
      stack.push_back(tree[at].function + 1);
    std::vector<uint64_t> values{tree[i].calls, tree[i].self};
    if (report_.cpu.known())
      values.push_back(tree[i].self - std::min(tree[i].self, report_.cpu.off_at(i)));
    sample.clear();
    fields.clear();
    sample.integers(1, stack).integers(2, values);
    const ReportFunction& root = report_.functions[stack.back() - 1];
    if (!key.empty() && root.kind == FunctionKind::kGroup && root.name != kNoLabel &&
        root.name != kOtherValues)
      sample.message(3, ProtoMessage().integer(1, string(key)).integer(2, string(root.name)));
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

}  // namespace

void write_pprof(std::ostream& out, const Report& report, const ExportOptions& options) {
  constexpr uint64_t kBytes = 8;  // More than a location takes, as finding it costs time, too.
  const auto limit = stack_limit(report, std::vector<uint64_t>(report.functions.size(), kBytes));
  if (!limit) return PprofWriter(out, report).write(frame_names(report, options));
  Report cut = report;
  cut_stacks(cut, *limit);
  PprofWriter(out, cut).write(frame_names(cut, options));
}

}  // namespace luatrace::analyze
