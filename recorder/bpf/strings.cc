// SPDX-License-Identifier: MIT
// Strings of a traced process; see strings.h.
#include "recorder/bpf/strings.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "recorder/os/process.h"

namespace luatrace::record::bpf {

ProcessStrings::ProcessStrings(ProcessStrings&& other) noexcept
    : pid_(other.pid_),
      memory_(std::exchange(other.memory_, -1)),
      mappings_(std::move(other.mappings_)) {}

ProcessStrings::~ProcessStrings() {
  if (memory_ >= 0) close(memory_);
}

// The descriptor belongs to the program that ran when it was opened.
void ProcessStrings::restart() {
  if (memory_ >= 0) close(memory_);
  memory_ = open(("/proc/" + std::to_string(pid_) + "/mem").c_str(), O_RDONLY | O_CLOEXEC);
  mappings_ = parse_maps(read_proc(pid_, "maps", 8u << 20));
  std::erase_if(mappings_, [](const Mapping& m) { return m.path.empty() || m.path[0] != '/'; });
}

size_t ProcessStrings::read_memory(uint64_t address, char* to, size_t size) {
  if (memory_ < 0) return 0;
  const ssize_t n = pread(memory_, to, size, static_cast<off_t>(address));
  return n > 0 ? static_cast<size_t>(n) : 0;
}

size_t ProcessStrings::read_file(uint64_t address, char* to, size_t size) const {
  for (const Mapping& m : mappings_) {
    if (address < m.start || address >= m.end) continue;
    const int fd = open_mapping(pid_, m);
    if (fd < 0) return 0;
    const ssize_t n = pread(fd, to, size, static_cast<off_t>(address - m.start + m.offset));
    close(fd);
    return n > 0 ? static_cast<size_t>(n) : 0;
  }
  return 0;
}

std::optional<std::string> ProcessStrings::read(uint64_t address, size_t max_size) {
  constexpr uint64_t kPage = 4096;  // the smallest page: a read must not reach a missing page
  std::string text;
  while (text.size() < max_size) {
    char buffer[kPage];
    const uint64_t at = address + text.size();
    const size_t want = std::min<size_t>(kPage - at % kPage, max_size - text.size());
    size_t n = read_memory(at, buffer, want);
    if (n == 0) n = read_file(at, buffer, want);
    if (n == 0) return std::nullopt;
    const size_t length = strnlen(buffer, n);
    text.append(buffer, length);
    if (length < n) break;
  }
  return text;
}

}  // namespace luatrace::record::bpf
