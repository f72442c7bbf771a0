// SPDX-License-Identifier: MIT
#include "analyzer/push/spool.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "base/escape.h"

namespace luatrace::analyze {
namespace {

namespace fs = std::filesystem;

constexpr const char* kMagic = "luatrace-push 1";
constexpr size_t kDigits = 20;  // Of the number that a name begins with.

[[noreturn]] void spool_error(const std::string& path, const std::string& why) {
  throw std::runtime_error("--push-spool: '" + path + "': " + why);
}

// The lines before the body; none of the texts has a line end.
std::string entry_head(const PushRequest& r) {
  return std::string(kMagic) + '\n' + r.form + '\n' + r.query + '\n' + r.type + '\n' + r.encoding +
         '\n' + r.id + '\n' + std::to_string(r.body.size()) + '\n';
}

bool write_all(int fd, const std::string& bytes) {
  for (size_t at = 0; at < bytes.size();) {
    const ssize_t n = write(fd, bytes.data() + at, bytes.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    at += static_cast<size_t>(n);
  }
  return fsync(fd) == 0;
}

// An entry's file is complete before it gets its name.
std::string write_entry(const std::string& path, const PushRequest& r) {
  const std::string part = path + ".part";
  const int fd = open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return std::strerror(errno);
  bool good = write_all(fd, entry_head(r) + r.body);
  int error = errno;
  close(fd);
  if (good && rename(part.c_str(), path.c_str()) != 0) good = false, error = errno;
  if (good) return "";
  unlink(part.c_str());
  return std::strerror(error);
}

}  // namespace

Spool::Spool(std::string directory, uint64_t limit)
    : directory_(std::move(directory)), limit_(limit) {
  if (mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST)
    spool_error(directory_, std::strerror(errno));
  lock_ = open(path("lock", "").c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (lock_ < 0) spool_error(directory_, std::strerror(errno));
  while (flock(lock_, LOCK_EX) != 0)
    if (errno != EINTR) spool_error(directory_, std::strerror(errno));
  // Parts are of processes that died while they wrote.
  std::error_code error;
  std::vector<fs::path> sending, parts;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory_, error)) {
    if (entry.path().extension() == ".sending") sending.push_back(entry.path().stem());
    if (entry.path().extension() == ".part") parts.push_back(entry.path());
  }
  for (const fs::path& name : sending) move(name, ".sending", ".unanswered");
  for (const fs::path& name : parts) fs::remove(name, error);
}

Spool::~Spool() {
  close(lock_);
}

uint64_t Spool::bytes() const {
  uint64_t sum = 0;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory_, error)) {
    std::error_code gone;
    const uint64_t size = entry.file_size(gone);
    if (!gone) sum += size;
  }
  return sum;
}

// Names rise with time, also if the system's clock is set back.
std::string Spool::next_name() {
  const std::vector<std::string> names = waiting();
  const uint64_t known = names.empty() ? 0 : std::strtoull(names.back().c_str(), nullptr, 10);
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const uint64_t time =
      static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
  last_ = std::max({time, known + 1, last_ + 1});
  const std::string digits = std::to_string(last_);
  return std::string(kDigits - digits.size(), '0') + digits;
}

void Spool::add(const PushRequest& r) {
  const uint64_t size = entry_head(r).size() + r.body.size(), used = bytes();
  if (size > limit_ || used > limit_ - size)
    spool_error(directory_, "full: " + std::to_string(used) + " bytes are in it, " +
                                std::to_string(size) + " more are over the limit of " +
                                std::to_string(limit_) + " (--push-spool-limit)");
  const std::string why = write_entry(path(next_name() + '-' + r.id, ".push"), r);
  if (!why.empty()) spool_error(directory_, why);
}

std::vector<std::string> Spool::waiting() const {
  std::vector<std::string> names;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory_, error))
    if (entry.path().extension() == ".push") names.push_back(entry.path().stem());
  if (error) spool_error(directory_, error.message());
  std::sort(names.begin(), names.end());
  return names;
}

std::optional<PushRequest> Spool::read(const std::string& name) const {
  std::ifstream in(path(name, ".push"), std::ios::binary);
  PushRequest r;
  std::string magic, size;
  for (std::string* line : {&magic, &r.form, &r.query, &r.type, &r.encoding, &r.id, &size})
    if (!std::getline(in, *line)) return std::nullopt;
  std::ostringstream body;
  body << in.rdbuf();
  r.body = body.str();
  if (magic != kMagic || size != std::to_string(r.body.size())) return std::nullopt;
  return r;
}

void Spool::move(const std::string& name, const char* from, const char* to) {
  if (rename(path(name, from).c_str(), path(name, to).c_str()) != 0)
    spool_error(path(name, from), std::strerror(errno));
}

void Spool::remove(const std::string& name) {
  if (unlink(path(name, ".sending").c_str()) != 0)
    spool_error(path(name, ".sending"), std::strerror(errno));
}

}  // namespace luatrace::analyze
