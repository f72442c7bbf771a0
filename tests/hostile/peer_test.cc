// SPDX-License-Identifier: MIT
// How the VM copes with a peer that is not a real recorder: one that writes over the ring, belongs
// to another user, refuses, disconnects or is gone.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "luatrace_format.h"
#include "tests/recorder/run.h"

namespace {

using runs::Process;
using runs::RecorderTest;
using runs::Words;

constexpr uid_t kNobody = 65534;
constexpr int kHang = 100;  // answer: none, but the connection is closed

class PeerTest : public RecorderTest {
 protected:
  ~PeerTest() override {
    unsetenv(LT_ENV_SOCKET);
    unsetenv(LT_ENV_RING);
    unsetenv(LT_ENV_BLOCK);
    if (listening_ >= 0) close(listening_);
    if (fd_ >= 0) close(fd_);
  }

  // From here on programs of this test send their hello to us.
  void listen_here() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::snprintf(address.sun_path, sizeof address.sun_path, "%s", path("socket").c_str());
    listening_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    ASSERT_EQ(0, bind(listening_, reinterpret_cast<sockaddr*>(&address), sizeof address));
    ASSERT_EQ(0, listen(listening_, 100));
    ASSERT_EQ(0, chmod(address.sun_path, 0666));
    setenv(LT_ENV_SOCKET, address.sun_path, 1);
  }

  // Answers hellos until done(). Keeps the descriptor of the ring that came last.
  template <class Done>
  void serve(int answer, const Done& done) {
    while (!done()) {
      pollfd p{listening_, POLLIN, 0};
      if (poll(&p, 1, 5) <= 0) continue;
      const int s = accept4(listening_, nullptr, nullptr, SOCK_CLOEXEC);
      if (s < 0) continue;
      connections_++;
      const auto byte = static_cast<char>(answer);
      if (receive(s) && answer != kHang) {
        EXPECT_EQ(1, send(s, &byte, 1, MSG_NOSIGNAL));
      }
      close(s);
    }
  }

  // False: the peer sent nothing.
  bool receive(int s) {
    lt_hello hello;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    iovec part{&hello, sizeof hello};
    msghdr m{};
    m.msg_iov = &part;
    m.msg_iovlen = 1;
    m.msg_control = control;
    m.msg_controllen = sizeof control;
    const timeval limit{2, 0};
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (recvmsg(s, &m, MSG_CMSG_CLOEXEC) <= 0) return false;
    hellos_++;
    const cmsghdr* const c = CMSG_FIRSTHDR(&m);
    if (c == nullptr) return true;
    if (fd_ >= 0) close(fd_);
    std::memcpy(&fd_, CMSG_DATA(c), sizeof fd_);
    return true;
  }

  // Runs the program while peer(done) acts in a thread, until done(). Returns the program's status.
  template <class Peer>
  int run_beside(const Words& words, const Peer& peer) {
    std::atomic<bool> done = false;
    std::thread thread([&] { peer([&] { return done.load(); }); });
    Process p(words, path("out"), path("err"));
    const int status = p.wait_ms(90000);
    done = true;
    thread.join();
    return status;
  }

  static std::string expected(const std::string& line, int n) {
    std::string all;
    for (int i = 0; i < n; i++) all += line;
    return all;
  }

  int listening_ = -1, fd_ = -1;
  int connections_ = 0, hellos_ = 0;
};

const std::string kPrograms = PROGRAMS;
const std::string kLineOfVm = "0\t100\n";  // what states.lua prints for each Lua VM

// One pass over a ring: all of the header, or a word of it, or all blocks and descriptions.
void scribble(std::byte* ring, size_t size, std::mt19937_64& random) {
  const uint64_t values[] = {0,
                             1,
                             ~0ull,
                             ~0ull - 4095,
                             0x4141414141414141,
                             1ull << 63,
                             77,
                             LT_RING_BLOCK_SIZE,
                             random(),
                             random() % 64};
  const auto value = [&] { return values[random() % std::size(values)]; };
  auto* const words = reinterpret_cast<uint64_t*>(ring);
  auto* const head = reinterpret_cast<lt_ring*>(ring);
  const uint64_t dice = random() % 8, same = value();
  if (dice < 2)
    for (size_t i = 0; i < LT_RING_HDR_SIZE / 8; i++) words[i] = same;
  else if (dice < 4)
    for (size_t i = 0; i < sizeof(lt_ring) / 8; i++) words[i] = value();
  else if (dice == 4)
    for (size_t i = LT_RING_HDR_SIZE / 8; i < size / 8; i += 1 + random() % 64) words[i] = value();
  else
    words[random() % (sizeof(lt_ring) / 8)] = value();
  // Otherwise the recording would end in the first passes.
  head->detach = random() % 1000000 == 0;
  head->alive = __builtin_ia32_rdtsc() + (1ull << 40);
  if (dice % 2 == 0) head->tail = head->head;
}

