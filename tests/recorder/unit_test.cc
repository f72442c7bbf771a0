// SPDX-License-Identifier: MIT
// The recorder's small parts.
#include <gtest/gtest.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <future>
#include <thread>

#include "cli/size.h"
#include "recorder/drain/drainer.h"
#include "recorder/options.h"
#include "recorder/os/clock.h"
#include "recorder/os/command.h"
#include "recorder/os/maps.h"
#include "recorder/os/process.h"
#include "recorder/os/process_monitor.h"
#include "recorder/os/text.h"
#include "recorder/status_line.h"

namespace luatrace::record {
namespace {

TEST(Text, Sizes) {
  EXPECT_EQ(65536u, parse_size("64K"));
  EXPECT_EQ(8u << 20, parse_size("8m"));
  EXPECT_EQ(uint64_t{3} << 30, parse_size("3G"));
  EXPECT_EQ(17u, parse_size("17"));
  for (const char* bad : {"", "K", "-1", "1KB", "1.5M", "99999999999999999999", "99999999999999G"})
    EXPECT_FALSE(parse_size(bad)) << bad;
}

TEST(Text, NumbersForPeople) {
  EXPECT_EQ("0", grouped(0));
  EXPECT_EQ("999", grouped(999));
  EXPECT_EQ("1,234,567", grouped(1234567));
  EXPECT_EQ("12.3 kB", bytes_text(12345));
  EXPECT_EQ("1.25 GB", bytes_text(1250000000));
  EXPECT_EQ("1.5 ms", time_text(1.5e6));
}

TEST(Text, ShellWordsAndNames) {
  EXPECT_EQ("trace.bin", shell_word("trace.bin"));
  EXPECT_EQ("''", shell_word(""));
  EXPECT_EQ("'a b'", shell_word("a b"));
  EXPECT_EQ("'it'\\''s'", shell_word("it's"));
  EXPECT_EQ("$'a\\x0a\\'b'", shell_word("a\n'b"));
  EXPECT_EQ("x.12.y.12", expand_pid("x.%p.y.%p", 12));
}

TEST(Maps, Lines) {
  const auto m = parse_maps(
      "7f10-7f20 r-xp 00001000 fe:01 77                         /a b/lib\\012x.so (deleted)\n"
      "7f20-7f30 rw-p 00000000 00:00 0 \n"
      "nonsense\n"
      "7f40-7f50 r-xp 00000000 00:00 0                          [vdso]");
  ASSERT_EQ(3u, m.size());
  EXPECT_EQ(0x7f10u, m[0].start);
  EXPECT_EQ(0x1000u, m[0].offset);
  EXPECT_EQ(77u, m[0].inode);
  EXPECT_TRUE(m[0].executable);
  EXPECT_EQ("/a b/lib\nx.so (deleted)", m[0].path);
  EXPECT_FALSE(m[1].executable);
  EXPECT_EQ("", m[1].path);
  EXPECT_EQ("[vdso]", m[2].path);
}

TEST(Maps, EachMappingOnce) {
  MapsWatcher watcher;
  BuildIds ids;
  std::vector<std::byte> records;
  EXPECT_GT(watcher.update(getpid(), ids, records), 2u);
  EXPECT_EQ(0u, records.size() % 8);
  EXPECT_EQ(0u, watcher.update(getpid(), ids, records));
}

// Files may answer slowly.
TEST(Maps, ATurnThatTakesTooLongContinuesLater) {
  MapsWatcher all, slow;
  BuildIds ids;
  std::vector<std::byte> expected, records;
  const uint32_t count = all.update(getpid(), ids, expected);
  ASSERT_GT(count, 2u);
  EXPECT_FALSE(all.more());
  for (uint32_t i = 0; i < count; i++) {
    EXPECT_EQ(1u, slow.update(getpid(), ids, records, 0));
    EXPECT_EQ(i + 1 < count, slow.more());
  }
  EXPECT_EQ(expected, records);
  EXPECT_EQ(0u, slow.update(getpid(), ids, records, 0));
}

TEST(Maps, ThereIsALimit) {
  MapsWatcher watcher;
  BuildIds ids;
  std::vector<std::byte> records;
  EXPECT_EQ(1u, watcher.update(getpid(), ids, records, kSecond, 1));
  EXPECT_TRUE(watcher.full());
  EXPECT_FALSE(watcher.more());
  EXPECT_GT(watcher.update(getpid(), ids, records), 1u);  // there is space again
}

TEST(Process, Facts) {
  const auto f = read_process(getpid());
  EXPECT_EQ(getppid(), f.parent);
  EXPECT_NE(std::string::npos, f.exe.find("recorder_unit_test"));
  EXPECT_FALSE(process_is_gone(getpid()));
  EXPECT_EQ("", read_process(0x7ffffff0).exe);
  EXPECT_TRUE(process_is_gone(0x7ffffff0));
}

TEST(Clock, RateFromTwoSamples) {
  const auto r = rate_between(LT_CLOCK_TSC, {1000, 500, 0}, {1000 + 3000000, 500 + 1000000, 0});
  EXPECT_NEAR(1e6, ticks_to_ns(r, 3000000), 0.001);
  EXPECT_EQ(3000u * 1000, rate_khz(r));
  EXPECT_NEAR(3000000, static_cast<double>(ns_to_ticks(r, 1000000)), 1);
  const auto same = rate_between(LT_CLOCK_MONOTONIC, {1, 1, 0}, {9, 9, 0});
  EXPECT_EQ(1u, same.mult);
  EXPECT_EQ(0u, same.shift);
  EXPECT_EQ(1u, rate_between(LT_CLOCK_TSC, {5, 5, 0}, {5, 5, 0}).mult);
}

// A moment after the start of a recording the rate is that since the start of the program.
TEST(Clock, RateOfAShortTime) {
  if (default_clock() != LT_CLOCK_TSC) GTEST_SKIP() << "the clock here has one tick per nanosecond";
  take_first_sample();
  const lt_clock_info from = sample_clocks(LT_CLOCK_TSC);
  usleep(200000);
  const lt_clock_info to = sample_clocks(LT_CLOCK_TSC);
  const double expected = ticks_to_ns(rate_between(LT_CLOCK_TSC, from, to), 1'000'000'000);
  lt_clock_info wrong = to;  // by a millisecond
  wrong.tick -= 10;
  wrong.mono_ns -= 1'000'000;
  EXPECT_NEAR(expected, ticks_to_ns(rate_until(LT_CLOCK_TSC, wrong, to), 1'000'000'000),
              expected / 1000);
  EXPECT_LT(2 * expected, ticks_to_ns(rate_between(LT_CLOCK_TSC, wrong, to), 1'000'000'000));
}

// What an emulated program says of its counter; the first one counts.
TEST(Clock, WhenTheTimeStampCounterIsReliable) {
  for (const bool invariant : {true, false}) {
    EXPECT_TRUE(tsc_is_reliable(invariant, "tsc"));
    EXPECT_FALSE(tsc_is_reliable(invariant, "hpet"));
    EXPECT_FALSE(tsc_is_reliable(invariant, "xen"));
    for (const char* source : {"", "kvm-clock", "hyperv_clocksource_tsc_page"})
      EXPECT_EQ(invariant, tsc_is_reliable(invariant, source)) << source;
  }
}

TEST(Clock, OfAnotherProcessor) {
#if !defined(__aarch64__)
  const uint64_t now = monotonic_ns();
  learn_clock(LT_CLOCK_TSC, 1, 1, 1);  // says nothing
  learn_clock(LT_CLOCK_CNTVCT, 1'000'000, now - 2 * kSecond, 24'000'000);
  learn_clock(LT_CLOCK_CNTVCT, 7, now, 1'000'000'000);
  const lt_clock_info from = sample_clocks(LT_CLOCK_CNTVCT);
  EXPECT_NEAR(1e6 + 48e6, static_cast<double>(from.tick), 24e6);
  EXPECT_GE(from.tick, 1'000'000u + 48'000'000u);
  lt_clock_info to = from;
  to.tick += 24'000'000;
  to.mono_ns += kSecond;
  EXPECT_NEAR(24000, rate_khz(rate_between(LT_CLOCK_CNTVCT, from, to)), 1);
#endif
}

TEST(Command, ShellStatus) {
  EXPECT_EQ(3, shell_status(3 << 8));
  EXPECT_EQ(128 + 9, shell_status(9));
}

TEST(Options, TheCommandsOptionsAreItsOwn) {
  const auto parse = [](std::vector<const char*> words) {
    bool done = false;
    return parse_options(static_cast<int>(words.size()), const_cast<char**>(words.data()), &done);
  };
  auto o = parse({"r", "-o", "x", "--block", "luajit", "-v", "--help", "-o", "y"});
  EXPECT_EQ("x", o.output);
  EXPECT_TRUE(o.block);
  EXPECT_FALSE(o.verbose);
  EXPECT_EQ((std::vector<std::string>{"luajit", "-v", "--help", "-o", "y"}), o.command);
  o = parse({"r", "-ox", "--ring-size=1M", "-d", "2.5", "--", "--odd", "--", "z"});
  EXPECT_EQ("x", o.output);
  EXPECT_EQ(1u << 20, o.ring_size);
  EXPECT_EQ(2.5, o.seconds);
  EXPECT_EQ((std::vector<std::string>{"--odd", "--", "z"}), o.command);
  o = parse({"r", "--include", "a*", "--exclude=b", "--include", "c", "-o", "-", "cmd"});
  EXPECT_EQ((std::vector<std::string>{"a*", "c"}), o.include);
  EXPECT_EQ((std::vector<std::string>{"b"}), o.exclude);
  EXPECT_EQ("-", o.output);
  o = parse({"r", "-vo", "x", "-qd1", "cmd", "-o", "y"});
  EXPECT_EQ("x", o.output);
  EXPECT_TRUE(o.verbose && o.quiet);
  EXPECT_EQ(1, o.seconds);
  EXPECT_EQ((std::vector<std::string>{"cmd", "-o", "y"}), o.command);
  const auto explained = [](const char* word, bool failed) {
    return explain_misplaced({"cmd", word}, failed)
        .starts_with(std::string(word) + " after cmd is");
  };
  for (const char* word : {"-d", "-d5", "-p", "-p4711", "--include", "--json"}) {
    EXPECT_TRUE(explained(word, true)) << word;
    EXPECT_FALSE(explained(word, false)) << word;
  }
  for (const char* word :
       {"--ring-size", "--only-slow=f=1ms", "--c-functions=none", "--max-size=1G", "--children"})
    EXPECT_TRUE(explained(word, false)) << word;
  for (const char* word : {"-v", "-debug", "-path", "--quiet", "--help"})
    EXPECT_FALSE(explained(word, true)) << word;
  EXPECT_EQ("", explain_misplaced({"cmd", "--", "-d"}));
  EXPECT_EQ("-o after cmd is an option of that command; options of luatrace-record come before it",
            explain_misplaced(o.command));
  EXPECT_NE("", explain_misplaced({"cmd", "x", "--max-size=1M"}));
  EXPECT_NE("", explain_misplaced({"cmd", "--children"}));
  for (const char* other : {"-v", "--help", "--version", "-q", "-", "--max", "output", "-ox"})
    EXPECT_EQ("", explain_misplaced({"cmd", other})) << other;
  EXPECT_EQ("", explain_misplaced({"--output"}));
}

TEST(StatusLine, Text) {
  EXPECT_EQ("1:02  1,234,567 events/s  45.6 MB  0 lost",
            status_text(62'900'000'000, 1234567.8, 45600000, 0));
  EXPECT_EQ("75:00  0 events/s  128 bytes  1,000 lost",
            status_text(4'500'000'000'000, 0, 128, 1000));
}

TEST(Drainer, JobsRunInOrderAndCallWaits) {
  std::vector<int> seen;
  Drainer d;
  for (int i = 0; i < 100; i++) d.post([&seen, i] { seen.push_back(i); });
  ASSERT_TRUE(d.call([] {}));
  ASSERT_EQ(100u, seen.size());
  for (int i = 0; i < 100; i++) EXPECT_EQ(i, seen[static_cast<size_t>(i)]);
  std::promise<void> end;
  EXPECT_FALSE(d.call([&end] { end.get_future().wait(); }, std::chrono::milliseconds(5)));
  end.set_value();
  EXPECT_TRUE(d.call([] {}));
}

// A kernel event, sent by another process.
bool send_birth(const sockaddr_nl& to, pid_t child, pid_t parent) {
  constexpr size_t kSize = NLMSG_HDRLEN + sizeof(cn_msg) + sizeof(proc_event);
  alignas(nlmsghdr) char bytes[kSize] = {};
  nlmsghdr n{};
  n.nlmsg_len = kSize;
  n.nlmsg_type = NLMSG_DONE;
  proc_event e{};
  e.what = static_cast<decltype(e.what)>(1);  // PROC_EVENT_FORK
  e.event_data.fork.parent_pid = e.event_data.fork.parent_tgid = parent;
  e.event_data.fork.child_pid = e.event_data.fork.child_tgid = child;
  std::memcpy(bytes, &n, sizeof n);
  std::memcpy(bytes + NLMSG_HDRLEN + sizeof(cn_msg), &e, sizeof e);
  const int s = socket(PF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_CONNECTOR);
  const ssize_t sent =
      sendto(s, bytes, kSize, 0, reinterpret_cast<const sockaddr*>(&to), sizeof to);
  close(s);
  return sent == static_cast<ssize_t>(kSize);
}

// Only the kernel reports new processes.
TEST(ProcessMonitor, OnlyTheKernelIsBelieved) {
  ProcessMonitor monitor;
  if (!monitor.has_kernel_events()) GTEST_SKIP() << "the kernel does not report new processes here";
  sockaddr_nl us{};
  socklen_t length = sizeof us;
  ASSERT_EQ(0, getsockname(monitor.descriptor(), reinterpret_cast<sockaddr*>(&us), &length));
  us.nl_groups = 0;
  constexpr pid_t kNobody = 399999999;
  if (!send_birth(us, kNobody, getpid())) GTEST_SKIP() << "only root can send that";
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  bool seen = false;
  std::vector<ProcessEvent> events;
  EXPECT_TRUE(monitor.take(events));
  for (const auto& e : events) {
    EXPECT_NE(kNobody, e.pid);
    seen = seen || (e.pid == child && e.parent == getpid());
  }
  EXPECT_TRUE(seen);
}

// A process that starts threads all the time must not occupy the recorder.
TEST(ProcessMonitor, TakesSomeAtATime) {
  ProcessMonitor monitor;
  if (!monitor.has_kernel_events()) GTEST_SKIP() << "the kernel does not report new processes here";
  for (int i = 0; i < 2500; i++) std::thread([] {}).join();  // a message each for begin and end
  const pid_t child = fork();
  if (child == 0) _exit(0);
  waitpid(child, nullptr, 0);
  const auto seen = [&](const std::vector<ProcessEvent>& events) {
    return std::any_of(events.begin(), events.end(),
                       [&](const ProcessEvent& e) { return e.pid == child; });
  };
  std::vector<ProcessEvent> events;
  EXPECT_TRUE(monitor.take(events));
  EXPECT_TRUE(monitor.has_more());
  EXPECT_FALSE(seen(events));
  for (int i = 0; i < 100 && !seen(events); i++) EXPECT_TRUE(monitor.take(events));
  EXPECT_TRUE(seen(events));
}

}  // namespace
}  // namespace luatrace::record
