// SPDX-License-Identifier: MIT
// Rings that wait to be opened: of many Lua VMs at once, the recorder opens a few in a pass.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "recorder/direct/backend.h"
#include "recorder/os/clock.h"
#include "recorder/os/process.h"
#include "recorder/os/remote.h"
#include "recorder/vm/lua_image.h"
#include "recorder/vm/target.h"

namespace {

using namespace luatrace::record;

// A LuaJIT that runs a text, to which it can write a line and which can write a byte.
class Program {
 public:
  explicit Program(const std::string& text) {
    int in[2], out[2];
    if (pipe(in) != 0 || pipe(out) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      dup2(in[0], 0);
      dup2(out[1], 1);
      for (const int fd : {in[0], in[1], out[0], out[1]}) close(fd);
      execl(LUAJIT, LUAJIT, "-e", text.c_str(), nullptr);
      _exit(99);
    }
    close(in[0]);
    close(out[1]);
    to_ = in[1];
    from_ = out[0];
  }
  ~Program() {
    if (pid_ <= 0) return;  // kill(-1) would reach every process
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    close(to_);
    close(from_);
  }
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  pid_t pid() const { return pid_; }
  bool go() const { return write(to_, "\n", 1) == 1; }
  bool writes() const {
    char byte;
    return read(from_, &byte, 1) == 1;
  }

 private:
  pid_t pid_ = -1;
  int to_ = -1, from_ = -1;
};

// For a ring it needs longer than a pass takes.
class SlowHost : public BackendHost {
 public:
  Drainer& drainer() override {
    if (!drainer_) drainer_.emplace();
    return *drainer_;
  }
  std::shared_ptr<Output> output_of(pid_t, std::string&) override { return nullptr; }
  uint32_t process_number(pid_t, std::string&) override { return 1; }
  bool has_streams(pid_t) override { return !starts.empty(); }
  RingAnswer add_ring(const Peer&, std::unique_ptr<RingMemory> ring) override {
    starts.push_back(ring->info().start_tick);
    usleep(25'000);
    return {RingAnswer::kTaken, ""};
  }
  void has_c_functions(pid_t) override {}
  void first_event(pid_t, uint64_t) override {}
  void silent(pid_t, const std::string& text) override { ADD_FAILURE() << text; }
  void detail(const std::string&) override {}
  void report(const std::string& text) override { ADD_FAILURE() << text; }

  std::vector<uint64_t> starts;  // when the rings were made

 private:
  std::optional<Drainer> drainer_;
};

constexpr size_t kVms = 6;

// Makes them, then lets them run one after the other.
std::string several_vms() {
  return R"(
local ffi = require("ffi")
ffi.cdef [[
typedef struct lua_State lua_State;
lua_State *luaL_newstate(void);
int luaL_loadstring(lua_State *, const char *);
int lua_pcall(lua_State *, int, int, int);
]]
local vms = {}
for i = 1, )" +
         std::to_string(kVms) + R"( do
  vms[i] = ffi.C.luaL_newstate()
  ffi.C.luaL_loadstring(vms[i], "local function f() end for i = 1, 10 do f() end")
end
io.write("r") io.flush() io.read()
for i = 1, #vms do ffi.C.lua_pcall(vms[i], 0, 0, 0) end
io.write("d") io.flush() io.read()
)";
}

// A VM that closes its ring waits up to 0.2 s for it to be opened: the oldest first, and without
// pauses.
TEST(WaitingRings, TheOldestAreOpenedFirst) {
  const Program program(several_vms());
  ASSERT_TRUE(program.writes());
  SlowHost host;
  const Options options;
  const auto backend = make_direct_backend(options, host);
  ASSERT_TRUE(backend->begin());
  const Attached attached = backend->attach(program.pid());
  ASSERT_TRUE(attached) << attached.why;
  ASSERT_TRUE(program.go() && program.writes());
  usleep(150'000);  // just after attaching it makes no pauses anyway
  while (host.starts.size() < kVms) {
    const size_t before = host.starts.size();
    const int pause = backend->poll(monotonic_ns());
    ASSERT_EQ(before + 1, host.starts.size()) << "a pass opens one";
    const bool more = host.starts.size() < kVms;
    EXPECT_TRUE(!more || pause == 1) << before << ": " << pause << " ms";
  }
  for (size_t i = 1; i < host.starts.size(); i++) EXPECT_LT(host.starts[i - 1], host.starts[i]);
  backend->stop();
}

// The owner of the test's recording.
vm::Settings settings() {
  const lt_clock_info start = sample_clocks(default_clock());
  usleep(20'000);
  vm::Settings s;
  s.owner = 77;
  s.tick_khz = rate_khz(rate_between(default_clock(), start, sample_clocks(default_clock())));
  return s;
}

// Its recorder is alive, but has not opened it for longer than a VM records for nobody.
TEST(WaitingRings, OneThatIsOldDoesNotEndTheRecording) {
  const Program program(R"(
local ffi = require("ffi")
ffi.cdef("int usleep(unsigned);")
io.write("r") io.flush() io.read()
local function f() end
while true do
  for i = 1, 100 do f() end
  ffi.C.usleep(100)
end)");
  ASSERT_TRUE(program.writes());
  const LuaSearch search = find_lua(program.pid());
  ASSERT_EQ(1u, search.ours.size());
  vm::Target target(program.pid(), search.ours[0]);
  const Attached claimed = target.claim(settings());
  ASSERT_TRUE(claimed) << claimed.why;
  ASSERT_TRUE(program.go());
  std::vector<vm::State> states;
  while (states.empty() || states[0].ring == 0) {
    states.clear();
    ASSERT_TRUE(target.renew() && target.read_states(states));
    usleep(1000);
  }
  const RemoteMemory memory(program.pid());
  const uint64_t ring = states[0].ring, long_ago = 1;
  const uint32_t taken = 1;
  const auto progress = [&] {
    lt_ring r{};
    memory.read(ring, r);
    return r.head + r.lost;
  };
  ASSERT_EQ(0, memory.write(ring + offsetof(lt_ring, alive), long_ago));
  for (const uint64_t begin = progress(); target.renew() && progress() < begin + 3;) usleep(1000);
  EXPECT_TRUE(target.is_ours());
  // Of one that was opened its own sign of life counts.
  ASSERT_EQ(0, memory.write(ring + offsetof(lt_ring, taken), taken));
  while (target.renew()) usleep(1000);
  EXPECT_FALSE(process_is_gone(program.pid()));
}

}  // namespace
