// SPDX-License-Identifier: MIT
// Hellos of Lua VMs, and the reports of them that luatrace-listen sends to the recorder.
//
// A descriptor that came in a message may be that of any file, also of one that never answers
// (FUSE), and so may those of a message that nobody has received: the kernel closes them with the
// connection. Invariant: the recorder gets only memfds, and only connections on which nothing
// waits and nothing can arrive.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "luatrace_format.h"

namespace luatrace::record {

constexpr const char* kTooFew = "luatrace-record has too few file descriptors left (ulimit -n)";

// A valid hello. Its owner closes both descriptors.
struct Hello {
  pid_t pid = 0;  // in our namespace
  uid_t uid = 0;
  lt_hello text{};
  int ring_fd = -1;
  int socket = -1;
};

// Answers (LT_HELLO_*) and closes the connection (not the ring). False if the process no longer
// waits for the answer.
bool answer_hello(Hello& hello, char answer);

// Can that connection be closed without closing a file of its peer? Shut it down for reading
// before: then nothing arrives later.
bool is_empty(int connection);

// Looks at the first message, and receives nothing. 0: there is none yet; 1: a hello with a
// descriptor; -1: neither, see why.
int peek_hello(int connection, std::string& why);

struct Report {
  enum class Kind { kPath, kFailed, kHello, kRefused, kEnd };
  Kind kind = Kind::kEnd;
  Hello hello;             // kHello; both descriptors are -1 unless both could be received
  uint64_t outsiders = 0;  // kEnd: Listener::outsiders()
  char text[400] = "";     // kPath: of the socket; kFailed, kRefused: what the user should know
};

// Waits until there is space. False: not sent.
bool send_report(int to, const Report& report);
bool send_report(int to, Report::Kind kind, const std::string& text);
// flags: of recvmsg(). 1; 0: no more will come; -1: none now.
int receive_report(int from, Report& report, int flags);

// "process 1 was refused: ..."
std::string refusal_of(pid_t pid, const std::string& why);

// Receives the hello of that process and reports it. Whoever calls this may have to wait for files
// of that process, at the latest when it ends.
void receive_hello(int connection, pid_t pid, uid_t uid, int to);

}  // namespace luatrace::record
