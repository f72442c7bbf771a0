// SPDX-License-Identifier: MIT
// SilentFiles: a file system (FUSE) with one file, which stops answering when a test says so. It
// exists in this process's own table of mounts only, so it ends with the test whatever happens.
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace luatrace::record {

class SilentFiles {
 public:
  // contents: the file whose contents the one file has.
  explicit SilentFiles(const std::string& contents) {
    char name[] = "/tmp/luatrace-test-XXXXXX";
    if (mkdtemp(name) == nullptr) return;
    folder_ = name;
    mkdir((folder_ + "/files").c_str(), 0755);
    int ends[2];
    if (unshare(CLONE_NEWNS) != 0 ||
        mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        pipe2(ends, O_CLOEXEC) != 0)
      return;
    server_ = fork();
    if (server_ == 0) {
      dup2(ends[1], 1);
      execl(SILENT_FUSE, SILENT_FUSE, (folder_ + "/files").c_str(), contents.c_str(),
            stop().c_str(), nullptr);
      _exit(1);
    }
    close(ends[1]);
    char answer = 0;
    works_ = read(ends[0], &answer, 1) == 1;  // "ready"
    output_ = ends[0];
  }

  ~SilentFiles() {
    if (server_ > 0) kill(server_, SIGKILL), waitpid(server_, nullptr, 0);
    if (output_ >= 0) close(output_);
    umount2((folder_ + "/files").c_str(), MNT_DETACH);
    rmdir((folder_ + "/files").c_str());
    unlink(stop().c_str());
    rmdir(folder_.c_str());
  }

  SilentFiles(const SilentFiles&) = delete;
  SilentFiles& operator=(const SilentFiles&) = delete;

  // False: no permission to mount a file system, or no FUSE.
  bool works() const { return works_; }
  std::string folder() const { return folder_ + "/files"; }
  std::string file() const { return folder() + "/libluajit.so"; }
  void stop_answering() { close(open(stop().c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)); }

 private:
  std::string stop() const { return folder_ + "/stop"; }

  std::string folder_;
  pid_t server_ = -1;
  int output_ = -1;
  bool works_ = false;
};

}  // namespace luatrace::record
