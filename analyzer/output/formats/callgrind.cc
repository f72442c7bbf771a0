// SPDX-License-Identifier: MIT
// Callgrind's profile format, version 1 (valgrind's manual, "Callgrind Format Specification"): for
// each function its self time and, for each callee, the number of calls and their inclusive time,
// in which recursion counts once.
#include <algorithm>
#include <map>
#include <ostream>
#include <set>
#include <unordered_map>

#include "analyzer/collect/tree_links.h"
#include "analyzer/output/format.h"
#include "analyzer/output/formats/names.h"
#include "analyzer/report/report_function.h"
#include "base/escape.h"

namespace luatrace::analyze {
namespace {

// What callgrind calls costs: time, and CPU time if it is known.
struct Cost {
  uint64_t ns = 0, cpu_ns = 0;
  Cost& operator+=(const Cost& other) {
    ns += other.ns;
    cpu_ns += other.cpu_ns;
    return *this;
  }
};

struct Edge {
  uint32_t callee = 0;
  uint64_t calls = 0;
  Cost cost{};
  uint32_t open = 0;  // Open calls during the walk.
};

class CallGraph {
 public:
  explicit CallGraph(const Report& report);
  const std::vector<std::vector<Edge>>& edges() const { return edges_; }
  const std::vector<Cost>& self() const { return self_; }
  const Cost& whole() const { return whole_; }

 private:
  Edge& edge(uint32_t caller, uint32_t callee);

  std::vector<std::vector<Edge>> edges_;  // By caller.
  std::unordered_map<uint64_t, uint32_t> places_;
  std::vector<Cost> self_;
  Cost whole_;
};

CallGraph::CallGraph(const Report& report)
    : edges_(report.functions.size()), self_(report.functions.size()) {
  const CallTree& tree = report.tree;
  auto cpu = [&](NodeId node) {
    return tree[node].self - std::min(tree[node].self, report.cpu.off.at(node));
  };
  const std::vector<uint64_t> inclusive = inclusive_ns(tree),
                              inclusive_cpu = subtree_sums(tree, cpu);
  whole_ = {inclusive[0], inclusive_cpu[0]};
  auto of = [&](NodeId node) -> Edge* {
    return tree[node].parent ? &edge(tree[tree[node].parent].function, tree[node].function)
                             : nullptr;
  };
  TreeLinks(tree).walk(
      [&](NodeId node) {
        self_[tree[node].function] += {tree[node].self, cpu(node)};
        Edge* e = of(node);
        if (!e) return;
        if (!report.is_sampled()) e->calls += tree[node].calls;
        if (e->open++ == 0) e->cost += {inclusive[node], inclusive_cpu[node]};
      },
      [&](NodeId node) {
        if (Edge* e = of(node)) e->open--;
      });
}

Edge& CallGraph::edge(uint32_t caller, uint32_t callee) {
  auto& list = edges_[caller];
  auto [it, fresh] = places_.emplace(pair_key(caller, callee), list.size());
  if (fresh) list.push_back({callee});
  return list[it->second];
}

// "(7) name" the first time, then "(7)"; so names may contain anything.
class Numbered {
 public:
  std::string operator()(const std::string& name) {
    auto [it, fresh] = numbers_.emplace(name, numbers_.size() + 1);
    std::string text = '(' + std::to_string(it->second) + ')';
    return fresh ? text + ' ' + name : text;
  }

 private:
  std::map<std::string, size_t> numbers_;
};

// The location of a function. A C function has an object file, which must not be given as a source
// file, whose lines readers would show.
struct Position {
  std::string object, file;
  uint32_t line = 0;
};

Position position_of(const ReportFunction& f, const FrameName& name) {
  const std::string known = name.file.empty() ? "???" : name.file;
  if (f.kind == FunctionKind::kBuiltin) return {"Lua", "???", 0};
  if (f.kind != FunctionKind::kLua) return {known, "???", 0};
  return {"Lua", known, std::max(name.line, 1u)};  // A main chunk begins at line 1.
}

// Readers take one command line only: callgrind_annotate shows the last one, KCachegrind complains.
// So the different commands of all processes are in one, separated by semicolons.
std::string commands(const Report& report) {
  std::set<std::string> known;
  std::string all;
  for (const auto& file : report.files)
    for (const auto& process : file.processes) {
      std::string command;
      for (const auto& word : process.cmdline) command += ' ' + printable(word);
      if (!command.empty() && known.insert(command).second)
        all += (all.empty() ? "" : " ;") + command;
    }
  return all;
}

}  // namespace

void write_callgrind(std::ostream& out, const Report& report, const ExportOptions& options) {
  const std::vector<FrameName> names = frame_names(report, options);
  const CallGraph graph(report);
  std::vector<Position> at;
  for (size_t i = 0; i < names.size(); i++)
    at.push_back(position_of(report.functions[i], names[i]));
  const bool has_cpu = report.cpu.known();
  auto text = [&](const Cost& cost) {
    return std::to_string(cost.ns) + (has_cpu ? ' ' + std::to_string(cost.cpu_ns) : "");
  };
  Numbered objects, files, functions;
  out << "# callgrind format\nversion: 1\ncreator: luatrace\ncmd:" << commands(report)
      << "\ndesc: Trust: " << trust_line(report) << "\npositions: line\nevents: ns"
      << (has_cpu ? " cpu" : "") << "\nsummary: " << text(graph.whole()) << "\n";
  for (uint32_t i = kReportUnknown; i < names.size(); i++) {
    if (graph.self()[i].ns == 0 && graph.edges()[i].empty() && report.functions[i].calls == 0)
      continue;
    out << "\nob=" << objects(at[i].object) << "\nfl=" << files(at[i].file)
        << "\nfn=" << functions(names[i].unique) << '\n'
        << at[i].line << ' ' << text(graph.self()[i]) << '\n';
    // A call that began before the trace, or elsewhere, is written as one call: readers take the
    // line after "calls=0" for self time.
    for (const Edge& e : graph.edges()[i])
      out << "cob=" << objects(at[e.callee].object) << "\ncfi=" << files(at[e.callee].file)
          << "\ncfn=" << functions(names[e.callee].unique)
          << "\ncalls=" << std::max<uint64_t>(e.calls, 1) << ' ' << at[e.callee].line << '\n'
          << at[i].line << ' ' << text(e.cost) << '\n';
  }
  out << "\ntotals: " << text(graph.whole()) << '\n';
}

}  // namespace luatrace::analyze
