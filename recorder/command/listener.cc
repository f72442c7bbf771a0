// SPDX-License-Identifier: MIT
#include "recorder/command/listener.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <stdexcept>
#include <utility>

#include "recorder/command/hello.h"
#include "recorder/os/clock.h"
#include "recorder/os/helper.h"
#include "recorder/os/process.h"
#include "recorder/os/text.h"

namespace luatrace::record {
namespace {

constexpr uint64_t kPatienceNs = 2'000'000'000;
constexpr int kBacklog = 4096;
constexpr int kAtOnce = 64, kMaxRounds = 64;  // connections accepted before they are read; rounds
constexpr size_t kMaxSilent = 256, kMaxSilentOfUser = 64;
// Helpers at a time; of one user; connections that wait for a helper to close them. A helper that
// takes longer than that is stuck; that many that are, of one user.
constexpr size_t kMaxHelpers = 64, kMaxHelpersOfUser = 16, kMaxUnread = 128, kMaxStuckOfUser = 8;
constexpr uint64_t kStuckNs = 2'000'000'000;
constexpr uid_t kNoUser = static_cast<uid_t>(-1);
constexpr int kLookMs = 20, kBusyMs = 1;

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

// Directories that may be created for a socket of that name, best first.
std::vector<std::string> directories(const std::string& socket) {
  const std::string suffix = "/luatrace-" + secret_name().substr(0, 8);
  std::vector<std::string> all;
  for (const std::string& base : bases())
    if (base.size() + suffix.size() + 1 + socket.size() < sizeof(sockaddr_un::sun_path))
      all.push_back(base + suffix);
  return all;
}

// The first one that can be created.
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

Descriptor open_directory(const std::string& path) {
  return Descriptor(open(path.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

// Where others can create names, the path may now lead elsewhere: this removes only a socket of our
// secret name and an empty directory, never what a link points to.
void remove_socket(const std::string& directory, const std::string& name) {
  if (const Descriptor fd = open_directory(directory); fd >= 0) {
    unlinkat(fd, name.c_str(), 0);
    rmdir(directory.c_str());
  }
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

Listener::Listener(int to, const Ancestry& ancestry)
    : name_(secret_name()), to_(to), ancestry_(ancestry) {
  directory_ = make_directory(directories(name_));
  path_ = directory_ + "/" + name_;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path_.c_str(), path_.size() + 1);
  directory_fd_ = open_directory(directory_);
  fd_ = Descriptor(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (directory_fd_ < 0 || fd_ < 0 ||
      bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      (geteuid() == 0 && chmod(path_.c_str(), 0666) != 0) || listen(fd_, kBacklog) != 0) {
    const std::string why = errno_text(errno);
    remove_socket(directory_, name_);
    throw std::runtime_error(path_ + ": cannot listen: " + why);
  }
  reserve();
}

// What waits to be accepted would be closed with the socket. All peers are told before anything is
// closed. What may not be closed is left to the end of this process.
Listener::~Listener() {
  remove_socket(directory_, name_);
  shutdown(fd_, SHUT_RDWR);
  for (int c; (c = accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;)
    connections_.push_back({c, {}, 0});
  for (const auto& c : connections_) drop(c.fd);
  for (const Helper& h : helpers_) reap_helper(h.pid, 0);
}

// Is something to be done that must wait for a helper to end?
bool Listener::is_busy() const {
  return hellos_wait_ || unread_.size() >= kMaxUnread;
}

void Listener::add_to(std::vector<pollfd>& fds) const {
  if (is_busy()) return;
  fds.push_back({fd_, POLLIN, 0});
  for (const auto& c : connections_) fds.push_back({c.fd, POLLIN, 0});
}

int Listener::pause_ms() const {
  if (is_busy()) return kBusyMs;
  return connections_.empty() && unread_.empty() && helpers_.empty() ? -1 : kLookMs;
}

void Listener::refuse(const Connection& c, const std::string& why,
                      std::vector<std::string>& refusals) {
  refusals.push_back(refusal_of(c.peer.pid, why));
  drop(c.fd);
}

// The peer notices it now, whenever it is closed.
void Listener::drop(int connection) {
  shutdown(connection, SHUT_RDWR);
  if (is_empty(connection))
    close(connection);
  else
    unread_.push_back(connection);
}

// Without a descriptor for it a connection would wait, and wake us, until it gives up; without one
// for reading /proc, no process would count as ours.
void Listener::reserve() {
  for (Descriptor& fd : reserved_)
    if (fd < 0) fd = Descriptor(fcntl(directory_fd_, F_DUPFD_CLOEXEC, 0));
}

void Listener::release() {
  for (Descriptor& fd : reserved_) fd = Descriptor();
}

// A connection of another process costs no more than this. is_last: there is no descriptor to keep
// it.
void Listener::consider(Connection c, bool is_last, std::vector<std::string>& refusals) {
  std::string why;
  release();
  if (!peer_of(c.fd, c.peer, why)) {
    refuse(c, why, refusals);
  } else if (!ancestry_.includes(c.peer.pid)) {
    if (!process_is_gone(c.peer.pid)) outsiders_++;  // otherwise it waits for no answer
    drop(c.fd);
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
    if (is_busy() || ancestry_.is_exhausted()) return false;  // they wait for the next pass
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

// Passes those connections to a helper. False: there is none, they are still ours.
bool Listener::start_helper_for(std::vector<int> connections, uid_t uid,
                                const std::function<void()>& body) {
  int ours[2];  // closed when the helper's connections are nobody else's
  if (pipe2(ours, O_CLOEXEC) != 0) return false;
  std::vector<int> kept = connections;
  kept.insert(kept.end(), {ours[0], to_});
  const pid_t pid = start_helper("luatrace-listen", kept, [&] {
    char byte;
    while (read(ours[0], &byte, 1) < 0 && errno == EINTR) {
    }
    body();
  });
  close(ours[0]);
  if (pid > 0) helpers_.push_back({pid, uid, monotonic_ns()});
  for (const int c : connections)
    if (pid > 0) close(c);
  close(ours[1]);
  return pid > 0;
}

// Helpers that do not end must not keep those of other users from being started.
Listener::Turn Listener::turn_of(uid_t uid) const {
  size_t of_user = 0, stuck = 0;
  for (const Helper& h : helpers_) {
    if (h.uid != uid) continue;
    of_user++;
    stuck += monotonic_ns() - h.start_ns > kStuckNs ? 1 : 0;
  }
  if (stuck >= kMaxStuckOfUser) return Turn::kNever;
  const bool full = of_user >= kMaxHelpersOfUser || helpers_.size() >= kMaxHelpers;
  return full ? Turn::kLater : Turn::kNow;
}

// Has a helper receive the hello. False: it must wait, or is refused (see why).
bool Listener::pass_on(const Connection& c, std::string& why) {
  const Turn turn = turn_of(c.peer.uid);
  const bool late = turn == Turn::kLater && monotonic_ns() > c.deadline_ns;
  if (late || turn == Turn::kNever) why = "its user has sent too many files that do not answer";
  if (turn != Turn::kNow) return false;
  const auto receive = [&] { receive_hello(c.fd, c.peer.pid, c.peer.uid, to_); };
  if (start_helper_for({c.fd}, c.peer.uid, receive)) return true;
  why = kTooFew;
  return false;
}

// Returns whether there was a hello.
bool Listener::read_all(std::vector<std::string>& refusals) {
  std::vector<Connection> waiting;
  bool any = false;
  hellos_wait_ = false;
  for (const auto& c : connections_) {
    std::string why;
    const int state = peek_hello(c.fd, why);
    any = any || state > 0;
    if (state > 0 && pass_on(c, why)) continue;
    if (state == 0 && monotonic_ns() > c.deadline_ns) why = "it sent nothing";
    if (!why.empty()) {
      refuse(c, why, refusals);
    } else {
      waiting.push_back(c);
      hellos_wait_ = hellos_wait_ || state > 0;
    }
  }
  connections_.swap(waiting);
  return any;
}

// Has a helper close what waits for that; while another does it, many at once.
void Listener::close_unread() {
  const auto has_ended = [](const Helper& h) {
    return waitpid(h.pid, nullptr, WNOHANG | __WALL) != 0;
  };
  std::erase_if(helpers_, has_ended);
  const bool another = std::any_of(helpers_.begin(), helpers_.end(),
                                   [](const Helper& h) { return h.uid == kNoUser; });
  if (unread_.empty() || (another && unread_.size() < kMaxUnread)) return;
  if (turn_of(kNoUser) == Turn::kNow && start_helper_for(unread_, kNoUser, [] {})) unread_.clear();
}

bool Listener::is_overwhelmed() const {
  return unread_.size() >= kMaxUnread && turn_of(kNoUser) == Turn::kNever;
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

void Listener::receive(std::vector<std::string>& refusals) {
  bool more = true;
  ancestry_.begin_pass();
  for (int i = 0; more && i < kMaxRounds; i++) {
    more = accept_some(refusals);
    if (read_all(refusals)) more = false;  // they wait for an answer
    drop_silent(refusals);
    close_unread();
  }
}

}  // namespace luatrace::record
