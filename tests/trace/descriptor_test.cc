// SPDX-License-Identifier: MIT
#include "trace/descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>

namespace luatrace {
namespace {

bool is_open(int fd) {
  return fcntl(fd, F_GETFD) >= 0;
}

int open_null() {
  return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

TEST(Descriptor, TheLastOwnerClosesIt) {
  const int first = open_null(), second = open_null();
  {
    Descriptor a(first), b(second);
    EXPECT_EQ(first, a);
    Descriptor moved(std::move(a));
    EXPECT_EQ(-1, a);  // NOLINT: what a moved one holds is defined
    EXPECT_EQ(first, moved);
    moved = Descriptor();
    EXPECT_FALSE(is_open(first)) << "assigning closes it at once";
    EXPECT_TRUE(is_open(second));
  }
  EXPECT_FALSE(is_open(second));
}

TEST(Descriptor, ReleasedItStaysOpen) {
  const int fd = Descriptor(open_null()).release();
  EXPECT_TRUE(is_open(fd));
  close(fd);
}

TEST(Descriptor, ErrnoStaysAsItIs) {
  const int fd = open_null();
  {
    const Descriptor owner(fd);
    close(fd);  // closing it again fails
    errno = ENOENT;
  }
  EXPECT_EQ(ENOENT, errno);
}

}  // namespace
}  // namespace luatrace
