// SPDX-License-Identifier: MIT
#include "analyzer/render/flame.h"

#include "analyzer/page/flame_page.h"
#include "analyzer/render/format.h"

namespace luatrace {
namespace {

void add_subtitle(FlameInput& input, const Report& r) {
  for (const auto& file : r.files) {
    if (!file.streams.empty()) input.subtitle.push_back(file.streams[0].luajit);
    if (r.files.size() > 1) input.subtitle.push_back(file.path);
  }
  input.subtitle.push_back(format_time(r.duration_ns));
  input.subtitle.push_back(format_count(r.trust.events) + " events");
  input.subtitle.push_back(std::to_string(r.threads) +
                           (r.threads == 1 ? " thread, " : " threads, ") +
                           format_count(r.coroutines) + " coroutines");
  input.subtitle.push_back("idle " + format_time(r.idle_ns));
}

std::string title_of(const Report& r) {
  for (const auto& file : r.files)
    for (const auto& process : file.processes) {
      std::string all;
      for (const auto& word : process.cmdline) all += (all.empty() ? "" : " ") + word;
      if (!all.empty()) return all;
    }
  return r.files.empty() ? "luatrace" : r.files[0].path;
}

}  // namespace

void write_flame(std::ostream& out, const Report& r) {
  FlameInput input;
  input.title = title_of(r);
  add_subtitle(input, r);
  input.trust = trust_line(r);
  for (const auto& f : r.functions)
    input.functions.push_back({display_name(f), f.chunk, f.line, f.kind});
  std::vector<uint64_t> inclusive = inclusive_ns(r.tree);
  for (uint32_t i = 0; i < r.tree.size(); i++) {
    const CallNode& n = r.tree[i];
    input.nodes.push_back({n.parent, n.function, n.calls, inclusive[i], i ? n.self : 0});
  }
  write_flame_page(out, input);
}

}  // namespace luatrace
