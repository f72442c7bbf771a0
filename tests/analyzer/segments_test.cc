// SPDX-License-Identifier: MIT
// Segments: what they stand for, in words worked out by hand, and against a simulation of compiled
// code that writes its events and its words side by side; and descriptions and words that are
// wrong.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "support.h"

namespace luatrace::analyze {
namespace {

// A loop: an entry and a return of f2 in each iteration. Places: 1 its beginning; exits 2 (before
// the events), 3 (after the entry) of the first iteration, 4 and 5 the same of the loop's own code,
// which begins at byte 50.
const std::string kLoop =
    "segments 1:1 parent=0 trace=1 bytes=100 level=1 counts=1 loop=2 marks=1 "
    "@0+0 @0+0 @1+30 @0+50 @1+80 1:2 2:2\n";
// A side trace, from exit 5: returns from f2, enters f3 and leaves it at its end, 7.
const std::string kSide =
    "segments 1:6 parent=5 trace=2 bytes=40 level=1 marks=1 @0+0 @3+40 2:2 1:3 2:3\n";

std::string calls(const std::string& events) {
  return dump_calls(trace_text(events));
}

TEST(Segments, AnIterationIsAllEventsOfTheTrace) {
  EXPECT_EQ(calls(kLoop + "10 entry 1\n90 segment 4 2\n99 return 1\n"),
            calls("10 entry 1\n20 entry 2\n30 return 2\n40 entry 2\n50 return 2\n99 return 1\n"));
}

TEST(Segments, AnExitHasTheEventsBeforeIt) {
  EXPECT_EQ(calls(kLoop + "10 entry 1\n90 segment 3\n95 return 2\n99 return 1\n"),
            calls("10 entry 1\n20 entry 2\n95 return 2\n99 return 1\n"));
}

TEST(Segments, TheEndNamesThePath) {
  EXPECT_EQ(calls(kLoop + kSide + "10 entry 1\n90 segment 7 1\n99 return 1\n"),
            calls("10 entry 1\n20 entry 2\n21 return 2\n22 entry 2\n23 return 2\n24 entry 3\n"
                  "25 return 3\n99 return 1\n"));
}

TEST(Segments, TheTraceGoesOnAfterAPlaceInside) {
  EXPECT_EQ(calls(kLoop + kSide +
                  "10 entry 1\n50 segment 1 3\n60 entry 4\n61 return 4\n"
                  "90 segment 7 1\n99 return 1\n"),
            calls("10 entry 1\n20 entry 2\n21 return 2\n22 entry 2\n23 return 2\n24 entry 2\n"
                  "25 return 2\n60 entry 4\n61 return 4\n62 entry 2\n63 return 2\n64 entry 2\n"
                  "65 return 2\n66 entry 3\n67 return 3\n99 return 1\n"));
}

// 3 iterations: 30 bytes to the entry, 20 to the return; 30 and 20 again for each in the loop.
TEST(Segments, TimesAreApportionedByMachineCode) {
  const Analysed a = analyse(trace_text(kLoop + "100 entry 1\n250 segment 4 3\n300 return 1\n"));
  EXPECT_EQ(a.trust().anomalies(), 0u);
  EXPECT_EQ(a.function("f2").calls, 3u);
  EXPECT_NEAR(static_cast<double>(a.function("f2").self_ns), 60, 3);
  EXPECT_EQ(a.function("f1").self_ns + a.function("f2").self_ns, 200u);
}

TEST(Segments, ATraceThatDoesNotRepeatRunsToTheEndOfItsCode) {
  const Analysed a = analyse(
      trace_text("segments 1:2 parent=0 trace=1 bytes=200 marks=1 @0+0 @0+0 @1+10 @2+50 1:2 2:2\n"
                 "100 entry 1\n250 segment 5\n300 return 1\n"));
  EXPECT_EQ(a.trust().anomalies(), 0u);
  EXPECT_NEAR(static_cast<double>(a.function("f2").self_ns), 30, 1);
}

TEST(Segments, WhatIsApportionedIsKnown) {
  const Analysed a = analyse(trace_text(kLoop + "100 entry 1\n250 segment 4 3\n300 return 1\n"));
  const ReportFunction &f1 = a.function("f1"), &f2 = a.function("f2");
  EXPECT_EQ(a.report.apportioned_ns, 150u);
  EXPECT_EQ(f1.segments->apportioned_ns, 150u);
  EXPECT_EQ(f1.segments->self_apportioned_ns + 50, f1.self_ns);
  EXPECT_EQ(f2.segments->self_apportioned_ns, f2.self_ns);
  EXPECT_EQ(f2.segments->inside, 3u);
  EXPECT_EQ(f2.segments->inside_ns, f2.self_ns);
  EXPECT_FALSE(f2.knows_times());
  EXPECT_TRUE(f1.knows_times());
  EXPECT_EQ(f1.min_ns, 200u);
}

TEST(Segments, ACallOverAnExactTimeIsNotInside) {
  const Analysed a =
      analyse(trace_text(kLoop + "100 entry 1\n200 segment 3\n250 return 2\n300 return 1\n"));
  EXPECT_EQ(a.function("f2").segments->inside, 0u);
  EXPECT_EQ(a.function("f2").complete, 1u);
  EXPECT_EQ(a.report.apportioned_ns, 100u);
}

TEST(Segments, AWordWithTheTimeBeforeItEndedBeforeTheNextOne) {
  const std::string words = "100 entry 1\n100 segment 3\n250 segment 4 1\n300 return 1\n";
  const Analysed a = analyse(trace_text(kLoop + words));
  // The second path begins with an entry, too: f2 inside f2.
  EXPECT_GT(a.function("f2").self_ns, 50u);
  EXPECT_EQ(a.function("f1").inclusive_ns, 200u);
}

// A loop without calls, which does not count; from its exit a side trace that returns from f2 after
// 20 bytes of 400 and calls f3. And a loop of calls, 8,000 bytes for 100 iterations.
const std::string kQuiet =
    "segments 1:1 parent=0 trace=1 bytes=100 loops=1 marks=1 @0+0 @0+50\n"
    "segments 1:3 parent=2 trace=2 bytes=400 marks=1 @0+0 @1+20 @3+400 2:2 1:3 2:3\n"
    "segments 1:7 parent=0 trace=3 bytes=80 level=1 counts=1 marks=1 @0+0 @0+0 @1+40 1:4 2:4\n"
    "10 entry 1\n100 entry 2\n";

TEST(Segments, ALoopThatDoesNotCountTakesWhatIsLeft) {
  const Analysed a = analyse(trace_text(kQuiet + "1100 segment 5\n1200 return 1\n"));
  EXPECT_EQ(a.trust().anomalies(), 0u);
  EXPECT_NEAR(static_cast<double>(a.function("f2").self_ns), 952, 5);
}

// 4 times 1,000 ns; then it is with others in 3,000 ns, which are faster than is usual.
TEST(Segments, ALoopThatDoesNotCountTakesAsLongAsBefore) {
  std::string words = kQuiet;
  for (int i = 1; i <= 4; i++) {
    const std::string tick = std::to_string(1000 * i + 100);
    words += tick + " segment 5\n" + tick + " entry 2\n";
  }
  const Analysed a =
      analyse(trace_text(words + "4100 segment 8 500\n7100 segment 5\n7200 return 1\n"));
  EXPECT_EQ(a.trust().anomalies(), 0u);
  EXPECT_EQ(a.function("f4").calls, 500u);
  EXPECT_NEAR(static_cast<double>(a.function("f2").self_ns), 4 * 952 + 944 + 1020, 50);
}

// 301 times 1,000 ns, but for one; then it is with others in 100,000 ns. Returns the self time of
// f4.
double beside_interrupted(int interrupted) {
  std::string words = kQuiet;
  uint64_t now = 100;
  for (int i = 0; i < 301; i++) {
    now += i == interrupted ? 9'000'000 : 1000;
    words += std::to_string(now) + " segment 5\n" + std::to_string(now) + " entry 2\n";
  }
  words += std::to_string(now) + " segment 8 500\n" + std::to_string(now + 100'000) +
           " segment 5\n" + std::to_string(now + 100'100) + " return 1\n";
  const Analysed a = analyse(trace_text(words));
  EXPECT_EQ(a.trust().anomalies(), 0u);
  return static_cast<double>(a.function("f4").self_ns);
}

TEST(Segments, AnInterruptedLoopIsNoRule) {
  for (const int interrupted : {-1, 300, 150, 1, 0}) {
    EXPECT_GT(beside_interrupted(interrupted), 45000) << interrupted;
    EXPECT_LT(beside_interrupted(interrupted), 50000) << interrupted;
  }
}

// A trace of one iteration: 10 bytes until f2 returns, which take as long as 90 more, 100 after it.
TEST(Segments, CostsCountLikeBytes) {
  const std::string words = "100 entry 1\n100 entry 2\n300 segment 4\n400 return 1\n";
  const std::string code = "segments 1:2 parent=0 trace=1 bytes=110 marks=1 @0+0 @1+10 @1+110 2:2";
  EXPECT_NEAR(static_cast<double>(analyse(trace_text(code + "\n" + words)).function("f2").self_ns),
              200 * 10 / 110, 1);
  const Analysed a = analyse(trace_text(code + " ~10+90\n" + words));
  EXPECT_EQ(a.trust().anomalies(), 0u);
  EXPECT_NEAR(static_cast<double>(a.function("f2").self_ns), 100, 1);
  // Of code that ends nowhere, and not in order.
  EXPECT_EQ(analyse(trace_text(code + " ~65535+65535\n" + words)).trust().anomalies(), 0u);
  EXPECT_NE(analyse(trace_text(code + " ~20+9 ~10+90\n" + words)).trust().anomalies(), 0u);
}

// A word of several places is these words without a time, one after the other.
TEST(Segments, SeveralPlacesInAWord) {
  const std::string before = kLoop + kSide + "10 entry 1\n", after = "90 segment 4\n99 return 1\n";
  EXPECT_EQ(calls(before + "20 packed 7 7 4\n" + after),
            calls(before + "10 segment 7\n10 segment 7\n10 segment 4\n" + after));
  EXPECT_EQ(calls(before + "20 packed 4*9 7\n" + after),
            calls(before + "10 segment 4 9\n10 segment 7\n" + after));
  const Analysed a = analyse(trace_text(before + "20 packed 4 4*9 \n" + after));
  EXPECT_EQ(a.trust().anomalies(), 0u);
  EXPECT_EQ(a.function("f2").calls, 9u);
  EXPECT_EQ(a.report.apportioned_ns, 80u);
}

TEST(Segments, PackedPlacesThatAreNotDescribedAreCounted) {
  const Analysed a =
      analyse(trace_text(kLoop + "10 entry 1\n50 packed 4 77 4\n60 entry 2\n70 return 2\n"));
  EXPECT_EQ(a.trust().bad_records, 1u);
  EXPECT_EQ(a.function("f2").self_ns, 10u);
  EXPECT_EQ(a.trust().unbalanced, 0u);
}

TEST(Segments, WhatIsNotDescribedIsCounted) {
  const Analysed a =
      analyse(trace_text(kLoop + "10 entry 1\n50 segment 77\n60 entry 2\n70 return 2\n"));
  EXPECT_EQ(a.trust().bad_records, 1u);
  EXPECT_EQ(a.function("f2").calls, 1u);
  EXPECT_EQ(a.function("f2").self_ns, 10u);
  EXPECT_EQ(a.trust().unbalanced, 0u);
}

TEST(Segments, AForgedNumberOfIterationsIsNotExpanded) {
  for (const char* const count : {"99999999", "18446744073709551614", "4000000000"}) {
    const Analysed a = analyse(
        trace_text(kLoop + "10 entry 1\n50 segment 4 " + count + "\n60 entry 2\n70 return 2\n"));
    EXPECT_EQ(a.trust().bad_records, 1u) << count;
    EXPECT_LT(a.trust().events, 100u) << count;
  }
}

TEST(Segments, AParentThatDoesNotExistIsCounted) {
  const Analysed a = analyse(trace_text(kSide + "10 entry 1\n50 segment 7\n60 return 1\n"));
  EXPECT_EQ(a.trust().bad_records, 1u);
}

// Each trace is entered from an exit of the one before: a path of as many.
std::string nested(uint32_t traces) {
  std::string out;
  for (uint32_t i = 0; i < traces; i++)
    out += "segments 1:" + std::to_string(1 + 2 * i) + " parent=" + std::to_string(2 * i) +
           " bytes=10 level=0 marks=1 @0+0 @2+10 1:2 2:2\n";
  return out;
}

TEST(Segments, APathThatIsTooLongIsCounted) {
  const auto follow = [](uint32_t traces) {
    return analyse(trace_text(nested(traces) + "10 entry 1\n50 segment " +
                              std::to_string(2 * traces) + "\n60 return 1\n"));
  };
  const Analysed longest = follow(LT_SEGMENT_PATH_MAX), more = follow(LT_SEGMENT_PATH_MAX + 1);
  EXPECT_EQ(longest.trust().bad_records, 0u);
  EXPECT_EQ(longest.function("f2").calls, LT_SEGMENT_PATH_MAX);
  EXPECT_EQ(more.trust().bad_records, 1u);
  for (const ReportFunction& f : more.report.functions) EXPECT_NE(f.name, "f2");
  EXPECT_EQ(more.report.self_ns + more.report.gap_ns + more.report.idle_ns, more.report.traced_ns);
}

// As many iterations as a word may stand for, in words that say no time of their own, and the most
// ticks that may pass: nothing overflows.
TEST(Segments, TheMostIterationsAndTicksAreMultiplied) {
  const std::string loop =
      "segments 1:1 parent=0 trace=1 bytes=1048576 level=1 counts=1 marks=1 @0+0 @2+65535 1:2 "
      "2:2\n";
  const uint64_t times = uint64_t{LT_SEGMENT_LEVELS + 1} << 20, end = (uint64_t{1} << 39) - 100;
  std::string words = "100 entry 1\n";
  for (int i = 0; i < 40; i++) words += "100 segment 1 " + std::to_string(times - 1) + "\n";
  words += std::to_string(end) + " segment 1 " + std::to_string(times - 1) + "\n";
  const Analysed a = analyse(trace_text(loop + words + std::to_string(end) + " return 1\n"));
  EXPECT_EQ(a.trust().anomalies(), 0u);
  EXPECT_EQ(a.function("f2").calls, 41 * (times - 1));
  EXPECT_EQ(a.function("f1").inclusive_ns, end - 100);
  EXPECT_EQ(a.function("f1").self_ns + a.function("f2").self_ns, end - 100);
}

// The places around a description that is missing or false stand as they are.
TEST(Segments, WordsAroundAForgedOneAreMultiplied) {
  for (const char* const forged : {"segment 77 3", "segment 4 99999999", "segment 7 2"}) {
    const Analysed a = analyse(trace_text(kLoop + "10 entry 1\n50 segment 4 9\n60 " + forged +
                                          "\n70 entry 1\n90 segment 4 7\n99 return 1\n"));
    EXPECT_EQ(a.trust().bad_records, 1u) << forged;
    EXPECT_EQ(a.function("f2").calls, 16u) << forged;
    EXPECT_EQ(a.function("f2").segments->inside, 16u) << forged;
  }
}

TEST(Segments, DescriptionsThatCannotBeAreRefused) {
  for (const char* const wrong :
       {"segments 1:1 level=1 counts=1 marks=1 @2+0 1:2\n", "segments 1:1 marks=1 @0+0 4:2\n",
        "segments 1:1 level=9 marks=1 @0+0 1:2\n", "segments 1:1 parent=1 marks=1 @0+0 1:2\n",
        "segments 1:1 counts=1 marks=1 @0+0 1:2\n"}) {
    const Analysed a = analyse(trace_text(std::string(wrong) + "10 entry 1\n50 segment 1\n"));
    EXPECT_EQ(a.trust().bad_records, 2u) << wrong;
  }
}

TEST(Segments, IdsAreNotUsedAgain) {
  EXPECT_EQ(analyse(trace_text(kLoop + kLoop + "10 entry 1\n20 return 1\n")).trust().bad_records,
            1u);
}

TEST(Segments, TheTextFormIsComplete) {
  const std::string text = trace_text(kLoop + kSide + "10 entry 1\n20 segment 7 1\n30 segment 3\n");
  const std::string once = dump(to_binary(text));
  EXPECT_EQ(dump(to_binary(once)), once);
  EXPECT_NE(once.find("segment 7 1\n"), std::string::npos);
  EXPECT_NE(once.find("@1+80 1:2 2:2\n"), std::string::npos);
}

TEST(Segments, AWordContinuesInTheNextBlock) {
  EXPECT_EQ(calls(kLoop + "10 entry 1\n50 segment 1 3\nblock 1 base=60\n60 segment 4 1\n"),
            calls("10 entry 1\n20 entry 2\n21 return 2\n22 entry 2\n23 return 2\n24 entry 2\n"
                  "25 return 2\nblock 1 base=30\n62 entry 2\n63 return 2\n"));
}

// -- Against a simulation --

struct SimulatedTrace {
  uint32_t id = 1, parent = 0, level = 0;
  bool counts = false;
  std::vector<uint32_t> events;  // Functions: entered, and left at once.
  std::vector<uint32_t> exits;   // Events before each.
};

// Compiled code that takes random ways; what it would store, and the events.
class Simulation {
 public:
  explicit Simulation(uint32_t seed) : random_(seed) {
    for (uint32_t i = 0, id = 1; i < 6; i++) id = add(id);
  }
  void run(int paths) {
    for (int i = 0; i < paths; i++) path();
  }
  std::string with_segments() const { return descriptions_ + "1 entry 1\n" + words_; }
  std::string with_events() const { return "1 entry 1\n" + events_; }

 private:
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }

  uint32_t add(uint32_t id) {
    SimulatedTrace t;
    t.id = id;
    t.counts = below(2) == 0;
    if (!traces_.empty() && below(3) != 0) {
      const SimulatedTrace& parent = traces_[below(static_cast<uint32_t>(traces_.size()))];
      t.parent = parent.id + 1 + below(static_cast<uint32_t>(parent.exits.size()));
      t.level = parent.level;
    }
    t.level += t.counts;
    for (uint32_t n = below(4); n > 0; n--) t.events.push_back(2 + below(5));
    for (uint32_t n = 1 + below(3); n > 0; n--)
      t.exits.push_back(2 * below(static_cast<uint32_t>(t.events.size()) + 1));
    describe(t);
    traces_.push_back(t);
    return t.id + 1 + static_cast<uint32_t>(t.exits.size());
  }
  void describe(const SimulatedTrace& t) {
    std::string& d = descriptions_;
    d += "segments 1:" + std::to_string(t.id) + " parent=" + std::to_string(t.parent) +
         " bytes=90 level=" + std::to_string(t.level) + " counts=" + std::to_string(t.counts) +
         " marks=1 @0+0";
    for (const uint32_t before : t.exits)
      d += " @" + std::to_string(before) + "+" + std::to_string(10 * before);
    for (const uint32_t f : t.events) d += " 1:" + std::to_string(f) + " 2:" + std::to_string(f);
    d += '\n';
  }
  void line(std::string& to, const std::string& text) {
    to += std::to_string(++now_) + " " + text + "\n";
  }
  void run_events(const SimulatedTrace& t, uint32_t before) {
    for (uint32_t i = 0; i < before; i++)
      line(events_, (i % 2 ? "return " : "entry ") + std::to_string(t.events[i / 2]));
  }
  void store(const SimulatedTrace& t, uint32_t id, std::vector<uint32_t>& counters) {
    std::string counts;
    for (uint32_t i = 0; i < t.level; i++) counts += " " + std::to_string(counters[i]);
    line(words_, "segment " + std::to_string(id) + (below(2) || !all_zero(counters) ? counts : ""));
    counters.assign(8, 0);
  }
  static bool all_zero(const std::vector<uint32_t>& counters) {
    for (const uint32_t c : counters)
      if (c) return false;
    return true;
  }
  // From a root to a random trace, and out of it.
  void path() {
    std::vector<const SimulatedTrace*> way = {
        &traces_[below(static_cast<uint32_t>(traces_.size()))]};
    while (way.front()->parent)
      for (const SimulatedTrace& t : traces_)
        if (t.id < way.front()->parent && way.front()->parent <= t.id + t.exits.size()) {
          way.insert(way.begin(), &t);
          break;
        }
    std::vector<uint32_t> counters(8, 0);
    for (size_t i = 0; i < way.size(); i++) {
      const SimulatedTrace& t = *way[i];
      for (uint32_t n = t.counts ? below(4) : 0; n > 0; n--) {
        run_events(t, static_cast<uint32_t>(2 * t.events.size()));
        counters[t.level - 1]++;
        if (below(4) == 0) store(t, t.id, counters);  // As a loop that runs for long.
      }
      const uint32_t exit = i + 1 < way.size() ? way[i + 1]->parent - t.id - 1
                                               : below(static_cast<uint32_t>(t.exits.size()));
      run_events(t, t.exits[exit]);
      if (i + 1 == way.size()) store(t, t.id + 1 + exit, counters);
    }
  }

  std::mt19937 random_;
  uint64_t now_ = 1;
  std::vector<SimulatedTrace> traces_;
  std::string descriptions_, words_, events_;
};

TEST(Segments, AreTheEventsOfASimulation) {
  for (uint32_t seed = 1; seed <= 300; seed++) {
    Simulation simulation(seed);
    simulation.run(40);
    ASSERT_EQ(calls(simulation.with_segments()), calls(simulation.with_events())) << seed;
  }
}

// Any numbers: no crash, and the sums stay what they must be.
TEST(Segments, RandomNumbersAreSafe) {
  std::mt19937_64 random(1);
  const auto number = [&random](uint64_t small) {
    const uint64_t r = random();
    return std::to_string(r % 8 ? (r >> 8) % small : r >> (r >> 3) % 64);
  };
  for (int turn = 0; turn < 400; turn++) {
    std::string events;
    for (int i = 0, id = 1; i < 3; i++, id += 4) {
      events += "segments 1:" + (random() % 8 ? std::to_string(id) : number(9)) +
                " parent=" + number(id) + " bytes=" + number(200) + " level=" + number(3) +
                " counts=" + number(2) + " loops=" + number(2) + " loop=" + number(4) + " marks=1";
      for (int k = 0; k < 4; k++) events += " @" + number(4) + "+" + number(100);
      for (int k = 0; k < 3; k++) events += " " + number(4) + ":" + number(9);
      events += '\n';
    }
    uint64_t tick = 10;
    for (int i = 0; i < 12; i++) {
      tick += random() % 3 * 10;
      const bool segment = random() % 3;
      events += std::to_string(tick) + (segment ? " segment " + number(13) : " entry 1");
      for (uint64_t k = random() % 3; segment && k > 0; k--) events += ' ' + number(9);
      events += '\n';
    }
    const Analysed a = analyse(trace_text(events));
    uint64_t self = 0;
    for (const ReportFunction& f : a.report.functions) self += f.self_ns;
    EXPECT_EQ(self + a.report.idle_ns + a.report.gap_ns, a.report.traced_ns) << events;
  }
}

}  // namespace
}  // namespace luatrace::analyze
