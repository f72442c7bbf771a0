// SPDX-License-Identifier: MIT
// The path is walked one name at a time from a descriptor of the directory (O_PATH: nothing is
// opened), so that the file checked is the file used; the kernel never follows a link itself. Links
// in /proc lead to open files, not to names: there the kernel follows the link, if it is trusted.
#include "trace/open_output.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <random>
#include <utility>

#include "trace/descriptor.h"

namespace luatrace {
namespace {

constexpr int kMaxLinks = 40, kMaxTries = 8;

bool is_trusted(uid_t uid) {
  return uid == 0 || uid == geteuid();
}

// May another user create a name there? (Our own group counts as ours alone: many systems give each
// user a group and let it write.)
bool others_may_add(const struct stat& directory) {
  const mode_t others = directory.st_gid == getegid() ? S_IWOTH : S_IWGRP | S_IWOTH;
  return !is_trusted(directory.st_uid) || (directory.st_mode & others) != 0;
}

// And replace one of our names?
bool others_may_replace(const struct stat& directory) {
  return others_may_add(directory) &&
         (!is_trusted(directory.st_uid) || (directory.st_mode & S_ISVTX) == 0);
}

std::string user_text(uid_t uid) {
  return "user " + std::to_string(uid);
}

// Empty, or why that link is not followed.
std::string distrust_link(const std::string& name, const struct stat& link,
                          const struct stat& directory) {
  if (is_trusted(link.st_uid) && !others_may_replace(directory) &&
      (link.st_nlink == 1 || !others_may_add(directory)))
    return "";
  return "'" + name + "' is a symbolic link of " + user_text(link.st_uid) + " in a directory of " +
         user_text(directory.st_uid) +
         ", so another user could have created it; give the path of its target";
}

// Empty, or why that file is not written.
std::string distrust_file(const struct stat& file, const struct stat& directory) {
  if (S_ISCHR(file.st_mode) || S_ISBLK(file.st_mode) || !others_may_add(directory)) return "";
  if (file.st_uid != geteuid())
    return "it belongs to " + user_text(file.st_uid) +
           ", in a directory where others may create files; remove it or choose another name";
  if (file.st_nlink > 1)
    return "it has other names (hard links), in a directory where others may create files; remove "
           "it or choose another name";
  return "";
}

// Where a path leads: the directory, the last name, and what that is, if it exists.
struct Place {
  Descriptor directory, file;
  std::string name;
  std::string why;  // why it leads nowhere
  struct stat directory_stat {
  }, file_stat{};
  bool through_proc = false;  // the last name is a link that only the kernel can follow
};

class Walk {
 public:
  explicit Walk(std::string path) : rest_(std::move(path)) {}
  Place run();

 private:
  bool fail(int error) {
    place_.why = std::strerror(error);
    return false;
  }
  bool start();
  bool step(const std::string& name, bool last);
  bool follow(const std::string& name, const struct stat& link, bool last);
  std::string take_name();

