// SPDX-License-Identifier: MIT
// Spool: the bytes are the ones written, in order, in memory or in a file; and a file that cannot
// be written is an error that has a reason.
#include "trace/spool.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <optional>
#include <string>

#include "tests/trace/file_size_limit.h"
#include "tests/trace/mini_reader.h"
#include "trace/trace_writer.h"

namespace luatrace {
namespace {

ssize_t append(Spool& spool, std::string text) {
  const size_t half = text.size() / 2;
  const iovec parts[] = {{text.data(), half}, {text.data() + half, text.size() - half}};
  return spool.append(parts, 2);
}

std::string all_of(int fd) {
  std::string text(1 << 20, 0);
  const ssize_t n = read(fd, text.data(), text.size());
  return text.substr(0, n > 0 ? static_cast<size_t>(n) : 0);
}

std::string all_of(Spool& spool) {
  const Descriptor fd = spool.take_file();
  if (fd >= 0) return all_of(fd);
  const auto bytes = spool.take_memory();
  return std::string(bytes.begin(), bytes.end());
}

TEST(Spool, FewBytesNeedNoFile) {
  Spool spool(8);
  EXPECT_EQ(3, append(spool, "abc"));
  EXPECT_EQ(5, append(spool, "defgh"));
  EXPECT_EQ(-1, spool.take_file().release());
  EXPECT_EQ("abcdefgh", all_of(spool));
}

TEST(Spool, ManyBytesAreInAnUnlinkedFile) {
  Spool spool(8);
  append(spool, "abcdefgh");
  EXPECT_EQ(1, append(spool, "i"));
  EXPECT_EQ(20, append(spool, "jklmnopqrstuvwxyz012"));
  EXPECT_TRUE(spool.take_memory().empty());
  const Descriptor fd = spool.take_file();
  ASSERT_GE(fd, 0);
  struct stat st;
  ASSERT_EQ(0, fstat(fd, &st));
  EXPECT_EQ(0u, st.st_nlink);
  EXPECT_NE(0, fcntl(fd, F_GETFD) & FD_CLOEXEC);
  EXPECT_EQ("abcdefghijklmnopqrstuvwxyz012", all_of(fd));
}

TEST(Spool, WithoutAFolderForFilesItStillHasOne) {
  const char* const before = getenv("TMPDIR");
  const std::string old = before ? before : "";
  setenv("TMPDIR", "/dev/null/none", 1);
  Spool spool(0);
  EXPECT_EQ(3, append(spool, "abc"));
  before ? setenv("TMPDIR", old.c_str(), 1) : unsetenv("TMPDIR");
  EXPECT_EQ("abc", all_of(spool));
}

TEST(Spool, MovesItsBytesAndItsFile) {
  for (size_t memory : {0, 100}) {
    Spool spool(memory);
    append(spool, "abc");
    Spool other(std::move(spool));
    append(other, "def");
    EXPECT_EQ("abcdef", all_of(other)) << memory;
    EXPECT_EQ(-1, spool.take_file().release()) << memory;  // NOLINT: what it was moved to has it
  }
}

void write_trace(TraceWriter& w) {
  w.write_stream(1, lt_stream_info{});
  EventBlockInfo info;
  info.stream = 1;
  for (uint32_t n : {3u, 8192u, 5u, 8000u}) {
    info.count = n;
    w.write_events(info, mini::entries(n));
  }
  w.write_end({});
}

// Large payloads pass the writer's buffer by; the order is that of writing all the same.
TEST(Spool, ATraceIsTheSameInMemoryAndInAFile) {
  std::string traces[2];
  for (size_t i : {0, 1}) {
    Spool spool(i ? 70000 : 1 << 20);
    TraceWriter w(spool, "spool", make_file_header());
    EXPECT_FALSE(w.seekable());
    EXPECT_FALSE(w.restart(make_file_header()));
    write_trace(w);
    EXPECT_TRUE(w.close()) << w.error();
    EXPECT_TRUE(w.close());
    traces[i] = all_of(spool);
    EXPECT_EQ(w.bytes(), traces[i].size());
  }
  EXPECT_EQ(traces[0], traces[1]);
  const auto file = mini::parse(traces[0]);
  EXPECT_FALSE(file.cut);
  EXPECT_EQ(mini::entries(8000), file.of_type(LT_BLOCK_EVENTS).back()->words());
}

TEST(Spool, AFullDiskIsAnErrorOfTheWriter) {
  std::optional<FileSizeLimit> full(100000);
  Spool spool(1000);
  TraceWriter w(spool, "spool", make_file_header());
  write_trace(w);
  EXPECT_FALSE(w.close());
  full.reset();
  EXPECT_NE(w.error().find("spool: cannot write at offset "), std::string::npos) << w.error();
  EXPECT_NE(w.error().find("File too large"), std::string::npos) << w.error();
}

}  // namespace
}  // namespace luatrace
