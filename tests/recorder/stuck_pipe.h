// SPDX-License-Identifier: MIT
// A disk that does not answer: a full pipe that nobody reads until the test does.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

class StuckPipe {
 public:
  // Makes a named pipe there, and fills it.
  explicit StuckPipe(const std::string& path) {
    EXPECT_EQ(0, mkfifo(path.c_str(), 0600)) << path;
    fd_ = open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC);
    const std::string filler(4096, 'x');
    for (ssize_t n; (n = write(fd_, filler.data(), filler.size())) > 0;)
      filled_ += static_cast<size_t>(n);
    EXPECT_GT(filled_, 0u);
  }
  ~StuckPipe() { close(fd_); }
  StuckPipe(const StuckPipe&) = delete;
  StuckPipe& operator=(const StuckPipe&) = delete;

  // Another descriptor to write to it, which waits.
  int writer(const std::string& path) const { return open(path.c_str(), O_WRONLY | O_CLOEXEC); }

  // Reads what there is, for as long as something comes within idle_ms, up to `limit` bytes in all.
  void read_for(int idle_ms, size_t limit = 256u << 20) {
    std::string part(1 << 20, 0);
    pollfd p{fd_, POLLIN, 0};
    while (all_.size() < limit && poll(&p, 1, idle_ms) > 0) {
      const ssize_t n = read(fd_, part.data(), part.size());
      if (n > 0) all_.append(part, 0, static_cast<size_t>(n));
    }
  }
  // The bytes that others wrote into it.
  std::string content() const { return all_.size() < filled_ ? "" : all_.substr(filled_); }

 private:
  int fd_ = -1;
  size_t filled_ = 0;
  std::string all_;
};
