// SPDX-License-Identifier: MIT
// Processes whose program, or a socket that they name, lies on a file system that does not answer.
// A question to it that is not asked apart waits until the test's limit of time.
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "recorder/os/clock.h"
#include "recorder/os/process.h"
#include "recorder/os/run_apart.h"
#include "recorder/vm/target.h"
#include "tests/recorder/child.h"
#include "tests/recorder/silent_files.h"

// Waits of the recorder are counted, not measured.
static int sleeps = 0;
extern "C" int usleep(useconds_t us) {
  const timespec t{us / 1'000'000, us % 1'000'000 * 1000L};
  sleeps++;
  return nanosleep(&t, nullptr);
}

namespace luatrace::record {
namespace {

TEST(ClaimLock, AnotherHolderIsWaitedForOneSecondInAll) {
  const int other = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(0, flock(other, LOCK_EX));
  sleeps = 0;
  for (int i = 0; i < 20; i++) {
    const vm::ClaimLock lock(getpid());
    EXPECT_FALSE(lock.is_held());
    EXPECT_TRUE(lock.has_other_holder());
  }
  EXPECT_LE(sleeps, 1000);
  close(other);
  const vm::ClaimLock lock(getpid());
  EXPECT_TRUE(lock.is_held());
}

TEST(Silent, AProgramsFileIsNotLocked) {
  SilentFiles files("/bin/sleep");
  if (!files.works()) GTEST_SKIP() << "no FUSE here";
  const Child child([&] { execl(files.file().c_str(), "sleep", "1000", nullptr); });
  const auto sleeps = [&] {
    const int call = std::atoi(read_proc(child.pid(), "syscall").c_str());
    return call == SYS_clock_nanosleep || call == SYS_nanosleep;
  };
  while (!sleeps()) usleep(1000);
  files.stop_answering();
  const vm::ClaimLock lock(child.pid());
  EXPECT_FALSE(lock.is_held());
  EXPECT_FALSE(lock.has_other_holder());
}

constexpr uint64_t kMapped = 0x200000000000;  // in a child

// In a child: maps that file.
void map_file(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY);
  mmap(reinterpret_cast<void*>(kMapped), 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd,
       0);
  close(fd);  // later that would wait
}

Mapping mapping_at(pid_t pid, uint64_t address) {
  const auto all = parse_maps(read_proc(pid, "maps"));
  const auto from = mappings_from(all, address);
  return from.empty() ? Mapping{} : from[0];
}

// One that was removed from the table of mounts is in use nevertheless.
TEST(Silent, AFileSystemWithoutAMountMayNotAnswer) {
  SilentFiles files("/bin/sleep");
  if (!files.works()) GTEST_SKIP() << "no FUSE here";
  const Child child([&] { map_file(files.file()); });
  const Mapping m = mapping_at(child.pid(), kMapped);
  const int file = open(files.file().c_str(), O_PATH | O_CLOEXEC);
  ASSERT_EQ(files.file(), m.path);
  EXPECT_TRUE(may_not_answer(child.pid(), m));
  EXPECT_TRUE(file_may_not_answer(child.pid(), file));
  ASSERT_EQ(0, umount2(files.folder().c_str(), MNT_DETACH));
  EXPECT_TRUE(may_not_answer(child.pid(), m));
  EXPECT_TRUE(file_may_not_answer(child.pid(), file));
  close(file);
}

TEST(Silent, MemoryAndFilesOnDisksAnswer) {
  const auto map_memory = [](int flags, int fd) {
    return reinterpret_cast<uint64_t>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, flags, fd, 0));
  };
  const int memfd = memfd_create("memory", MFD_CLOEXEC),
            exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(0, ftruncate(memfd, 4096));
  for (const uint64_t address :
       {map_memory(MAP_PRIVATE | MAP_ANONYMOUS, -1), map_memory(MAP_SHARED | MAP_ANONYMOUS, -1),
        map_memory(MAP_SHARED, memfd), map_memory(MAP_PRIVATE, exe),
        reinterpret_cast<uint64_t>(&map_file)}) {
    const Mapping m = mapping_at(getpid(), address);
    EXPECT_FALSE(may_not_answer(getpid(), m)) << m.device << " " << m.path;
    EXPECT_TRUE(memory_answers(getpid(), m, m.start, 1)) << m.device << " " << m.path;
  }
  EXPECT_FALSE(file_may_not_answer(getpid(), exe));
  EXPECT_FALSE(file_may_not_answer(getpid(), memfd));
  close(memfd);
  close(exe);
}

