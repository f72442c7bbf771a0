// SPDX-License-Identifier: MIT
// What a recorded process makes the recorder keep is bounded, and what exceeds it is said and
// counted. Needs no kernel.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "recorder/bpf/attached.h"
#include "recorder/bpf/chunks.h"
#include "recorder/direct/guardian.h"

namespace {

using namespace luatrace::record::bpf;
using luatrace::record::Output;

size_t occurrences(const std::string& text, const std::string& of) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find(of, at)) != text.npos; at += of.size()) n++;
  return n;
}

// An attached process, whose records are made here.
struct Bounds : testing::Test {
  Bounds() {
    sink.output = std::make_shared<Output>(
        queue,
        luatrace::OpenedOutput{
            static_cast<int>(memfd_create("trace", MFD_CLOEXEC)), false, 0, 0, {}},
        "trace", LT_CLOCK_MONOTONIC, 0, 0, true);
  }
  // Valid until the next one.
  const ltb_block& chunk(uint64_t state, uint32_t kind, uint32_t count,
                         const std::vector<std::byte>& bytes) {
    bytes_.assign(sizeof(ltb_block) + bytes.size(), std::byte{});
    ltb_block b{};
    b.hit.state = state;
    b.chunk_kind = kind;
    b.count = count;
    b.size = static_cast<uint32_t>(bytes.size());
    std::memcpy(bytes_.data(), &b, sizeof b);
    std::copy(bytes.begin(), bytes.end(), bytes_.begin() + sizeof b);
    return *reinterpret_cast<const ltb_block*>(bytes_.data());
  }
  const ltb_block& start(uint64_t state, uint32_t clock = LT_CLOCK_MONOTONIC) {
    lt_ring ring{};
    ring.magic = LT_RING_MAGIC;
    ring.version = LT_RING_VERSION;
    ring.clock = clock;
    ring.start_tick = 1;
    std::vector<std::byte> bytes(sizeof ring);
    std::memcpy(bytes.data(), &ring, sizeof ring);
    return chunk(state, LT_CHUNK_START, 0, bytes);
  }

  Recording recording{Settings{}};
  luatrace::record::WriteQueue queue;
  Sink sink;
  AttachedProcess process{.pid = getpid(), .slot = 0, .sink = &sink};

  std::vector<std::byte> bytes_;
};

TEST_F(Bounds, StreamsOfAProcess) {
  constexpr uint64_t kVms = 4096, kMore = 10;
  Blocks blocks(recording);
  testing::internal::CaptureStderr();
  for (uint64_t state = 1; state <= kVms + kMore; state++) blocks.take(process, start(state));
  const std::vector<std::byte> word(8);
  for (uint64_t state = kVms + 1; state <= kVms + kMore; state++)
    blocks.take(process, chunk(state, LT_CHUNK_EVENTS, 3, word));
  EXPECT_EQ(1u, occurrences(testing::internal::GetCapturedStderr(), "more than 4,096 Lua VMs"));
  EXPECT_EQ(kVms, process.flushing.size());
  EXPECT_EQ(3 * kMore, sink.output->totals().lost);
  EXPECT_TRUE(recording.news.unsynced.empty()) << "asking them to begin again would not help";
  // When another one has ended, there is a place again.
  blocks.take(process, chunk(1, LT_CHUNK_END, LTE_CLOSE, {}));
  blocks.take(process, start(kVms + 1));
  EXPECT_TRUE(process.flushing.contains(kVms + 1));
  EXPECT_EQ(kVms, process.flushing.size());
}

// A VM whose clock is not the file's: what it flushes counts as lost until it begins again.
TEST_F(Bounds, AnotherClockIsLost) {
  Blocks blocks(recording);
  const auto flush = [&](uint64_t number) {
    std::vector<std::byte> word(8);
    const uint64_t entry = lt_word(10, 1, LT_ENTRY);
    std::memcpy(word.data(), &entry, sizeof entry);
    chunk(1, LT_CHUNK_EVENTS, 1, word);
    std::memcpy(&bytes_[offsetof(ltb_block, number)], &number, sizeof number);
    blocks.take(process, *reinterpret_cast<const ltb_block*>(bytes_.data()));
  };
  blocks.take(process, start(1));
  flush(0);
  blocks.take(process, start(1, LT_CLOCK_TSC));  // its end was missed
  EXPECT_EQ(1u, recording.news.unsynced.size()) << "it should begin again";
  flush(0);
  flush(1);
  EXPECT_EQ(1u, recording.totals.events);
  EXPECT_EQ(2u, sink.output->totals().lost);
  blocks.take(process, chunk(1, LT_CHUNK_END, LTE_DETACH, {}));
  blocks.take(process, start(1));
  flush(0);
  EXPECT_EQ(2u, recording.totals.events);
  EXPECT_EQ(2u, sink.output->totals().lost);
  // VMs of both kinds count.
  for (uint64_t state = 2; state <= 5000; state++) blocks.take(process, start(state, LT_CLOCK_TSC));
  EXPECT_EQ(4096u, process.flushing.size() + process.other_clock.size());
  blocks.take(process, chunk(1, LT_CHUNK_END, LTE_CLOSE, {}));
  blocks.end_streams(process, false);
  EXPECT_EQ(2u + 4095u, sink.output->totals().lost) << "at least one of each";
  EXPECT_TRUE(process.other_clock.empty());
}