struct Case {
  const char* name;
  const char* luajit;
  const char* block;  // LUATRACE_BLOCK
};

class Scribbled : public PeerTest, public ::testing::WithParamInterface<Case> {};

TEST_P(Scribbled, TheProgramRunsOnUnharmed) {
  if (access(GetParam().luajit, X_OK) != 0) GTEST_SKIP() << "not built: " << GetParam().luajit;
  const Words words = {GetParam().luajit, kPrograms + "/busy.lua", "150"};
  ASSERT_EQ(0, run(words));
  const std::string good = out();
  listen_here();
  setenv(LT_ENV_RING, "262144", 1);
  setenv(LT_ENV_BLOCK, GetParam().block, 1);
  for (unsigned seed = 1; seed <= 6; seed++) {
    std::mt19937_64 random(seed);
    uint64_t passes = 0;
    const int status = run_beside(words, [&](const auto& done) {
      serve(LT_HELLO_RECORD, [&] { return done() || fd_ >= 0; });
      struct stat st {};
      if (fd_ < 0 || fstat(fd_, &st) != 0) return;
      const auto size = static_cast<size_t>(st.st_size);
      void* const p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
      ASSERT_NE(MAP_FAILED, p);
      for (; !done(); passes++) scribble(static_cast<std::byte*>(p), size, random);
      munmap(p, size);
      close(std::exchange(fd_, -1));
    });
    EXPECT_EQ(0, status) << "seed " << seed << ": " << err();
    EXPECT_EQ(good, out()) << "seed " << seed;
    EXPECT_GT(passes, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(Ring, Scribbled,
                         ::testing::Values(Case{"plain", LUAJIT, "0"}, Case{"waits", LUAJIT, "1"},
                                           Case{"assert", LUAJIT_ASSERT, "0"}),
                         [](const auto& info) { return info.param.name; });

// Several Lua VMs; only the first one may ask.
TEST_F(PeerTest, OneThatRefusesIsNotAskedAgain) {
  for (const int answer : {static_cast<int>(LT_HELLO_REFUSED), kHang}) {
    connections_ = hellos_ = 0;
    if (listening_ < 0) listen_here();
    EXPECT_EQ(0, run_beside({LUAJIT, kPrograms + "/states.lua", "5"},
                            [&](const auto& done) { serve(answer, done); }))
        << err();
    EXPECT_EQ(expected(kLineOfVm, 5), out());
    EXPECT_EQ(1, connections_) << answer;
    EXPECT_EQ(1, hellos_) << answer;
  }
}

// The peer sees the connection, if that, but nothing of the program.
TEST_F(PeerTest, OneOfAnotherUserIsSentNothing) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root: the peer is another user";
  chmod(dir_.c_str(), 0777);
  const pid_t listener = fork();
  if (listener == 0) {
    if (setgid(kNobody) != 0 || setuid(kNobody) != 0) _exit(3);
    listen_here();
    const int end = 20000;
    int passes = 0;
    serve(LT_HELLO_RECORD,
          [&] { return access(path("end").c_str(), F_OK) == 0 || ++passes > end; });
    _exit(hellos_ != 0 ? 1 : connections_ == 1 ? 0 : 2);
  }
  wait_until([&] { return access(path("socket").c_str(), F_OK) == 0; });
  setenv(LT_ENV_SOCKET, path("socket").c_str(), 1);
  EXPECT_EQ(0, run({LUAJIT, kPrograms + "/states.lua", "3"})) << err();
  EXPECT_EQ(expected(kLineOfVm, 3), out());
  std::ofstream(path("end")) << "";
  int status = -1;
  ASSERT_EQ(listener, waitpid(listener, &status, 0));
  EXPECT_EQ(0, WEXITSTATUS(status)) << "1: it was sent something, 2: it was asked again";
}

}  // namespace
