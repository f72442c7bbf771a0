// SPDX-License-Identifier: MIT
// Listener: the socket at which Lua states announce their rings.
// Invariants: of an ordinary user the socket lies in a directory that nobody else can enter, and
// only processes of the same user or of root are heard. The command of root may give up its rights
// (nginx's workers do): then others may connect, but the socket's name is a secret of 128 bits in a
// directory that cannot be listed, known to those who inherited it from us. A connection that
// stays silent is dropped.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "luatrace_format.h"

namespace luatrace {

// A valid greeting. Its owner closes both descriptors.
struct Hello {
  pid_t pid = 0;  // as we see it
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
  // What to wait for.
  void add_to(std::vector<pollfd>& fds) const;
  // Accepts and reads whatever is there. Why somebody was refused goes to refusals.
  std::vector<Hello> receive(std::vector<std::string>& refusals);

  // Answers (LT_HELLO_*) and closes the connection (not the ring). False if nobody waits for the
  // answer any more.
  static bool answer(Hello& hello, char answer);

 private:
  struct Connection {
    int fd;
    uint64_t deadline_ns;
  };

  void accept_all(std::vector<std::string>& refusals);

  void start_sweeper();

  std::string directory_, path_;
  int fd_ = -1;
  int sweeper_ = -1;  // a pipe to the process that removes both if this one is killed
  std::vector<Connection> connections_;
};

}  // namespace luatrace
