// SPDX-License-Identifier: MIT
// Listener; see listener.h.
#include "recorder/command/listener.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <stdexcept>
#include <utility>

#include "recorder/os/clock.h"
#include "recorder/os/helper.h"
#include "recorder/os/process.h"
#include "recorder/os/text.h"

namespace luatrace::record {
namespace {

constexpr uint64_t kPatienceNs = 2'000'000'000;
constexpr int kBacklog = 4096;
constexpr int kAtOnce = 64,
              kMaxRounds = 64;  // connections accepted before they are read; rounds
constexpr const char* kTooFew = "luatrace-record has too few file descriptors left (ulimit -n)";
constexpr size_t kMaxSilent = 256, kMaxSilentOfUser = 64;

bool is_writable_by_others(const struct stat& st) {
  return st.st_uid != 0 || (st.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

// What root requires of a directory.
struct Place {
  bool open_to_all = true;  // every user may enter it and all directories above it
  bool ours_alone = true;   // nobody else can create a name in it, or replace it
};

Place look_at(const std::string& path) {
  Place place;
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    struct stat st {};
    if (stat(path.substr(0, end).c_str(), &st) != 0) return {false, false};
    if ((st.st_mode & S_IXOTH) == 0) place.open_to_all = false;
    const bool sticky = (st.st_mode & S_ISVTX) != 0 && st.st_uid == 0 && end != path.npos;
    if (is_writable_by_others(st) && !sticky) place.ours_alone = false;
    if (end == path.npos) return place;
  }
}

// 32 hexadecimal digits.
std::string secret_name() {
  std::random_device random;
  char text[33];
  std::snprintf(text, sizeof text, "%08x%08x%08x%08x", random(), random(), random(), random());
  return text;
}

// Directories in which one may be created, best first.
std::vector<std::string> bases() {
  const bool root = geteuid() == 0;
  std::vector<std::string> all, best, open;
  const char* const names[] = {std::getenv("XDG_RUNTIME_DIR"), root ? "/run" : nullptr,
                               std::getenv("TMPDIR"), "/tmp"};
  for (const char* base : names) {
    if (base == nullptr || base[0] != '/') continue;
    const Place place = look_at(base);
    if (root && place.open_to_all) (place.ours_alone ? best : open).push_back(base);
    all.push_back(base);
  }
  best.insert(best.end(), open.begin(), open.end());
  best.insert(best.end(), all.begin(), all.end());
  return best;
}

// Directories that may be made for a socket of that name, best first.
std::vector<std::string> directories(const std::string& socket) {
  const std::string suffix = "/luatrace-" + secret_name().substr(0, 8);
  std::vector<std::string> all;
  for (const std::string& base : bases())
    if (base.size() + suffix.size() + 1 + socket.size() < sizeof(sockaddr_un::sun_path))
      all.push_back(base + suffix);
  return all;
}

// The first that can be made.
std::string make_directory(const std::vector<std::string>& wanted) {
  std::string last = "no path is short enough";
  for (const std::string& name : wanted) {
    const std::string base = name.substr(0, name.rfind('/'));
    if (mkdir(name.c_str(), 0700) != 0) {
      last = base + ": " + errno_text(errno);
      continue;
    }
    if (geteuid() == 0 && look_at(base).open_to_all) chmod(name.c_str(), 0711);
    return name;
  }
  throw std::runtime_error("cannot create a directory for the socket: " + last);
}

// Where others can create names, the path may now lead elsewhere: this removes only a socket of our
// secret name and an empty directory, never what a link points to.
void remove_socket(const std::string& directory, const std::string& name) {
  const int fd = open(directory.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return;
  unlinkat(fd, name.c_str(), 0);
  close(fd);
  rmdir(directory.c_str());
}

// The data on a connection. 0: nothing yet; 1: a hello; -1: refused, see why.
int read_hello(int fd, Hello& hello, std::string& why) {
  alignas(cmsghdr) char control[CMSG_SPACE(16 * sizeof(int))];
  iovec part{&hello.text, sizeof hello.text};
  msghdr m{};
  m.msg_iov = &part;
  m.msg_iovlen = 1;
  m.msg_control = control;
  m.msg_controllen = sizeof control;
  const ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  for (cmsghdr* c = CMSG_FIRSTHDR(&m); n >= 0 && c != nullptr; c = CMSG_NXTHDR(&m, c)) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; i++) {
      int got;
      std::memcpy(&got, CMSG_DATA(c) + i * sizeof got, sizeof got);
      if (hello.ring_fd < 0)
        hello.ring_fd = got;
      else
        close(got);
    }
  }
  if (n == 0)
    why =
        "it sent nothing and disconnected (a program accepts root and its own user; root's "
        "programs only "
        "root)";
  else if (n != sizeof hello.text || hello.text.magic != LT_HELLO_MAGIC)
    why = "it did not send a hello";
  else if (hello.text.version != LT_RING_VERSION)
    why = "it speaks version " + std::to_string(hello.text.version) + ", this recorder version " +
          std::to_string(LT_RING_VERSION);
  else if (hello.ring_fd < 0 && (m.msg_flags & MSG_CTRUNC) != 0)
    why = kTooFew;
  else if (hello.ring_fd < 0)
    why =
        "it sent no memory: it has too few file descriptors or too little memory left for a ring, "
        "or its limit of file sizes (ulimit -f) is below that of a ring";
  if (!why.empty() && hello.ring_fd >= 0) close(hello.ring_fd);
  return why.empty() ? 1 : -1;
}

bool peer_of(int fd, ucred& peer, std::string& why) {
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    why = "its identity is not known: " + errno_text(errno);
  } else if (peer.uid != geteuid() && peer.uid != 0 && geteuid() != 0) {
    why = "it belongs to user " + std::to_string(peer.uid);
  } else if (peer.pid <= 0) {
    why = "it is in a process namespace that cannot be seen from here";
  }
  return why.empty();
}

}  // namespace

