// SPDX-License-Identifier: MIT
// Files that may never answer, read by another process.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "recorder/os/file_apart.h"
#include "recorder/os/process.h"

// A copy of this process that allocates waits for ever if another thread was allocating when the
// copy was made. Here it ends at once.
static pid_t only_here = 0;  // the process that may; 0: all may

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C" void* __libc_malloc(size_t size) noexcept;
extern "C" void* malloc(size_t size) noexcept {
  if (only_here != 0 && getpid() != only_here) _exit(1);
  return __libc_malloc(size);
}
#endif

namespace luatrace::record {
namespace {

class FileApartTest : public testing::Test {
 protected:
  void SetUp() override { only_here = getpid(); }
  void TearDown() override { only_here = 0; }
};

// A mapping of this program's file.
Mapping own_mapping() {
  const std::string exe = read_link("/proc/self/exe");
  for (const Mapping& m : parse_maps(read_proc(getpid(), "maps")))
    if (m.path == exe) return m;
  return {};
}

std::string bytes(const ReadAt& read, uint64_t at, size_t size) {
  std::string text(size, 0);
  return read(at, text.data(), size) ? text : "";
}

void expect_whole(FileApart& file, const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat st {};
  ASSERT_EQ(0, fstat(fd, &st));
  const auto size = static_cast<uint64_t>(st.st_size);
  EXPECT_TRUE(file.is_open());
  EXPECT_EQ(size, file.size());
  EXPECT_EQ(st.st_mode, file.mode());
  const size_t part = std::min<size_t>(size, 200'000);  // several answers
  EXPECT_EQ(bytes(reader_of(fd), 0, part), bytes(file.reader(), 0, part));
  EXPECT_EQ(bytes(reader_of(fd), size - 9, 9), bytes(file.reader(), size - 9, 9));
  EXPECT_EQ("", bytes(file.reader(), size - 9, 10)) << "after the end";
  EXPECT_TRUE(file.answers());
  close(fd);
}

TEST_F(FileApartTest, AMappedFileIsReadBySystemCallsAlone) {
  const Mapping m = own_mapping();
  FileApart mapped(m, [&] { return open_mapping(getppid(), m); });
  expect_whole(mapped, m.path);
  FileApart former(m, [&] { return open_former_mapping(m); });
  expect_whole(former, m.path);
  FileApart named(m, [&] { return open_regular(m.path); });
  expect_whole(named, m.path);
}

TEST_F(FileApartTest, AnotherFileThanTheMappedOneIsNotOpened) {
  Mapping m = own_mapping();
  m.device = "00:fffff";
  FileApart file(m, [&] { return open_former_mapping(m); });
  EXPECT_TRUE(file.answers());
  EXPECT_FALSE(file.is_open());
}

TEST_F(FileApartTest, OneThatDoesNotAnswerIsAskedOnce) {
  Mapping m = own_mapping();
  m.device = "00:b1";
  FileApart silent(m, [] { return pause(); }, {.answer_ms = 20, .all_ms = 1000});
  EXPECT_FALSE(silent.answers());
  const auto open = [&] { return open_regular(m.path); };
  FileApart again(m, open);
  EXPECT_FALSE(again.answers());
  m.device = "00:b2";
  FileApart other(m, open);
  EXPECT_TRUE(other.is_open());
}

}  // namespace
}  // namespace luatrace::record
