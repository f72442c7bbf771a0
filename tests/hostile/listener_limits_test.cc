// SPDX-License-Identifier: MIT
// How many silent connections the recorder's socket keeps open, of one user and of all.
#include <grp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "recorder/command/listener.h"

namespace {

using luatrace::record::Listener;

constexpr uid_t kNobody = 65534, kOther = 65533;
constexpr int kOfUser = 64, kOfAll = 256;

int connect_to(const std::string& path) {
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  std::snprintf(a.sun_path, sizeof a.sun_path, "%s", path.c_str());
  const int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  return connect(s, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0 ? s : -1;
}

// A child of ours (so that it is heard) that has become another user, and its silent connections.
class Silent {
 public:
  Silent(const std::string& path, uid_t user, int connections) {
    int ends[2];
    if (pipe(ends) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      if (user != 0 && (setgroups(0, nullptr) != 0 || setresgid(user, user, user) != 0 ||
                        setresuid(user, user, user) != 0))
        _exit(1);
      for (int i = 0; i < connections; i++)
        if (connect_to(path) < 0) _exit(2);
      if (write(ends[1], "x", 1) == 1) pause();
      _exit(0);
    }
    close(ends[1]);
    char byte;
    connected_ = read(ends[0], &byte, 1) == 1;
    close(ends[0]);
  }
  ~Silent() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  bool connected() const { return connected_; }

 private:
  pid_t pid_ = -1;
  bool connected_ = false;
};

size_t kept(const Listener& listener) {
  std::vector<pollfd> fds;
  listener.add_to(fds);
  return fds.size() - 1;  // the socket itself
}

TEST(ListenerLimits, AUserKeepsSixtyFourSilentConnections) {
  if (geteuid() != 0) GTEST_SKIP() << "becoming another user needs root";
  Listener listener;
  const Silent ours(listener.path(), 0, 10), nobody(listener.path(), kNobody, kOfUser + 16);
  ASSERT_TRUE(ours.connected() && nobody.connected());
  std::vector<std::string> refusals;
  EXPECT_TRUE(listener.receive(refusals).empty());
  EXPECT_EQ(16u, refusals.size());
  EXPECT_EQ(10u + kOfUser, kept(listener));
}

TEST(ListenerLimits, UsersDoNotShareTheirLimit) {
  if (geteuid() != 0) GTEST_SKIP() << "becoming another user needs root";
  Listener listener;
  const Silent nobody(listener.path(), kNobody, 200), other(listener.path(), kOther, kOfUser);
  ASSERT_TRUE(nobody.connected() && other.connected());
  std::vector<std::string> refusals;
  EXPECT_TRUE(listener.receive(refusals).empty());
  EXPECT_EQ(200u - kOfUser, refusals.size());
  EXPECT_EQ(2u * kOfUser, kept(listener));
}

TEST(ListenerLimits, AllTogetherKeepTwoHundredAndFiftySix) {
  if (geteuid() != 0) GTEST_SKIP() << "becoming another user needs root";
  Listener listener;
  std::vector<std::unique_ptr<Silent>> users;
  for (uid_t user = 0; user < 6; user++) {
    users.push_back(std::make_unique<Silent>(listener.path(), kOther - user, 60));
    ASSERT_TRUE(users.back()->connected());
  }
  std::vector<std::string> refusals;
  EXPECT_TRUE(listener.receive(refusals).empty());
  EXPECT_EQ(size_t{kOfAll}, kept(listener));
}

// While it lives this process gets this many more descriptors.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t more) {
    getrlimit(RLIMIT_NOFILE, &old_);
    const int next = dup(0);  // the lowest that is free; those after it are, too
    close(next);
    const rlimit few{static_cast<rlim_t>(next) + more, old_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &old_); }

 private:
  rlimit old_{};
};

// They would wait for five seconds, and wake us all the time.
TEST(ListenerLimits, WithoutADescriptorConnectionsAreSentAway) {
  Listener listener;
  const Silent ours(listener.path(), 0, 3);
  ASSERT_TRUE(ours.connected());
  std::vector<std::string> refusals;
  {
    const FewDescriptors none(0);
    for (int i = 0; i < 10; i++) EXPECT_TRUE(listener.receive(refusals).empty());
  }
  ASSERT_EQ(3u, refusals.size());
  for (const auto& r : refusals) EXPECT_NE(r.npos, r.find("luatrace-record has too few")) << r;
  EXPECT_EQ(0u, kept(listener));
}

// Connects, says hello with a descriptor, and waits to be killed.
[[noreturn]] void send_hello(const std::string& path, int ready) {
  const int s = connect_to(path);
  lt_hello hello{};
  hello.magic = LT_HELLO_MAGIC;
  hello.version = LT_RING_VERSION;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof s)] = {};
  iovec part{&hello, sizeof hello};
  msghdr m{};
  m.msg_iov = &part;
  m.msg_iovlen = 1;
  m.msg_control = control;
  m.msg_controllen = sizeof control;
  cmsghdr* const c = CMSG_FIRSTHDR(&m);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(sizeof s);
  std::memcpy(CMSG_DATA(c), &s, sizeof s);
  if (sendmsg(s, &m, 0) != sizeof hello || write(ready, "x", 1) != 1) _exit(1);
  for (;;) pause();
}

// It is not the program that has too few.
TEST(ListenerLimits, WithoutADescriptorForItsRingAProgramIsRefused) {
  Listener listener;
  int ready[2];
  ASSERT_EQ(0, pipe(ready));
  const pid_t child = fork();
  if (child == 0) send_hello(listener.path(), ready[1]);
  char byte;
  ASSERT_EQ(1, read(ready[0], &byte, 1));
  std::vector<std::string> refusals;
  {
    const FewDescriptors one(1);
    EXPECT_TRUE(listener.receive(refusals).empty());
  }
  ASSERT_EQ(1u, refusals.size());
  EXPECT_NE(std::string::npos, refusals[0].find("luatrace-record has too few")) << refusals[0];
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
}

}  // namespace
