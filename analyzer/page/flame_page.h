// SPDX-License-Identifier: MIT
// The one door of this folder: a call tree in, one self-contained HTML page out.
//
// Invariant: the page needs nothing but itself (no network, no second file), and no text in the
// input can become markup or script. See README.md for the page's format and its design.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace luatrace {

// One function as the page names it. All strings are untrusted bytes of any length; bytes that are
// not UTF-8 and control characters are shown as \xNN, very long strings are shortened.
struct FlameFunction {
  std::string name;
  std::string chunk;  // as LuaJIT has it ("@x.lua"), or a library's path; may be empty
  uint32_t line = 0;  // of the definition; 0: main chunk or unknown
  std::string kind;   // "lua", "c", "ff", "coroutine"; anything else is drawn as a pseudo function
};

// One node of the call tree: a function in the context of its callers.
struct FlameNode {
  uint32_t parent = 0;        // index of the caller, smaller than the own index; node 0: ignored
  uint32_t function = 0;      // index into FlameInput::functions; node 0 may have any value
  uint64_t calls = 0;         // entries, exact
  uint64_t inclusive_ns = 0;  // must be self_ns + the children's; the page says where it is not
  uint64_t self_ns = 0;       // the weight: widths on the page are sums of self times
};

struct FlameInput {
  std::string title;
  std::vector<std::string> subtitle;  // short facts about the trace, shown under the title
  std::string trust;                  // the trust line; empty: none shown
  std::vector<FlameFunction> functions;
  std::vector<FlameNode> nodes;  // node 0 = root, parents before children; empty: an empty page
};

// What is left out so that a huge tree still gives a page of a few megabytes. Left-out time stays
// in the parent as a "[pruned]" child, and the page tells the share; the table of functions is
// computed before anything is left out.
struct FlamePageOptions {
  double min_share = 0;       // leave out nodes with a smaller share of the total (0..1)
  size_t max_nodes = 300000;  // keep at most this many nodes, the largest ones; 0: no limit
};

// Writes the page. Throws std::invalid_argument, naming the node, if a node's parent or function
// is out of range. Failures of `out` stay in the stream's state, for the caller to check.
void write_flame_page(std::ostream& out, const FlameInput& input,
                      const FlamePageOptions& options = {});

}  // namespace luatrace
