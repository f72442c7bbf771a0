// SPDX-License-Identifier: MIT
// luatrace-record with the real VM: shows that the two work together, which the fake one cannot.
// The meaning of the events is tested by tests/conformance.

#include <cstring>
#include <set>

#include "luatrace_work.h"
#include "tests/recorder/run.h"

namespace {

using runs::Process;
using runs::RecorderTest;
using runs::Words;

class RealVm : public RecorderTest {
 protected:
  Words lua(const std::string& code) const { return {LUAJIT, "-e", code}; }
  // Each call is an event of its own: entries() counts words.
  Words to_trace() const { return {"--times", "events", "-o", trace()}; }
  int record_lua(const std::string& code, Words options = {}) {
    const Words first = to_trace();
    options.insert(options.begin(), first.begin(), first.end());
    return run(recorder(options, lua(code)));
  }
  // What the VM does itself, which is described like functions.
  static std::set<uint32_t> vm_work(const mini::File& f, uint32_t stream) {
    std::set<uint32_t> ids;
    for (const auto* b : f.of_type(LT_BLOCK_FUNCS, stream))
      for (size_t at = 0; at + sizeof(lt_func) <= b->payload.size();) {
        lt_func func;
        std::memcpy(&func, &b->payload[at], sizeof func);
        if (func.type == LT_FUNC_FF && func.ffid >= LT_FF_GC) ids.insert(func.id);
        at += func.size;
      }
    return ids;
  }
  // Calls of functions.
  static uint64_t entries(const mini::File& f, uint32_t stream) {
    const std::set<uint32_t> left_out = vm_work(f, stream);
    uint64_t n = 0;
    for (const auto* b : f.of_type(LT_BLOCK_EVENTS, stream)) {
      const auto w = b->words();
      for (size_t i = 0; i < w.size(); i++) {
        const uint32_t kind = lt_kind(w[i]), p = lt_payload(w[i]);
        n += kind == LT_ENTRY && !left_out.contains(p) ? 1 : 0;
        const bool big = p == LT_PAYLOAD_BIG && kind != LT_SUSPEND && kind != LT_EXT;
        i += kind == LT_EXT ? lt_ext_nwords(p) : (big ? 1 : 0);
      }
    }
    return n;
  }
};

const char* const kFib =
    "local function fib(n) if n < 2 then return n end return fib(n-1) + fib(n-2) end ";

// fib(n) makes 2*fib(n+1)-1 calls: 2,692,537 for 30; the main chunk and print are two more.
TEST_F(RealVm, EveryCallIsThere) {
  ASSERT_EQ(0, record_lua(std::string(kFib) + "print(fib(30))", {"--block"})) << err();
  EXPECT_EQ("832040\n", out());
  const auto f = file();
  EXPECT_TRUE(f.ended());
  EXPECT_GE(entries(f, 1), 2692537u + 1);
  EXPECT_LE(entries(f, 1), 2692537u + 20);
}

// A recorder inside the command of another one: the settings of the outer one do not apply to it.
TEST_F(RealVm, InsideAnotherRecorder) {
  const std::string outer = path("outer.bin");
  Words w = {RECORDER, "-q", "-o", outer, "--include", "nothing", "--c-functions", "none", "--"};
  for (const auto& word : recorder(to_trace(), {LUAJIT, "-e", std::string(kFib) + "fib(15)"}))
    w.push_back(word);
  ASSERT_EQ(0, run(w)) << err();
  EXPECT_GE(entries(file(), 1), 1973u) << err();
}

TEST_F(RealVm, ItsStatusIsOurs) {
  EXPECT_EQ(9, record_lua("os.exit(9)"));
  EXPECT_TRUE(file().ended());
  EXPECT_EQ(1, record_lua("error('x')"));
  EXPECT_TRUE(file().ended());
  EXPECT_EQ(128 + SIGSEGV, record_lua(std::string(kFib) +
                                      "fib(15) require('ffi').cast('volatile int*', 8)[0] = 1"));
  EXPECT_GT(entries(file(), 1), 1000u);
}

// The recorder's parent ignores the ends of children; so does the program then.
TEST_F(RealVm, ItsStatusIsOursWhereChildrenAreIgnored) {
  Words w = {"/usr/bin/perl", "-e", "$SIG{CHLD} = 'IGNORE'; exec @ARGV", "--"};
  const std::string code =
      "for line in io.lines('/proc/self/status') do"
      " local mask = line:match('^SigIgn:%s*%x*(%x%x%x%x%x)$')"
      " if mask then os.exit(bit.band(tonumber(mask, 16), 0x10000) ~= 0 and 9 or 8) end end";
  for (const auto& word : recorder({"-o", trace()}, {LUAJIT, "-e", code})) w.push_back(word);
  EXPECT_EQ(9, run(w)) << err();
  EXPECT_TRUE(file().ended());
}

// A VM that says hello to the recorder while a timer of the program interrupts it every 100 us.
TEST_F(RealVm, SignalsDuringTheHello) {
  const std::string code =
      "local ffi = require('ffi') ffi.cdef[[ struct tv { long s, us; }; struct it { struct tv i, v;"
      " }; int setitimer(int, const struct it *, void *); typedef void (*h)(int);"
      " h signal(int, h); void srand(unsigned); int fork(void); int wait(int *); ]]"
      // A harmless C function as handler; the child's first event opens a ring of its own.
      " ffi.C.signal(14, ffi.cast('h', ffi.C.srand))"
      " local it = ffi.new('struct it', {{0, 100}, {0, 100}})" +
      std::string(kFib) +
      "for i = 1, 5 do if ffi.C.fork() == 0 then ffi.C.setitimer(0, it, nil) fib(20) os.exit(0) "
      "end ffi.C.wait(nil) end";
  ASSERT_EQ(0, record_lua(code)) << err();
  const auto f = file();
  ASSERT_EQ(6u, f.of_type(LT_BLOCK_STREAM).size()) << err();
  for (uint32_t stream = 2; stream <= 6; stream++) EXPECT_GT(entries(f, stream), 21000u) << stream;
}

TEST_F(RealVm, AForkedChild) {
  ASSERT_EQ(0, record_lua(std::string(kFib) +
                          "local ffi = require('ffi') ffi.cdef('int fork(void); int wait(int*);') "
                          "fib(10) local pid = ffi.C.fork() fib(20) "
                          "if pid ~= 0 then ffi.C.wait(nil) end"))
      << err();
  const auto f = file();
  const auto processes = f.of_type(LT_BLOCK_PROCESS);
  ASSERT_EQ(2u, processes.size()) << err();
  EXPECT_EQ(1, processes[1]->as<lt_process_info>().parent);
  ASSERT_EQ(2u, f.of_type(LT_BLOCK_STREAM).size());
  EXPECT_GT(entries(f, 1), 21891u);
  EXPECT_GT(entries(f, 2), 21000u);
}

// The parent is gone before the child has made an event, as with every daemon.
TEST_F(RealVm, ADaemonThatIsSlowToStart) {
  ASSERT_EQ(3, record_lua(std::string(kFib) +
                          "local ffi = require('ffi') ffi.cdef('int fork(void); int usleep(int);') "
                          "if ffi.C.fork() ~= 0 then os.exit(3) end "
                          "ffi.C.usleep(300000) fib(20)"))
      << err();
  const auto f = file();
  ASSERT_EQ(2u, f.of_type(LT_BLOCK_PROCESS).size()) << err();
  EXPECT_GT(entries(f, 2), 21000u);
}

// The program must not notice: it continues, at full speed and to its end.
TEST_F(RealVm, TheProgramSurvivesTheRecorder) {
  for (const char* block : {"--ring-size=1M", "--block"}) {
    std::filesystem::remove(path("done"));
    std::filesystem::remove(trace());
    const std::string code =
        std::string(kFib) + "fib(27) local t = os.clock() while os.clock() - t" +
        " < 1 do fib(15) end fib(30) io.open('" + path("done") + "', 'w'):write('yes')";
    Words options = to_trace();
    options.emplace_back(block);
    Process p(recorder(options, lua(code)), path("out"), path("err"));
    wait_until([&] {
      return std::filesystem::exists(trace()) && std::filesystem::file_size(trace()) > 3000000;
    });
    p.send(SIGKILL);
    EXPECT_EQ(128 + SIGKILL, p.wait_ms(5000));
    wait_until([&] { return mini::slurp(path("done")) == "yes"; });
    EXPECT_GT(entries(file(), 1), 100000u);
  }
}

TEST_F(RealVm, StoppingWhileItRuns) {
  const std::string code = std::string(kFib) + "print(fib(32))";
  ASSERT_EQ(0, record_lua(code, {"-d", "0.05"})) << err();
  EXPECT_EQ("2178309\n", out());
  EXPECT_EQ(static_cast<uint32_t>(LTQ_DURATION), file().blocks.back().as<lt_end_info>().reason);
  ASSERT_EQ(0, record_lua(code, {"--max-size", "1M"})) << err();
  EXPECT_EQ("2178309\n", out());
  EXPECT_LE(std::filesystem::file_size(trace()), 1u << 20);
}

}  // namespace
