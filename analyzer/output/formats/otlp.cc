// SPDX-License-Identifier: MIT
// OTLP profiles (profiles.proto of opentelemetry-proto 1.11, v1development): a profile for each
// value, because a profile has one sample type; all of them refer to the tables of one dictionary.
//
// Invariant: entry 0 of each table is the zero value, which stands for "none"; no entry is there
// twice.
#include <sys/random.h>

#include <map>
#include <ostream>
#include <string>

#include "analyzer/output/formats/names.h"
#include "analyzer/output/formats/pprof.h"
#include "analyzer/output/formats/proto.h"
#include "analyzer/output/formats/sample_labels.h"
#include "analyzer/report/stack_limit.h"

namespace luatrace::analyze {
namespace {

// Field numbers.
namespace dictionary {
enum { kMappings = 1, kLocations, kFunctions, kLinks, kStrings, kAttributes, kStacks };
}
namespace profile {
enum { kType = 1, kSamples, kTime, kDuration, kPeriodType, kPeriod, kId, kAttributes = 11 };
}
namespace sample {
enum { kStack = 1, kAttributes, kValues = 4 };
}

class OtlpWriter {
 public:
  explicit OtlpWriter(const Report& report)
      : report_(report), values_(report, true), labels_(report, true) {}
  void write(std::ostream& out, const std::vector<FrameName>& names,
             const SampleLabels::List& resource);

 private:
  uint64_t string(const std::string& text);
  uint64_t attribute(const std::string& key, const std::string& value);
  void function(const FrameName& name);
  void stacks();
  ProtoMessage profile_of(const SampleValue& value);
  ProtoMessage type(const SampleValue& value) {
    return ProtoMessage().integer(1, string(value.type)).integer(2, string(value.unit));
  }

  const Report& report_;
  const NodeValues values_;
  const SampleLabels labels_;
  std::vector<std::string> strings_{""};
  std::map<std::string, uint64_t> numbers_{{"", 0}};
  std::map<std::pair<std::string, std::string>, uint64_t> attributes_;
  ProtoMessage tables_;                      // All but strings and attributes.
  ProtoMessage attribute_table_;             // Of those in attributes_.
  std::vector<std::vector<uint64_t>> node_;  // By node: the attributes of its samples.
};

uint64_t OtlpWriter::string(const std::string& text) {
  auto [it, fresh] = numbers_.emplace(text, strings_.size());
  if (fresh) strings_.push_back(text);
  return it->second;
}

uint64_t OtlpWriter::attribute(const std::string& key, const std::string& value) {
  auto [it, fresh] = attributes_.emplace(std::pair(key, value), attributes_.size() + 1);
  if (fresh)
    attribute_table_.message(
        dictionary::kAttributes,
        ProtoMessage().integer(1, string(key)).message(2, ProtoMessage().text(1, value)));
  return it->second;
}

void OtlpWriter::function(const FrameName& name) {
  ProtoMessage f;
  f.integer(1, string(name.name)).integer(2, string(name.unique));
  f.integer(3, string(name.file)).integer(4, name.line);
  tables_.message(dictionary::kFunctions, f);
}

// The stack of each node, leaf first: the index of a node's stack is that of the node.
void OtlpWriter::stacks() {
  const CallTree& tree = report_.tree;
  node_.resize(tree.size());
  std::vector<uint64_t> stack;
  tables_.message(dictionary::kStacks, {});
  for (NodeId i{1}; i < tree.size(); ++i) {
    stack.clear();
    for (NodeId at = i; at != kRootNode; at = tree[at].parent)
      stack.push_back(tree[at].function + 1);
    tables_.message(dictionary::kStacks, ProtoMessage().integers(1, stack));
    if (tree[i].parent != kRootNode)
      node_[i] = node_[tree[i].parent];
    else
      for (const auto& [key, value] : labels_.of(report_.functions[tree[i].function]))
        node_[i].push_back(attribute(key, value));
  }
}

ProtoMessage OtlpWriter::profile_of(const SampleValue& value) {
  ProtoMessage out;
  out.message(profile::kType, type(value));
  for (NodeId i{1}; i < report_.tree.size(); ++i) {
    const uint64_t number[] = {values_.of(i, value.kind)};
    if (!number[0]) continue;
    ProtoMessage s;
    s.integer(sample::kStack, i);
    if (!node_[i].empty()) s.integers(sample::kAttributes, node_[i]);
    out.message(profile::kSamples, s.integers(sample::kValues, number));
  }
  if (!report_.files.empty() && report_.files[0].start_real_ns)
    out.fixed64(profile::kTime, report_.files[0].start_real_ns);
  out.integer(profile::kDuration, report_.duration_ns);
  out.message(profile::kPeriodType, type(value)).integer(profile::kPeriod, 1);
  std::string id(16, '\0');
  if (getrandom(id.data(), id.size(), 0) != static_cast<ssize_t>(id.size())) id.assign(16, '\1');
  out.text(profile::kId, id);
  const uint64_t trust[] = {attribute("luatrace.trust", trust_line(report_))};
  return out.integers(profile::kAttributes, trust);
}

void OtlpWriter::write(std::ostream& out, const std::vector<FrameName>& names,
                       const SampleLabels::List& resource) {
  tables_.message(dictionary::kMappings, {}).message(dictionary::kLinks, {});
  tables_.message(dictionary::kFunctions, {}).message(dictionary::kLocations, {});
  for (size_t i = 0; i < names.size(); i++) {
    // A function and its location have the same index.
    function(names[i]);
    const ProtoMessage line = ProtoMessage().integer(1, i + 1).integer(2, names[i].line);
    tables_.message(dictionary::kLocations, ProtoMessage().message(3, line));
  }
  stacks();
  ProtoMessage attributes, profiles;
  for (const auto& [key, value] : resource)
    attributes.message(1, ProtoMessage().text(1, key).message(2, ProtoMessage().text(1, value)));
  profiles.message(1, ProtoMessage().text(1, "luatrace"));
  for (const SampleValue& value : sample_values(report_, true))
    profiles.message(2, profile_of(value));
  out << ProtoMessage()
             .message(1, ProtoMessage().message(1, attributes).message(2, profiles))
             .bytes();
  tables_.message(dictionary::kAttributes, {});
  for (const std::string& text : strings_) tables_.text(dictionary::kStrings, text);
  const std::string all = tables_.bytes() + attribute_table_.bytes();
  out << ProtoMessage().text(2, all).bytes();
}

}  // namespace

void write_otlp(std::ostream& out, const Report& report,
                const std::vector<std::pair<std::string, std::string>>& resource) {
  constexpr uint64_t kBytes = 8;  // As in pprof.
  const auto limit = stack_limit(report, std::vector<uint64_t>(report.functions.size(), kBytes));
  if (!limit) return OtlpWriter(report).write(out, frame_names(report, {}), resource);
  Report cut = report;
  cut_stacks(cut, *limit);
  OtlpWriter(cut).write(out, frame_names(cut, {}), resource);
}

}  // namespace luatrace::analyze
