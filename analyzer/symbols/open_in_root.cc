// SPDX-License-Identifier: MIT
// A path is walked name by name, each looked up in the directory opened before (openat with
// O_NOFOLLOW), so that concurrent renames cannot lead out of the root. openat2() does the same, but
// not on every kernel, nor under every seccomp filter.
#include "analyzer/symbols/open_in_root.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#include "trace/descriptor.h"

namespace luatrace::analyze {
namespace {

constexpr size_t kMaxLinks = 40;  // The kernel's limit.
constexpr size_t kMaxFolders = 64;
constexpr size_t kLongestPath = 4 * PATH_MAX;

class Walk {
 public:
  Walk(const std::string& root, std::string path) : rest_(std::move(path)) {
    constexpr int kFolder = O_PATH | O_DIRECTORY | O_CLOEXEC;
    folders_.emplace_back(open(root.empty() ? "/" : root.c_str(), kFolder));
  }
  // Returns the file that the path leads to, opened with O_PATH; -1: none, or a directory.
  Descriptor end();

 private:
  std::string next_name();
  bool follow(const Descriptor& link);

  std::vector<Descriptor> folders_;  // From the root to the current one.
  std::string rest_;
  size_t links_ = 0;
};

std::string Walk::next_name() {
  rest_.erase(0, rest_.find_first_not_of('/'));
  const size_t size = std::min(rest_.find('/'), rest_.size());
  std::string name = rest_.substr(0, size);
  rest_.erase(0, size);
  return name;
}

bool Walk::follow(const Descriptor& link) {
  char target[PATH_MAX];
  const ssize_t size = readlinkat(link, "", target, sizeof target);
  if (size <= 0 || static_cast<size_t>(size) == sizeof target || ++links_ > kMaxLinks) return false;
  if (target[0] == '/') folders_.resize(1);
  rest_.insert(0, target, static_cast<size_t>(size));
  return rest_.size() <= kLongestPath;
}

Descriptor Walk::end() {
  if (folders_[0] < 0 || rest_.size() > kLongestPath || rest_.find('\0') != std::string::npos)
    return Descriptor();
  for (std::string name = next_name(); !name.empty(); name = next_name()) {
    if (name == ".") continue;
    if (name == "..") {
      if (folders_.size() > 1) folders_.pop_back();
      continue;
    }
    Descriptor fd(openat(folders_.back(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat st;
    if (fd < 0 || fstat(fd, &st) != 0) return Descriptor();
    if (S_ISLNK(st.st_mode)) {
      if (!follow(fd)) return Descriptor();
    } else if (S_ISDIR(st.st_mode)) {
      if (folders_.size() == kMaxFolders) return Descriptor();
      folders_.push_back(std::move(fd));
    } else {  // Not a directory: only valid as the last name.
      return rest_.empty() ? std::move(fd) : Descriptor();
    }
  }
  return Descriptor();
}

// Whether the file is of a kernel file system: some of those look like regular files, but reading
// them blocks or has side effects.
bool is_of_kernel(int fd) {
  constexpr uint64_t kTypes[] = {0x9fa0 /* proc */,         0x62656572 /* sys */,
                                 0x64626720 /* debug */,    0x74726163 /* trace */,
                                 0x73636673 /* security */, 0x27e0eb /* cgroup */,
                                 0x63677270 /* cgroup2 */,  0xcafe4a11 /* bpf */,
                                 0x62656570 /* config */,   0x6165676c /* pstore */};
  struct statfs s;
  if (fstatfs(fd, &s) != 0) return true;
  const auto type = static_cast<uint32_t>(s.f_type);
  return std::find(std::begin(kTypes), std::end(kTypes), type) != std::end(kTypes);
}

}  // namespace

int open_regular_in(const std::string& root, const std::string& path) {
  const Descriptor place = Walk(root, path).end();
  struct stat st;
  if (place < 0 || fstat(place, &st) != 0 || !S_ISREG(st.st_mode) || is_of_kernel(place)) return -1;
  const std::string self = "/proc/self/fd/" + std::to_string(place);
  return open(self.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

namespace {

constexpr uint64_t kMaxSections = 100'000, kMaxSegments = 10'000;

// Ehdr, Shdr: of the same ELF class.
template <class Ehdr, class Shdr>
bool are_usual(int fd) {
  Ehdr header;
  if (pread(fd, &header, sizeof header, 0) != static_cast<ssize_t>(sizeof header)) return true;
  uint64_t sections = header.e_shnum, segments = header.e_phnum;
  Shdr first{};  // Holds the counts that are too large for the ELF header.
  const auto at = static_cast<uint64_t>(header.e_shoff);
  if (at != 0 && at <= INT64_MAX && (sections == 0 || segments == PN_XNUM) &&
      pread(fd, &first, sizeof first, static_cast<off_t>(at)) ==
          static_cast<ssize_t>(sizeof first)) {
    if (sections == 0) sections = first.sh_size;
    if (segments == PN_XNUM) segments = first.sh_info;
  }
  return sections <= kMaxSections && segments <= kMaxSegments;
}

}  // namespace

bool has_usual_tables(int fd) {
  unsigned char ident[EI_NIDENT] = {};
  if (pread(fd, ident, sizeof ident, 0) != static_cast<ssize_t>(sizeof ident)) return true;
  if (memcmp(ident, ELFMAG, SELFMAG) != 0) return true;
  if (ident[EI_DATA] != ELFDATA2LSB) return false;  // Other byte orders are not supported here.
  return ident[EI_CLASS] == ELFCLASS64 ? are_usual<Elf64_Ehdr, Elf64_Shdr>(fd)
                                       : are_usual<Elf32_Ehdr, Elf32_Shdr>(fd);
}

}  // namespace luatrace::analyze
