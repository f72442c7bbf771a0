// SPDX-License-Identifier: MIT
// Small traces made to keep the analyzer busy: each kind of record that can need many steps, again
// and again. The steps are counted, not timed: the test limits their number for each word.
#include <gtest/gtest.h>

#include "analyzer/collect/profile.h"
#include "analyzer/machine/machine.h"
#include "analyzer/machine/machine_events.h"
#include "analyzer/machine/machine_loop.h"

namespace luatrace::analyze {
namespace {

constexpr uint64_t kStepsPerWord = 2048;

class Hostile {
 public:
  void word(uint32_t kind, uint32_t payload) { words_.push_back(lt_word(0, payload, kind)); }
  void ext(uint32_t sub, std::initializer_list<uint64_t> more) {
    word(LT_EXT, lt_ext(sub, static_cast<uint32_t>(more.size()), 0));
    words_.insert(words_.end(), more);
  }
  void start() { ext(LTX_START, {1, lt_pack(1, 0)}); }
  size_t size() const { return words_.size(); }

  // Steps for each word. Words come in blocks, as in a file.
  uint64_t work() {
    Diagnostics diag("hostile", [](const std::string&) {});
    FunctionTable functions;
    Profile profile;
    StackMachine<Profile> machine(StreamId(1), profile, diag, functions);
    constexpr size_t kBlock = 8192;
    uint32_t seq = 0;
    for (size_t at = 0; at < words_.size(); at += kBlock) {
      EventBlock block;
      block.stream = StreamId(1);
      block.seq = seq++;
      block.end_tick = 1;
      block.words = std::span(words_).subspan(at, std::min(kBlock, words_.size() - at));
      machine.block(block);
    }
    machine.finish();
    return machine.work() / words_.size();
  }

 private:
  std::vector<uint64_t> words_;
};

TEST(Work, ReturnsOfCallsThatAreNotOpen) {
  Hostile h;
  h.start();
  for (int i = 0; i < 65000; i++) h.word(LT_ENTRY, 1);
  for (int i = 0; i < 65000; i++) h.word(LT_RETURN, 2);
  EXPECT_LE(h.work(), kStepsPerWord);
}

TEST(Work, SwitchesBetweenLongChainsOfResumers) {
  Hostile h;
  h.start();
  for (uint32_t co = 2; co < 30000; co++) h.word(LT_RESUME, co);
  for (int i = 0; i < 30000; i++) {
    h.ext(LTX_SWITCH, {40000});
    h.ext(LTX_SWITCH, {29999});
  }
  EXPECT_LE(h.work(), kStepsPerWord);
}

TEST(Work, DeepCoroutinesThatHangElsewhereEachTime) {
  Hostile h;
  h.start();
  h.word(LT_RESUME, 2);
  for (int i = 0; i < 50000; i++) h.word(LT_ENTRY, 1 + i % 3);
  h.word(LT_SUSPEND, LTS_YIELD);
  for (int i = 0; i < 20000; i++) {
    h.word(LT_ENTRY, 1 + i % 2);
    h.word(LT_RESUME, 2);
    h.word(LT_SUSPEND, LTS_YIELD);
    h.word(LT_RETURN, 1 + i % 2);
  }
  EXPECT_LE(h.work(), kStepsPerWord);
}

// So nothing is left out for them.
TEST(Work, RealProgramsAreFarFromTheLimit) {
  Hostile h;
  h.start();
  for (uint32_t co = 2; co < 12; co++) {
    h.word(LT_RESUME, co);
    for (int i = 0; i < 100; i++) h.word(LT_ENTRY, 1 + i);
  }
  for (int i = 0; i < 100000; i++) {
    h.ext(LTX_SWITCH, {40});
    h.word(LT_ENTRY, 1);
    h.word(LT_RETURN, 1);
    h.ext(LTX_SWITCH, {11});
  }
  EXPECT_LE(h.work(), kStepsPerWord / 4);
}

}  // namespace
}  // namespace luatrace::analyze