Listener::Listener() : name_(secret_name()) {
  const std::vector<std::string> wanted = directories(name_);
  start_sweeper(wanted);
  directory_ = make_directory(wanted);
  path_ = directory_ + "/" + name_;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
  directory_fd_ = open(directory_.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  fd_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (directory_fd_ < 0 || fd_ < 0 ||
      bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      (geteuid() == 0 && chmod(path_.c_str(), 0666) != 0) || listen(fd_, kBacklog) != 0) {
    const std::string why = errno_text(errno);
    remove_socket(directory_, name_);
    throw std::runtime_error(path_ + ": cannot listen: " + why);
  }
  reserve();
}

Listener::~Listener() {
  for (const auto& c : connections_) close(c.fd);
  close(fd_);
  remove_socket(directory_, name_);
  if (directory_fd_ >= 0) close(directory_fd_);
  release();
  if (sweeper_ >= 0) close(sweeper_);
}

// A process that waits for the end of this one, however it ends. It exists before any of the
// directories does. Other threads are running, so it makes system calls only.
void Listener::start_sweeper(const std::vector<std::string>& directories) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  start_helper("luatrace-sweep", {ends[0]}, [&] {
    char byte;
    while (read(ends[0], &byte, 1) < 0 && errno == EINTR) {
    }
    for (const std::string& directory : directories) remove_socket(directory, name_);
  });
  close(ends[0]);
  sweeper_ = ends[1];
}

void Listener::add_to(std::vector<pollfd>& fds) const {
  fds.push_back({fd_, POLLIN, 0});
  for (const auto& c : connections_) fds.push_back({c.fd, POLLIN, 0});
}

void Listener::refuse(const Connection& c, const std::string& why,
                      std::vector<std::string>& refusals) {
  refusals.push_back("process " + std::to_string(c.peer.pid) + " was refused: " + why);
  close(c.fd);
}

// A process that floods us is looked up once for all its waiting connections.
bool Listener::is_ours(pid_t pid) {
  const auto [at, fresh] = known_.try_emplace(pid, false);
  if (fresh) at->second = descends_from(pid, getpid());
  return at->second;
}

// Without a descriptor for it a connection would wait, and wake us, until it gives up; without one
// for reading /proc, no process would count as ours.
void Listener::reserve() {
  for (int& fd : reserved_)
    if (fd < 0) fd = fcntl(directory_fd_, F_DUPFD_CLOEXEC, 0);
}

void Listener::release() {
  for (int& fd : reserved_)
    if (fd >= 0) close(std::exchange(fd, -1));
}

// A connection of another process costs no more than this. is_last: there is no descriptor to keep
// it.
void Listener::consider(Connection c, bool is_last, std::vector<std::string>& refusals) {
  std::string why;
  release();
  if (!peer_of(c.fd, c.peer, why)) {
    refuse(c, why, refusals);
  } else if (!is_ours(c.peer.pid)) {
    if (!process_is_gone(c.peer.pid)) outsiders_++;  // otherwise it waits for no answer
    close(c.fd);
  } else if (is_last) {
    refuse(c, kTooFew, refusals);
  } else {
    connections_.push_back(c);
  }
  reserve();
}

// Returns whether there may be more.
bool Listener::accept_some(std::vector<std::string>& refusals) {
  for (int i = 0; i < kAtOnce; i++) {
    int fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    const bool is_last = fd < 0 && (errno == EMFILE || errno == ENFILE);
    if (is_last) {
      release();
      fd = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    }
    if (fd < 0) return reserve(), false;
    consider({fd, {}, monotonic_ns() + kPatienceNs}, is_last, refusals);
  }
  return true;
}

void Listener::read_all(std::vector<Hello>& hellos, std::vector<std::string>& refusals) {
  std::vector<Connection> waiting;
  for (const auto& c : connections_) {
    Hello h;
    std::string why;
    int state = read_hello(c.fd, h, why);
    if (state == 0 && monotonic_ns() > c.deadline_ns) {
      state = -1;
      why = "it sent nothing";
    }
    if (state == 0) {
      waiting.push_back(c);
    } else if (state > 0) {
      h.pid = c.peer.pid;
      h.uid = c.peer.uid;
      h.socket = c.fd;
      hellos.push_back(h);
    } else {
      refuse(c, why, refusals);
    }
  }
  connections_.swap(waiting);
}

// Drops the oldest silent connections of users who have too many.
void Listener::drop_silent(std::vector<std::string>& refusals) {
  std::map<uid_t, size_t> of_user;
  for (const auto& c : connections_) of_user[c.peer.uid]++;
  size_t all = connections_.size();
  std::vector<Connection> kept;
  for (const auto& c : connections_) {
    size_t& n = of_user[c.peer.uid];
    if (n <= kMaxSilentOfUser && all <= kMaxSilent) {
      kept.push_back(c);
      continue;
    }
    refuse(c, "it sent nothing", refusals);
    n--;
    all--;
  }
  connections_.swap(kept);
}

std::vector<Hello> Listener::receive(std::vector<std::string>& refusals) {
  std::vector<Hello> hellos;
  bool more = true;
  known_.clear();  // the number of an ended process may be re-used
  for (int i = 0; more && hellos.empty() && i < kMaxRounds; i++) {
    more = accept_some(refusals);
    read_all(hellos, refusals);
    drop_silent(refusals);
  }
  return hellos;
}

bool Listener::answer(Hello& hello, char answer) {
  const bool heard = send(hello.socket, &answer, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
  close(hello.socket);
  hello.socket = -1;
  return heard;
}

}  // namespace luatrace::record
