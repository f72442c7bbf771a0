// SPDX-License-Identifier: MIT
// TraceWriter: an independent reader reads what it wrote, and each kind of failure leaves a
// readable file and a message with name and reason.
#include "trace/trace_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>

#include "tests/trace/file_size_limit.h"
#include "tests/trace/mini_reader.h"
#include "trace/records.h"

namespace luatrace {
namespace {

class WriterTest : public ::testing::Test {
 protected:
  WriterTest() : path_(::testing::TempDir() + "writer." + std::to_string(getpid())) {}
  ~WriterTest() override { unlink(path_.c_str()); }

  int open_file() {
    std::string error;
    const int fd = open_trace(path_, &error);
    EXPECT_GE(fd, 0) << error;
    return fd;
  }
  const std::string path_;
};

EventBlockInfo info_for(uint32_t stream, size_t count) {
  EventBlockInfo info;
  info.stream = stream;
  info.count = static_cast<uint32_t>(count);
  info.base_tick = 1000;
  info.end_tick = 1000 + count - 1;
  info.coroutine = 3;
  info.depth = 2;
  return info;
}

TEST_F(WriterTest, EveryKindOfBlockComesBack) {
  TraceWriter w(open_file(), path_, make_file_header());
  lt_stream_info stream{};
  stream.tid = 77;
  std::vector<std::byte> funcs, maps;
  lt_func f{};
  f.type = LT_FUNC_LUA;
  f.id = 9;
  append_func(funcs, f, "@a.lua", "name");
  EXPECT_TRUE(func_is_valid(funcs.data(), funcs.size()));
  const std::byte id[3] = {std::byte{1}, std::byte{2}, std::byte{3}};
  append_map(maps, lt_map{}, id, "/lib/x.so");
  const auto small = mini::entries(3), large = mini::entries(8192);
  EXPECT_TRUE(w.write_note("command=x\n"));
  EXPECT_TRUE(w.write_process(1, lt_process_info{}, "/bin/x", std::string_view("x\0y", 3)));
  EXPECT_TRUE(w.write_maps(1, 1, maps));
  EXPECT_TRUE(w.write_stream(1, stream));
  EXPECT_TRUE(w.write_funcs(1, 1, funcs));
  EXPECT_TRUE(w.write_events(info_for(1, 3), small));
  EXPECT_TRUE(w.write_events(info_for(1, 8192), large));
  EXPECT_TRUE(w.write_clock({1, 2, 3}));
  EXPECT_TRUE(w.set_clock_rate(123456, 20));
  EXPECT_TRUE(w.write_end({}));
  EXPECT_TRUE(w.close()) << w.error();

  const mini::File file = mini::read(path_);
  EXPECT_FALSE(file.cut);
  EXPECT_EQ(w.bytes(), mini::slurp(path_).size());
  EXPECT_EQ(123456u, file.header.tick_mult);
  EXPECT_EQ(20u, file.header.tick_shift);
  ASSERT_EQ(9u, file.blocks.size());
  EXPECT_EQ("command=x\n", file.blocks[0].payload);
  EXPECT_EQ(std::string("/bin/xx\0y", 9), file.blocks[1].payload.substr(sizeof(lt_process_info)));
  EXPECT_EQ(9, file.blocks[2].as<lt_map>().path_len);
  EXPECT_EQ("/lib/x.so", file.blocks[2].payload.substr(sizeof(lt_map), 9));
  EXPECT_EQ(77, file.blocks[3].as<lt_stream_info>().tid);
  EXPECT_STREQ("@a.lua", &file.blocks[4].payload[sizeof(lt_func)]);
  EXPECT_STREQ("name", &file.blocks[4].payload[sizeof(lt_func) + 7]);
  EXPECT_EQ(small, file.blocks[5].words());
  EXPECT_EQ(3u, file.blocks[5].head.coroutine);
  EXPECT_EQ(2u, file.blocks[5].head.depth);
  EXPECT_EQ(large, file.blocks[6].words());
  const auto end = file.blocks[8].as<lt_end_info>();
  EXPECT_EQ(8195u, end.events);
  EXPECT_EQ(8u, end.blocks);
  EXPECT_EQ(1u, end.streams);
}

TEST_F(WriterTest, SequenceNumbersAreOfEachStream) {
  TraceWriter w(open_file(), path_, make_file_header());
  for (uint32_t s : {1u, 2u}) w.write_stream(s, lt_stream_info{});
  for (uint32_t s : {1u, 2u, 1u, 1u, 2u}) w.write_events(info_for(s, 2), mini::entries(2));
  ASSERT_TRUE(w.close());
  const auto file = mini::read(path_);  // checks the numbers
  EXPECT_EQ(3u, file.of_type(LT_BLOCK_EVENTS, 1).size());
  EXPECT_EQ(2u, file.of_type(LT_BLOCK_EVENTS, 2).size());
}

TEST_F(WriterTest, RestartForgetsWhatWasWritten) {
  TraceWriter w(open_file(), path_, make_file_header());
  w.write_note("old=1\n");
  w.flush();
  lt_file_header h = make_file_header();
  h.clock = LT_CLOCK_TSC;
  ASSERT_TRUE(w.restart(h));
  w.write_note("new=1\n");
  ASSERT_TRUE(w.close());
  const auto file = mini::read(path_);
  EXPECT_EQ(static_cast<uint32_t>(LT_CLOCK_TSC), file.header.clock);
  ASSERT_EQ(1u, file.blocks.size());
  EXPECT_EQ("new=1\n", file.blocks[0].payload);
}

TEST_F(WriterTest, PipeIsNotRewritten) {
  int p[2];
  ASSERT_EQ(0, pipe(p));
  TraceWriter w(p[1], "pipe", make_file_header());
  EXPECT_FALSE(w.seekable());
  EXPECT_TRUE(w.set_clock_rate(5, 1));
  EXPECT_TRUE(w.write_note("a=b\n"));
  EXPECT_FALSE(w.restart(make_file_header()));
  EXPECT_TRUE(w.close());
  std::string s(4096, 0);
  const ssize_t n = read(p[0], s.data(), s.size());
  ::close(p[0]);
  ASSERT_GT(n, 0);
  const auto file = mini::parse(s.substr(0, static_cast<size_t>(n)));
  EXPECT_EQ(1u, file.blocks.size());
}

TEST_F(WriterTest, MessagesNameFileAndReason) {
  std::string error;
  EXPECT_EQ(-1, open_trace("/", &error));
  EXPECT_EQ("/: cannot open for writing: Is a directory", error);
  EXPECT_EQ(-1, open_trace(path_ + "/x/y", &error));
  EXPECT_EQ(path_ + "/x/y: cannot open for writing: No such file or directory", error);
  TraceWriter full(open("/dev/full", O_WRONLY), "/dev/full", make_file_header());
  EXPECT_FALSE(full.flush());
  EXPECT_EQ("/dev/full: cannot write at offset 0: No space left on device", full.error());
  EXPECT_FALSE(full.write_note("x"));
  EXPECT_FALSE(full.close());
}

// The write that crosses it is cut short.
TEST_F(WriterTest, AFullDiskLeavesWholeBlocks) {
  std::optional<FileSizeLimit> full(200001);
  TraceWriter w(open_file(), path_, make_file_header());
  w.write_stream(1, lt_stream_info{});
  bool good = true;
  for (int i = 0; i < 10 && good; i++)
    good = w.write_events(info_for(1, 8192), mini::entries(8192));
  full.reset();
  EXPECT_FALSE(good);
  EXPECT_NE(std::string::npos, w.error().find("File too large")) << w.error();
  EXPECT_FALSE(w.close());
  const auto file = mini::read(path_);
  EXPECT_FALSE(file.cut);
  EXPECT_EQ(3u, file.of_type(LT_BLOCK_EVENTS).size());
}

TEST_F(WriterTest, WhatWasFlushedIsThereBeforeClose) {
  TraceWriter w(open_file(), path_, make_file_header());
  w.write_stream(1, lt_stream_info{});
  w.write_events(info_for(1, 2), mini::entries(2));
  ASSERT_TRUE(w.flush());
  EXPECT_EQ(2u, mini::read(path_).words(1).size());
}

}  // namespace
}  // namespace luatrace
