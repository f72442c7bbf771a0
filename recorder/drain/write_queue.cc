// SPDX-License-Identifier: MIT
#include "recorder/drain/write_queue.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "recorder/os/clock.h"
#include "recorder/os/text.h"

namespace luatrace::record {
namespace {

constexpr size_t kSpares = 8;           // batches whose memory is kept for reuse
constexpr uint64_t kLittle = 1u << 20;  // bytes

bool has_events(const BlockBatch& batch) {
  return std::any_of(batch.notes.begin(), batch.notes.end(),
                     [](const BlockNote& n) { return n.type == LT_BLOCK_EVENTS; });
}

// Waits for the condition, or until the monotonic time *until, which may become earlier meanwhile,
// with a notification.
template <class Good>
bool wait_on(std::condition_variable& changed, std::unique_lock<std::mutex>& lock,
             const uint64_t* until, Good good) {
  while (!good()) {
    const uint64_t now = monotonic_ns();
    if (now >= *until) return false;
    const uint64_t left = std::min<uint64_t>(*until - now, 1'000'000'000);
    changed.wait_for(lock, std::chrono::nanoseconds(left));
  }
  return true;
}

}  // namespace

// A file's data for both threads. The sink belongs to the writing thread, except for its first
// query.
class WriteQueue::File : public BlockSink {
 public:
  struct Shared {
    Shared(OpenedOutput output, Publish when)
        : fd(output.fd), sink(std::move(output), when), seekable(sink.seekable()) {}
    const int fd;  // for queries; the sink's
    FileSink sink;
    uint64_t keep_free = 0;  // bytes of the file system; 0: not known yet
    const bool seekable;
    std::atomic<bool> failed = false;
    std::atomic<uint64_t> written = 0;
    std::string error;  // set before `failed`
    // Protected by the queue's lock: what was not written, and what is being written.
    std::vector<BlockNote> unwritten, writing;
    bool given_up = false;
  };

  File(WriteQueue& queue, OpenedOutput output, Publish when)
      : queue_(queue), shared_(std::make_shared<Shared>(std::move(output), when)) {}
  ~File() override { close(); }

  bool seekable() const override { return shared_->seekable; }
  bool write(BlockBatch& batch) override;
  bool rewrite(const lt_file_header& header) override;
  bool restart() override;
  bool close() override;
  bool ok() const override { return !shared_->failed.load(std::memory_order_acquire); }
  std::string error() const override { return ok() ? "" : shared_->error; }
  uint64_t written() const override { return shared_->written; }
  bool late() const override { return late_; }
  void take_all() override { takes_all_ = true; }
  void give_up() override;
  std::vector<BlockNote> withdraw() override;

 private:
  WriteQueue& queue_;
  std::shared_ptr<Shared> shared_;
  bool late_ = false, takes_all_ = false, closed_ = false;
};

struct WriteQueue::Task {
  enum Kind { kWrite, kRewrite, kRestart, kClose } kind;
  std::shared_ptr<File::Shared> file;
  BlockBatch batch = {};
  lt_file_header header = {};

