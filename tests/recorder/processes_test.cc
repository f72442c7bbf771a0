// SPDX-License-Identifier: MIT
// Processes: what the VM of a ring that is not taken learns; when a process's own file ends.
#include "recorder/processes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/recorder/child.h"
#include "tests/recorder/ring_header.h"
#include "tests/trace/mini_reader.h"

namespace luatrace::record {
namespace {

// A ring with that many blocks, and a second mapping of its header.
struct TestRing {
  explicit TestRing(uint32_t nblocks) {
    lt_ring r = ring_header(nblocks, 1u << 16);
    r.clock = default_clock();
    const int fd = memfd_create(LT_RING_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    EXPECT_EQ(0, ftruncate(fd, static_cast<off_t>(r.meta_ofs + r.meta_size)));
    EXPECT_EQ(static_cast<ssize_t>(sizeof r), pwrite(fd, &r, sizeof r, 0));
    EXPECT_EQ(0, fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW));
    void* const p = mmap(nullptr, LT_RING_HDR_SIZE, PROT_READ, MAP_SHARED, fd, 0);
    header = p == MAP_FAILED ? nullptr : static_cast<const lt_ring*>(p);
    std::string why;
    memory = RingMemory::map(fd, &why);
    EXPECT_EQ("", why);
  }
  ~TestRing() {
    if (header != nullptr) munmap(const_cast<lt_ring*>(header), LT_RING_HDR_SIZE);
  }
  TestRing(const TestRing&) = delete;
  TestRing& operator=(const TestRing&) = delete;

