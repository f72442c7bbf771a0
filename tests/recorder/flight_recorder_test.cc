// SPDX-License-Identifier: MIT
// A snapshot that somebody waits for: he learns once whether it is complete, and it is not if the
// end of the recording has cut it.
#include "recorder/drain/flight_recorder.h"

#include <fcntl.h>
#include <unistd.h>

#include "tests/recorder/stuck_pipe.h"
#include "tests/trace/mini_reader.h"

namespace luatrace::record {
namespace {

class FlightRecorderTest : public ::testing::Test {
 protected:
  FlightRecorderTest() : path_(::testing::TempDir() + "flight." + std::to_string(getpid())) {
    FlightSettings settings;
    settings.bytes = 4u << 20;
    settings.quiet = true;
    OpenedOutput first;
    first.fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    recorder_ = std::make_unique<FlightRecorder>(
        queue_, settings, first, "first", [](uint32_t, std::string&) { return OpenedOutput{}; },
        [] { return ClockRate{}; });
    writer_ = std::make_unique<TraceWriter>(recorder_->sink(), "window", make_file_header());
    writer_->write_stream(1, lt_stream_info{});
    for (uint64_t i = 0; i < 40; i++) write_some(1 + i * 8192, 8192);
    writer_->flush();
  }
  ~FlightRecorderTest() override { unlink(path_.c_str()); }

  void write_some(uint64_t first, uint32_t count) {
    std::vector<uint64_t> words;
    for (uint64_t i = first; i < first + count; i++) words.push_back(lt_word(i, 7, LT_ENTRY));
    EventBlockInfo info;
    info.stream = 1;
    info.count = count;
    info.base_tick = first;
    info.end_tick = first + count - 1;
    writer_->write_events(info, words);
  }

  void request(int fd) {
    SnapshotFile file{{}, "snapshot", [this](const std::string& why) { answers_.push_back(why); }};
    file.opened.fd = fd;
    lt_clock_info now{};
    now.tick = 40 * 8192;
    recorder_->request("test", make_file_header(), now, std::move(file));
  }
  // The recording ends; nothing may wait any more.
  void finish() {
    queue_.wait_for_space();
    queue_.set_deadline(monotonic_ns());
    lt_clock_info now{};
    now.tick = 40 * 8192;
    recorder_->finish(LTQ_SIGNAL, -1, make_file_header(), now);
  }

  std::string path_;
  WriteQueue queue_{1u << 20};
  std::unique_ptr<FlightRecorder> recorder_;
  std::unique_ptr<TraceWriter> writer_;
  std::vector<std::string> answers_;
};

TEST_F(FlightRecorderTest, ACompleteSnapshotIsReportedOnce) {
  request(open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  for (int i = 0; i < 5000 && recorder_->busy(); i++) recorder_->step(), usleep(2000);
  ASSERT_EQ(std::vector<std::string>{""}, answers_);
  EXPECT_TRUE(mini::read(path_).ended());
  EXPECT_GT(mini::read(path_).words(1).size(), 10 * 8192u);
  EXPECT_TRUE(recorder_->files().empty());
}

TEST_F(FlightRecorderTest, OneThatIsCutIsReportedAsCut) {
  StuckPipe pipe(path_);
  request(pipe.writer(path_));
  for (int i = 0; i < 10; i++) recorder_->step();
  EXPECT_TRUE(answers_.empty());
  finish();
  ASSERT_EQ(1u, answers_.size());
  EXPECT_NE("", answers_[0]);
  pipe.read_for(200);
  EXPECT_FALSE(recorder_->failed());
}

// What there was no time for is dropped; the rest reaches the file in the end.
TEST_F(FlightRecorderTest, OneWithoutAllEventsIsReportedAsCut) {
  StuckPipe pipe(path_);
  request(pipe.writer(path_));
  queue_.wait_for_space();
  queue_.set_deadline(monotonic_ns());
  for (int i = 0; i < 10; i++) recorder_->step();
  pipe.read_for(500);
  ASSERT_TRUE(queue_.wait_until_written(monotonic_ns() + 20 * kSecond));
  recorder_->step();
  ASSERT_EQ(1u, answers_.size());
  EXPECT_NE(std::string::npos, answers_[0].find("could not be written in time")) << answers_[0];
}

TEST_F(FlightRecorderTest, MoreThanTwoAreRefused) {
  StuckPipe pipe(path_);
  for (int i = 0; i < 3; i++) request(pipe.writer(path_));
  EXPECT_EQ(std::vector<std::string>{"other snapshots are being written"}, answers_);
  finish();
  EXPECT_EQ(3u, answers_.size());
  pipe.read_for(200);
}

}  // namespace
}  // namespace luatrace::record
