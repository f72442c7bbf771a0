// SPDX-License-Identifier: MIT
// -r: every figure of a range of time against the slow model, cut by hand: what a call, a wait or a
// coroutine did outside of the range counts for nothing. requests_test.cc has those of requests.
// filter_test.cc has ranges together with filters.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "analyzer/report/native_times.h"
#include "filter_model.h"
#include "views_support.h"

namespace luatrace::analyze {
namespace {

// f8 and f9 are C functions, and so the only ones whose time is native.
constexpr uint32_t kFirstC = 8;

struct Range {
  uint64_t from, to;
  uint64_t part(uint64_t begin, uint64_t end) const {
    begin = std::max(begin, from), end = std::min(end, to);
    return begin < end ? end - begin : 0;
  }
  bool has(uint64_t tick) const { return tick >= from && tick <= to; }
};

// Figures by name, as text: what is missing is 0.
using Figures = std::map<std::string, uint64_t>;

std::string text(const Figures& figures) {
  std::ostringstream out;
  for (const auto& [name, value] : figures)
    if (value) out << name << ' ' << value << '\n';
  return out.str();
}

// -- By the model --

void functions(const model::Result& m, const Range& r, Figures& out) {
  for (const auto& [f, n] : model::filter(m, {}, r.from, r.to).functions) {
    const std::string name = "f" + std::to_string(f) + ' ';
    out[name + "calls"] = n.calls;
    out[name + "self"] = n.self;
    out[name + "inclusive"] = n.running;
    out[name + "complete"] = n.complete;
    out[name + "min"] = n.min;
    out[name + "max"] = n.max;
    out[name + "sum"] = n.sum;
  }
  for (const model::Call& c : m.calls)
    if (!c.nested) out["f" + std::to_string(c.function) + " wall"] += r.part(c.begin, c.end);
}

// Time in which a C function that the function called is open.
void native(const model::Result& m, const Range& r, Figures& out) {
  for (const model::Stretch& s : m.stretches) {
    std::set<uint32_t> callers;
    for (size_t i = 0; i + 1 < s.running.size(); i++)
      if (m.calls[s.running[i]].function >= kFirstC)
        callers.insert(m.calls[s.running[i + 1]].function);
    for (const uint32_t f : callers) out["f" + std::to_string(f) + " c"] += r.part(s.from, s.to);
  }
}

void waits(const model::Result& m, const Range& r, Figures& out) {
  for (const model::Wait& w : m.single_waits) {
    if (w.to < r.from || w.from > r.to) continue;
    const std::string name = "f" + std::to_string(w.function) + " waits ";
    if (!w.whole || w.from < r.from || w.to > r.to) {
      out[name + "unfinished"]++;
      continue;
    }
    out[name + "count"]++;
    out[name + "sum"] += w.to - w.from;
    out[name + "max"] = std::max(out[name + "max"], w.to - w.from);
  }
}

void coroutines(const model::Result& m, const Range& r, Figures& out) {
  std::map<std::pair<int, size_t>, uint64_t> single;
  for (const model::Stretch& s : m.stretches) {
    const uint64_t ns = r.part(s.from, s.to);
    for (const int id : s.chain)
      if (!s.running.empty()) out["coroutine " + std::to_string(id) + " running"] += ns;
    for (const auto& [id, n] : s.suspended) {
      const std::string name = "coroutine " + std::to_string(id);
      out[name + " suspended"] += ns;
      out[name + " longest"] = std::max(out[name + " longest"], single[{id, n}] += ns);
    }
  }
  for (const model::Resume& resume : m.resumes)
    if (r.has(resume.tick)) out["coroutine " + std::to_string(resume.coroutine) + " resumes"]++;
}

// From which tick on which thread runs.
using Threads = std::map<uint64_t, uint32_t>;

uint32_t thread_at(const Threads& threads, uint64_t tick) {
  return std::prev(threads.upper_bound(tick))->second;
}

void threads(const model::Result& m, const Range& r, const Threads& threads, Figures& out) {
  for (const model::Stretch& s : m.stretches) {
    const char* what = s.gap ? " gap" : s.running.empty() ? " idle" : " self";
    for (uint64_t at = s.from; at < s.to;) {
      const auto next = threads.upper_bound(at);
      const uint64_t end = next == threads.end() ? s.to : std::min(s.to, next->first);
      out["thread " + std::to_string(thread_at(threads, at)) + what] += r.part(at, end);
      at = end;
    }
  }
  for (const model::Call& c : m.calls)
    if (c.begin_seen && r.has(c.begin))
      out["thread " + std::to_string(thread_at(threads, c.begin)) + " calls"]++;
}

// -- By the analyzer --

void functions(const Report& r, Figures& out) {
  for (const ReportFunction& f : r.functions) {
    if (f.name[0] != 'f') continue;
    const std::string name = f.name + ' ';
    out[name + "calls"] = f.calls;
    out[name + "self"] = f.self_ns;
    out[name + "inclusive"] = f.inclusive_ns;
    out[name + "wall"] = f.wall_ns;
    out[name + "complete"] = f.complete;
    out[name + "min"] = f.min_ns;
    out[name + "max"] = f.max_ns;
    out[name + "sum"] = f.sum_ns;
  }
}

void native(const Report& r, Figures& out) {
  const std::vector<uint64_t> times = native_times(r);
  for (size_t i = kReportFirst; i < r.functions.size(); i++)
    out[r.functions[i].name + " c"] = times[i];
}

void waits(const Report& r, Figures& out) {
  for (const auto& [key, wait] : r.waits) {
    const std::string name = r.functions[key.first].name + " waits ";
    out[name + "count"] += wait.count;
    out[name + "sum"] += wait.total_ns;
    out[name + "max"] = std::max(out[name + "max"], wait.max_ns);
    out[name + "unfinished"] += wait.unfinished;
  }
}

void coroutines(const Report& r, Figures& out) {
  for (const ReportCoroutine& c : r.coroutine_list) {
    const std::string name = "coroutine " + std::to_string(c.id);
    out[name + " running"] += c.running_ns;
    out[name + " suspended"] += c.suspended_ns;
    out[name + " longest"] = std::max(out[name + " longest"], c.longest_ns);
    out[name + " resumes"] += c.resumes;
  }
}

void threads(const Report& r, Figures& out) {
  for (const ReportThread& t : r.thread_list) {
    const std::string name = "thread " + std::to_string(t.tid);
    out[name + " self"] += t.self_ns;
    out[name + " idle"] += t.idle_ns;
    out[name + " gap"] += t.gap_ns;
    out[name + " calls"] += t.calls;
  }
}

// -- The test --

// The events as text, in which another thread runs from here and there on, between two ticks.
std::string with_threads(const std::vector<model::Event>& events, std::mt19937_64& random,
                         Threads& threads) {
  std::istringstream in(model::to_text(events));
  std::ostringstream out;
  uint64_t before = 0;
  threads = {{0, 7}};
  uint32_t now = 7;
  for (std::string line; std::getline(in, line);) {
    const uint64_t tick = std::stoull(line);
    const bool report = line.find(" frame ") != line.npos || line.find(" stack ") != line.npos ||
                        line.find(" loss ") != line.npos;
    if (before && tick > before && !report && random() % 16 == 0) {
      now = 7 + static_cast<uint32_t>(random() % 3);
      threads[tick] = now;
      out << tick << " thread " << now << '\n';
    }
    if (const size_t at = line.find("tid=7"); at != line.npos)
      line.replace(at, 5, "tid=" + std::to_string(now));
    out << line << '\n';
    before = tick;
  }
  return out.str();
}

std::string with_c_functions(std::string text) {
  for (const char* f : {"8", "9"}) {
    const std::string begin = std::string("func 1:") + f + ' ';
    const size_t at = text.find(begin), end = text.find('\n', at);
    text.replace(at, end - at, begin + "c addr=0x" + f + " name=\"f" + f + '"');
  }
  return text;
}

// "f3 calls", "f4 calls": both are "f calls".
std::string kind_of(std::string name) {
  std::erase_if(name, [](char c) { return c >= '0' && c <= '9'; });
  return name;
}

bool has_loss(const std::vector<model::Event>& events) {
  return std::any_of(events.begin(), events.end(),
                     [](const model::Event& e) { return e.what == model::Do::kLoss; });
}

TEST(Range, EveryFigureIsThatOfTheRange) {
  constexpr uint64_t kSeeds = 3000;
  Figures seen;
  for (uint64_t seed = 1; seed <= kSeeds; seed++) {
    std::mt19937_64 random(seed);
    const auto events = model::generate(seed, 20 + seed % 300);
    Threads of_threads;
    const std::string trace =
        with_c_functions(trace_text(with_threads(events, random, of_threads)));
    const model::Result m = model::evaluate(events);
    const uint64_t first = events.front().tick, length = events.back().tick - first + 1;
    Range range{first + random() % length, first + random() % length};
    if (range.from > range.to) std::swap(range.from, range.to);
    const Report r = analyse_filtered(trace, {}, range.from, range.to);
    Figures want, have;
    functions(m, range, want), functions(r, have);
    waits(m, range, want), waits(r, have);
    threads(m, range, of_threads, want), threads(r, have);
    if (!has_loss(events)) {  // After a loss it is not known at once which coroutines there are.
      native(m, range, want), native(r, have);
      coroutines(m, range, want), coroutines(r, have);
    }
    ASSERT_EQ(text(have), text(want))
        << "seed " << seed << ", " << range.from << '~' << range.to << '\n'
        << trace;
    for (const auto& [name, value] : want) seen[kind_of(name)] += value > 0;
  }
  EXPECT_EQ(seen.size(), 21u);
  for (const auto& [name, times] : seen) EXPECT_GT(times, 50u) << name;
}

}  // namespace
}  // namespace luatrace::analyze
