// SPDX-License-Identifier: MIT
// Which files are taken for a ring's memory, and what they are asked for that.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "recorder/drain/ring.h"
#include "recorder/os/memfd.h"
#include "tests/recorder/asked_file.h"

namespace luatrace::record {
namespace {

TEST(IsMemfd, OneOfOrdinaryPages) {
  const int fd = memfd_create("test", MFD_CLOEXEC);
  ASSERT_GE(fd, 0);
  const std::string name = "/proc/self/fd/" + std::to_string(fd);
  const int look = open(name.c_str(), O_PATH | O_CLOEXEC);
  EXPECT_TRUE(is_memfd(fd));
  EXPECT_TRUE(is_memfd(look));
  close(look);
  close(fd);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  EXPECT_FALSE(is_memfd(null));
  close(null);
  EXPECT_FALSE(is_memfd(-1));
}

// A file system that a peer runs need not answer.
TEST(IsMemfd, AsksNoFileSystem) {
  if (geteuid() != 0) GTEST_SKIP() << "mounting a file system needs root";
  const AskedFile file;
  if (!file.mounted()) GTEST_SKIP() << "there is no FUSE here";
  for (const int flags : {O_RDWR, O_PATH}) {
    const int fd = file.open_with(flags);
    ASSERT_GE(fd, 0);
    const int before = file.asked(FUSE_GETATTR);
    EXPECT_FALSE(is_memfd(fd));
    EXPECT_EQ(before, file.asked(FUSE_GETATTR)) << flags;
    close(fd);
  }
}

}  // namespace
}  // namespace luatrace::record
