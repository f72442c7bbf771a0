// SPDX-License-Identifier: MIT
// --requests: lives, ledgers, and that these close on any trace. tests/views/data/nginx.txt is an
// example whose figures views.table has.
#include <gtest/gtest.h>

#include <sstream>

#include "analyzer/collect/request_bounds.h"
#include "analyzer/pipeline.h"
#include "request_traces.h"
#include "support.h"
#include "wishes.h"

namespace luatrace::analyze {
namespace {

Report report_of(const std::vector<uint8_t>& bytes, PipelineOptions options = {}) {
  options.requests = true;
  Pipeline pipeline(options, [](const std::string&) {});
  Input input("test.bin", bytes);
  Diagnostics diag("test.bin", [](const std::string&) {});
  pipeline.read(input, diag);
  return pipeline.finish();
}

// f1 .. f9 are functions; the others are an access block (11), a log block (12), ngx.sleep (13),
// ngx.exec (14) and a content block (15). The main coroutine is 1.
std::vector<ReportRequest> requests(const std::string& events, PipelineOptions options = {}) {
  std::string text = trace_text("start\n" + events);
  text.insert(text.find("func 1:1 "),
              "func 1:11 lua chunk=\"=access_by_lua(nginx.conf:1)\"\n"
              "func 1:12 lua chunk=\"=log_by_lua(nginx.conf:2)\"\n"
              "func 1:13 c addr=0x13 name=\"ngx.sleep\"\n"
              "func 1:14 c addr=0x14 name=\"ngx.exec\"\n"
              "func 1:15 lua chunk=\"=content_by_lua(nginx.conf:3)\"\n"
              "func 1:16 lua line=0 last=9 chunk=\"@/srv/page.lua\"\n"
              "func 1:17 lua line=0 last=9 chunk=\"@/srv/log.lua\"\n"
              "func 1:18 lua line=0 last=9 chunk=\"@/srv/other.lua\"\n"
              "func 1:19 c addr=0x19 name=\"coroutine.__yield\"\n"
              "func 1:20 c addr=0x20 name=\"coroutine.__resume\"\n"
              "func 1:21 ff ffid=4294901761 name=\"[GC]\"\n");
  for (size_t at; (at = text.find("\nstart\n")) != text.npos;)
    text.replace(at, 7, "\n0 1 ringblock co=1 tid=7 rec=1\n0 1 start rec=1\n");
  return report_of(to_binary(text), options).requests;
}

// "start wall = own + waits + others + rest", '>' if its end and '<' if its beginning was not seen.
std::string brief(const std::vector<ReportRequest>& list) {
  std::ostringstream out;
  for (const ReportRequest& r : list)
    out << (r.begun_before ? "<" : "") << r.start_ns << ' ' << r.wall_ns << " = " << r.running_ns
        << " + " << r.wait_ns << " + " << r.others_ns << " + " << r.unattributed_ns
        << (r.unfinished ? ">\n" : "\n");
  return out.str();
}

// A request at this address in coroutine CO: access, 4 ns from `at` on.
std::string access(int at, int co, const char* address) {
  std::ostringstream out;
  out << at << " create " << co << "\n"
      << at << " request " << co << ' ' << address << "\n"
      << at << " resume " << co << "\n"
      << at << " entry 11\n"
      << at + 4 << " return 11\n"
      << at + 4 << " suspend done\n";
  return out.str();
}
std::string log_block(int at, const char* address) {
  std::ostringstream out;
  out << at << " request 1 " << address << "\n" << at << " entry 12\n" << at + 2 << " return 12\n";
  return out.str();
}

TEST(Requests, EndWithTheLogBlockOrWhenTheirAddressIsUsedAgain) {
  EXPECT_EQ(brief(requests(access(10, 2, "7") + log_block(20, "7") + access(30, 3, "7"))),
            "10 12 = 6 + 0 + 0 + 6\n30 4 = 4 + 0 + 0 + 0\n");
  EXPECT_EQ(brief(requests(access(10, 2, "7") + access(30, 3, "7"))),
            "10 4 = 4 + 0 + 0 + 0\n30 4 = 4 + 0 + 0 + 0\n");
  EXPECT_EQ(brief(requests(access(10, 2, "7") + access(30, 3, "8") + log_block(40, "7"))),
            "10 32 = 6 + 0 + 4 + 22\n30 4 = 4 + 0 + 0 + 0\n");
}

// The main coroutine keeps the address of a request that has ended: nothing of it runs.
TEST(Requests, AnAddressWithoutCallsIsNone) {
  EXPECT_EQ(brief(requests("5 request 1 7\n" + access(10, 2, "7") +
                           "20 request 1 0\n20 entry 1\n"
                           "30 return 1\n")),
            "10 4 = 4 + 0 + 0 + 0\n");
}

// The collector runs on the main coroutine while nothing of the request does, whose address it has.
TEST(Requests, TheCollectorOutsideOfCallsIsOthers) {
  const std::string begins =
      "5 request 1 7\n6 entry 11\n8 return 11\n"
      "10 create 2\n10 request 2 7\n10 resume 2\n10 entry 15\n12 entry 13\n12 suspend yield\n";
  const std::string ends = "30 resume 2\n31 return 13\n32 return 15\n32 suspend done\n";
  const auto list = requests(begins + "20 entry 21\n25 return 21\n" + ends + log_block(40, "7"));
  EXPECT_EQ(brief(list), "5 37 = 8 + 13 + 5 + 11\n");
  EXPECT_EQ(list.at(0).collector_ns, 0u);
  EXPECT_EQ(list.at(0).phases.size(), 3u);
}

TEST(Requests, ExecGoesBackInTheSameRequest) {
  const std::string first = "10 create 2\n10 request 2 7\n10 resume 2\n10 entry 15\n12 entry ";
  EXPECT_EQ(brief(requests(first + "14\n13 suspend yield\n" + access(20, 3, "7"))),
            "10 14 = 7 + 7 + 0 + 0>\n");
  EXPECT_EQ(brief(requests(first + "14\n13 suspend yield\n14 collect 2\n" + access(20, 3, "7"))),
            "10 14 = 7 + 7 + 0 + 0\n");
  EXPECT_EQ(brief(requests(first + "13\n13 suspend yield\n" + access(20, 3, "7"))),
            "10 3 = 3 + 0 + 0 + 0\n20 4 = 4 + 0 + 0 + 0\n");
}

// A generator of request 7 that request 8 resumes works for 8 then.
TEST(Requests, ACoroutineResumedInARequestWorksForIt) {
  EXPECT_EQ(brief(requests("10 create 2\n10 request 2 7\n10 resume 2\n10 entry 11\n11 create 3\n"
                           "12 return 11\n12 suspend done\n20 create 4\n20 request 4 8\n"
                           "20 resume 4\n20 entry 11\n21 resume 3\n21 entry 1\n26 suspend yield\n"
                           "28 return 11\n28 suspend done\n")),
            "10 2 = 2 + 0 + 0 + 0\n20 8 = 8 + 0 + 0 + 0\n");
}

// What was dropped while it waited is collected long after the request's end.
TEST(Requests, AnAbandonedWaitEndsWithTheRequest) {
  const std::string waits =
      "10 create 2\n10 request 2 7\n10 resume 2\n10 entry 15\n12 entry 13\n"
      "13 suspend yield\n";
  EXPECT_EQ(brief(requests(waits + log_block(20, "7") + "90 collect 2\n")),
            "10 12 = 5 + 7 + 0 + 0\n");
  EXPECT_EQ(brief(requests(waits + "90 collect 2\n99 time\n")), "10 3 = 3 + 0 + 0 + 0\n");
  EXPECT_EQ(brief(requests(waits + "90 time\n")), "10 80 = 3 + 77 + 0 + 0>\n");
}

// After a gap a request goes on if one of its coroutines does; the gap is not attributed.
TEST(Requests, GoOnAfterAGapInTheSameCoroutine) {
  const std::string before =
      "10 create 2\n10 request 2 7\n10 resume 2\n10 entry 15\n12 entry 13\n"
      "13 suspend yield\n30 loss 5 since=20\n30 stack 1 loss n=0\n";
  EXPECT_EQ(brief(requests(before + "40 resume 2\n40 request 2 7\n40 stack 2 resumed n=1\n"
                                    "40 frame 15\n45 return 15\n45 suspend done\n")),
            "10 35 = 8 + 7 + 0 + 20\n");
  EXPECT_EQ(brief(requests(before + "40 resume 3\n40 request 3 7\n40 stack 3 resumed n=1\n"
                                    "40 frame 15\n45 return 15\n45 suspend done\n")),
            "10 10 = 3 + 7 + 0 + 0>\n<40 5 = 5 + 0 + 0 + 0\n");
}

TEST(Requests, ByCall) {
  PipelineOptions options;
  options.request_by = {"f2"};
  // f2 runs 10..60, suspended in 20..50, and creates coroutine 3, which runs 30..40 and, after the
  // end, 70..80.
  EXPECT_EQ(brief(requests("5 create 2\n5 resume 2\n5 entry 1\n10 entry 2\n12 create 3\n"
                           "15 entry 13\n20 suspend yield\n30 resume 3\n30 entry 4\n"
                           "35 entry 2\n36 return 2\n40 suspend yield\n50 resume 2\n50 return 13\n"
                           "60 return 2\n65 return 1\n65 suspend done\n70 resume 3\n80 return 4\n",
                           options)),
            "10 50 = 30 + 20 + 0 + 0\n");
}

// Coroutine 2 is resumed by the host (10..15, 30..35), 3 is created in it and resumed there and by
// the host (40..45), 4 is created before and resumed inside 2 (then it works for that one), and
// by the host later.
TEST(Requests, ByCoroutineThatTheHostResumes) {
  PipelineOptions options;
  options.request_by = {kByCoroutines};
  EXPECT_EQ(brief(requests("5 create 4\n10 create 2\n10 resume 2\n10 entry 1\n11 create 3\n"
                           "12 resume 4\n12 entry 4\n13 suspend yield\n14 entry 13\n"
                           "15 suspend yield\n20 resume 3\n20 entry 4\n25 suspend yield\n"
                           "30 resume 2\n30 return 13\n31 return 1\n31 suspend done\n"
                           "40 resume 4\n45 return 4\n45 suspend done\n"
                           "50 resume 3\n55 return 4\n55 suspend done\n60 time\n",
                           options)),
            "10 21 = 11 + 10 + 0 + 0\n<40 5 = 5 + 0 + 0 + 0\n<50 5 = 5 + 0 + 0 + 0\n");
  // Dropped while it waits: it ended when it last ran. Running at the end: not seen to end.
  EXPECT_EQ(brief(requests("10 create 2\n10 resume 2\n10 entry 13\n15 suspend yield\n"
                           "30 collect 2\n30 create 3\n30 resume 3\n30 entry 1\n40 time\n",
                           options)),
            "10 5 = 5 + 0 + 0 + 0\n30 10 = 10 + 0 + 0 + 0>\n");
}

// A block of a file has no directive in its name. Content (16), then a block on the main coroutine
// (17), which is a header_filter, body_filter or log block: the next content is another request's.
TEST(Requests, ABlockOfAFileOnTheMainCoroutineIsALateOne) {
  const auto page = [](int at, int co, int content) {
    std::ostringstream out;
    out << at << " create " << co << "\n"
        << at << " request " << co << " 7\n"
        << at << " resume " << co << "\n"
        << at << " entry " << content << "\n"
        << at + 4 << " return " << content << "\n"
        << at + 4 << " suspend done\n"
        << at + 5 << " request 1 7\n"
        << at + 5 << " entry 17\n"
        << at + 7 << " return 17\n";
    return out.str();
  };
  EXPECT_EQ(brief(requests(page(10, 2, 16) + page(30, 3, 18))),
            "10 7 = 6 + 0 + 0 + 1\n30 7 = 6 + 0 + 0 + 1\n");
}

// A block that runs for 4 ns in coroutine CO of its own, for the request at 7.
std::string block(int at, int co, int function) {
  std::ostringstream out;
  out << at << " request " << co << " 7\n"
      << at << " resume " << co << "\n"
      << at << " entry " << function << "\n"
      << at + 4 << " return " << function << "\n"
      << at + 4 << " suspend done\n"
      << at + 4 << " collect " << co << "\n";
  return out.str();
}

// "phases" of each request, '~' if an end of it is unsure.
std::string blocks_of(const std::vector<ReportRequest>& list) {
  std::string out;
  for (const ReportRequest& r : list)
    out += std::to_string(r.phases.size()) + (r.unsure ? "~ " : " ");
  return out;
}

constexpr int kPause = static_cast<int>(RequestBounds::kPauseNs);
constexpr int kFirstPause = static_cast<int>(RequestBounds::kFirstPauseNs);

// The request has reached its content: another block is another request's, whatever its phase.
TEST(Requests, NothingFollowsTheContent) {
  EXPECT_EQ(blocks_of(requests(block(10, 2, 15) + block(20, 3, 16) + block(30, 4, 16))), "1 1 1 ");
}

// Blocks that may be two phases of a request, or two requests: nginx pauses only between requests.
TEST(Requests, APauseDecidesWhatPhasesDoNot) {
  for (const auto& [first, second] : {std::pair(16, 18), std::pair(11, 15), std::pair(11, 16)}) {
    EXPECT_EQ(blocks_of(requests(block(10, 2, first) + block(20, 3, second))), "2 ");
    const bool ordered = second == 15;  // nginx compiles a block that runs for the first time.
    EXPECT_EQ(blocks_of(requests(block(10, 2, first) + block(20 + kPause, 3, second))),
              ordered ? "2~ " : "1~ 1~ ");
  }
  // Unless the second one is known to begin requests.
  const std::string begins = block(10, 2, 15) + block(30, 3, 11);
  EXPECT_EQ(blocks_of(requests(begins + block(40 + kFirstPause, 4, 15))), "1 1~ 1~ ");
  // The first time that it follows that other one, a shorter pause is none.
  EXPECT_EQ(blocks_of(requests(begins + block(40 + kPause, 4, 15))), "1 2~ ");
}

// Under load the memory of a request is used again at once, by a request of another connection. The
// first time that the first block follows the second one, that is not known yet.
TEST(Requests, AnotherConnectionsRequestFollowsAfterAShortPause) {
  std::string events;
  for (int i = 0; i < 10; i++) {
    events += block(10 + 5'000 * i, 2 + i, i % 2 ? 18 : 16);
    EXPECT_EQ(requests(events).size(), static_cast<size_t>(i < 2 ? i + 1 : i));
  }
}

// A block that has often begun requests after a pause, and never followed that one without.
TEST(Requests, WhatAlwaysHappensAfterAPauseIsCertain) {
  std::string events;
  for (int i = 0; i < 40; i++)
    events += block(10 + 2 * kFirstPause * i, 2 + i, i % 4 < 2 ? 16 : 18);
  const std::vector<ReportRequest> list = requests(events);
  ASSERT_EQ(list.size(), 40u);
  EXPECT_TRUE(list[2].unsure);
  for (size_t i = 36; i < 40; i++) EXPECT_FALSE(list[i].unsure) << i;
}

// The same block in a location with a log block and in one without.
TEST(Requests, ALogBlockOfSomeLocationsEndsOnlyTheirRequests) {
  const std::string logged =
      block(10, 2, 16) + "20 request 1 7\n20 entry 12\n21 return 12\n21 request 1 0\n";
  EXPECT_EQ(blocks_of(requests(logged + block(100'000, 3, 16) + block(200'000, 4, 16) +
                               block(300'000, 5, 11))),
            "2 1 1~ 1~ ");
}

// The module resumes a generator by the host. Nobody resumes it any more when its request has
// ended.
TEST(Requests, ASuspendedGeneratorDoesNotKeepARequestOpen) {
  const std::string events =
      "10 create 2\n10 request 2 7\n10 resume 2\n10 entry 15\n11 create 3\n12 entry 20\n"
      "13 suspend yield\n13 resume 3\n13 entry 1\n14 entry 19\n15 suspend yield\n16 resume 2\n"
      "17 return 20\n";
  EXPECT_EQ(brief(requests(events + "18 return 15\n18 suspend done\n90 time\n")),
            "10 8 = 7 + 1 + 0 + 0\n");
  // While its block runs the request is open, and so it is if what is suspended waits elsewhere.
  EXPECT_EQ(brief(requests(events + "18 entry 13\n18 suspend yield\n90 time\n")),
            "10 80 = 7 + 73 + 0 + 0>\n");
}

// The client is gone, and so is the coroutine that waited for it; no log block ran.
TEST(Requests, TheEndOfAnAbandonedRequestIsUnsure) {
  const std::string waits = "10 create 2\n10 request 2 7\n10 resume 2\n10 entry 15\n12 entry ";
  const auto unsure = [&](const std::string& rest) { return requests(waits + rest)[0].unsure; };
  EXPECT_TRUE(unsure("13\n13 suspend yield\n90 collect 2\n99 time\n"));
  EXPECT_TRUE(unsure("13\n13 suspend yield\n" + access(90, 3, "7")));
  EXPECT_FALSE(unsure("13\n13 suspend yield\n" + log_block(20, "7") + "90 collect 2\n"));
  EXPECT_FALSE(unsure("14\n13 suspend yield\n90 collect 2\n99 time\n"));  // ngx.exec
}

// A log block, which shows the end of each request.
TEST(Requests, APauseDecidesNothingWhereALogBlockRan) {
  const auto logged = [](int at, int co, int pause) {
    return block(at, co, 16) + block(at + 10 + pause, co + 1, 18) +
           std::to_string(at + 20 + pause) + " request 1 7\n" + std::to_string(at + 20 + pause) +
           " entry 12\n" + std::to_string(at + 21 + pause) + " return 12\n" +
           std::to_string(at + 21 + pause) + " request 1 0\n";
  };
  EXPECT_EQ(blocks_of(requests(logged(10, 2, 0) + logged(100, 4, kPause))), "3 3 ");
}

TEST(Requests, ABlockThatMostlyFollowsAnotherOneDoesSoAfterAPauseToo) {
  std::string both, alone;
  for (int i = 0; i < 3; i++) {
    both += block(10 + 3 * i * kPause, 10 + 2 * i, 16) + block(20 + 3 * i * kPause, 11 + 2 * i, 18);
    alone += block(10 + 3 * i * kPause, 10 + i, 18);
  }
  const std::string late =
      block(10 + 12 * kPause, 30, 16) + block(20 + 12 * kPause + kFirstPause, 31, 18);
  EXPECT_EQ(blocks_of(requests(both + late)), "2 2 2 2~ ");
  EXPECT_EQ(blocks_of(requests(alone + late)), "1 1 1~ 1~ 1~ ");
}

// ngx.exit waits, and its coroutine is never resumed.
TEST(Requests, ABlockThatHasCalledExitDoesNotGoOn) {
  const std::string exits = "10 request 2 7\n10 resume 2\n10 entry 11\n14 suspend yield\n";
  EXPECT_EQ(brief(requests(exits + block(20 + kPause, 3, 16))),
            "10 4 = 4 + 0 + 0 + 0\n3020 4 = 4 + 0 + 0 + 0\n");
}

std::string phases_of(const std::string& events) {
  std::string out;
  for (const ReportRequest& r : requests(events))
    for (const auto& p : r.phases)
      out += std::to_string(p.function) + ' ' + std::to_string(p.running_ns) + '\n';
  return out;
}

// nginx's module makes coroutines by the main one and sets the request afterwards.
TEST(Requests, ACoroutineHasThePhaseOfItsCreator) {
  const std::string thread =
      "10 create 2\n10 request 2 7\n10 resume 2\n10 entry 15\n12 create 3\n%s"
      "14 suspend yield\n14 resume 3\n14 entry 1\n17 return 1\n17 suspend done\n"
      "17 resume 2\n18 return 15\n18 suspend done\n";
  const auto with = [&](const std::string& text) {
    std::string out = thread;
    return out.replace(out.find("%s"), 2, text);
  };
  const std::string known = phases_of(with(""));
  EXPECT_EQ(std::count(known.begin(), known.end(), '\n'), 1);
  EXPECT_EQ(phases_of(with("12 request 3 0\n12 request 3 7\n")), known);
}

// The host makes the coroutine of a timer that repeats, each time at the same address.
TEST(Requests, EachRunOfATimerIsARequest) {
  const auto tick = [](int at, int co) {
    return std::to_string(at) + " create " + std::to_string(co) + "\n" + block(at, co, 1);
  };
  const std::vector<ReportRequest> list = requests(tick(10, 2) + tick(20, 3) + tick(30, 4));
  ASSERT_EQ(list.size(), 3u);
  for (const ReportRequest& r : list) EXPECT_EQ(r.phases[0].function, list[0].phases[0].function);
}

// nginx uses coroutines again, and timers may be older than the recording: no creation is seen.
TEST(Requests, ATimerIsKnownWithoutTheCreationOfItsCoroutine) {
  for (const ReportRequest& r : requests(block(10, 2, 1) + block(20, 3, 1))) EXPECT_FALSE(r.timer);
  const std::vector<ReportRequest> list =
      requests(block(10, 2, 11) + block(20, 3, 1) + block(30, 4, 2) + block(40, 5, 15));
  ASSERT_EQ(list.size(), 4u);
  for (size_t i = 0; i < 4; i++) EXPECT_EQ(list[i].timer, i == 1 || i == 2) << i;
  // Also if nginx is recognized later.
  const std::vector<ReportRequest> early =
      requests(block(10, 2, 1) + block(20, 3, 15) + block(30, 4, 2));
  ASSERT_EQ(early.size(), 3u);
  EXPECT_TRUE(early[0].timer);
  EXPECT_EQ(early[0].phases[0].function, early[2].phases[0].function);
}

// A loop that waits when the recording begins: its stack comes before its request.
TEST(Requests, ATimerThatRunsAlreadyHasBegunBefore) {
  const auto list = requests(
      "10 resume 2\n10 stack 2 resumed n=2\n10 frame 1\n10 frame 13\n10 request 2 7\n"
      "12 return 13\n14 entry 13\n15 suspend yield\n" +
      log_block(20, "8"));
  ASSERT_EQ(list.size(), 2u);
  EXPECT_TRUE(list[0].timer && list[0].begun_before && list[0].unfinished);
}

// What spawns it waits meanwhile.
TEST(Requests, ALightThreadInACoroutineThatIsUsedAgainIsNoTimer) {
  const std::vector<ReportRequest> list =
      requests("10 request 2 7\n10 resume 2\n10 entry 15\n12 entry 13\n13 suspend yield\n" +
               block(20, 3, 1) + "30 resume 2\n31 return 13\n32 return 15\n32 suspend done\n");
  ASSERT_EQ(list.size(), 1u);
  EXPECT_FALSE(list[0].timer);
}

// The main coroutine is a scheduler: it resumes those of requests 7 and 8, and polls meanwhile
// (f9).
TEST(Requests, WaitWhileASchedulerInLuaRuns) {
  const std::string events =
      "1 entry 1\n5 create 2\n5 request 2 7\n5 resume 2\n5 entry 11\n7 entry 13\n8 suspend yield\n"
      "9 create 3\n9 request 3 8\n9 resume 3\n9 entry 11\n14 suspend yield\n15 entry 9\n"
      "25 return 9\n26 resume 2\n27 return 13\n30 return 11\n30 suspend done\n31 resume 3\n"
      "32 return 11\n32 suspend done\n40 return 1\n";
  EXPECT_EQ(brief(requests(events)), "5 25 = 7 + 13 + 5 + 0\n9 23 = 6 + 13 + 4 + 0\n");
}

TEST(Requests, ATailCallEndsTheRequest) {
  PipelineOptions options;
  options.request_by = {"f2"};
  const auto list = requests(
      "5 entry 2\n6 tail 2\n6 entry 3\n9 return 3\n"
      "10 entry 2\n12 return 2\n",
      options);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_TRUE(list[0].tail_call);
  EXPECT_FALSE(list[1].tail_call);
}

// -- Any trace --

// The ledgers of a recording, or of a range that begins so much later.
void expect_closed(const Report& report, uint64_t& waited, uint64_t from = 0) {
  uint64_t own = 0;
  for (const ReportRequest& r : report.requests) {
    EXPECT_EQ(r.running_ns + r.wait_ns + r.others_ns + r.unattributed_ns, r.wall_ns);
    for (const uint64_t part : {r.running_ns, r.wait_ns, r.others_ns, r.unattributed_ns})
      EXPECT_LE(part, r.wall_ns);
    uint64_t running = 0, in_phases = 0, in_waits = 0;
    for (const auto& p : r.phases) running += p.running_ns, in_phases += p.wait_ns;
    for (const auto& w : r.waits) in_waits += w.ns;
    EXPECT_EQ(running, r.running_ns);
    EXPECT_EQ(in_waits, r.wait_ns);
    EXPECT_EQ(in_phases, r.wait_ns);
    EXPECT_LE(r.start_ns, from + report.duration_ns);
    own += r.running_ns;
    waited += r.wait_ns;
  }
  EXPECT_LE(own, report.traced_ns);
}

std::string all_of(const Report& report) {
  std::ostringstream out;
  out << brief(report.requests);
  for (const ReportRequest& r : report.requests) {
    for (const auto& w : r.waits)
      out << report.functions[w.function].name << ' ' << w.count << ' ' << w.ns << '\n';
    for (const auto& p : r.phases)
      out << report.functions[p.function].chunk << ' ' << p.running_ns << ' ' << p.wait_ns << '\n';
    out << r.coroutines << '\n';
  }
  return out.str();
}

// Undamaged and damaged traces: the ledgers close, and neither the number of threads nor what else
// is collected changes them.
TEST(Requests, LedgersCloseOnAnyTrace) {
  const uint64_t kSeeds = seeds(400);
  uint64_t found = 0, waited = 0;
  for (uint64_t seed = 1; seed <= kSeeds; seed++) {
    const std::string text = random_requests(seed);
    const std::vector<uint8_t> bytes = maybe_damaged(text, seed);
    PipelineOptions plain;
    plain.jobs = 1;
    plain.request_by = random_request_by(seed);
    PipelineOptions slow = plain, parallel = plain;
    slow.threads = true;
    parallel.jobs = 3;
    const Report report = report_of(bytes, plain);
    expect_closed(report, waited);
    EXPECT_EQ(all_of(report_of(bytes, slow)), all_of(report));
    EXPECT_EQ(all_of(report_of(bytes, parallel)), all_of(report));
    found += report.requests.size();
    if (HasFailure()) FAIL() << "seed " << seed << "\n" << text;
  }
  EXPECT_GT(found, kSeeds);
  EXPECT_GT(waited, kSeeds);
}

TimePoint tick(uint64_t at) {
  return {TimePoint::kRelative, at};
}

// What is of a request in two halves of the time is all of it.
TEST(Requests, LedgersOfRangesAddUp) {
  uint64_t cut = 0;
  for (uint64_t seed = 1; seed <= seeds(200); seed++) {
    const std::vector<uint8_t> bytes =
        to_binary(with_phases(with_requests(random_trace(seed, "mult=1 shift=0"), seed)));
    PipelineOptions options;
    options.request_by = random_request_by(seed);
    const Report whole = report_of(bytes, options);
    const uint64_t middle = whole.duration_ns / 3 + seed % 50;
    PipelineOptions before = options, after = options;
    before.filter.to = after.filter.from = tick(middle);
    const Report halves[] = {report_of(bytes, before), report_of(bytes, after)};
    uint64_t waited = 0;
    expect_closed(halves[0], waited);
    expect_closed(halves[1], waited, middle);
    for (const ReportRequest& r : whole.requests) {
      uint64_t sums[5] = {};
      for (const Report& half : halves) {
        for (const ReportRequest& part : half.requests) {
          if (part.id != r.id) continue;
          const uint64_t figures[] = {part.wall_ns, part.running_ns, part.wait_ns, part.others_ns,
                                      part.unattributed_ns};
          for (size_t i = 0; i < 5; i++) sums[i] += figures[i];
          cut += part.wall_ns && part.wall_ns < r.wall_ns;
        }
      }
      const uint64_t figures[] = {r.wall_ns, r.running_ns, r.wait_ns, r.others_ns,
                                  r.unattributed_ns};
      for (size_t i = 0; i < 5; i++) EXPECT_EQ(sums[i], figures[i]) << "figure " << i;
    }
    if (HasFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(cut, 100u);
}

// The steps of a request cover its life, and its call tree has its own time.
TEST(Requests, StepsOfOneCoverItsLife) {
  uint64_t found = 0;
  for (uint64_t seed = 1; seed <= seeds(100); seed++) {
    const std::vector<uint8_t> bytes =
        to_binary(with_phases(with_requests(random_trace(seed), seed)));
    PipelineOptions options;
    const size_t count = report_of(bytes, options).requests.size();
    for (options.request = 1; options.request <= std::min<size_t>(count, 4); options.request++) {
      const Report report = report_of(bytes, options);
      ASSERT_TRUE(report.request_detail);
      const ReportRequestDetail& d = *report.request_detail;
      EXPECT_EQ(d.request.id, options.request);
      uint64_t at = 0, own = 0, self = 0;
      for (const ReportRequestStep& s : d.steps) {
        EXPECT_EQ(s.at_ns, at);
        at += s.ns;
        own += s.runs ? s.ns : 0;
        EXPECT_LE(s.others_ns, s.ns);
      }
      EXPECT_EQ(at, d.request.wall_ns);
      EXPECT_EQ(own, d.request.running_ns);
      for (const SlowNode& n : d.nodes) self += n.self;
      EXPECT_LE(self, own + d.steps.size() + d.nodes.size());
      EXPECT_LE(own, self + d.steps.size() + d.nodes.size());
      found++;
    }
    if (HasFailure()) FAIL() << "seed " << seed;
  }
  EXPECT_GT(found, 100u);
}

}  // namespace
}  // namespace luatrace::analyze
