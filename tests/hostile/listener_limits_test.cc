// SPDX-License-Identifier: MIT
// How many silent connections the recorder's socket keeps open, of one user and of all; what
// hellos bring with them.
#include <grp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "recorder/command/hello.h"
#include "recorder/command/listener.h"
#include "recorder/command/listener_apart.h"
#include "tests/recorder/asked_file.h"

namespace {

using luatrace::record::Ancestry;
using luatrace::record::AskedFile;
using luatrace::record::Hello;
using luatrace::record::Listener;
using luatrace::record::ListenerApart;
using luatrace::record::Report;

constexpr uid_t kNobody = 65534, kOther = 65533;
constexpr int kOfUser = 64, kOfAll = 256;

int connect_to(const std::string& path) {
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  std::snprintf(a.sun_path, sizeof a.sun_path, "%s", path.c_str());
  const int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  return connect(s, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0 ? s : -1;
}

// 0: stays what it is.
void become(uid_t user) {
  if (user != 0 && (setgroups(0, nullptr) != 0 || setresgid(user, user, user) != 0 ||
                    setresuid(user, user, user) != 0))
    _exit(1);
}

// A child of ours (so that it is accepted) that has become another user, and its silent
// connections.
class Silent {
 public:
  Silent(const std::string& path, uid_t user, int connections) {
    int ends[2];
    if (pipe(ends) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      become(user);
      prctl(PR_SET_PDEATHSIG, SIGKILL);
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
    if (pid_ <= 0) return;  // kill(-1) would reach every process
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  bool connected() const { return connected_; }

 private:
  pid_t pid_ = -1;
  bool connected_ = false;
};

// A listener in this process.
class Here {
 public:
  explicit Here(const Ancestry& ancestry = Ancestry())
      : ends_(new_ends()), listener_(ends_[1], ancestry) {}
  ~Here() {
    close(ends_[0]);
    close(ends_[1]);
  }
  const std::string& path() const { return listener_.path(); }
  uint64_t outsiders() const { return listener_.outsiders(); }
  // False: a hello was passed on.
  bool receive_nothing(std::vector<std::string>& refusals) {
    Report report;
    listener_.receive(refusals);
    return luatrace::record::receive_report(ends_[0], report, MSG_DONTWAIT) < 0;
  }
  size_t kept() const {
    std::vector<pollfd> fds;
    listener_.add_to(fds);
    return fds.size() - 1;  // the socket itself
  }

 private:
  static std::array<int, 2> new_ends() {
    std::array<int, 2> ends{-1, -1};
    EXPECT_EQ(0, socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()));
    return ends;
  }
  std::array<int, 2> ends_;
  Listener listener_;
};

TEST(ListenerLimits, AUserKeepsSixtyFourSilentConnections) {
  if (geteuid() != 0) GTEST_SKIP() << "becoming another user needs root";
  Here listener;
  const Silent ours(listener.path(), 0, 10), nobody(listener.path(), kNobody, kOfUser + 16);
  ASSERT_TRUE(ours.connected() && nobody.connected());
  std::vector<std::string> refusals;
  EXPECT_TRUE(listener.receive_nothing(refusals));
  EXPECT_EQ(16u, refusals.size());
  EXPECT_EQ(10u + kOfUser, listener.kept());
}

TEST(ListenerLimits, UsersDoNotShareTheirLimit) {
  if (geteuid() != 0) GTEST_SKIP() << "becoming another user needs root";
  Here listener;
  const Silent nobody(listener.path(), kNobody, 200), other(listener.path(), kOther, kOfUser);
  ASSERT_TRUE(nobody.connected() && other.connected());
  std::vector<std::string> refusals;
  EXPECT_TRUE(listener.receive_nothing(refusals));
  EXPECT_EQ(200u - kOfUser, refusals.size());
  EXPECT_EQ(2u * kOfUser, listener.kept());
}

TEST(ListenerLimits, AllTogetherKeepTwoHundredAndFiftySix) {
  if (geteuid() != 0) GTEST_SKIP() << "becoming another user needs root";
  Here listener;
  std::vector<std::unique_ptr<Silent>> users;
  for (uid_t user = 0; user < 6; user++) {
    users.push_back(std::make_unique<Silent>(listener.path(), kOther - user, 60));
    ASSERT_TRUE(users.back()->connected());
  }
  std::vector<std::string> refusals;
  EXPECT_TRUE(listener.receive_nothing(refusals));
  EXPECT_EQ(size_t{kOfAll}, listener.kept());
}

// Processes that do not descend from this one, each the child of the one before it. Each connects
// to that socket, if there is one.
class UnrelatedProcesses {
 public:
  UnrelatedProcesses(int depth, const std::string& path) {
    int ends[2];
    if (pipe(ends) != 0) return;
    const pid_t first = fork();
    if (first == 0) {
      if (fork() == 0) live(depth, path, ends[1]);
      _exit(0);
    }
    close(ends[1]);
    waitpid(first, nullptr, 0);
    for (pid_t pid; depth > 0 && read(ends[0], &pid, sizeof pid) == sizeof pid; depth--)
      pids_.push_back(pid);
    close(ends[0]);
  }
  ~UnrelatedProcesses() {
    for (const pid_t pid : pids_) kill(pid, SIGKILL);
  }
  const std::vector<pid_t>& pids() const { return pids_; }  // the outermost first

 private:
  [[noreturn]] static void live(int depth, const std::string& path, int to) {
    for (;; depth--) {
      const pid_t us = getpid();
      if (!path.empty() && connect_to(path) < 0) _exit(1);
      if (write(to, &us, sizeof us) != sizeof us) _exit(1);
      if (depth == 1 || fork() != 0) break;
    }
    for (;;) pause();
  }
  std::vector<pid_t> pids_;
};

// Deeply nested processes that all connect must not occupy the recorder.
TEST(Ancestry, AnUnrelatedProcessIsWalkedUpOnce) {
  constexpr int kDepth = 40;
  const UnrelatedProcesses processes(kDepth, "");
  ASSERT_EQ(size_t{kDepth}, processes.pids().size());
  Ancestry ancestry;
  ancestry.begin_pass();
  EXPECT_FALSE(ancestry.includes(processes.pids().back()));
  EXPECT_GE(ancestry.reads(), size_t{kDepth});
  for (const pid_t pid : processes.pids()) {
    ancestry.begin_pass();
    EXPECT_FALSE(ancestry.includes(pid));
    EXPECT_EQ(1u, ancestry.reads());
    EXPECT_FALSE(ancestry.includes(pid));
    EXPECT_EQ(1u, ancestry.reads());
  }
}

TEST(Ancestry, OurDescendants) {
  Ancestry ancestry;
  EXPECT_TRUE(ancestry.includes(getpid()));
  EXPECT_FALSE(ancestry.includes(getppid()));
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  EXPECT_TRUE(ancestry.includes(child));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(ancestry.includes(child)) << "during a pass";
  ancestry.begin_pass();
  EXPECT_FALSE(ancestry.includes(child));
}

// One pass reads no more than that of /proc (and one walk); the other connections wait.
TEST(ListenerLimits, APassLooksAtAFewUnrelatedProcessesOnly) {
  constexpr int kDepth = 12;
  Here listener{Ancestry(4)};
  const UnrelatedProcesses processes(kDepth, listener.path());
  ASSERT_EQ(size_t{kDepth}, processes.pids().size());
  std::vector<std::string> refusals;
  EXPECT_TRUE(listener.receive_nothing(refusals));
  EXPECT_GT(listener.outsiders(), 0u);
  EXPECT_LT(listener.outsiders(), uint64_t{kDepth});
  for (int i = 0; i < kDepth; i++) listener.receive_nothing(refusals);
  EXPECT_EQ(uint64_t{kDepth}, listener.outsiders());
  EXPECT_TRUE(refusals.empty());
}

// While it lives, this process can open this many more descriptors.
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

// Pending connections would wait for five seconds, and wake the recorder all the time.
TEST(ListenerLimits, WithoutADescriptorConnectionsAreRefused) {
  Here listener;
  const Silent ours(listener.path(), 0, 3);
  ASSERT_TRUE(ours.connected());
  std::vector<std::string> refusals;
  {
    const FewDescriptors none(0);
    for (int i = 0; i < 10; i++) EXPECT_TRUE(listener.receive_nothing(refusals));
  }
  ASSERT_EQ(3u, refusals.size());
  for (const auto& r : refusals) EXPECT_NE(r.npos, r.find("luatrace-record has too few")) << r;
  EXPECT_EQ(0u, listener.kept());
}

// Connects, says hello with three descriptors (-1: that of the socket), and waits to be killed.
[[noreturn]] void send_hello(const std::string& path, int ready, int first = -1, int others = -1) {
  const int s = connect_to(path);
  lt_hello hello{};
  hello.magic = LT_HELLO_MAGIC;
  hello.version = LT_RING_VERSION;
  const int sent[] = {first < 0 ? s : first, others < 0 ? s : others, others < 0 ? s : others};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof sent)] = {};
  iovec part{&hello, sizeof hello};
  msghdr m{};
  m.msg_iov = &part;
  m.msg_iovlen = 1;
  m.msg_control = control;
  m.msg_controllen = sizeof control;
  cmsghdr* const c = CMSG_FIRSTHDR(&m);
  c->cmsg_level = SOL_SOCKET;
  c->cmsg_type = SCM_RIGHTS;
  c->cmsg_len = CMSG_LEN(sizeof sent);
  std::memcpy(CMSG_DATA(c), sent, sizeof sent);
  if (sendmsg(s, &m, 0) != sizeof hello || write(ready, "x", 1) != 1) _exit(1);
  for (;;) pause();
}

// A child of ours that sends a hello with three descriptors: one, and twice the other (-1: that of
// its socket), as that user (0: ours).
class Sender {
 public:
  explicit Sender(const std::string& path, int first = -1, int others = -1, uid_t user = 0) {
    int ready[2];
    if (pipe(ready) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      become(user);
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      send_hello(path, ready[1], first, others);
    }
    close(ready[1]);
    char byte;
    sent_ = read(ready[0], &byte, 1) == 1;
    close(ready[0]);
  }
  ~Sender() {
    if (pid_ <= 0) return;  // kill(-1) would reach every process
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  bool sent() const { return sent_; }

 private:
  pid_t pid_ = -1;
  bool sent_ = false;
};

// It is the recorder that has too few, not the program.
TEST(ListenerLimits, WithoutADescriptorForItsRingAProgramIsRefused) {
  Here listener;
  const Sender sender(listener.path());
  ASSERT_TRUE(sender.sent());
  std::vector<std::string> refusals;
  {
    const FewDescriptors one(1);
    EXPECT_TRUE(listener.receive_nothing(refusals));
  }
  ASSERT_EQ(1u, refusals.size());
  EXPECT_NE(std::string::npos, refusals[0].find("luatrace-record has too few")) << refusals[0];
}

// The same in the recorder, which gets them from luatrace-listen.
TEST(ListenerLimits, WithoutADescriptorForAReportedRingAProgramIsRefused) {
  ListenerApart listener;
  const int memory = memfd_create("test", MFD_CLOEXEC);
  const Sender sender(listener.path(), memory);
  ASSERT_TRUE(sender.sent());
  std::vector<std::string> refusals;
  std::vector<pollfd> fds;
  listener.add_to(fds);
  EXPECT_EQ(1, poll(fds.data(), fds.size(), -1));
  {
    const FewDescriptors one(1);
    EXPECT_TRUE(listener.receive(refusals).empty());
  }
  ASSERT_EQ(1u, refusals.size());
  EXPECT_NE(std::string::npos, refusals[0].find("luatrace-record has too few")) << refusals[0];
  close(memory);
}

// While it lives, this process can start no other one: as another user, since root always can.
class NoForks {
 public:
  NoForks() {
    getrlimit(RLIMIT_NPROC, &old_);
    const rlimit none{0, old_.rlim_max};
    EXPECT_TRUE(!is_root_ || setresuid(kNobody, kNobody, 0) == 0);
    EXPECT_EQ(0, setrlimit(RLIMIT_NPROC, &none));
  }
  ~NoForks() {
    EXPECT_TRUE(!is_root_ || setresuid(0, 0, 0) == 0);
    EXPECT_EQ(0, setrlimit(RLIMIT_NPROC, &old_));
  }

