// SPDX-License-Identifier: MIT
// ListenerApart: the Listener in a process of its own (luatrace-listen), and what it reports. A
// process that sends a file instead of a ring, or connects and leaves one unread, decides whether
// closing that file ever ends (FUSE; the kernel then waits even after SIGKILL).
//
// Invariants: this process neither holds nor receives, and so never closes, a descriptor that a
// peer has chosen: only memfds, and connections without messages (hello.h). It waits for
// luatrace-listen when that begins and when it ends, where that waits for no peer's files
// (listener.h). luatrace-listen outlives this process, however it ends, and then removes the
// socket.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "recorder/command/hello.h"
#include "trace/descriptor.h"

namespace luatrace::record {

class Listener;

class ListenerApart {
 public:
  // root: accepts it and its descendants; 0: the descendants of this process. Forks: create it
  // before any thread; throws std::runtime_error.
  explicit ListenerApart(pid_t root = 0);
  ~ListenerApart();

  const std::string& path() const { return path_; }
  // The descriptor to wait for.
  void add_to(std::vector<pollfd>& fds) const;
  // What has been reported. Refusals of the command's processes are appended to `refusals`.
  std::vector<Hello> receive(std::vector<std::string>& refusals);
  // Accepts the descendants of that process, too, also after the root's end.
  void add_root(pid_t pid);
  // Closes the socket: processes that wait for an answer, or connect, notice it. The last refusals
  // are appended.
  void stop(std::vector<std::string>& refusals);
  // After stop(): connections of processes that are not the command's.
  uint64_t outsiders() const { return outsiders_; }

 private:
  static void serve(int to, pid_t root);
  static bool take_root(Listener& listener, int to);
  static void accept_all(Listener& listener, int to);
  void take(Report& report, std::vector<Hello>& hellos, std::vector<std::string>& refusals);

  Descriptor fd_;
  pid_t pid_ = -1;
  bool stopping_ = false, ended_ = false;  // ended: it reports nothing more
  std::string path_;
  uint64_t outsiders_ = 0;
};

}  // namespace luatrace::record
