// SPDX-License-Identifier: MIT
// Fills the page's frame: the shell (HTML, CSS and script, made one text at build time by
// inline_page.cmake) holds three marks, which are replaced in one pass, so that nothing in the
// input can be taken for a mark.
#include "flame_page.h"

#include <map>
#include <ostream>
#include <span>
#include <string_view>

#include "page_shell.h"
#include "page_text.h"
#include "tree_pack.h"

namespace luatrace {
namespace {

using page::FunctionTotals;
using page::json_string;
using page::PackedTree;

// Writes [a, b, c], each by write(item).
template <typename Items, typename Write>
void write_array(std::ostream& out, const Items& items, Write write) {
  out << '[';
  bool first = true;
  for (const auto& item : items) {
    if (!first) out << ',';
    first = false;
    write(item);
  }
  out << ']';
}

// Chunks and kinds repeat a lot: each is written once and named by its place.
class Names {
 public:
  size_t place(const std::string& text) {
    auto [at, is_new] = places_.try_emplace(text, list_.size());
    if (is_new) list_.push_back(&at->first);
    return at->second;
  }
  void write(std::ostream& out) const {
    write_array(out, list_, [&](const std::string* text) { out << json_string(*text); });
  }

 private:
  std::map<std::string, size_t> places_;
  std::vector<const std::string*> list_;
};

void write_functions(std::ostream& out, const FlameInput& input, const PackedTree& tree) {
  Names chunks, kinds;
  std::vector<size_t> chunk, kind;
  for (const FlameFunction& f : input.functions) {
    chunk.push_back(chunks.place(f.chunk));
    kind.push_back(kinds.place(f.kind));
  }
  auto number = [&](auto value) { out << value; };
  out << "{\"name\":";
  write_array(out, input.functions, [&](const FlameFunction& f) { out << json_string(f.name); });
  out << ",\"line\":";
  write_array(out, input.functions, [&](const FlameFunction& f) { out << f.line; });
  out << ",\"chunks\":", chunks.write(out);
  out << ",\"chunk\":", write_array(out, chunk, number);
  out << ",\"kinds\":", kinds.write(out);
  out << ",\"kind\":", write_array(out, kind, number);
  out << ",\"calls\":";
  write_array(out, tree.functions, [&](const FunctionTotals& t) { out << t.calls; });
  out << ",\"inclusive\":";
  write_array(out, tree.functions, [&](const FunctionTotals& t) { out << t.inclusive_ns; });
  out << ",\"self\":";
  write_array(out, tree.functions, [&](const FunctionTotals& t) { out << t.self_ns; });
  out << '}';
}

void write_meta(std::ostream& out, const FlameInput& input, const PackedTree& tree) {
  out << "{\"title\":" << json_string(input.title) << ",\"subtitle\":";
  write_array(out, input.subtitle, [&](const std::string& s) { out << json_string(s); });
  out << ",\"trust\":" << json_string(input.trust) << ",\"nodes\":" << tree.nodes
      << ",\"total\":" << tree.total_ns << ",\"prunedNodes\":" << tree.pruned_nodes
      << ",\"prunedTime\":" << tree.pruned_ns << ",\"unequal\":" << tree.unequal
      << ",\"functions\":";
  write_functions(out, input, tree);
  out << '}';
}

}  // namespace

void write_flame_page(std::ostream& out, const FlameInput& input, const FlamePageOptions& options) {
  const PackedTree tree = page::pack_tree(input, options);
  std::string_view shell = page::page_shell();
  while (!shell.empty()) {
    const size_t mark = shell.find("@@");
    out << shell.substr(0, mark);
    if (mark == std::string_view::npos) break;
    const std::string_view name = shell.substr(mark + 2, shell.find("@@", mark + 2) - mark - 2);
    if (name == "TITLE") out << page::html_text(input.title);
    if (name == "META") write_meta(out, input, tree);
    if (name == "NODES") out << page::base64(tree.bytes);
    shell.remove_prefix(mark + 4 + name.size());
  }
}

}  // namespace luatrace
