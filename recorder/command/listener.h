// SPDX-License-Identifier: MIT
// Listener: the socket to which Lua VMs send their rings. Invariants: only our own descendants are
// accepted (the command's: start_command() makes us the parent of its orphans), or those of
// another root, and by a normal
// user's recorder only those of the same user or of root. Others are rejected when they connect:
// the path of a socket is no secret (/proc/net/unix). A normal user's socket is in a directory that
// nobody else can enter; root's is in one where nobody else can make another of the same name, if
// there is such a place: its command may give up root (nginx's workers do) and must still reach it.
// A connection that stays silent is dropped, and does not reduce the limit of other users'
// connections.
//
// It runs in a process of its own (ListenerApart) and never closes a descriptor of a peer that may
// not answer (hello.h): it receives no descriptors, and closes a connection only if no message
// waits on it. A helper receives the hello; another takes what else must be closed. Each holds
// nothing else of a peer, and what it holds it is the last to close: it may have to wait for its
// files, this process does not.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "recorder/command/ancestry.h"
#include "trace/descriptor.h"

namespace luatrace::record {

class Listener {
 public:
  // Hellos are sent there (hello.h). Create it before any thread; throws std::runtime_error.
  explicit Listener(int to, const Ancestry& ancestry = Ancestry());
  ~Listener();  // removes socket and directory; closes nothing that may not answer

  const std::string& path() const { return path_; }
  // The descriptors to wait for, and for how many ms (-1: any time).
  void add_to(std::vector<pollfd>& fds) const;
  int pause_ms() const;
  // Descendants of that process are accepted, too. start: Birth::start.
  void add_root(pid_t pid, uint64_t start) { ancestry_.add_root(pid, start); }
  // Accepts what has arrived, and has the hellos received. Refusals of the command's processes are
  // appended to `refusals`.
  void receive(std::vector<std::string>& refusals);
  // Connections of processes that are not the command's, which were closed immediately.
  uint64_t outsiders() const { return outsiders_; }
  // Too much does not answer: no helper takes it. Then nothing more can be accepted.
  bool is_overwhelmed() const;

 private:
  struct Connection {
    int fd;
    ucred peer;
    uint64_t deadline_ns;
  };
  struct Helper {
    pid_t pid;
    uid_t uid;  // of the peer; kNoUser: of several
    uint64_t start_ns;
  };

  enum class Turn { kNow, kLater, kNever };  // to start a helper

  void reserve();
  void release();
  void consider(Connection c, bool is_last, std::vector<std::string>& refusals);
  bool accept_some(std::vector<std::string>& refusals);
  bool read_all(std::vector<std::string>& refusals);
  void drop_silent(std::vector<std::string>& refusals);
  void refuse(const Connection& c, const std::string& why, std::vector<std::string>& refusals);
  void drop(int connection);
  bool pass_on(const Connection& c, std::string& why);
  Turn turn_of(uid_t uid) const;
  bool is_busy() const;
  bool start_helper_for(std::vector<int> connections, uid_t uid, const std::function<void()>& body);
  void close_unread();

  std::string directory_, name_, path_;
  Descriptor directory_fd_;  // the directory itself, whatever its path means later
  Descriptor fd_;
  Descriptor reserved_[2];  // for when no others are free
  int to_;
  std::vector<Connection> connections_;  // silent so far, oldest first
  std::vector<int> unread_;              // connections to be closed, with messages
  std::vector<Helper> helpers_;
  bool hellos_wait_ = false;  // for helpers to end
  Ancestry ancestry_;
  uint64_t outsiders_ = 0;
};

}  // namespace luatrace::record
