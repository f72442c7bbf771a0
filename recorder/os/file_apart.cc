// SPDX-License-Identifier: MIT
#include "recorder/os/file_apart.h"

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "recorder/os/clock.h"
#include "recorder/os/helper.h"
#include "recorder/os/run_apart.h"

namespace luatrace::record {
namespace {

constexpr size_t kMaxBytes = 65536;  // of an answer
constexpr int kEndMs = 5;            // for the end of the process, which was killed

}  // namespace

struct FileApart::Opened {
  bool open;
  mode_t mode;
  uint64_t size;
};

struct FileApart::Request {
  uint64_t at, size;
};

struct FileApart::Answer {
  ssize_t count;  // what pread() returned
  std::byte bytes[kMaxBytes];
};

FileApart::FileApart(const Mapping& m, const std::function<int()>& open, Limits limits)
    : mapping_(m),
      answer_ms_(limits.answer_ms),
      until_ns_(monotonic_ns() + static_cast<uint64_t>(limits.all_ms) * kMillisecond) {
  int ends[2];
  if (is_given_up(m) || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return;
  pid_ = start_helper("luatrace-look", {ends[1]}, [&] { serve(ends[1], open); });
  close(ends[1]);
  socket_ = Descriptor(ends[0]);
  Opened opened{};
  answers_ = pid_ > 0;
  if (receive(&opened, sizeof opened) != sizeof opened) return;
  is_open_ = opened.open;
  mode_ = opened.mode;
  size_ = opened.size;
}

FileApart::~FileApart() {
  if (pid_ > 0) kill(pid_, SIGKILL);
  reap_helper(pid_, kEndMs);
}

// Runs in the other process until requests end.
void FileApart::serve(int socket, const std::function<int()>& open) {
  static Answer answer;
  struct stat st {};
  const int fd = open();
  const bool is_open = fd >= 0 && fstat(fd, &st) == 0;
  const Opened opened{is_open, st.st_mode, static_cast<uint64_t>(st.st_size)};
  send(socket, &opened, sizeof opened, MSG_NOSIGNAL);
  for (Request r; recv(socket, &r, sizeof r, 0) == sizeof r;) {
    answer.count =
        pread(fd, answer.bytes, std::min(r.size, sizeof answer.bytes), static_cast<off_t>(r.at));
    const size_t bytes = answer.count > 0 ? static_cast<size_t>(answer.count) : 0;
    send(socket, &answer, offsetof(Answer, bytes) + bytes, MSG_NOSIGNAL);
  }
}

// Returns how many bytes came; 0: nothing more will come.
size_t FileApart::receive(void* to, size_t size) {
  const uint64_t now = monotonic_ns();
  const uint64_t left = now < until_ns_ ? (until_ns_ - now) / kMillisecond : 0;
  pollfd p{socket_, POLLIN, 0};
  const int limit = static_cast<int>(std::min<uint64_t>(left, static_cast<uint64_t>(answer_ms_)));
  const int ready = answers_ ? poll(&p, 1, limit) : -1;
  const ssize_t n = ready > 0 ? recv(socket_, to, size, 0) : 0;
  if (ready == 0) give_up(mapping_);
  answers_ = n > 0;
  return answers_ ? static_cast<size_t>(n) : 0;
}

bool FileApart::read(uint64_t at, void* to, size_t size) {
  Answer answer;
  for (size_t done = 0; done < size; done += static_cast<size_t>(answer.count)) {
    const Request request{at + done, size - done};
    send(socket_, &request, sizeof request, MSG_NOSIGNAL);
    if (receive(&answer, sizeof answer) < offsetof(Answer, bytes) || answer.count <= 0)
      return false;
    std::memcpy(static_cast<std::byte*>(to) + done, answer.bytes,
                static_cast<size_t>(answer.count));
  }
  return true;
}

ReadAt FileApart::reader() {
  return [this](uint64_t at, void* to, size_t size) { return is_open_ && read(at, to, size); };
}

}  // namespace luatrace::record