// A process that has mapped a file whose file system (FUSE) no longer answers.
struct Silent : Bounds {
  void SetUp() override {
    if (geteuid() != 0 || access("/dev/fuse", R_OK | W_OK) != 0)
      GTEST_SKIP() << "SKIPPED: mounting a file system needs root and /dev/fuse";
    ASSERT_NE(nullptr, mkdtemp(folder_));
    ASSERT_EQ(0, pipe(pipe_));
    server_ = fork();
    if (server_ == 0) {
      dup2(pipe_[1], 1);
      execl(SILENT_FUSE, SILENT_FUSE, folder_, LIBRARY, stop().c_str(), nullptr);
      _exit(1);
    }
    char c = 0;
    close(pipe_[1]);
    if (read(pipe_[0], &c, 1) != 1 || c != 'r') GTEST_SKIP() << "SKIPPED: FUSE cannot be mounted";
    ASSERT_EQ(0, pipe(pipe_));
    mapper_ = fork();
    if (mapper_ == 0) map();
    ASSERT_EQ(sizeof address_, static_cast<size_t>(read(pipe_[0], &address_, sizeof address_)));
    ASSERT_NE(0u, address_);
    stop_fd_ = open(stop().c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    process.pid = mapper_;
    process.memory = luatrace::record::GuardedMemory(mapper_);
  }
  // Kills before it unmounts: the server's end answers what waits for it.
  void TearDown() override {
    for (const pid_t pid : {server_, mapper_})
      if (pid > 0) kill(pid, SIGKILL), waitpid(pid, nullptr, 0);
    umount2(folder_, MNT_DETACH);
    unlink(stop().c_str());
    rmdir(folder_);
    if (stop_fd_ >= 0) close(stop_fd_);
  }
  std::string stop() const { return std::string(folder_) + ".stop"; }
  [[noreturn]] void map() const {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int fd = open((std::string(folder_) + "/libluajit.so").c_str(), O_RDONLY);
    void* const p = mmap(nullptr, 65536, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);  // later that would wait
    const uint64_t address = p == MAP_FAILED ? 0 : reinterpret_cast<uint64_t>(p);
    if (write(pipe_[1], &address, sizeof address) < 0) _exit(1);
    for (;;) pause();
  }

  uint64_t address_ = 0;
  pid_t server_ = -1, mapper_ = -1;

 private:
  char folder_[32] = "/tmp/luatrace-silent-XXXXXX";
  int pipe_[2] = {-1, -1}, stop_fd_ = -1;
};

TEST_F(Silent, UnflushedEventsAreNotWaitedFor) {
  Blocks blocks(recording);
  blocks.take(process, start(1));
  process.flushing.at(1).address = address_ + 8192;
  recording.by_pid.emplace(mapper_, std::make_unique<AttachedProcess>(std::move(process)));
  blocks.look_at_idle(UINT64_MAX);
  EXPECT_TRUE(recording.by_pid.at(mapper_)->flushing.at(1).looked);
}

// The recorder is killed; the memory of the first of its targets does not answer.
TEST_F(Silent, OtherProcessesAreReleased) {
  constexpr uint64_t kOwner = 77;
  constexpr uint8_t kToken = 5;
  void* const shared =
      mmap(nullptr, 65536, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(MAP_FAILED, shared);
  auto* const control = static_cast<volatile lt_control*>(shared);
  control->magic = LUAJIT_USDT_MAGIC;
  control->owner = kOwner;
  control->ring = kToken;
  const pid_t other = fork();
  if (other == 0)
    for (prctl(PR_SET_PDEATHSIG, SIGKILL);;) pause();
  const pid_t recorder = fork();
  if (recorder == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    luatrace::record::direct::Guardian guardian;
    for (const auto& [pid, address] :
         {std::pair{mapper_, address_ + 8192}, {other, reinterpret_cast<uint64_t>(shared)}}) {
      luatrace::record::LuaImage image;
      image.control = address;
      guardian.add({pid, image, kOwner, kToken});
    }
    raise(SIGKILL);
  }
  waitpid(recorder, nullptr, 0);
  for (int i = 0; i < 3000 && control->owner != 0; i++) usleep(10000);
  EXPECT_EQ(0, control->ring);
  EXPECT_EQ(0u, control->owner);
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  munmap(shared, 65536);
}

}  // namespace