  const lt_ring* header = nullptr;
  std::unique_ptr<RingMemory> memory;
};

// Otherwise it would count, when it is closed, as one that nobody has seen: a second message.
TEST(Processes, ARefusedRingIsDetachedAndCountsAsSeen) {
  const Options options;
  Outputs outputs(options);
  Processes processes(options, outputs);
  TestRing ring(192);  // 12 MB, where 8 were requested
  ASSERT_NE(nullptr, ring.header);
  ASSERT_NE(nullptr, ring.memory);
  const Peer peer{getpid(), getpid(), geteuid(), -1};
  const RingAnswer answer = processes.add_ring(peer, std::move(ring.memory));
  EXPECT_EQ(RingAnswer::kRefused, answer.kind);
  EXPECT_NE(std::string::npos, answer.why.find("its ring has")) << answer.why;
  EXPECT_EQ(1u, ring.header->detach);
  EXPECT_EQ(1u, ring.header->taken);
  EXPECT_FALSE(processes.has_streams(getpid()));
}

// 250 mappings of code whose name has 3,600 bytes: as many as are read at a time.
void map_long_names(const std::string& dir) {
  int at = open(dir.c_str(), O_PATH);
  const std::string name(240, 'd');
  for (int depth = 0; depth < 15; depth++) {
    mkdirat(at, name.c_str(), 0700);
    at = openat(at, name.c_str(), O_PATH);
  }
  const int file = openat(at, "code", O_RDWR | O_CREAT, 0700);
  if (ftruncate(file, 4096) != 0) return;
  for (int i = 0; i < 250; i++) mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
}

// Each may have 16 MB of them, and all together 64 MB: here are 84 MB.
TEST(Processes, TheMappingsOfAllProcessesHaveALimit) {
  std::string name = ::testing::TempDir() + "mappings.XXXXXX";
  const std::string dir = mkdtemp(name.data());
  Options options;
  options.output = dir + "/t.bin";
  {
    Outputs outputs(options);
    ASSERT_TRUE(outputs.open(0)) << outputs.error();
    Processes processes(options, outputs);
    std::vector<std::unique_ptr<Child>> children;
    std::string why;
    for (int i = 0; i < 90; i++) {
      children.push_back(std::make_unique<Child>([&] { map_long_names(dir); }));
      ASSERT_NE(0u, processes.process_number(children.back()->pid(), why)) << why;
    }
    uint64_t unlisted = 0, bytes = 0;
    const auto ask = [&] {
      unlisted = outputs.all()[0]->totals().unlisted;
      bytes = outputs.all()[0]->writer().bytes();
    };
    processes.drainer().call(ask);
    // What could not be read in the time of one look is read later.
    for (int turn = 0; turn < 2000 && unlisted == 0; turn++) {
      processes.update();
      usleep(2000);
      processes.drainer().call(ask);
    }
    EXPECT_GT(unlisted, 0u);
    EXPECT_LT(bytes, 70'000'000u);
  }
  std::filesystem::remove_all(dir);
}

TEST(Processes, RecordsOfProcessesThatAreGoneAreForgotten) {
  const Options options;
  Outputs outputs(options);
  Processes processes(options, outputs);
  for (pid_t pid = 10'000'000; pid < 10'100'000; pid++) {  // more than there may be
    processes.known(pid).descendant = true;
    if (pid % 1000 == 0) processes.update();
  }
  processes.known(getpid()).descendant = true;
  processes.known(10'000'000).requested = true;
  for (pid_t pid = 10'000'001; pid < 10'040'000; pid++) processes.known(pid).descendant = true;
  processes.update();
  EXPECT_LT(processes.all().size(), 20'000u);
  EXPECT_NE(nullptr, processes.find(getpid()));
  EXPECT_NE(nullptr, processes.find(10'000'000));
}

// With a file for each process.
class OwnFiles : public ::testing::Test {
 protected:
  OwnFiles() {
    std::string name = ::testing::TempDir() + "files.XXXXXX";
    dir_ = mkdtemp(name.data());
    options_.output = dir_ + "/t.%p";
  }
  ~OwnFiles() override { std::filesystem::remove_all(dir_); }

  // A Lua VM of a process with that number, which has ended.
  bool add_ring() {
    TestRing ring(4);
    const Peer peer{pid_, pid_, geteuid(), -1};
    const bool taken = processes_.add_ring(peer, std::move(ring.memory)).kind == RingAnswer::kTaken;
    processes_.take_ended([](Process&) {});
    return taken;
  }
  bool finished(const Output& output) {
    bool is = false;
    processes_.drainer().call([&] { is = output.finished(); });
    return is;
  }
  void wait_until_finished(const Output& output) {
    while (!finished(output)) usleep(1000);
  }

  std::string dir_;
  Options options_;
  Outputs outputs_{options_};
  Processes processes_{options_, outputs_};
  const pid_t pid_ = 1 << 30;  // more than the kernel's
};

TEST_F(OwnFiles, AProcessWithTheNumberOfAnEarlierOneGetsAnotherFile) {
  for (size_t i = 0; i < 3; i++) {
    ASSERT_TRUE(add_ring());
    ASSERT_EQ(i + 1, outputs_.all().size());
    wait_until_finished(*outputs_.all()[i]);
  }
  const std::string name = dir_ + "/t." + std::to_string(pid_);
  EXPECT_EQ(name, outputs_.all()[0]->writer().name());
  EXPECT_EQ(name + ".2", outputs_.all()[1]->writer().name());
  EXPECT_EQ(name + ".3", outputs_.all()[2]->writer().name());
  ASSERT_TRUE(outputs_.queue().wait_until_written());
  for (const auto& output : outputs_.all()) {
    const auto f = mini::read(output->writer().name());
    EXPECT_TRUE(f.ended());
    EXPECT_EQ(1u, f.of_type(LT_BLOCK_STREAM).size());
    EXPECT_EQ(-1, f.blocks.back().as<lt_end_info>().exit_status);
  }
}

// More of it has come after its end was noticed.
TEST_F(OwnFiles, AFileThatIsNeededAgainStaysOpen) {
  Drainer& drainer = processes_.drainer();
  std::string why;
  const auto kept = processes_.output_of(pid_, why), other = processes_.output_of(pid_ + 1, why);
  drainer.call([&] {
    drainer.finish_soon(kept);
    drainer.finish_soon(other);
    EXPECT_TRUE(drainer.keep(*kept));
  });
  wait_until_finished(*other);
  EXPECT_FALSE(finished(*kept));
  drainer.call([&] { EXPECT_FALSE(drainer.keep(*other)); });
}

TEST_F(OwnFiles, AFileThatIsInUseStaysOpen) {
  Drainer& drainer = processes_.drainer();
  std::string why;
  const auto used = processes_.output_of(pid_, why), other = processes_.output_of(pid_ + 1, why);
  drainer.call([&] {
    used->users()++;
    drainer.finish_soon(used);
    drainer.finish_soon(other);
  });
  wait_until_finished(*other);
  EXPECT_FALSE(finished(*used));
  drainer.call([&] { used->users()--; });
  wait_until_finished(*used);
}

}  // namespace
}  // namespace luatrace::record