  Place place_;
  std::string rest_;
  int links_ = 0;
  bool arrived_ = false;
};

// Starts at the root or in the working directory.
bool Walk::start() {
  const bool absolute = rest_.starts_with('/');
  place_.directory = Descriptor(open(absolute ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  return place_.directory >= 0 || fail(errno);
}

std::string Walk::take_name() {
  const size_t begin = std::min(rest_.find_first_not_of('/'), rest_.size());
  const size_t end = std::min(rest_.find('/', begin), rest_.size());
  std::string name = rest_.substr(begin, end - begin);
  rest_.erase(0, end);
  return name;
}

bool Walk::follow(const std::string& name, const struct stat& link, bool last) {
  if (++links_ > kMaxLinks) return fail(ELOOP);
  place_.why = distrust_link(name, link, place_.directory_stat);
  if (!place_.why.empty()) return false;
  const int here = place_.directory;
  struct statfs system {};
  if (fstatfs(here, &system) == 0 && system.f_type == PROC_SUPER_MAGIC) {
    Descriptor next(openat(here, name.c_str(), O_PATH | O_CLOEXEC));
    if (next < 0) return fail(errno);
    place_.through_proc = last;
    if (!last) return place_.directory = std::move(next), true;
    if (fstat(next, &place_.file_stat) != 0) return fail(errno);
    place_.file = std::move(next);
    place_.name = name;
    return arrived_ = true;
  }
  char text[PATH_MAX];
  const ssize_t n = readlinkat(here, name.c_str(), text, sizeof text);
  if (n <= 0 || n == sizeof text) return fail(n < 0 ? errno : ENAMETOOLONG);
  rest_ = std::string(text, static_cast<size_t>(n)) + rest_;
  if (rest_.size() > 16 * PATH_MAX) return fail(ENAMETOOLONG);
  return text[0] != '/' || start();
}

bool Walk::step(const std::string& name, bool last) {
  if (fstat(place_.directory, &place_.directory_stat) != 0) return fail(errno);
  Descriptor next(openat(place_.directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (next < 0 && !(last && errno == ENOENT)) return fail(errno);
  struct stat st {};
  if (next >= 0 && fstat(next, &st) != 0) return fail(errno);
  if (next >= 0 && S_ISLNK(st.st_mode)) return follow(name, st, last);
  if (!last && !S_ISDIR(st.st_mode)) return fail(ENOTDIR);
  if (!last) return place_.directory = std::move(next), true;
  place_.file = std::move(next);
  place_.file_stat = st;
  place_.name = name;
  return arrived_ = true;
}

Place Walk::run() {
  if (rest_.empty()) return fail(ENOENT), std::move(place_);
  if (!start()) return std::move(place_);
  while (!arrived_) {
    const std::string name = take_name();
    const bool last = rest_.empty();
    if (name.empty() ? !fail(EISDIR) : !step(name, last)) break;
  }
  if (arrived_ && S_ISDIR(place_.file_stat.st_mode)) fail(EISDIR);
  return std::move(place_);
}

// An existing file is opened by its descriptor, so that it cannot be replaced in between.
int open_existing(const Place& place) {
  const std::string path = "/proc/self/fd/" + std::to_string(place.file);
  return open(path.c_str(), O_WRONLY | O_NOCTTY | O_CLOEXEC);
}

OpenedOutput opened(const Place& place) {
  OpenedOutput out;
  if (place.file < 0) {
    constexpr int kNew = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC;
    out.fd = openat(place.directory, place.name.c_str(), kNew, S_IRUSR | S_IWUSR);
    out.created = out.fd >= 0;
  } else {
    if (!place.through_proc) out.why = distrust_file(place.file_stat, place.directory_stat);
    if (out.why.empty()) out.fd = open_existing(place);
  }
  return out;
}

// -- Replacements --

#ifndef STATX_ATTR_MOUNT_ROOT
#define STATX_ATTR_MOUNT_ROOT 0x2000
#endif

// A file that is mounted by itself, as in containers, cannot be replaced.
bool is_mounted(int file) {
  struct statx x {};
  return statx(file, "", AT_EMPTY_PATH, STATX_INO, &x) == 0 &&
         (x.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

// Can a new file take the place of what is there, if anything is?
bool is_replaceable(const Place& place) {
  if (place.file < 0) return true;
  return !place.through_proc && S_ISREG(place.file_stat.st_mode) && place.file_stat.st_nlink == 1 &&
         !is_mounted(place.file);
}

std::string proc_path(int fd) {
  return "/proc/self/fd/" + std::to_string(fd);
}

// Empty, or why that file must stay.
std::string keep_reason(const Place& place, const KeepReason& keep) {
  if (!keep || place.file < 0 || place.through_proc || !S_ISREG(place.file_stat.st_mode) ||
      place.file_stat.st_size == 0)
    return "";
  const Descriptor reader(open(proc_path(place.file).c_str(), O_RDONLY | O_NOCTTY | O_CLOEXEC));
  return keep(reader);
}

// A name for a new file beside `name`, which no other file has.
std::string temporary_name(const std::string& name) {
  static std::random_device device;
  char digits[16];
  std::snprintf(digits, sizeof digits, ".%08x", static_cast<unsigned>(device()));
  return '.' + name.substr(0, NAME_MAX / 2) + digits;
}

// Creates a file without a name, or if that is impossible, with a temporary one.
int create_beside(const Place& place, std::string& temporary) {
  const mode_t mode = S_IRUSR | S_IWUSR;
  Descriptor fd(openat(place.directory, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode));
  // Without /proc it could not be given a name.
  if (fd >= 0 && access(proc_path(fd).c_str(), F_OK) == 0) return fd.release();
  if (fd < 0 && (errno == EACCES || errno == EPERM || errno == ENOSPC)) return -1;
  constexpr int kNew = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  temporary = temporary_name(place.name);
  return openat(place.directory, temporary.c_str(), kNew, mode);
}

// Gives the new file mode and owner of the old one.
bool take_over_rights(int fd, const struct stat& old) {
  struct stat st {};
  if (fstat(fd, &st) != 0) return false;
  if ((st.st_uid != old.st_uid || st.st_gid != old.st_gid) &&
      fchown(fd, old.st_uid, old.st_gid) != 0)
    return false;
  return fchmod(fd, old.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO)) == 0;
}

}  // namespace

// A new file that has no name yet, or a temporary one.
class NewFile {
 public:
  // fd: the file, which stays open until publish(); its owner closes it.
  NewFile(int fd, Descriptor directory, std::string name, std::string temporary)
      : fd_(fd),
        directory_(std::move(directory)),
        name_(std::move(name)),
        temporary_(std::move(temporary)) {}
  ~NewFile() { abandon(); }
  std::string publish();
  // Removes the file. False: it is published.
  bool abandon();

 private:
  bool link_temporary();
  std::string distrust_target() const;
  void remove_temporary();

  std::mutex mutex_;
  enum { kNew, kPublished, kAbandoned } state_ = kNew;
  const int fd_;
  Descriptor directory_;    // until the state is final: a server has many files
  const std::string name_;  // in the directory
  std::string temporary_;   // the name that it has there meanwhile; empty: none
};

// rename(2) replaces a file, but link(2), which names one without a name, does not.
bool NewFile::link_temporary() {
  for (int i = 0; i < kMaxTries; i++) {
    temporary_ = temporary_name(name_);
    if (linkat(AT_FDCWD, proc_path(fd_).c_str(), directory_, temporary_.c_str(),
               AT_SYMLINK_FOLLOW) == 0)
      return true;
    if (errno != EEXIST) break;
  }
  temporary_.clear();
  return false;
}

// The file that has the name by now may be another one than at the beginning.
std::string NewFile::distrust_target() const {
  struct stat file {
  }, directory{};
  if (fstat(directory_, &directory) != 0) return std::strerror(errno);
  if (fstatat(directory_, name_.c_str(), &file, AT_SYMLINK_NOFOLLOW) != 0)
    return errno == ENOENT ? "" : std::strerror(errno);
  if (!S_ISREG(file.st_mode)) return "something else has its name by now";
  return distrust_file(file, directory);
}

void NewFile::remove_temporary() {
  if (!temporary_.empty()) unlinkat(directory_, temporary_.c_str(), 0);
  temporary_.clear();
}

std::string NewFile::publish() {
  const std::lock_guard lock(mutex_);
  if (state_ != kNew) return "";
  std::string why = distrust_target();
  if (why.empty() && temporary_.empty() && !link_temporary()) why = std::strerror(errno);
  if (why.empty() && renameat(directory_, temporary_.c_str(), directory_, name_.c_str()) != 0)
    why = std::strerror(errno);
  state_ = why.empty() ? kPublished : kAbandoned;
  if (!why.empty()) remove_temporary();
  directory_ = Descriptor();
  return why;
}

bool NewFile::abandon() {
  const std::lock_guard lock(mutex_);
  if (state_ == kPublished) return false;
  state_ = kAbandoned;
  remove_temporary();
  directory_ = Descriptor();
  return true;
}

namespace {

// No file, and no reason: there can be none beside the old one. Takes the place's directory.
OpenedOutput opened_beside(Place& place) {
  OpenedOutput out;
  const bool fresh = place.file < 0;
  if (!fresh) out.why = distrust_file(place.file_stat, place.directory_stat);
  if (!out.why.empty()) return out;
  // A file that may not be written must not be replaced either.
  if (!fresh && faccessat(AT_FDCWD, proc_path(place.file).c_str(), W_OK, AT_EACCESS) != 0)
    return out.why = std::strerror(errno), out;
  std::string temporary;
  Descriptor fd(create_beside(place, temporary));
  if (fd < 0) {
    const bool other_way = !fresh && (errno == EACCES || errno == EPERM);
    if (!other_way) out.why = std::strerror(errno);
    return out;
  }
  const bool alike = fresh || take_over_rights(fd, place.file_stat);
  auto file =
      std::make_shared<NewFile>(fd, std::move(place.directory), place.name, std::move(temporary));
  if (!alike) return file->abandon(), out;
  out.fd = fd.release();
  out.created = fresh;
  out.beside = std::move(file);
  return out;
}

OpenedOutput with_identity(OpenedOutput out) {
  struct stat st {};
  if (out.fd >= 0 && fstat(out.fd, &st) == 0) out.device = st.st_dev, out.inode = st.st_ino;
  return out;
}

}  // namespace

OpenedOutput open_output(const std::string& path) {
  OpenedOutput out;
  for (int i = 0; i < kMaxTries; i++) {
    const Place place = Walk(path).run();
    out.why = place.why;
    if (out.why.empty()) out = opened(place);
    if (out.fd >= 0 || !out.why.empty()) break;
    out.why = std::strerror(errno);
    if (errno != EEXIST) break;  // else another process has just created it
    if (i + 1 < kMaxTries) out.why.clear();
  }
  return with_identity(std::move(out));
}

OpenedOutput open_replacement(const std::string& path, const KeepReason& keep) {
  Place place = Walk(path).run();
  OpenedOutput out;
  out.why = place.why;
  if (out.why.empty() && is_replaceable(place)) out = opened_beside(place);
  if (out.fd < 0 && out.why.empty()) {
    out = opened(place);
    if (out.fd < 0 && out.why.empty()) out.why = std::strerror(errno);
  }
  if (out.fd < 0) return out;
  out = with_identity(std::move(out));
  if (std::string why = keep_reason(place, keep); !why.empty()) {
    remove_output(path, out);
    close(std::exchange(out.fd, -1));
    out.why = std::move(why);
  }
  return out;
}

std::string publish_output(const OpenedOutput& output) {
  return output.beside ? output.beside->publish() : "";
}

bool empty_output(const OpenedOutput& output) {
  struct stat st {};
  if (fstat(output.fd, &st) != 0) return false;
  return !S_ISREG(st.st_mode) || ftruncate(output.fd, 0) == 0;
}

void remove_output(const std::string& path, const OpenedOutput& output) {
  if ((output.beside && output.beside->abandon()) || !output.created) return;
  const Place place = Walk(path).run();
  if (place.why.empty() && place.file >= 0 && !place.through_proc &&
      place.file_stat.st_dev == output.device && place.file_stat.st_ino == output.inode)
    unlinkat(place.directory, place.name.c_str(), 0);
}

}  // namespace luatrace