 private:
  const bool is_root_ = geteuid() == 0;
  rlimit old_{};
};

// Connections with messages, which only a helper may close, wait for one. Meanwhile others wait to
// be accepted.
TEST(ListenerLimits, AHundredAndTwentyEightWaitToBeClosed) {
  constexpr size_t kUnread = 128, kAll = 200;
  Here listener;
  std::vector<int> connections;
  for (size_t i = 0; i < kAll; i++) {
    connections.push_back(connect_to(listener.path()));
    ASSERT_EQ(1, send(connections.back(), "x", 1, 0));
  }
  std::vector<std::string> refusals;
  {
    const NoForks none;
    for (int i = 0; i < 3; i++) EXPECT_TRUE(listener.receive_nothing(refusals));
  }
  EXPECT_EQ(kUnread, refusals.size());
  for (int i = 0; i < 3; i++) EXPECT_TRUE(listener.receive_nothing(refusals));
  EXPECT_EQ(kAll, refusals.size()) << "they are accepted when a helper has the others";
  for (const int s : connections) close(s);
}

// Waits for hellos and refusals, that many together.
std::vector<Hello> receive(ListenerApart& listener, size_t n, std::vector<std::string>& refusals) {
  std::vector<Hello> all;
  while (all.size() + refusals.size() < n) {
    std::vector<pollfd> fds;
    listener.add_to(fds);
    if (fds.empty() || poll(fds.data(), fds.size(), -1) != 1) break;
    for (const Hello& h : listener.receive(refusals)) all.push_back(h);
  }
  return all;
}

// Closing a file asks its file system, which need not answer. The kernel asks it nothing about
// those that it drops.
TEST(ListenerLimits, OnlyOneDescriptorIsReceived) {
  if (geteuid() != 0) GTEST_SKIP() << "mounting a file system needs root";
  ListenerApart listener;  // before the thread of the file system
  const AskedFile file;
  if (!file.mounted()) GTEST_SKIP() << "there is no FUSE here";
  const int memory = memfd_create("test", MFD_CLOEXEC), asked = file.open_with(O_RDWR);
  const Sender sender(listener.path(), memory, asked);
  ASSERT_TRUE(sender.sent());
  std::vector<std::string> refusals;
  const auto hellos = receive(listener, 1, refusals);
  EXPECT_EQ(0, file.asked(FUSE_FLUSH));
  EXPECT_TRUE(refusals.empty());
  ASSERT_EQ(1u, hellos.size());
  struct stat sent {
  }, received{};
  EXPECT_TRUE(fstat(memory, &sent) == 0 && fstat(hellos[0].ring_fd, &received) == 0);
  EXPECT_EQ(sent.st_ino, received.st_ino);
  for (const int fd : {memory, asked, hellos[0].ring_fd, hellos[0].socket}) close(fd);
}

// Who closes a file asks its file system, and may wait for ever. Here it answers, and says who
// asked.
TEST(ListenerLimits, TheRecorderClosesNoFileOfAPeer) {
  if (geteuid() != 0) GTEST_SKIP() << "mounting a file system needs root";
  auto listener = std::make_unique<ListenerApart>();  // before the thread of the file system
  const AskedFile file;
  if (!file.mounted()) GTEST_SKIP() << "there is no FUSE here";
  const int asked = file.open_with(O_RDWR);
  {
    const Sender sender(listener->path(), asked, asked);
    ASSERT_TRUE(sender.sent());
    std::vector<std::string> refusals;
    EXPECT_TRUE(receive(*listener, 1, refusals).empty());
    ASSERT_EQ(1u, refusals.size());
    EXPECT_NE(std::string::npos, refusals[0].find("not a memfd")) << refusals[0];
    listener.reset();
  }
  while (file.asked(FUSE_FLUSH) == 0) usleep(1000);  // by the helper, perhaps later
  for (const uint32_t pid : file.flushed_by()) EXPECT_NE(static_cast<uint32_t>(getpid()), pid);
  close(asked);
}

// A file that nobody can close, and who sends it. What a helper of the listener closes, it waits
// for.
class StuckHelpers : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "mounting a file system needs root";
    if (!file_.mounted()) GTEST_SKIP() << "there is no FUSE here";
    asked_ = file_.open_with(O_RDWR);
    file_.hold_flushes();
  }
  ~StuckHelpers() override {
    file_.answer_flushes();  // the senders have it, too
    senders_.clear();
    if (asked_ >= 0) close(asked_);
  }
  // Sends that many hellos with the file, and waits for the refusals.
  void send(uid_t user, int hellos) {
    for (int i = 0; i < hellos; i++) {
      senders_.push_back(std::make_unique<Sender>(listener_.path(), asked_, asked_, user));
      ASSERT_TRUE(senders_.back()->sent());
    }
  }
  void wait_for_refusals(size_t n) { EXPECT_TRUE(receive(listener_, n, refusals_).empty()); }
  // How many refusals say that a helper has received the file; that none has.
  long received() const { return count("not a memfd"); }
  long not_received() const { return count("has sent too many files that do not answer"); }

