// SPDX-License-Identifier: MIT
// A file on a file system (FUSE) of the test's own, which answers everything (closing: if the test
// wants it to) and counts what it is asked. Nobody waits for it when the test has been killed.
// Needs root.
#pragma once

#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace luatrace::record {

class AskedFile {
 public:
  AskedFile() {
    char folder[] = "/tmp/asked-XXXXXX";
    device_ = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (device_ < 0 || mkdtemp(folder) == nullptr) return;
    folder_ = folder;
    const std::string options =
        "fd=" + std::to_string(device_) + ",rootmode=40000,user_id=0,group_id=0";
    mounted_ = mount("asked", folder, "fuse", MS_NOSUID | MS_NODEV, options.c_str()) == 0;
    if (!mounted_) return;
    const pid_t test = getpid();
    guard_ = fork();
    if (guard_ == 0) guard(test);
    server_ = std::thread([this] { serve(); });
  }
  ~AskedFile() {
    answer_flushes();
    if (guard_ > 0 && kill(guard_, SIGKILL) == 0) waitpid(guard_, nullptr, 0);
    if (mounted_) umount2(folder_.c_str(), MNT_DETACH);
    if (server_.joinable()) server_.join();
    if (device_ >= 0) close(device_);
    if (!folder_.empty()) rmdir(folder_.c_str());
  }
  AskedFile(const AskedFile&) = delete;
  AskedFile& operator=(const AskedFile&) = delete;

  bool mounted() const { return mounted_; }
  int open_with(int flags) const { return open((folder_ + "/file").c_str(), flags | O_CLOEXEC); }
  // How often it was asked that (FUSE_*).
  int asked(uint32_t what) const { return asked_[what % kKinds]; }
  // From now on whoever closes the file waits, until answer_flushes().
  void hold_flushes() {
    const std::lock_guard lock(mutex_);
    holds_ = true;
  }
  void answer_flushes() {
    const std::lock_guard lock(mutex_);
    holds_ = false;
    for (const uint64_t unique : held_) reply(unique, 0, nullptr, 0);
    held_.clear();
  }
  // The threads whose closing it was asked about; 0: one of another namespace.
  std::vector<uint32_t> flushed_by() const {
    const std::lock_guard lock(mutex_);
    return flushed_by_;
  }

 private:
  static constexpr uint64_t kNode = 2;
  static constexpr size_t kKinds = 64;

  // In a process of its own. Who closes the file of a test that was killed would wait for ever: the
  // kernel closes the device only after that.
  [[noreturn]] void guard(pid_t test) const {
    const std::string program = "/proc/" + std::to_string(test) + "/exe";
    while (access(program.c_str(), F_OK) == 0) usleep(50'000);
    umount2(folder_.c_str(), MNT_FORCE | MNT_DETACH);
    rmdir(folder_.c_str());
    _exit(0);
  }

  void reply(uint64_t unique, int error, const void* data, size_t size) {
    std::array<char, 1024> bytes;
    if (error != 0) size = 0;
    const fuse_out_header out{static_cast<uint32_t>(sizeof out + size), error, unique};
    std::memcpy(bytes.data(), &out, sizeof out);
    if (size > 0) std::memcpy(bytes.data() + sizeof out, data, size);
    if (write(device_, bytes.data(), out.len) < 0) std::perror("write");
  }

  // The attributes are valid for no time: whoever wants them must ask.
  void answer(const fuse_in_header& in) {
    fuse_attr attr{};
    attr.ino = in.opcode == FUSE_LOOKUP ? kNode : in.nodeid;
    attr.nlink = 1;
    attr.mode = attr.ino == kNode ? S_IFREG | 0644 : S_IFDIR | 0755;
    fuse_init_out init{};
    init.major = FUSE_KERNEL_VERSION;
    init.minor = 31;
    init.max_write = 65536;
    fuse_attr_out attributes{};
    attributes.attr = attr;
    fuse_entry_out entry{};
    entry.nodeid = kNode;
    entry.attr = attr;
    const fuse_open_out opened{};
    switch (in.opcode) {
      case FUSE_INIT:
        return reply(in.unique, 0, &init, sizeof init);
      case FUSE_GETATTR:
        return reply(in.unique, 0, &attributes, sizeof attributes);
      case FUSE_LOOKUP:
        return reply(in.unique, 0, &entry, sizeof entry);
      case FUSE_OPEN:
        return reply(in.unique, 0, &opened, sizeof opened);
      case FUSE_FLUSH:
      case FUSE_RELEASE:
        return reply(in.unique, 0, nullptr, 0);
      case FUSE_FORGET:
      case FUSE_BATCH_FORGET:
      case FUSE_INTERRUPT:
        return;
      default:
        return reply(in.unique, -ENOSYS, nullptr, 0);
    }
  }

  void serve() {
    std::vector<char> request(1 << 20);
    for (;;) {
      const ssize_t n = read(device_, request.data(), request.size());
      if (n < 0 && errno == ENODEV) return;  // unmounted
      fuse_in_header in;
      if (n < static_cast<ssize_t>(sizeof in)) continue;
      std::memcpy(&in, request.data(), sizeof in);
      const std::lock_guard lock(mutex_);
      if (in.opcode == FUSE_FLUSH) flushed_by_.push_back(in.pid);
      asked_[in.opcode % kKinds]++;
      if (in.opcode == FUSE_FLUSH && holds_)
        held_.push_back(in.unique);
      else
        answer(in);
    }
  }

  int device_ = -1;
  bool mounted_ = false;
  pid_t guard_ = -1;
  std::string folder_;
  std::thread server_;
  std::array<std::atomic<int>, kKinds> asked_{};
  mutable std::mutex mutex_;
  bool holds_ = false;
  std::vector<uint64_t> held_;  // requests
  std::vector<uint32_t> flushed_by_;
};

}  // namespace luatrace::record
