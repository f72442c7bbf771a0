// SPDX-License-Identifier: MIT
// The queue before the disk: only the queue's thread waits for the disk; blocks for which there was
// no time are left out, counted, and recorded in the file as a loss.
#include "recorder/drain/write_queue.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <map>

#include "recorder/os/clock.h"
#include "recorder/os/signals.h"
#include "tests/recorder/stuck_pipe.h"
#include "tests/trace/mini_reader.h"
#include "trace/trace_writer.h"

namespace luatrace::record {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

class WriteQueueTest : public ::testing::Test {
 protected:
  WriteQueueTest() : path_(::testing::TempDir() + "queue." + std::to_string(getpid())) {
    unlink(path_.c_str());
  }
  ~WriteQueueTest() override { unlink(path_.c_str()); }

  static void write_some(TraceWriter& w, uint32_t stream, uint64_t first, uint32_t count,
                         uint64_t lost = 0) {
    std::vector<uint64_t> words;
    for (uint64_t i = first; i < first + count; i++) words.push_back(lt_word(i, 7, LT_ENTRY));
    EventBlockInfo info;
    info.stream = stream;
    info.count = count;
    info.base_tick = first;
    info.end_tick = first + count - 1;
    info.lost = lost;
    w.write_events(info, words);
  }

  std::string path_;
};

TEST_F(WriteQueueTest, WhatThereIsNoTimeForIsCounted) {
  StuckPipe pipe(path_);
  WriteQueue queue(1u << 20);
  TraceWriter w(queue.file(pipe.writer(path_), true), "pipe", make_file_header());
  for (const uint32_t s : {1u, 2u}) w.write_stream(s, lt_stream_info{});
  w.flush();
  // Ten times the queue's capacity: taken at once, and no caller waits yet.
  for (uint64_t i = 0; i < 160; i++) write_some(w, 1, 1 + i * 8192, 8192);
  write_some(w, 2, 5000, 100, 23);
  EXPECT_TRUE(queue.full());
  queue.wait_for_space();
  EXPECT_FALSE(queue.full());
  EXPECT_TRUE(w.discarded().empty());
  queue.set_deadline(monotonic_ns());
  for (uint64_t i = 160; i < 170; i++) write_some(w, 1, 1 + i * 8192, 8192);
  EXPECT_FALSE(w.discarded().empty());
  EXPECT_FALSE(queue.wait_until_written());
  w.discard();
  ASSERT_EQ(2u, w.discarded().size());
  EXPECT_EQ(100u, w.discarded().at(2).events);
  EXPECT_EQ(23u, w.discarded().at(2).lost);
  w.write_discarded();
  w.write_end(lt_end_info{});
  w.close();
  pipe.read_for(500);
  ASSERT_TRUE(queue.wait_until_written(monotonic_ns() + 20 * kSecond));
  pipe.read_for(0);
  const auto f = mini::parse(pipe.content());  // the numbers of the blocks, too
  EXPECT_FALSE(f.cut);
  ASSERT_TRUE(f.ended());
  uint64_t events = 0;
  for (const auto* b : f.of_type(LT_BLOCK_EVENTS)) events += b->head.count;
  EXPECT_EQ(events, f.blocks.back().as<lt_end_info>().events);
  EXPECT_EQ(f.blocks.size() - 1, f.blocks.back().as<lt_end_info>().blocks);
  EXPECT_EQ(pipe.content().size(), w.bytes());
  // Of each stream: what is there, and one loss with the rest, which begins where the words end.
  for (const uint32_t s : {1u, 2u}) {
    const auto words = f.words(s);
    const uint64_t all = s == 1 ? 170 * 8192 : 100 + 23;
    ASSERT_GE(words.size(), 4u);
    const uint64_t* loss = &words[words.size() - 4];
    EXPECT_EQ(static_cast<uint32_t>(LTX_LOSS), lt_ext_sub(lt_payload(loss[0])));
    EXPECT_EQ(all, words.size() - 4 + loss[1] - 1);
    EXPECT_EQ(s == 1 ? words.size() - 4 + 1 : 5000, loss[2]);
    EXPECT_EQ(s == 1 ? 170u * 8192 : 5099u, lt_time(loss[0]));
    EXPECT_EQ(static_cast<uint32_t>(LTX_STOP), lt_ext_sub(lt_payload(loss[3])));
  }
}

// write() waits for space as soon as it may, and no longer than the deadline.
TEST_F(WriteQueueTest, ItsMemoryIsBounded) {
  StuckPipe pipe(path_);
  WriteQueue queue(1u << 20);
  TraceWriter w(queue.file(pipe.writer(path_), true), "pipe", make_file_header());
  w.write_stream(1, lt_stream_info{});
  queue.wait_for_space();
  queue.set_deadline(monotonic_ns() + kSecond / 10);
  for (uint64_t i = 0; i < 400; i++) write_some(w, 1, 1 + i * 8192, 8192);
  EXPECT_FALSE(w.discarded().empty());
  EXPECT_LT(queue.held(), 2u << 20);
  pipe.read_for(100);
  w.close();
  pipe.read_for(500);
  ASSERT_TRUE(queue.wait_until_written(monotonic_ns() + 20 * kSecond));
}

TEST_F(WriteQueueTest, AFileIsEmptiedWrittenAndItsHeaderRewritten) {
  {
    const int fd = open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_EQ(5, write(fd, "older", 5));
    close(fd);
  }
  WriteQueue queue;
  TraceWriter w(queue.file(open(path_.c_str(), O_WRONLY | O_CLOEXEC), true), path_,
                make_file_header());
  w.write_note("a=1\n");
  w.flush();
  lt_file_header h = make_file_header();
  h.clock = LT_CLOCK_TSC;
  EXPECT_TRUE(w.restart(h));
  w.write_note("b=2\n");
  w.set_clock_rate(77, 3);
  EXPECT_TRUE(w.close());
  ASSERT_TRUE(queue.wait_until_written());
  const auto f = mini::read(path_);
  ASSERT_EQ(1u, f.blocks.size());
  EXPECT_EQ("b=2\n", f.blocks[0].payload);
  EXPECT_EQ(77u, f.header.tick_mult);
  EXPECT_EQ(static_cast<uint32_t>(LT_CLOCK_TSC), f.header.clock);
}

TEST_F(WriteQueueTest, AnErrorIsReportedByTheWriterAndUnwrittenDataIsNotCounted) {
  WriteQueue queue;
  TraceWriter w(queue.file(open("/dev/full", O_WRONLY | O_CLOEXEC), true), "/dev/full",
                make_file_header());
  w.write_stream(1, lt_stream_info{});
  write_some(w, 1, 1, 8192);
  w.flush();
  ASSERT_TRUE(queue.wait_until_written());
  EXPECT_FALSE(w.ok());
  EXPECT_EQ("/dev/full: cannot write at offset 0: No space left on device", w.error());
  w.forget_unwritten();
  EXPECT_EQ(0u, w.events());
  EXPECT_EQ(0u, w.bytes());
}

// Not even the last blocks could be written: nothing of it is counted as written.
TEST_F(WriteQueueTest, WhatIsGivenUpIsNotInTheFile) {
  StuckPipe pipe(path_);
  WriteQueue queue;
  TraceWriter w(queue.file(pipe.writer(path_), true), "pipe", make_file_header());
  for (const uint32_t s : {1u, 2u}) w.write_stream(s, lt_stream_info{});
  write_some(w, 1, 1, 8192);
  write_some(w, 2, 500, 10);
  w.flush();
  write_some(w, 1, 8193, 100, 7);
  w.flush();
  queue.set_deadline(monotonic_ns());
  EXPECT_FALSE(queue.wait_until_written());
  w.discard();
  w.write_discarded();
  w.write_end(lt_end_info{});
  w.close();
  EXPECT_TRUE(w.ok());
  const auto missing = w.forget_unwritten();
  EXPECT_FALSE(w.ok());
  EXPECT_EQ(0u, w.error().find("pipe: the last ")) << w.error();
  EXPECT_NE(std::string::npos, w.error().find(" could not be written in time")) << w.error();
  EXPECT_EQ(0u, w.bytes());
  EXPECT_EQ(0u, w.events());
  // Each event once: here, or among those that were discarded.
  std::map<uint32_t, uint64_t> events;
  for (const auto& [stream, d] : missing) events[stream] += d.events;
  for (const auto& [stream, d] : w.discarded()) events[stream] += d.events;
  EXPECT_EQ((std::map<uint32_t, uint64_t>{{1, 8292}, {2, 10}}), events);
  pipe.read_for(500);  // or the queue's thread would not end
  ASSERT_TRUE(queue.wait_until_written(monotonic_ns() + 20 * kSecond));
}

TEST_F(WriteQueueTest, WhatIsWrittenIsNotGivenUp) {
  WriteQueue queue;
  TraceWriter w(queue.file(open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600), true), path_,
                make_file_header());
  w.write_stream(1, lt_stream_info{});
  write_some(w, 1, 1, 100);
  w.close();
  ASSERT_TRUE(queue.wait_until_written());
  EXPECT_TRUE(w.forget_unwritten().empty());
  EXPECT_TRUE(w.ok());
  EXPECT_EQ(100u, w.events());
}

// Even if the process does not look for signals.
TEST(Signals, TheSecondEndsTheProcess) {
  int ready[2];
  ASSERT_EQ(0, pipe(ready));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Signals signals;
    if (write(ready[1], "r", 1) != 1) _exit(97);
    for (;;) pause();
  }
  close(ready[1]);
  char byte;
  EXPECT_EQ(1, read(ready[0], &byte, 1));
  int status = 0;
  kill(child, SIGINT);
  kill(child, SIGTERM);
  for (int i = 0; i < 30000 && waitpid(child, &status, WNOHANG) == 0; i++) usleep(1000);
  if (!WIFEXITED(status)) kill(child, SIGKILL), waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_GT(WEXITSTATUS(status), 128);
  close(ready[0]);
}

}  // namespace
}  // namespace luatrace::record
