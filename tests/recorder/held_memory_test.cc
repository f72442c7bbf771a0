// SPDX-License-Identifier: MIT
// Memory for which another program answers (userfaultfd), and never does.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "recorder/os/guarded_memory.h"
#include "recorder/os/process.h"
#include "recorder/os/run_apart.h"

namespace luatrace::record {
namespace {

constexpr size_t kSize = 8192;

// Two pages of this process.
class HeldMemory {
 public:
  HeldMemory(int flags, int file)
      : start_(mmap(nullptr, kSize, PROT_READ | PROT_WRITE, flags, file, 0)),
        fd_(static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC))) {
    uffdio_api api{};
    api.api = UFFD_API;
    uffdio_register all{};
    all.range = {address(), kSize};
    all.mode = UFFDIO_REGISTER_MODE_MISSING;
    works_ =
        fd_ >= 0 && ioctl(fd_, UFFDIO_API, &api) == 0 && ioctl(fd_, UFFDIO_REGISTER, &all) == 0;
  }
  ~HeldMemory() {
    if (fd_ >= 0) close(fd_);
    munmap(start_, kSize);
  }
  HeldMemory(const HeldMemory&) = delete;
  HeldMemory& operator=(const HeldMemory&) = delete;

  // False: this process may not hold back what the kernel reads.
  bool works() const { return works_; }
  uint64_t address() const { return reinterpret_cast<uint64_t>(start_); }
  // The first page arrives.
  bool fill() const {
    static char page[4096];
    uffdio_copy copy{};
    copy.dst = address();
    copy.src = reinterpret_cast<uint64_t>(page);
    copy.len = sizeof page;
    return ioctl(fd_, UFFDIO_COPY, &copy) == 0;
  }

 private:
  void* start_;
  int fd_;
  bool works_ = false;
};

void expect_held(int flags, int file) {
  const HeldMemory memory(flags, file);
  if (!memory.works()) GTEST_SKIP() << "userfaultfd needs root";
  const auto all = parse_maps(read_proc(getpid(), "maps"));
  ASSERT_FALSE(memory_answers(getpid(), all, memory.address(), kSize));
  const GuardedMemory target(getpid());
  uint64_t word = 0;
  EXPECT_EQ(ETIMEDOUT, target.read(memory.address(), word));
  EXPECT_EQ(ETIMEDOUT, target.write(memory.address(), word));
  ASSERT_TRUE(memory.fill());
  EXPECT_EQ(0, target.read(memory.address(), word));
  EXPECT_EQ(0, target.write(memory.address(), word));
  EXPECT_EQ(ETIMEDOUT, target.read(memory.address() + 4092, word)) << "half of it is there";
}

TEST(HeldMemory, OfTheProcessAlone) {
  expect_held(MAP_PRIVATE | MAP_ANONYMOUS, -1);
}

TEST(HeldMemory, SharedWithOthers) {
  expect_held(MAP_SHARED | MAP_ANONYMOUS, -1);
}

TEST(HeldMemory, OfAFile) {
  const int file = memfd_create("memory", MFD_CLOEXEC);
  ASSERT_EQ(0, ftruncate(file, kSize));
  expect_held(MAP_SHARED, file);
  close(file);
}

}  // namespace
}  // namespace luatrace::record