  void run();
  int64_t disk_left();
};

// -- The files --

bool WriteQueue::File::write(BlockBatch& batch) {
  late_ = false;
  std::unique_lock lock(queue_.mutex_);
  if (!ok()) return false;
  const uint64_t size = batch.bytes.size();
  if (!takes_all_ && has_events(batch) && !queue_.has_space(lock, size)) return !(late_ = true);
  Task task{Task::kWrite, shared_, std::move(batch)};
  batch = {};
  if (!queue_.spare_.empty()) {
    batch.bytes = std::move(queue_.spare_.back());
    queue_.spare_.pop_back();
  }
  if ((queue_.held_ += size) >= queue_.limit_) queue_.was_full_ = true;
  queue_.post(std::move(task));
  return true;
}

bool WriteQueue::File::rewrite(const lt_file_header& header) {
  const std::lock_guard lock(queue_.mutex_);
  if (seekable() && ok()) queue_.post({Task::kRewrite, shared_, {}, header});
  return ok();
}

bool WriteQueue::File::restart() {
  const std::lock_guard lock(queue_.mutex_);
  if (!seekable() || !ok()) return false;
  queue_.post({Task::kRestart, shared_});
  return true;
}

bool WriteQueue::File::close() {
  if (!std::exchange(closed_, true)) {
    const std::lock_guard lock(queue_.mutex_);
    queue_.post({Task::kClose, shared_});
  }
  return ok();
}

std::vector<BlockNote> WriteQueue::File::withdraw() {
  const std::lock_guard lock(queue_.mutex_);
  if (!ok()) return std::exchange(shared_->unwritten, {});
  std::vector<BlockNote> notes;
  for (Task& t : queue_.tasks_)
    if (t.file == shared_ && t.kind == Task::kWrite) queue_.held_ -= t.batch.take_out_events(notes);
  return notes;
}

// The thread may still be in a write(), of which the kernel may have taken a part.
void WriteQueue::File::give_up() {
  const std::lock_guard lock(queue_.mutex_);
  if (!ok()) return;
  std::vector<BlockNote> notes = shared_->writing;
  for (const Task& t : queue_.tasks_)
    if (t.file == shared_) notes.insert(notes.end(), t.batch.notes.begin(), t.batch.notes.end());
  if (notes.empty()) return;
  uint64_t bytes = 0;
  for (const BlockNote& note : notes) bytes += note.size;
  shared_->unwritten = std::move(notes);
  shared_->given_up = true;
  shared_->error = "the last " + bytes_text(bytes) + " could not be written in time";
  shared_->failed.store(true, std::memory_order_release);
}

// -- The queue --

WriteQueue::WriteQueue(uint64_t limit) : limit_(limit), thread_([this] { run(); }) {}

WriteQueue::~WriteQueue() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_.notify_one();
  thread_.join();
}

std::unique_ptr<BlockSink> WriteQueue::file(OpenedOutput output, bool empty_it, Publish when) {
  auto made = std::make_unique<File>(*this, std::move(output), when);
  if (empty_it) made->restart();
  return made;
}

// With the lock held.
void WriteQueue::post(Task task) {
  held_tasks_++;
  tasks_.push_back(std::move(task));
  work_.notify_one();
}

// After the deadline a small amount is still accepted, if the disk is not the cause of the delay.
bool WriteQueue::has_space(std::unique_lock<std::mutex>& lock, uint64_t size) {
  if (!patient_) return true;
  if (monotonic_ns() < deadline_)
    return wait_on(done_, lock, &deadline_, [this] { return held_ < limit_; });
  return held_ < kLittle && (taken_late_ += size) < kLittle;
}

void WriteQueue::set_deadline(uint64_t ns) {
  {
    const std::lock_guard lock(mutex_);
    deadline_ = std::min(deadline_, ns);
  }
  done_.notify_all();
}

bool WriteQueue::wait_until_written() {
  std::unique_lock lock(mutex_);
  return wait_on(done_, lock, &deadline_, [this] { return idle(); });
}

bool WriteQueue::wait_until_written(uint64_t until_ns) {
  std::unique_lock lock(mutex_);
  const bool written = wait_on(done_, lock, &until_ns, [this] { return idle(); });
  if (!written) slow_ = true;
  return written;
}

// -- The writing thread --

void WriteQueue::Task::run() {
  FileSink& sink = file->sink;
  if (kind == kWrite) sink.write(batch);
  if (kind == kRewrite) sink.rewrite(header);
  if (kind == kRestart) sink.restart();
  if (kind == kClose) sink.close();
  file->written = sink.written();
}

// Bytes beyond those that are kept free; may be negative.
int64_t WriteQueue::Task::disk_left() {
  struct statvfs disk {};
  if (!file->seekable || fstatvfs(file->fd, &disk) != 0) return INT64_MAX;
  const uint64_t left = uint64_t{disk.f_bavail} * disk.f_frsize;
  if (file->keep_free == 0)
    file->keep_free = std::min(uint64_t{disk.f_blocks} * disk.f_frsize / 10, left / 2);
  return static_cast<int64_t>(left) - static_cast<int64_t>(file->keep_free);
}

bool WriteQueue::disk_has_space(uint64_t bytes) {
  if (!watches_disk_) return true;
  const uint64_t waiting =
      held_;  // before disk_left_: a write that ends now counts twice, not never
  const int64_t left = disk_left_;
  if (left != INT64_MAX && left < static_cast<int64_t>(waiting + bytes)) scarce_ = true;
  return !scarce_;
}

void WriteQueue::announce_scarce() {
  if (!announced_scarce_.exchange(true))
    log("the disk is nearly full: the recording ends, the program continues (with -d or "
        "--max-size this is not checked)");
}

void WriteQueue::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [this] { return stop_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    const uint64_t size = task.batch.bytes.size();
    std::vector<BlockNote> notes;
    FileSink& sink = task.file->sink;
    if (!sink.ok()) notes = task.batch.notes;
    task.file->writing = task.batch.notes;
    lock.unlock();
    task.run();
    const bool looks = watches_disk_ && task.kind == Task::kWrite;
    const int64_t disk_left = looks ? task.disk_left() : INT64_MAX;
    lock.lock();
    if (disk_left < 0) scarce_ = true;
    if (disk_left != INT64_MAX) disk_left_ = disk_left;
    task.file->writing.clear();
    if (!sink.ok() && !task.file->given_up) {
      if (notes.empty()) notes = sink.withdraw();
      std::move(notes.begin(), notes.end(), std::back_inserter(task.file->unwritten));
      if (!task.file->failed) task.file->error = sink.error();
      task.file->failed.store(true, std::memory_order_release);
    }
    held_ -= size;
    held_tasks_--;
    if (task.kind == Task::kWrite && spare_.size() < kSpares)
      spare_.push_back(std::move(task.batch.bytes));
    done_.notify_all();
  }
}

}  // namespace luatrace::record
