// SPDX-License-Identifier: MIT
// A disk that does not answer: -d, --max-size and signals still end the recording, the program
// continues without it, and what the disk takes later is a complete trace.
#include <regex>
#include <string>

#include "tests/recorder/run.h"
#include "tests/recorder/stuck_pipe.h"

namespace {

using runs::Process;
using runs::RecorderTest;
using runs::Words;

class SlowDisk : public RecorderTest {
 protected:
  SlowDisk() : pipe_(trace()) {}

  // luatrace-record -o PIPE OPTIONS -- fake_vm SCRIPT
  std::unique_ptr<Process> begin(const Words& options, const Words& script) {
    Words o = {"-o", trace()};
    o.insert(o.end(), options.begin(), options.end());
    return std::make_unique<Process>(recorder(o, fake(script)), path("out"), path("err"));
  }
  bool said(const std::string& text) const { return err().find(text) != std::string::npos; }
  bool printed(const std::string& text) const { return out().find(text) != std::string::npos; }
  // Sends signals until it ends, since two at once may arrive as one. Returns its status.
  static int interrupt(Process& p) {
    int status = -1;
    for (int i = 0; status == -1 && i < 200; i++) {
      p.send(SIGINT);
      status = p.wait_ms(50);
    }
    return status;
  }

  // "12.5 ms": 0.0125
  static double seconds(const std::string& text) {
    const double n = std::stod(text);
    return text.ends_with(" ms") ? n / 1e3 : text.ends_with(" us") ? n / 1e6 : n;
  }

  // The disk answers again. Returns the recorder's status.
  int read_until_end(Process& p) {
    int status = -1;
    for (int i = 0; status == -1 && i < 1000; i++) {
      pipe_.read_for(20);
      status = p.wait_ms(20);
    }
    pipe_.read_for(0);
    return status;
  }

