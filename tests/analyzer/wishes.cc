// SPDX-License-Identifier: MIT
#include "wishes.h"

#include <cstdlib>
#include <deque>
#include <random>
#include <sstream>

#include "analyzer/collect/verdict_pass.h"
#include "analyzer/filter/preview.h"
#include "analyzer/machine/parallel_streams.h"
#include "analyzer/read/trace_reader.h"
#include "support.h"

namespace luatrace::analyze {
namespace {

class Events {
 public:
  Events(std::ostream& out, std::mt19937_64& random, uint64_t streams)
      : out_(out), random_(random), tick_(streams + 1, 1000) {}
  void descriptions(uint64_t stream);
  void event(uint64_t stream);
  uint64_t pick(uint64_t n) { return random_() % n; }

 private:
  std::ostream& out_;
  std::mt19937_64& random_;
  std::vector<uint64_t> tick_;
};

void Events::descriptions(uint64_t s) {
  if (pick(2))
    out_ << "func " << s << ':' << 1 + pick(30) << " lua line=" << pick(12)
         << " chunk=\"@x.lua\" name=\"n" << pick(3) << "\"\n";
  if (pick(6) == 0) out_ << "func " << s << ':' << 1 + pick(30) << " c addr=0x" << pick(4) << '\n';
}

void Events::event(uint64_t s) {
  out_ << (tick_[s] += pick(3) ? pick(50) : 0) << ' ' << s << ' ';
  switch (pick(12)) {
    case 0:
      out_ << "resume " << 1 + pick(4);
      break;
    case 1:
      out_ << "suspend yield";
      break;
    case 2:
      out_ << "unwind " << 1 + pick(3) << " top=-";
      break;
    case 3:
      out_ << "thread " << 70 + pick(9);
      break;
    case 4:
      out_ << "tail " << 1 + pick(30);
      break;
    case 5:
      out_ << "loss " << pick(9) << " since=" << tick_[s];
      break;
    case 6:
    case 7:
      out_ << "return " << 1 + pick(30);
      break;
    default:
      out_ << "entry " << 1 + pick(30);
      break;
  }
  out_ << '\n';
}

const SymbolFinder no_symbols = [](const Function&) { return Symbol{}; };

// The views of single calls of one worker.
struct Watching {
  explicit Watching(const Wish& w)
      : slow(w.over_ns, w.wall, w.limit), coroutines(CoroutineLog::By::kSuspended, w.limit) {}
  SlowCalls slow;
  CoroutineLog coroutines;
  Timeline timeline;
  ThreadLog threads;
};

struct EmptyObserver : CallObserver {
  void opened(const Coroutine&, StreamId, ThreadId, FunctionId, uint64_t) override {}
  void closed(const Coroutine&, StreamId, uint64_t, const CallEnd&) override {}
  void moved(const Coroutine&, StreamId, ThreadId, uint64_t, const std::vector<Open>&) override {}
  void add_self_time(FilteredProfile::Machine&, StreamId, uint64_t, uint64_t, Owner) override {}
  void gone(const Coroutine&, StreamId, uint64_t) override {}
};

Report report_of(const TraceFacts& facts, const FilteredProfile& profile, const Diagnostics& diag,
                 const Wish& wish) {
  Report report;
  add_to_report(
      report,
      {"test.bin", facts, profile.sums(), &profile.sums().histograms(), &profile, diag.trust, 1},
      no_symbols);
  report.grouped = wish.filter.group != GroupBy::kNone;
  if (report.grouped) sum_up_groups(report);
  return report;
}

}  // namespace

uint64_t seeds(uint64_t usual) {
  const char* more = getenv("LUATRACE_SEEDS");
  return more ? strtoull(more, nullptr, 10) : usual;
}

std::string random_trace(uint64_t seed, const std::string& clock) {
  std::mt19937_64 random(seed);
  std::ostringstream out;
  out << "#luatrace-text 1\nclock monotonic " << clock << "\nprocess 1 pid=7 exe=\"/x\"\n";
  const uint64_t streams = 1 + random() % 5;
  for (uint64_t s = 1; s <= streams; s++)
    out << "stream " << s << " process=1 tid=" << 70 + s << " recording=1 cost_ps=5000\n";
  Events events(out, random, streams);
  for (uint64_t i = 0; i < 40 * streams; i++) {
    const uint64_t s = 1 + events.pick(streams);
    events.descriptions(s);
    for (uint64_t n = events.pick(30); n > 0; n--) events.event(s);
  }
  out << "end exit=0\n";
  return out.str();
}

std::vector<uint8_t> damaged_trace(uint64_t seed, const std::string& clock) {
  std::mt19937_64 random(seed);
  auto bytes = to_binary(random_trace(seed, clock));
  for (int i = 0; i < 6; i++)
    bytes[sizeof(lt_file_header) + random() % (bytes.size() - sizeof(lt_file_header))] ^=
        static_cast<uint8_t>(1 + random() % 255);
  if (random() % 3 == 0) bytes.resize(bytes.size() - random() % (bytes.size() / 2));
  return bytes;
}

Wish random_wish(uint64_t seed, uint32_t which) {
  static const char* const kNames[] = {"n0", "n1", "n?", "x.lua:3", "/n[12]/", "x.lua:?", "*"};
  std::mt19937_64 random(seed);
  auto pick = [&](uint64_t n) { return random() % n; };
  uint32_t bit = 0;
  auto is_on = [&] { return (which >> bit++ & 1) != 0; };
  Wish w;
  FilterOptions& f = w.filter;
  for (auto* list : {&f.only, &f.without, &f.callers, &f.hide, &f.functions})
    if (is_on()) *list = {kNames[pick(7)]};
  if (is_on()) f.kinds = {pick(2) ? FunctionKind::kLua : FunctionKind::kC};
  if (is_on()) f.depth = 1 + static_cast<uint32_t>(pick(4));
  if (is_on()) f.min_ns = 1 + pick(200);
  if (is_on()) f.threads = {ThreadId(71), ThreadId(70 + static_cast<uint32_t>(pick(9)))};
  if (is_on()) f.vms = {StreamId(1 + static_cast<uint32_t>(pick(3)))};
  if (is_on()) f.coroutines = {{kNoStream, CoroutineId(1 + static_cast<uint32_t>(pick(3)))}};
  if (is_on()) w.from = 1000 + pick(3000), w.to = w.from + pick(9000);
  f.mode = static_cast<CoroutineMode>(pick(3));
  f.group = static_cast<GroupBy>(pick(9));
  f.group_pattern = "x.(l)ua";
  f.plugins = {"x.(l)ua"};
  w.over_ns = pick(3) ? 0 : pick(100);
  w.wall = pick(2);
  w.limit = pick(3) ? 1 + pick(6) : 0;
  return w;
}

Wish random_wish(uint64_t seed) {
  std::mt19937_64 random(~seed);
  uint32_t which = 0;
  for (uint32_t bit = 0; bit < kFilters; bit++)
    if (random() % 5 == 0) which |= 1u << bit;
  return random_wish(seed, which);
}

std::string describe(const Wish& w) {
  std::ostringstream out;
  const FilterOptions& f = w.filter;
  auto list = [&](const char* option, const auto& items) {
    for (const auto& item : items) out << ' ' << option << ' ' << item;
  };
  list("-F", f.only);
  list("-N", f.without);
  list("-C", f.callers);
  list("-H", f.hide);
  list("--function", f.functions);
  for (const FunctionKind kind : f.kinds) out << " --kind " << kind_name(kind);
  list("--thread", f.threads);
  list("--vm", f.vms);
  for (const CoroutineFilter& c : f.coroutines) out << " --coroutine " << c.id;
  out << " -D " << f.depth << " -t " << f.min_ns << " ticks " << w.from << '~' << w.to << " mode "
      << static_cast<int>(f.mode) << " group " << static_cast<int>(f.group);
  return out.str();
}

Report report_of(const std::vector<uint8_t>& bytes, const Wish& wish, size_t workers,
                 std::string* messages) {
  Diagnostics diag("test.bin", [&](const std::string& m) {
    if (messages) *messages += m + '\n';
  });
  TraceFacts facts;
  Input first("test.bin", bytes), input("test.bin", bytes);
  Preview preview;
  preview.read(first);
  FilterPlan plan{&wish.filter,       wish.from, wish.to, FunctionPatterns({"*"}),
                  &preview.functions, nullptr};
  CallVerdicts verdicts = find_verdicts(plan, no_symbols, input, std::max<size_t>(workers, 1));
  input.rewind();
  if (wish.filter.needs_verdicts()) plan.verdicts = &verdicts;  // As the pipeline does.
  EmptyObserver empty;
  std::deque<Watching> watching;
  auto make = [&](const TraceFacts& mine) {
    auto sink = std::make_unique<FilteredProfile>(plan, mine, facts.functions, no_symbols);
    if (wish.observer == Wish::Observer::kEmpty) sink->calls = {&empty};
    Watching& w = watching.emplace_back(wish);
    if (wish.coroutines) sink->coroutines = &w.coroutines;
    if (wish.observer != Wish::Observer::kViews) return sink;
    sink->slow = &w.slow;
    sink->coroutines = &w.coroutines;
    sink->timeline = &w.timeline;
    sink->threads = &w.threads;
    return sink;
  };
  if (workers == 0) {
    auto profile = make(facts);
    Streams<FilteredProfile> streams(facts, *profile, diag);
    read_trace(input, diag, streams);
    streams.finish();
    return report_of(facts, *profile, diag, wish);
  }
  ParallelStreams<FilteredProfile> streams(facts, diag, workers, make);
  auto profile = streams.read(input);
  return report_of(facts, *profile, diag, wish);
}

}  // namespace luatrace::analyze