// The files of an overlay of several file systems have device numbers that are in no table of
// mounts.
TEST(Silent, AProgramOnAnOverlayIsLocked) {
  const SilentFiles own_mounts("/bin/sleep");
  if (!own_mounts.works()) GTEST_SKIP() << "no permission to mount";
  const std::string folder = own_mounts.folder();  // hidden now
  ASSERT_EQ(0, mount("none", folder.c_str(), "tmpfs", 0, nullptr));
  for (const char* name : {"/a", "/all"}) mkdir((folder + name).c_str(), 0755);
  ASSERT_EQ(0, std::system(("cp /bin/sleep " + folder + "/a").c_str()));
  const std::string all = folder + "/all", layers = "lowerdir=" + folder + "/a:/bin";
  const bool works = mount("none", all.c_str(), "overlay", MS_RDONLY, layers.c_str()) == 0;
  if (works) {
    const Child child([&] { execl((all + "/sleep").c_str(), "sleep", "1000", nullptr); });
    const vm::ClaimLock lock(child.pid());
    EXPECT_TRUE(lock.is_held());
  }
  umount2(all.c_str(), MNT_DETACH);
  umount2(folder.c_str(), MNT_DETACH);
  if (!works) GTEST_SKIP() << "no overlays here";
}

// A control structure, in this process and in its children.
lt_control control;

// A program chooses where its list of Lua VMs leads, at any time.
TEST(Silent, AListOfLuaVMsThatLeadsThereIsNotFollowed) {
  SilentFiles files("/bin/sleep");
  if (!files.works()) GTEST_SKIP() << "no FUSE here";
  control = {};
  control.states = kMapped;
  const Child child([&] { map_file(files.file()); });
  files.stop_answering();
  LuaImage image;
  image.control = reinterpret_cast<uint64_t>(&control);
  const vm::Target target(child.pid(), image);
  std::vector<vm::State> states;
  EXPECT_FALSE(target.read_states(states));
  uint64_t word = 0;
  EXPECT_EQ(ETIMEDOUT, target.memory().read(kMapped, word));
  EXPECT_EQ(ETIMEDOUT, target.memory().write(kMapped + 4096, word));
  image.control = kMapped;
  EXPECT_FALSE(vm::Target(child.pid(), image, 1, 1).renew());
}

// May a process be recorded that says that the recorder with this socket has started it?
Attached check_with_socket(const std::string& path) {
  control = {};
  control.magic = LUAJIT_USDT_MAGIC;
  control.version = LT_CONTROL_VERSION;
  control.size = sizeof control;
  control.ring = 1;
  control.alive = read_tick(default_clock());
  path.copy(control.socket, sizeof control.socket - 1);
  const Child child([] {});
  LuaImage image;
  image.note.clock = default_clock();
  image.control = reinterpret_cast<uint64_t>(&control);
  vm::Settings settings;
  settings.owner = 1;
  return vm::Target(child.pid(), image).check(settings);
}

TEST(Silent, TheSocketThatAProcessNamesIsAskedForApart) {
  SilentFiles files("/bin/sleep");
  if (!files.works()) GTEST_SKIP() << "no FUSE here";
  EXPECT_TRUE(check_with_socket(files.folder() + "/no_such_file"));
  EXPECT_EQ(Refusal::kBusy, check_with_socket(files.file()).refusal);
  files.stop_answering();
  EXPECT_EQ(Refusal::kBusy, check_with_socket(files.folder() + "/another").refusal);
}

}  // namespace
}  // namespace luatrace::record