  StuckPipe pipe_;
};

TEST_F(SlowDisk, DurationIsObeyed) {
  for (const Words& more : {Words{}, Words{"--compress"}, Words{"--max-depth", "3"}}) {
    Words options = {"-d", "0.3"};
    options.insert(options.end(), more.begin(), more.end());
    auto p = begin(options, {"ignore_int", "ring=2,drop", "until_detach=60000", "print=on"});
    wait_until([&] { return printed("detached\non\n"); });
    EXPECT_EQ(128 + SIGINT, interrupt(*p)) << err();
  }
}

TEST_F(SlowDisk, DurationIsObeyedOnStandardOutput) {
  const std::string line = std::string("exec ") + RECORDER + " -o - -d 0.3 -- " + FAKE_VM +
                           " ignore_int ring=2,drop until_detach=60000 print=on >" + trace();
  Process p({"/bin/bash", "-c", line}, path("out"), path("err"));
  wait_until([&] { return said("detached\non\n"); });  // the command's output goes there, too
  EXPECT_EQ(128 + SIGINT, interrupt(p)) << err();
}

TEST_F(SlowDisk, ASignalIsObeyed) {
  auto p = begin({}, {"ignore_int", "ring=2,drop", "until_detach=60000", "print=on"});
  wait_until([&] { return printed("accepted\n"); });
  p->send(SIGINT);
  wait_until([&] { return printed("detached\non\n"); });
  EXPECT_EQ(128 + SIGINT, interrupt(*p)) << err();
}

// Also while events come as fast as they can, into a ring that is full. What is with the disk by
// then are whole blocks, and perhaps the beginning of one.
TEST_F(SlowDisk, TwoSignalsEndIt) {
  auto p = begin({}, {"ring=4,drop", "events=2000000000"});  // the first one ends it
  wait_until([&] { return printed("accepted\n"); });
  pipe_.read_for(2000, 1u << 20);
  EXPECT_EQ(128 + SIGINT, interrupt(*p)) << err();
  pipe_.read_for(0);
  EXPECT_GT(mini::parse(pipe_.content()).words(1).size(), 10000u);
}

TEST_F(SlowDisk, AProgramThatWaitsForSpaceContinues) {
  auto p =
      begin({"-d", "0.3", "--block"}, {"ignore_int", "ring=2", "until_detach=60000", "print=on"});
  wait_until([&] { return printed("detached\non\n"); });
  EXPECT_EQ(128 + SIGINT, interrupt(*p)) << err();
}

TEST_F(SlowDisk, MaxSizeIsObeyed) {
  auto p =
      begin({"--max-size", "1M"}, {"ring=4,drop", "events=3000000", "print=on", "sleep=60000"});
  wait_until([&] { return said("--max-size 1,048,576 was reached"); });
  wait_until([&] { return printed("on\n"); });
  p->send(SIGTERM);  // ends the command
  EXPECT_EQ(128 + SIGTERM, read_until_end(*p)) << err();
  const auto f = mini::parse(pipe_.content());
  EXPECT_TRUE(f.ended());
  EXPECT_LE(pipe_.content().size(), 1u << 20);
  EXPECT_GT(pipe_.content().size(), 1u << 19);
}

// Three Lua VMs whose events are all lost: the message counts each moment once, names the output as
// the cause, and counts nothing as written.
TEST_F(SlowDisk, WhatTheMessageSaysOfTheLoss) {
  const auto vm = [this](const std::string& id) {
    return "thread=id=" + id + ";log=" + path("log" + id) + ";ring=2,drop;until_detach=60000";
  };
  auto p = begin({}, {"ignore_int", vm("1"), vm("2"), vm("3"), "join"});
  for (const char* name : {"log1", "log2", "log3"})
    wait_until([&] { return log(name).size() > 300; });  // 1 ms apart
  p->send(SIGINT);
  EXPECT_EQ(125, p->wait_ms(90000)) << err();
  std::smatch file, lost;
  const std::string text = err();
  const std::regex contents("trace.bin: 0 events, 0 bytes, ([0-9.]+ [mu]?s), 3 streams");
  const std::regex loss("LOST: [0-9,]+ events in 3 gaps, ([0-9.]+ [mu]?s) in all; (.*)");
  ASSERT_TRUE(std::regex_search(text, file, contents)) << text;
  ASSERT_TRUE(std::regex_search(text, lost, loss)) << text;
  EXPECT_LE(seconds(lost[1]), seconds(file[1])) << text;
  EXPECT_GT(seconds(lost[1]), 0) << text;
  EXPECT_NE(std::string::npos, lost[2].str().find("trace.bin is too slow")) << text;
  EXPECT_EQ(std::string::npos, text.find("--ring-size")) << text;
  EXPECT_TRUE(said("could not be written in time: the end of the trace is missing")) << text;
}

// The same for a reader that does not read our messages (a terminal after ^S).
TEST_F(SlowDisk, MessagesThatNobodyReads) {
  const std::string line = std::string("exec ") + RECORDER + " -v -o " + path("file.bin") +
                           " -d 0.3 -- " + FAKE_VM + " ring=2,drop until_detach=60000 print=on 2>" +
                           trace();
  Process p({"/bin/bash", "-c", line}, path("out"), path("err"));
  wait_until([&] { return printed("detached\non\n"); });
  EXPECT_EQ(0, p.wait_ms(20000));
  EXPECT_TRUE(mini::read(path("file.bin")).ended());
}

// A recording that ends by itself is written completely, however long the disk takes.
TEST_F(SlowDisk, NothingIsMissingWhenItCatchesUp) {
  auto p = begin({}, {"log=" + path("log"), "ring=4", "events=1000000"});
  wait_until([&] { return said("writing the last"); });
  EXPECT_EQ(0, read_until_end(*p)) << err();
  const auto f = mini::parse(pipe_.content());
  EXPECT_TRUE(f.ended());
  EXPECT_TRUE(log() == f.words(1));
  EXPECT_GT(log().size(), 1000000u);
}

}  // namespace
