// SPDX-License-Identifier: MIT
// What the guardian does after a normal end of its recorder.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "recorder/direct/guardian.h"
#include "tests/recorder/child.h"

namespace luatrace::record {
namespace {

constexpr uint64_t kOwner = 77;
constexpr uint8_t kToken = 5;

// The control structure of a process that a recorder has claimed. It is shared with that process.
class Claimed {
 public:
  Claimed() : control_(map()), child_([] {}) {
    control_->magic = LUAJIT_USDT_MAGIC;
    control_->owner = kOwner;
    control_->ring = kToken;
  }
  ~Claimed() { munmap(const_cast<lt_control*>(control_), sizeof *control_); }
  Claimed(const Claimed&) = delete;
  Claimed& operator=(const Claimed&) = delete;

  volatile lt_control& control() { return *control_; }
  vm::Target target() const {
    LuaImage image;
    image.control = reinterpret_cast<uint64_t>(control_);
    return {child_.pid(), image, kOwner, kToken};
  }
  // Runs a recorder that ends normally.
  void record(bool leaves_targets) const {
    const pid_t recorder = fork();
    if (recorder == 0) {
      {
        direct::Guardian guardian;
        guardian.add(target());
        guardian.leave_targets(leaves_targets);
      }
      _exit(0);
    }
    waitpid(recorder, nullptr, 0);
  }

 private:
  static volatile lt_control* map() {
    return static_cast<volatile lt_control*>(mmap(
        nullptr, sizeof(lt_control), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  }

  volatile lt_control* control_;
  Child child_;
};

TEST(Guardian, ReleasesWhatItsRecorderHadNoTimeFor) {
  Claimed process;
  process.record(true);
  for (int i = 0; i < 3000 && process.control().owner != 0; i++) usleep(10000);
  EXPECT_EQ(0u, process.control().owner);
  EXPECT_EQ(0, process.control().ring);
}

TEST(Guardian, HasNothingToDoAfterANormalEnd) {
  Claimed process;
  process.record(false);
  EXPECT_EQ(kOwner, process.control().owner);
}

}  // namespace
}  // namespace luatrace::record
