// SPDX-License-Identifier: MIT
#include "module/dump_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace luatrace::module {
namespace {

// In the folder of the file, whose own name may be as long as a name can be.
constexpr char kTemporary[] = ".luatrace.XXXXXX";

// Copies the whole file `from`. 0 or an errno.
int copy(int from, int to) {
  char buffer[16384];
  for (off_t at = 0;;) {
    const ssize_t n = pread(from, buffer, sizeof buffer, at);
    if (n <= 0) return n == 0 ? 0 : errno;
    for (ssize_t done = 0, m; done < n; done += m) {
      m = write(to, buffer + done, static_cast<size_t>(n - done));
      if (m < 0 && errno != EINTR) return errno;
      if (m < 0) m = 0;
    }
    at += n;
  }
}

int copy_and_close(int from, int to) {
  int error = copy(from, to);
  if (close(to) != 0 && error == 0) error = errno;
  return error;
}

int write_itself(int from, const char* path) {
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY;
  const int to = open(path, flags | O_NONBLOCK, 0600);  // a pipe that nobody reads: ENXIO
  if (to < 0) return errno;
  fcntl(to, F_SETFL, 0);
  return copy_and_close(from, to);
}

// The name of the file itself, to which links lead. False: something that is not replaced.
bool find_target(const char* path, char (&name)[PATH_MAX], struct stat& old, bool& exists) {
  exists = stat(path, &old) == 0;
  if (exists)
    return S_ISREG(old.st_mode) && old.st_nlink == 1 && access(path, W_OK) == 0 &&
           realpath(path, name) != nullptr;
  if (errno != ENOENT || lstat(path, &old) == 0) return false;
  return std::snprintf(name, sizeof name, "%s", path) < PATH_MAX;
}

}  // namespace

int dump_file(int from, const char* path) {
  char name[PATH_MAX], temporary[PATH_MAX + sizeof kTemporary];
  struct stat old {};
  bool exists = false;
  if (!find_target(path, name, old, exists)) return write_itself(from, path);
  const char* const last = std::strrchr(name, '/');
  const int folder = last == nullptr ? 0 : static_cast<int>(last + 1 - name);
  std::snprintf(temporary, sizeof temporary, "%.*s%s", folder, name, kTemporary);
  const int to = mkostemp(temporary, O_CLOEXEC);  // mode 0600
  if (to < 0 && exists && (errno == EACCES || errno == EPERM)) return write_itself(from, path);
  if (to < 0) return errno;
  if (exists && (fchown(to, old.st_uid, old.st_gid) != 0 || fchmod(to, old.st_mode & 0777) != 0)) {
    close(to);
    unlink(temporary);
    return write_itself(from, path);
  }
  int error = copy_and_close(from, to);
  if (error == 0 && rename(temporary, name) != 0) error = errno;
  if (error != 0) unlink(temporary);
  return error;
}

}  // namespace luatrace::module
