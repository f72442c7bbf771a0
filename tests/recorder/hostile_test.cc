// SPDX-License-Identifier: MIT
// Programs that send false data to the recorder: it must refuse or give up with a message, never
// crash, hang or write a malformed file, and must not affect the program's own run.
#include "tests/recorder/run.h"

namespace {

using runs::RecorderTest;
using runs::Words;

class HostileTest : public RecorderTest {
 protected:
  bool said(const std::string& text) const { return err().find(text) != std::string::npos; }
};

TEST_F(HostileTest, RingsThatAreRefused) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"noseal", "not sealed"},
      {"halfseal", "not sealed"},
      {"small", "blocks outside"},
      {"tiny", "too small for a header"},
      {"magic", "wrong magic"},
      {"version", "version 2"},
      {"blocksize", "wrong block size"},
      {"manyblocks", "blocks outside"},
      {"oneblock", "fewer than 2"},
      {"dataofs", "blocks outside"},
      {"oddofs", "blocks outside"},
      {"metasize", "size of the meta area"},
      {"metaodd", "size of the meta area"},
      {"metaofs", "meta area outside"},
      {"overlap", "overlap"},
      {"clock", "unknown clock"},
      {"rate", "implausible rate of its clock"},
      {"hellomagic", "did not send a hello"},
      {"helloversion", "speaks version 2"},
      {"short", "did not send a hello"},
      {"notmemfd", "not a memfd"},
      {"huge", "524.4 MB, more than the 10.5 MB allowed"},
      {"nofd", "sent no memory"},
      {"parent", "that of another process"},
  };
  for (const auto& [kind, message] : cases) {
    EXPECT_EQ(6, record({"bad=" + kind, "exit=6"})) << kind << "\n" << err();
    EXPECT_EQ("refused\n", out()) << kind;
    EXPECT_TRUE(said(message)) << kind << "\n" << err();
    EXPECT_TRUE(file().ended()) << kind;
  }
}

// A peer that connects and is silent is refused; others do not wait for it.
TEST_F(HostileTest, ASilentPeer) {
  EXPECT_EQ(0, record({"thread=bad=silent", "log=" + path("log"), "ring=2", "events=1000", "join"}))
      << err();
  EXPECT_TRUE(said("it sent nothing")) << err();
  EXPECT_TRUE(log() == file().words(1));
}

// The VM waits for an answer for some seconds; if the recorder cannot give it by then (here: it is
// stopped meanwhile), the VM is not recorded, and a message says so.
TEST_F(HostileTest, OneThatDoesNotWaitForTheAnswer) {
  EXPECT_EQ(6, record({"bad=hurried", "sleep=100", "exit=6"})) << err();
  EXPECT_TRUE(said("it did not wait for this answer any longer")) << err();
  EXPECT_TRUE(said("overloaded")) << err();
  EXPECT_TRUE(file().ended());
}

TEST_F(HostileTest, ImpossibleBlockCounter) {
  for (const char* head : {"head=77", "head=18446744073709551615", "head=3"}) {
    EXPECT_EQ(0, record({"ring=2", "events=100000", "sleep=100", head, "sleep=100", "print=on"}))
        << err();
    EXPECT_TRUE(said("its ring is damaged")) << head << err();
    EXPECT_TRUE(file().ended());
    EXPECT_EQ("accepted\non\n", out());
  }
}

// The events continue, the functions have no names.
TEST_F(HostileTest, ImpossibleMetaArea) {
  for (const char* lie : {"metahead=18446744073709551615", "badfunc"}) {
    EXPECT_EQ(0,
              record({"log=" + path("log"), "ring=2", "events=100", lie, "events=1", "sleep=100"}))
        << err();
    EXPECT_TRUE(said("damaged")) << lie << err();
    EXPECT_TRUE(log() == file().words(1)) << lie;
  }
}

TEST_F(HostileTest, AHoleInAFullBlockIsAMarkedGap) {
  EXPECT_EQ(0, record({"log=" + path("log"), "ring=3", "hole", "events=20000"})) << err();
  EXPECT_TRUE(said("damaged")) << err();
  const auto f = file();
  int gaps = 0;
  for (const auto* b : f.of_type(LT_BLOCK_EVENTS))
    gaps += (b->head.flags & LT_BLOCK_F_GAP) != 0 ? 1 : 0;
  EXPECT_EQ(1, gaps);
  const auto words = f.words(1), all = log();
  ASSERT_EQ(all.size(), words.size());  // the log has no words of the rest of that block
  EXPECT_TRUE(all == words);
}

TEST_F(HostileTest, NamesWithControlCharactersDoNotReachTheTerminal) {
  std::string name = path("a\x1b]0;x\a\x9b");
  EXPECT_EQ(127, run(recorder({"-o", trace()}, {name})));
  EXPECT_EQ(std::string::npos, err().find('\x1b'));
  EXPECT_EQ(std::string::npos, err().find('\a'));
  EXPECT_EQ(std::string::npos, err().find('\x9b'));
}

}  // namespace
