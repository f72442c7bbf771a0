// SPDX-License-Identifier: MIT
// A call tree, its functions and a page's input that refers to them, for tests without a trace.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "analyzer/output/page/flame_page.h"

struct PageInput {
  // Function 0 of a call tree is the root's, so those of the test begin with 1.
  std::vector<luatrace::analyze::ReportFunction> functions{1};
  luatrace::analyze::CallTree tree;
  std::vector<luatrace::analyze::NodeFigures> before{1};
  bool is_diff = false;
  struct Request {
    luatrace::analyze::ReportRequest sums;
    luatrace::analyze::ReportRequestSteps steps;  // None: unknown.
  };
  std::deque<Request> requests;
  luatrace::analyze::FlameInput page;  // Everything else.

  void add_function(luatrace::analyze::FunctionKind kind, uint32_t line, const std::string& chunk,
                    const std::string& name) {
    auto& f = functions.emplace_back();
    f.kind = kind;
    f.line = line;
    f.chunk = chunk;
    f.name = name;
  }
  // function: from 0. Returns false if the parent has such a child already.
  bool add_node(uint32_t parent, uint32_t function, uint64_t calls, uint64_t self_ns) {
    const size_t nodes = tree.size();
    const auto node = tree.enter(luatrace::analyze::NodeId(parent), function + 1);
    if (tree.size() == nodes) return false;
    tree[node].calls = calls;
    tree[node].self = self_ns;
    before.emplace_back();
    return true;
  }
  // The input, which refers to this object.
  luatrace::analyze::FlameInput input() const {
    luatrace::analyze::FlameInput out = page;
    for (const auto& f : functions) out.functions.push_back(&f);
    out.tree = &tree;
    if (is_diff) out.before = &before;
    for (const Request& r : requests)
      out.requests.shown.push_back(
          {&r.sums, r.steps.steps.empty() ? nullptr : &r.steps, r.sums.start_ns});
    if (!out.requests.all) out.requests.all = requests.size();
    if (out.requests.files.empty()) out.requests.files = {"trace.bin"};
    return out;
  }
};
