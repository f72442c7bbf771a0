// SPDX-License-Identifier: MIT
// Listener: the socket to which Lua VMs send their rings. Invariants: only our own descendants are
// accepted (the command's: start_command() makes us the parent of its orphans), and by a normal
// user's recorder only those of the same user or of root. Others are rejected when they connect:
// the path of a socket is no secret (/proc/net/unix). A normal user's socket is in a directory that
// nobody else can enter; root's is in one where nobody else can make another of the same name, if
// there is such a place: its command may give up root (nginx's workers do) and must still reach it.
// A connection that stays silent is dropped, and does not reduce the limit of other users'
// connections.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "luatrace_format.h"

namespace luatrace::record {

// A valid hello. Its owner closes both descriptors.
struct Hello {
  pid_t pid = 0;  // in our namespace
  uid_t uid = 0;
  lt_hello text{};
  int ring_fd = -1;
  int socket = -1;
};

class Listener {
 public:
  Listener();   // throws std::runtime_error
  ~Listener();  // removes socket and directory
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  const std::string& path() const { return path_; }
  // The descriptors to wait for.
  void add_to(std::vector<pollfd>& fds) const;
  // Accepts and reads what has arrived. Refusals of the command's processes are appended to
  // `refusals`.
  std::vector<Hello> receive(std::vector<std::string>& refusals);
  // Connections of processes that are not the command's, which were closed immediately.
  uint64_t outsiders() const { return outsiders_; }

  // Answers (LT_HELLO_*) and closes the connection (not the ring). False if the process no longer
  // waits for the answer.
  static bool answer(Hello& hello, char answer);

 private:
  struct Connection {
    int fd;
    ucred peer;
    uint64_t deadline_ns;
  };

  bool is_ours(pid_t pid);
  void reserve();
  void release();
  void consider(Connection c, bool is_last, std::vector<std::string>& refusals);
  bool accept_some(std::vector<std::string>& refusals);
  void read_all(std::vector<Hello>& hellos, std::vector<std::string>& refusals);
  void drop_silent(std::vector<std::string>& refusals);
  void refuse(const Connection& c, const std::string& why, std::vector<std::string>& refusals);

  void start_sweeper(const std::vector<std::string>& directories);

  std::string directory_, name_, path_;
  int directory_fd_ = -1;  // the directory itself, whatever its path means later
  int fd_ = -1;
  int reserved_[2] = {-1, -1};           // descriptors for when no others are free
  int sweeper_ = -1;                     // a pipe to the process that removes both if we are killed
  std::vector<Connection> connections_;  // silent so far, oldest first
  std::map<pid_t, bool> known_;          // during one receive(): descendants or not
  uint64_t outsiders_ = 0;
};

}  // namespace luatrace::record
