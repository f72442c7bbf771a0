// SPDX-License-Identifier: MIT
#include "analyzer/output/formats/sample_labels.h"

#include <string_view>

#include "analyzer/filter/filter.h"
#include "base/escape.h"

namespace luatrace::analyze {
namespace {

constexpr std::string_view kLabelGroups = "label:";

// What the names of groups begin with, and the key of their label.
struct NamedGroups {
  std::string_view groups, begin;
};
constexpr NamedGroups kNamedGroups[] = {{"thread", "thread "},   {"coroutine", "coroutine "},
                                        {"vm", "Lua VM "},       {"process", "process "},
                                        {"request", "request "}, {"phase", ""}};

const NamedGroups* find_groups(std::string_view groups) {
  for (const NamedGroups& known : kNamedGroups)
    if (groups.substr(0, groups.find_first_of(": ")) == known.groups) return &known;
  return nullptr;
}

}  // namespace

SampleLabels::SampleLabels(const Report& report, bool all) {
  for (const ReportFile& f : report.files) {
    const std::string groups = f.signature ? f.signature->groups : "";
    const bool wanted = groups.starts_with(kLabelGroups) || (all && find_groups(groups));
    if (!wanted || (!groups_.empty() && groups != groups_)) {
      groups_.clear();
      return;
    }
    groups_ = groups;
  }
}

SampleLabels::List SampleLabels::of(const ReportFunction& root) const {
  if (groups_.empty() || root.kind != FunctionKind::kGroup) return {};
  if (groups_.starts_with(kLabelGroups)) {
    if (root.name == kNoLabel || root.name == kOtherValues) return {};
    return {{printable(groups_.substr(kLabelGroups.size())), printable(root.name)}};
  }
  const NamedGroups& known = *find_groups(groups_);
  if (!root.name.starts_with(known.begin) || root.name.starts_with('[')) return {};
  std::string value = root.name.substr(known.begin.size());
  List labels;
  // "Lua VM 1 (pid 12)"
  if (const size_t pid = value.rfind(" (pid "); pid != value.npos && value.ends_with(')')) {
    labels.emplace_back("process", value.substr(pid + 6, value.size() - pid - 7));
    value.resize(pid);
  }
  if (known.groups == "process") value = value.substr(0, value.find(" ("));  // "12 (nginx)"
  labels.emplace_back(known.groups, printable(value));
  return labels;
}

}  // namespace luatrace::analyze
