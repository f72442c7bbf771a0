// SPDX-License-Identifier: MIT
#include "analyzer/output/folded.h"

#include <algorithm>
#include <ostream>

#include "analyzer/output/format.h"
#include "analyzer/report/stack_limit.h"
#include "base/escape.h"

namespace luatrace::analyze {
namespace {

std::string frame_name(const ReportFunction& f) {
  std::string name = display_name(f), place = shown_place(f);
  if (!place.empty() && place != name) name += " (" + place + ')';
  return printable(name);
}

// Formats the call paths of successive nodes. Most share all but the last call with an earlier one,
// so the work is proportional to the output.
class PathText {
 public:
  explicit PathText(const std::vector<std::string>& names) : names_(names) {}
  // Puts `text` between a function that is not of the kernel and one that is, which is_kernel
  // tells.
  void delimit(std::string text, std::vector<bool> is_kernel) {
    delimiter_ = std::move(text);
    is_kernel_ = std::move(is_kernel);
  }

  // The call path of `node`; parent(n) and function(n) are those of a node.
  template <class Parent, class Function>
  const std::string& of(NodeId node, Parent parent, Function function) {
    while (!open_.empty() && open_.back().first != parent(node)) close();
    std::vector<NodeId> added;  // The whole path if its parent is not open.
    for (NodeId at = node; at != kRootNode && (open_.empty() || open_.back().first != at);
         at = parent(at))
      added.push_back(at);
    for (auto at = added.rbegin(); at != added.rend(); ++at) {
      const size_t begin = text_.size();
      if (!open_.empty()) text_ += ';';
      if (!delimiter_.empty() && is_kernel_[function(*at)] &&
          (open_.empty() || !is_kernel_[function(open_.back().first)]))
        text_ += delimiter_ + ';';
      open_.emplace_back(*at, begin);
      text_ += names_[function(*at)];
    }
    return text_;
  }

 private:
  void close() {
    text_.resize(open_.back().second);
    open_.pop_back();
  }

  const std::vector<std::string>& names_;
  std::string delimiter_;
  std::vector<bool> is_kernel_;                  // By function.
  std::vector<std::pair<NodeId, size_t>> open_;  // Nodes and the offsets of their names.
  std::string text_;
};

// Limit of names, which repeat for each node that has the call in its stack.
constexpr size_t kLongestName = 500;

std::string in_stack(std::string name) {
  std::replace(name.begin(), name.end(), ';', ':');
  return cut_bytes(name, kLongestName);
}

std::vector<std::string> frame_names(const Report& report) {
  std::vector<std::string> names;
  DistinctNames distinct;
  for (const auto& f : report.functions) names.push_back(distinct.add(in_stack(frame_name(f))));
  return names;
}

// The bytes that each name takes in a stack, with its separator.
std::vector<uint64_t> sizes(const std::vector<std::string>& names) {
  std::vector<uint64_t> out;
  for (const auto& name : names) out.push_back(name.size() + 1);
  return out;
}

void write_nodes(std::ostream& out, const Report& report, uint64_t unit_ns,
                 const std::vector<std::string>& names, const std::string& delimiter) {
  PathText paths(names);
  std::vector<bool> is_kernel;
  for (const auto& f : report.functions) is_kernel.push_back(f.kind == FunctionKind::kKernel);
  paths.delimit(delimiter, std::move(is_kernel));
  auto parent = [&](NodeId node) { return report.tree[node].parent; };
  auto function = [&](NodeId node) { return report.tree[node].function; };
  for (NodeId i{1}; i < report.tree.size(); ++i) {
    const std::string& text = paths.of(i, parent, function);
    if (uint64_t weight = report.tree[i].self / unit_ns) out << text << ' ' << weight << '\n';
  }
}

}  // namespace

void write_folded(std::ostream& out, const Report& report, uint64_t unit_ns) {
  write_folded(out, report, unit_ns, frame_names(report));
}

void write_folded(std::ostream& out, const Report& report, uint64_t unit_ns,
                  std::vector<std::string> names, const std::string& delimiter) {
  for (auto& name : names) name = in_stack(name);
  const auto limit = stack_limit(report, sizes(names));
  if (!limit) return write_nodes(out, report, unit_ns, names, in_stack(delimiter));
  Report cut = report;
  cut_stacks(cut, *limit);
  for (size_t i = names.size(); i < cut.functions.size(); i++)
    names.push_back(frame_name(cut.functions[i]));
  write_nodes(out, cut, unit_ns, names, in_stack(delimiter));
}

std::optional<uint32_t> folded_limit(const Report& report) {
  return stack_limit(report, sizes(frame_names(report)));
}

void write_folded_diff(std::ostream& out, const Diff& diff, uint64_t unit_ns) {
  std::vector<std::string> names;
  for (uint32_t i = 0; i < diff.before.size(); i++)
    names.push_back(in_stack(frame_name(diff.any(i))));
  PathText paths(names);
  auto parent = [&](NodeId node) { return diff.tree[node].parent; };
  auto function = [&](NodeId node) { return diff.tree[node].function; };
  for (NodeId i{1}; i < diff.tree.size(); ++i) {
    uint64_t before = diff.before_nodes[i].self_ns / unit_ns;
    uint64_t after = diff.tree[i].self / unit_ns;
    const std::string& text = paths.of(i, parent, function);
    if (before || after) out << text << ' ' << before << ' ' << after << '\n';
  }
}

}  // namespace luatrace::analyze
