// SPDX-License-Identifier: MIT
// What the direct method remembers of a process, and of processes that have ended.
#include <gtest/gtest.h>
#include <unistd.h>

#include "recorder/direct/marks.h"
#include "recorder/direct/taken_rings.h"

namespace luatrace::record::direct {
namespace {

TEST(TakenRings, OneIsTakenOncePerRecording) {
  TakenRings taken;
  EXPECT_EQ(0u, taken.count());
  taken.insert(7, 1);
  EXPECT_TRUE(taken.has(7, 1));
  EXPECT_FALSE(taken.has(7, 2));
  EXPECT_FALSE(taken.has(8, 1));
  taken.insert(7, 2);
  EXPECT_TRUE(taken.has(7, 2));
  EXPECT_EQ(2u, taken.count());
}

TEST(TakenRings, WhoHadARingIsNotRingless) {
  TakenRings taken;
  for (const uint64_t vm : {1, 2, 3}) taken.insert_ringless(vm);
  taken.insert(2, 1);
  taken.insert_ringless(2);  // it is closing
  EXPECT_EQ(2u, taken.ringless());
}

// Existing Lua VMs are remembered, however many others there were.
TEST(TakenRings, LuaVMsThatHaveEndedAreForgotten) {
  constexpr uint64_t kStays = 1;
  TakenRings taken;
  taken.insert(kStays, 1);
  for (uint64_t vm = 2; vm < 300'000; vm++) {
    if (taken.is_full(2)) taken.keep({kStays, vm - 1});
    taken.insert(vm, 1);
    taken.insert_ring(vm);
    taken.insert_ringless(1'000'000 + vm);
  }
  EXPECT_TRUE(taken.has(kStays, 1));
  EXPECT_TRUE(taken.has_ring(299'999));
  EXPECT_FALSE(taken.has_ring(2));
  EXPECT_LT(taken.remembered(), 150'000u);
}

// A false Lua VM that makes recording after recording.
TEST(TakenRings, OfALuaVMOnlyTheLastRecordingIsKept) {
  TakenRings taken;
  for (uint32_t recording = 0; recording < 100'000; recording++) taken.insert(1, recording);
  EXPECT_EQ(1u, taken.remembered());
  EXPECT_EQ(100'000u, taken.count());
}

vm::Target target_at(uint64_t control) {
  LuaImage image;
  image.control = control;
  return {getpid(), image, 1, 1};
}

TEST(Marks, ThoseOfEndedProcessesAreForgotten) {
  Marks marks;
  const vm::Target stays = target_at(1);
  marks.insert(stays);
  marks.insert(stays);  // a child's
  marks.remove(stays);
  for (uint64_t control = 2; control < 10'000; control++) {
    const vm::Target target = target_at(control);
    marks.insert(target);
    marks.remove(target);
  }
  EXPECT_EQ(1025u, marks.size());
  marks.remove(stays);
  EXPECT_EQ(1024u, marks.size());
  marks.insert(stays);  // one that ended is attached again
  for (uint64_t control = 2; control < 10'000; control++) {
    const vm::Target target = target_at(control);
    marks.insert(target);
    marks.remove(target);
  }
  EXPECT_EQ(1025u, marks.size());
}

TEST(Marks, AreRecognizedInAProcess) {
  static lt_control control{};
  control.magic = LUAJIT_USDT_MAGIC;
  control.owner = 5;
  control.ring = 1;
  Marks marks;
  marks.insert(target_at(reinterpret_cast<uint64_t>(&control)));
  EXPECT_TRUE(marks.are_in(getpid(), 5));
  EXPECT_FALSE(marks.are_in(getpid(), 6));
  marks.remove(target_at(reinterpret_cast<uint64_t>(&control)));
  EXPECT_TRUE(marks.are_in(getpid(), 5)) << "a fork may still be unknown";
}

}  // namespace
}  // namespace luatrace::record::direct
