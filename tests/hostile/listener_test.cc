// SPDX-License-Identifier: MIT
// The recorder's socket and its peers: only the command's processes are accepted, silent ones delay
// nobody, and nobody waits for a recording that has ended.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <thread>

#include "luatrace_format.h"
#include "tests/recorder/run.h"

namespace {

using runs::Process;
using runs::RecorderTest;
using runs::Words;

constexpr uid_t kNobody = 65534;

class ListenerTest : public RecorderTest {
 protected:
  // The socket of the one recorder that this test runs, as every user can see it.
  std::string socket_path() const {
    std::ifstream in("/proc/net/unix");
    for (std::string line; std::getline(in, line);) {
      const size_t at = line.find(dir_ + "/luatrace-");
      if (at != line.npos) return line.substr(at);
    }
    return "";
  }
  bool said(const std::string& text) const { return err().find(text) != std::string::npos; }

  // -1: not connected.
  static int connect_to(const std::string& path) {
    sockaddr_un a{};
    a.sun_family = AF_UNIX;
    std::snprintf(a.sun_path, sizeof a.sun_path, "%s", path.c_str());
    const int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (connect(s, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0) return s;
    close(s);
    return -1;
  }

  // Keeps 300 connections open until done. Counts those that the recorder closed or answered.
  static void be_silent(const std::string& path, const std::atomic<bool>& done, uint64_t& closed,
                        uint64_t& answered) {
    std::vector<pollfd> open;
    while (!done) {
      while (!done && open.size() < 300) {
        const int s = connect_to(path);
        if (s < 0) break;
        open.push_back({s, POLLIN, 0});
      }
      poll(open.data(), open.size(), 20);
      std::erase_if(open, [&](const pollfd& f) {
        char byte;
        if (f.revents == 0) return false;
        (recv(f.fd, &byte, 1, MSG_DONTWAIT) == 1 ? answered : closed)++;
        close(f.fd);
        return true;
      });
    }
    for (const auto& f : open) close(f.fd);
  }

  // Runs fake_vm with a ring of its own, not as the recorder's command. Returns what it prints.
  std::string outsider(const std::string& path, bool nobody) {
    const std::string rights = nobody ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : "";
    const std::string line = std::string(LT_ENV_SOCKET) + "=" + path + " exec " + rights + FAKE_VM +
                             " id=99 ring=2 events=1000";
    Process p({"/bin/bash", "-c", line}, path_of_outsider(), this->path("outsider.err"));
    EXPECT_EQ(0, p.wait_ms(60000)) << mini::slurp(this->path("outsider.err"));
    return mini::slurp(path_of_outsider());
  }
  // Waits until `what` happens. Fails if the recorder has slept for a second at a stretch
  // meanwhile: a busy machine lets it wait for a processor, but does not let it sleep.
  void wait_while_awake(const Process& recorder, const std::function<bool()>& what) {
    using Clock = std::chrono::steady_clock;
    const std::string status = "/proc/" + std::to_string(recorder.pid()) + "/status";
    std::string sleep;        // in which it was last seen
    Clock::time_point since;  // when it had been seen in it for the first time
    Clock::duration longest{};
    wait_until([&] {
      const auto before = Clock::now();
      const std::string now = sleep_of(mini::slurp(status));
      if (now != sleep)
        since = Clock::now();
      else if (!now.empty())
        longest = std::max(longest, before - since);
      sleep = now;
      return what();
    });
    EXPECT_LT(longest, std::chrono::seconds(1)) << "it sleeps while a Lua VM waits for it";
  }
  // Which of its sleeps a process is in, by /proc/PID/status; empty: it does not sleep.
  static std::string sleep_of(const std::string& status) {
    const size_t count = status.find("\nvoluntary_ctxt_switches:");
    if (status.find("\nState:\tS") == status.npos || count == status.npos) return "";
    return status.substr(count, status.find('\n', count + 1) - count);
  }
  std::string path_of_outsider() const { return path("outsider.out"); }
};

// Each sends a hello with a valid ring; nothing of it is in the file.
TEST_F(ListenerTest, OutsidersAreRefused) {
  Process p(recorder({"-o", trace()}, fake({"id=1", "ring=2", "events=100", "sleep=3000"})),
            path("out"), path("err"));
  wait_until([&] { return out() == "accepted\n"; });
  const std::string socket = socket_path();
  ASSERT_NE("", socket);
  EXPECT_EQ("refused\n", outsider(socket, false));
  if (geteuid() == 0) {
    EXPECT_EQ("refused\n", outsider(socket, true));
  }
  EXPECT_EQ(0, p.wait_ms(60000)) << err();
  EXPECT_EQ(1u, file().of_type(LT_BLOCK_STREAM).size());
  EXPECT_TRUE(said("of processes that are not the command's were closed")) << err();
}

// Always 300 peers that have connected and are silent: the recorder once waited two seconds for
// each 256 of them, and a new Lua VM with it.
TEST_F(ListenerTest, SilentPeersDelayNobody) {
  Words script = {"id=1", "ring=2", "sleep=500"};
  for (int i = 2; i < 12; i++) script.insert(script.end(), {"id=" + std::to_string(i), "ring=2"});
  script.push_back("print=done");
  Process p(recorder({"-o", trace()}, fake(script)), path("out"), path("err"));
  wait_until([&] { return out() == "accepted\n"; });
  const std::string path = socket_path();
  std::atomic<bool> done = false;
  uint64_t closed = 0, answered = 0;
  std::thread thread([&] { be_silent(path, done, closed, answered); });
  wait_while_awake(p, [&] { return out().find("done") != std::string::npos; });
  done = true;
  thread.join();
  EXPECT_EQ(0, p.wait_ms(60000)) << err();
  EXPECT_GT(closed, 0u);
  EXPECT_EQ(0u, answered);
  EXPECT_EQ(11u, file().of_type(LT_BLOCK_STREAM).size());
}

// The same with processes of the command, which are accepted, but not for ever.
TEST_F(ListenerTest, SilentProcessesOfTheCommandDelayNobody) {
  std::string silent = "thread=bad=silent";
  for (int i = 0; i < 20; i++) silent += ";bad=silent";
  Words script(300, silent);
  script.insert(script.end(), {"sleep=300", "print=begin"});
  for (int i = 1; i < 6; i++) script.insert(script.end(), {"id=" + std::to_string(i), "ring=2"});
  script.insert(script.end(), {"print=done", "exit=0"});
  Process p(recorder({"-o", trace()}, fake(script)), path("out"), path("err"));
  wait_until([&] { return out().find("begin") != std::string::npos; });
  wait_while_awake(p, [&] { return out().find("done") != std::string::npos; });
  EXPECT_EQ(0, p.wait_ms(60000)) << err();
  EXPECT_EQ(5u, file().of_type(LT_BLOCK_STREAM).size());
  EXPECT_TRUE(said("it sent nothing")) << err();
}

// The recording has ended, the command has not: it once waited for 5 s in each new Lua VM.
TEST_F(ListenerTest, NobodyWaitsForARecordingThatHasEnded) {
  Process p(recorder({"-o", trace(), "-d", "0.3"},
                     {LUAJIT, std::string(PROGRAMS) + "/states.lua", "5", path("go")}),
            path("out"), path("err"));
  wait_until([&] { return said("continues without being recorded"); });
  EXPECT_EQ("", socket_path());
  std::ofstream(path("go")) << "";
  EXPECT_EQ(0, p.wait_ms(60000)) << err();
  const std::string text = out();
  const size_t at = text.find("sleeps\t");
  ASSERT_NE(std::string::npos, at) << text;
  EXPECT_LT(std::atoi(text.c_str() + at + 7), 4) << "once in each of four Lua VMs";
  EXPECT_EQ(5, std::count(text.begin(), text.end(), '\n') - 1);
}

// root's socket is in a place where nobody else can later make a directory of the same name.
TEST_F(ListenerTest, RootsSocketLiesInAPlaceOfRoot) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root";
  struct stat st {};
  ASSERT_EQ(0, stat("/run", &st));
  if ((st.st_mode & (S_IWGRP | S_IWOTH)) != 0 || access("/run", W_OK) != 0)
    GTEST_SKIP() << "/run is not root's alone, or read-only";
  unsetenv("XDG_RUNTIME_DIR");
  setenv("TMPDIR", "/tmp", 1);
  EXPECT_EQ(0, run(recorder({"-o", trace()}, {"/bin/sh", "-c", "echo $LUATRACE_SOCKET"})));
  unsetenv("TMPDIR");
  EXPECT_EQ(0u, out().find("/run/luatrace-")) << out();
}

}  // namespace
