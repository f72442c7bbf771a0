// SPDX-License-Identifier: MIT
// Mapped files: which are opened, and what it costs to remember them.
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include "recorder/os/maps.h"
#include "recorder/os/process.h"

namespace luatrace::record {
namespace {

Mapping own_mapping() {
  const std::string exe = read_link("/proc/self/exe");
  for (const Mapping& m : parse_maps(read_proc(getpid(), "maps")))
    if (m.path == exe) return m;
  return {};
}

// Its name may lead anywhere by now.
TEST(Maps, AFileThatIsNoLongerMappedIsNotLookedForByName) {
  Mapping m = own_mapping();
  const int fd = open_mapping(getpid(), m);
  EXPECT_GE(fd, 0);
  close(fd);
  m.start += 1;
  EXPECT_EQ(-1, open_mapping(getpid(), m));
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(Maps, LongNamesAreForgotten) {
  if (getuid() != 0) GTEST_SKIP() << "needs root";  // a file is else opened by its name
  BuildIds ids;
  Mapping m = own_mapping();
  const size_t before = mallinfo2().uordblks;
  for (int i = 0; i < 20'000; i++) {
    m.path = "/" + std::string(4000, 'x') + std::to_string(i);
    ids.of(getpid(), m);
  }
  EXPECT_LT(mallinfo2().uordblks - before, 32u << 20);
}
#endif

}  // namespace
}  // namespace luatrace::record