  ListenerApart listener_;  // before the thread of the file system
  AskedFile file_;
  std::vector<std::string> refusals_;

 private:
  long count(const std::string& text) const {
    return std::count_if(refusals_.begin(), refusals_.end(),
                         [&](const std::string& r) { return r.find(text) != std::string::npos; });
  }
  std::vector<std::unique_ptr<Sender>> senders_;
  int asked_ = -1;
};

// After two seconds: that long a file system may need.
TEST_F(StuckHelpers, AUserOfEightIsRefused) {
  send(kNobody, 8);
  wait_for_refusals(8);
  EXPECT_EQ(8, received());
  usleep(2'100'000);
  refusals_.clear();
  send(kNobody, 1);
  wait_for_refusals(1);
  EXPECT_EQ(1, not_received());
  send(kOther, 1);
  wait_for_refusals(2);
  EXPECT_EQ(1, received()) << "another user's are received";
}

TEST_F(StuckHelpers, AUserHasUpToSixteen) {
  send(kNobody, 20);
  wait_for_refusals(20);
  EXPECT_EQ(20, received() + not_received());
  EXPECT_LE(received(), 16);
}

TEST_F(StuckHelpers, ThereAreUpToSixtyFour) {
  for (uid_t user = 0; user < 5; user++) send(kOther - user, 16);
  wait_for_refusals(80);
  EXPECT_EQ(80, received() + not_received());
  EXPECT_LE(received(), 64);
}

