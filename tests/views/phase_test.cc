// SPDX-License-Identifier: MIT
// --group-by phase: the names of nginx's phases, and which phase what runs belongs to, against the
// slow model, on random streams that obey the rules of the VM.
#include <gtest/gtest.h>

#include "analyzer/filter/phase.h"
#include "model.h"
#include "views_support.h"

namespace luatrace::analyze {
namespace {

using model::Phase;

TEST(Phase, IsNamedByTheChunkOfAnInlineBlock) {
  auto phase = [](const char* chunk, uint32_t line = 0) {
    FunctionName f;
    f.kind = FunctionKind::kLua;
    f.chunk = chunk;
    f.line = line;
    return nginx_phase(f);
  };
  EXPECT_EQ(phase("=access_by_lua(nginx.conf:12)"), "access");
  EXPECT_EQ(phase("=init_worker_by_lua"), "init_worker");
  EXPECT_EQ(phase("=header_filter_by_lua(a(b):1)"), "header_filter");
  EXPECT_EQ(phase("=ssl_certificate_by_lua(nginx.conf:1)"), "ssl_cert");
  EXPECT_EQ(phase("=ssl_session_fetch_by_lua(nginx.conf:1)"), "ssl_session_fetch");
  EXPECT_EQ(phase("=access_by_lua(nginx.conf:12)", 14), "");  // A function in the block.
  EXPECT_EQ(phase("@access_by_lua"), "");
  EXPECT_EQ(phase("access_by_lua(nginx.conf:12)"), "");
  EXPECT_EQ(phase("=_by_lua(nginx.conf:12)"), "");
  EXPECT_EQ(phase("=(access_by_lua"), "");
  EXPECT_EQ(phase("=a;b\n_by_lua(nginx.conf:12)"), "");
  EXPECT_EQ(phase("=access_by_luas"), "");
}

constexpr std::pair<Phase, const char*> kNames[] = {{Phase::kNone, "[no phase]"},
                                                    {Phase::kAccess, "access"},
                                                    {Phase::kLog, "log"},
                                                    {Phase::kTimer, "timer"}};

// The functions of trace_text() as those that the model knows.
std::string with_blocks(std::string text) {
  const std::pair<uint32_t, const char*> kinds[] = {
      {model::kAccess, "lua line=0 chunk=\"=access_by_lua(x:1)\""},
      {model::kLog, "lua line=0 chunk=\"=log_by_lua(x:2)\""},
      {model::kChunk, "lua line=0 chunk=\"@file.lua\""},
      {model::kTimerAt, "c addr=0x8 name=\"ngx.timer.at\""}};
  for (const auto& [function, kind] : kinds) {
    const std::string head = "func 1:" + std::to_string(function) + ' ';
    const size_t at = text.find(head) + head.size();
    text.replace(at, text.find('\n', at) - at, kind);
  }
  return text;
}

// Time in calls by the group at the root of the tree.
std::map<std::string, uint64_t> times(const Report& r) {
  std::map<std::string, uint64_t> out;
  std::vector<uint32_t> root(r.tree.size());
  for (NodeId i{1}; i < r.tree.size(); ++i) {
    const uint32_t above = r.tree[i].parent;
    root[i] = above ? root[above] : r.tree[i].function;
    if (r.tree[i].self && r.tree[i].function != kReportUnknown)
      out[r.functions[root[i]].name] += r.tree[i].self;
  }
  return out;
}

std::map<std::string, uint64_t> expected(const std::vector<model::Event>& events) {
  std::map<std::string, uint64_t> out;
  for (const model::Stretch& s : model::evaluate(events).stretches)
    if (!s.gap && !s.running.empty())
      out[kNames[static_cast<int>(s.phase)].second] += s.to - s.from;
  return out;
}

TEST(Phase, AgreesWithTheModel) {
  constexpr uint64_t kSeeds = 1000;
  FilterOptions options;
  options.group = GroupBy::kPhase;
  std::map<std::string, uint64_t> seen;
  for (uint64_t seed = 1; seed <= kSeeds; seed++) {
    const auto events = model::generate(seed, 20 + seed % 400);
    const std::string text = with_blocks(trace_text(model::to_text(events)));
    const auto want = expected(events);
    EXPECT_EQ(times(analyse_filtered(text, options)), want);
    EXPECT_EQ(times(sum_filtered(text, options)), want);
    if (HasFailure()) FAIL() << "seed " << seed << "\n" << text;
    for (const auto& [phase, time] : want) seen[phase] += time > 0;
  }
  for (const auto& [phase, name] : kNames) EXPECT_GT(seen[name], kSeeds / 20) << name;
}

}  // namespace
}  // namespace luatrace::analyze
