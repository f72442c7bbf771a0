// SPDX-License-Identifier: MIT
// A disk that does not answer: -d, --max-size and signals still end the recording, the program
// continues without it, and what the disk takes later is a complete trace.
#include "tests/recorder/run.h"
#include "tests/recorder/stuck_pipe.h"

namespace {

using runs::Process;
using runs::RecorderTest;
using runs::Words;

class SlowDisk : public RecorderTest {
 protected:
  SlowDisk() : pipe_(trace()) {}

  // luatrace-record -o PIPE ..., by bash if it is to write to standard output.
  std::unique_ptr<Process> begin(const Words& options, const Words& script) {
    Words o = {"-o", trace()};
    o.insert(o.end(), options.begin(), options.end());
    return std::make_unique<Process>(recorder(o, fake(script)), path("out"), path("err"));
  }
  bool said(const std::string& text) const { return err().find(text) != std::string::npos; }
  bool printed(const std::string& text) const { return out().find(text) != std::string::npos; }
  // Signals until it ends, since two at once may be heard as one. Its status.
  static int interrupt(Process& p) {
    int status = -1;
    for (int i = 0; status == -1 && i < 200; i++) {
      p.send(SIGINT);
      status = p.wait_ms(50);
    }
    return status;
  }

  // The disk is itself again. The recorder's status.
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

TEST_F(SlowDisk, AProgramThatWaitsForRoomIsLetGo) {
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