// Among other files all rings arrive, also when there are more than helpers at a time.
TEST(ListenerLimits, ManyHellosArrive) {
  constexpr int kAll = 40;
  ListenerApart listener;
  int ends[2];
  ASSERT_EQ(0, pipe(ends));
  const int memory = memfd_create("test", MFD_CLOEXEC);
  std::vector<std::unique_ptr<Sender>> senders;
  for (int i = 0; i < kAll; i++) {
    senders.push_back(std::make_unique<Sender>(listener.path(), i % 2 == 0 ? ends[0] : memory));
    ASSERT_TRUE(senders.back()->sent());
  }
  std::vector<std::string> refusals;
  const auto hellos = receive(listener, kAll, refusals);
  EXPECT_EQ(size_t{kAll} / 2, hellos.size());
  EXPECT_EQ(size_t{kAll} / 2, refusals.size());
  for (const Hello& h : hellos) {
    close(h.ring_fd);
    close(h.socket);
  }
  for (const int fd : {memory, ends[0], ends[1]}) close(fd);
}

// It is not left behind, and neither is its socket.
TEST(ListenerApart, AfterStopNobodyListens) {
  auto listener = std::make_unique<ListenerApart>();
  const std::string path = listener->path();
  EXPECT_GE(connect_to(path), 0);
  std::vector<std::string> refusals;
  listener->stop(refusals);
  EXPECT_TRUE(refusals.empty());
  EXPECT_EQ(-1, connect_to(path));
  EXPECT_NE(0, access(path.substr(0, path.rfind('/')).c_str(), F_OK));
}

// A process may end as soon as its connection is closed, and the recorder with it.
TEST(ListenerApart, TheLastRefusalsAreReported) {
  auto listener = std::make_unique<ListenerApart>();
  const int s = connect_to(listener->path());
  char byte;
  EXPECT_EQ(1, send(s, "x", 1, 0));
  EXPECT_GE(0, recv(s, &byte, 1, 0));  // ECONNRESET if it is closed unread
  std::vector<std::string> refusals;
  listener->stop(refusals);
  ASSERT_EQ(1u, refusals.size());
  EXPECT_NE(std::string::npos, refusals[0].find("did not send a hello")) << refusals[0];
  close(s);
}

// Connections on which nothing waits can be closed by anybody; an empty message may have files.
TEST(Hello, IsEmptyKnowsMessagesWithoutText) {
  for (const bool with_message : {false, true}) {
    int ends[2];
    ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends));
    if (with_message) {
      EXPECT_EQ(0, send(ends[1], "", 0, 0));
    }
    shutdown(ends[0], SHUT_RD);
    EXPECT_EQ(!with_message, luatrace::record::is_empty(ends[0]));
    close(ends[0]);
    close(ends[1]);
  }
}

}  // namespace
