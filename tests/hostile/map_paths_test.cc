// SPDX-License-Identifier: MIT
// The paths of mappings come from the trace, and so do links on the way to them: only regular files
// are opened, nothing outside --sysroot is reached, and no file makes libelf use much memory.
#include <elf.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "analyzer/symbols/open_in_root.h"
#include "analyzer/symbols/symbolizer.h"

namespace luatrace::analyze {
namespace {

namespace fs = std::filesystem;

class MapPaths : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "map_paths.XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    top_ = name;
    root_ = top_ / "root";
    fs::create_directories(root_ / "lib/deep");
    write(top_ / "secret", "outside");
    write(root_ / "lib/own", "inside");
  }
  void TearDown() override { fs::remove_all(top_); }
  static void write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }
  // The readable content; "-": none.
  std::string read(const std::string& path) const {
    const int fd = open_regular_in(root_, path);
    char text[64] = {};
    if (fd < 0) return "-";
    const ssize_t n = ::read(fd, text, sizeof text);
    close(fd);
    return std::string(text, static_cast<size_t>(std::max<ssize_t>(n, 0)));
  }
  fs::path top_, root_;
};

TEST_F(MapPaths, DotsEndAtTheRoot) {
  EXPECT_EQ(read("/lib/own"), "inside");
  EXPECT_EQ(read("lib//./deep/../own"), "inside");
  EXPECT_EQ(read("/../secret"), "-");
  EXPECT_EQ(read("/lib/../../secret"), "-");
  EXPECT_EQ(read("/../../lib/own"), "inside");
  EXPECT_EQ(read("/.." + top_.string() + "/secret"), "-");
}

TEST_F(MapPaths, LinksStayInTheRoot) {
  fs::create_symlink(top_ / "secret", root_ / "absolute");
  fs::create_symlink("../../secret", root_ / "lib/relative");
  fs::create_symlink(top_, root_ / "folder");
  fs::create_symlink("/lib/own", root_ / "lib/deep/good");
  fs::create_symlink("../own", root_ / "lib/deep/near");
  EXPECT_EQ(read("/absolute"), "-");
  EXPECT_EQ(read("/lib/relative"), "-");
  EXPECT_EQ(read("/folder/secret"), "-");
  EXPECT_EQ(read("/lib/deep/good"), "inside");
  EXPECT_EQ(read("/lib/deep/near"), "inside");
  write(root_ / "secret", "of the root");
  EXPECT_EQ(read("/lib/relative"), "of the root");
}

TEST_F(MapPaths, CirclesAndEndlessPathsEnd) {
  fs::create_symlink("circle", root_ / "circle");
  fs::create_symlink("b/x", root_ / "a");
  fs::create_symlink("a/x", root_ / "b");
  fs::create_symlink(".", root_ / "here");
  EXPECT_EQ(read("/circle"), "-");
  EXPECT_EQ(read("/a"), "-");
  std::string steps, names;
  for (int i = 0; i < 1000; i++) steps += "/here";
  EXPECT_EQ(read(steps + "/lib/own"), "-");
  for (int i = 0; i < 100000; i++) names += "/lib/..";
  EXPECT_EQ(read(names + "/lib/own"), "-");
  EXPECT_EQ(read(std::string("/lib/own\0x", 10)), "-");
  EXPECT_EQ(read("/lib/own/x"), "-");
  EXPECT_EQ(read("/lib"), "-");
  EXPECT_EQ(read(""), "-");
}

// Opening a FIFO releases a process that waits at its other end; opening a device may do anything.
TEST_F(MapPaths, SpecialFilesAreNotOpened) {
  const fs::path fifo = root_ / "fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  fs::create_symlink("/fifo", root_ / "link");
  const int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  ASSERT_GE(inotify_add_watch(watch, fifo.c_str(), IN_OPEN), 0);
  EXPECT_EQ(read("/fifo"), "-");
  EXPECT_EQ(read("/link"), "-");
  char event[1024];
  EXPECT_EQ(::read(watch, event, sizeof event), -1) << "the FIFO was opened";
  close(watch);
  const bool made = mknod((root_ / "zero").c_str(), S_IFCHR | 0600, makedev(1, 5)) == 0;
  EXPECT_EQ(read("/zero"), "-") << (made ? "a device was opened" : "(not permitted to create one)");
  EXPECT_LT(open_regular_in("", "/dev/zero"), 0);
  EXPECT_LT(open_regular_in("", "/proc/self/maps"), 0);
  EXPECT_LT(open_regular_in("", "/proc/self/exe/../maps"), 0);
}

// Such a FIFO as the library of a trace.
TEST_F(MapPaths, ASymbolizerSaysThatThereIsNoFile) {
  ASSERT_EQ(mkfifo((root_ / "libx.so").c_str(), 0600), 0);
  std::vector<std::string> warnings;
  Symbolizer symbolizer(root_, [&](const std::string& w) { warnings.push_back(w); });
  const MapTable maps = {{ProcessId(1), 0x1000, 0x2000, 0, "", "/libx.so"},
                         {ProcessId(1), 0x3000, 0x4000, 0, "", "/../secret"}};
  Function f;
  f.process = ProcessId(1);
  f.addr = 0x1010;
  EXPECT_EQ(symbolizer.find(maps, f).name, "libx.so+0x10");
  f.addr = 0x3010;
  EXPECT_EQ(symbolizer.find(maps, f).name, "secret+0x10");
  ASSERT_EQ(warnings.size(), 2u);
  for (const auto& w : warnings) EXPECT_NE(w.find("no such file"), std::string::npos) << w;
}

// A sparse file that claims to have 20 million sections.
TEST_F(MapPaths, AFileThatClaimsMillionsOfSectionsIsNotRead) {
  const fs::path path = root_ / "sparse.so";
  Elf64_Ehdr header{};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_ident[EI_VERSION] = EV_CURRENT;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_shoff = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  Elf64_Shdr first{};
  first.sh_size = 20'000'000;
  {
    std::ofstream out(path, std::ios::binary);
    out.write(reinterpret_cast<const char*>(&header), sizeof header);
    out.write(reinterpret_cast<const char*>(&first), sizeof first);
  }
  fs::resize_file(path, sizeof header + first.sh_size * sizeof first);
  const int fd = open_regular_in(root_, "/sparse.so");
  ASSERT_GE(fd, 0);
  EXPECT_FALSE(has_usual_tables(fd));
  close(fd);
  const int own = open_regular_in("", fs::read_symlink("/proc/self/exe"));
  ASSERT_GE(own, 0);
  EXPECT_TRUE(has_usual_tables(own));
  close(own);
}

}  // namespace
}  // namespace luatrace::analyze
