// SPDX-License-Identifier: MIT
// A program that speaks the VM's half of the ring protocol (part 2 of luatrace_format.h) and does
// what its arguments say, one after the other. It can do what a good VM does, and what a crashing
// or a malicious one does. Written from the header alone: it shares no code with the recorder.
//
//   id=N log=FILE   number of the next ring; every word that goes into it is copied to FILE
//   ring=N[,drop]   makes a ring of N blocks and says hello; "wait" if full, or drop
//   meta=N          bytes of its meta area
//   events=N        mixed events, described functions, records of several words
//   plain=N         N pairs of entry and return, as fast as can be
//   trickle=N       N entries, 1 ms apart          sleep=MS
//   torn            the first word of a record of four
//   close           closes the ring                hole  a zero word amid a full block
//   space           waits until the ring has space  pause, continue   the recorder (SIGSTOP)
//   head=N metahead=N badfunc                      impossible values in shared memory
//   until_detach=MS trickles until the recorder asks to stop; prints "detached"
//   bad=KIND        a hello that must be refused; prints "refused" or "accepted"
//   fork=A;B;C thread=A;B;C exec=A;B;C             do A, B, C there (exec: instead)
//   join            waits for threads and children  lost   prints "lost N"
//   exit=N kill abort print=TEXT ignore_int
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "luatrace_format.h"
#include "tests/recorder/ring_header.h"

namespace {

using Script = std::vector<std::string>;

[[noreturn]] void die(const std::string& what) {
  std::perror(what.c_str());
  std::exit(99);
}

void say(const std::string& s) {
  if (write(1, s.data(), s.size()) < 0) die("write");
}

void sleep_ms(long ms) {
  const timespec t{ms / 1000, ms % 1000 * 1000000};
  nanosleep(&t, nullptr);
}

Script split(const std::string& s, char by) {
  Script parts;
  for (size_t at = 0; at <= s.size();) {
    const size_t end = std::min(s.find(by, at), s.size());
    parts.push_back(s.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

bool hurried = false;  // does not wait for the recorder's answer

// Sends a hello to the recorder. Returns its answer; -1: the connection was closed without one.
int send_hello(const void* hello, size_t size, int ring_fd) {
  const char* const path = std::getenv(LT_ENV_SOCKET);
  if (path == nullptr) return -1;
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  std::snprintf(a.sun_path, sizeof a.sun_path, "%s", path);
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0 || connect(fd, reinterpret_cast<sockaddr*>(&a), sizeof a) != 0) return -1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  iovec part{const_cast<void*>(hello), size};
  msghdr m{};
  m.msg_iov = &part;
  m.msg_iovlen = 1;
  if (ring_fd >= 0) {
    m.msg_control = control;
    m.msg_controllen = sizeof control;
    cmsghdr* c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(c), &ring_fd, sizeof ring_fd);
  }
  if (size > 0 && sendmsg(fd, &m, 0) < 0) return -1;
  if (hurried) return close(fd), -1;
  char answer = 0;
  const ssize_t n = recv(fd, &answer, 1, 0);
  close(fd);
  return n == 1 ? answer : -1;
}

struct Vm {
  lt_ring* ring = nullptr;
  uint64_t* data = nullptr;
  std::byte* meta = nullptr;
  FILE* log = nullptr;
  bool drop = false;
  bool fast = false;  // no log
  bool off = false;   // the events are not wanted
  size_t pos = 0;     // words of the current block
  uint64_t head = 0, meta_head = 0;
  uint64_t lost = 0, lost_since = 0, lost_all = 0;
  std::vector<uint32_t> stack;
  uint32_t described = 0;  // functions 1..described are
  uint32_t id = 1;
  uint32_t meta_size = 1u << 16;
  std::string log_name;
  std::mt19937_64 random{1};

  static constexpr size_t kWords = LT_RING_BLOCK_SIZE / 8;

  uint64_t* block() { return data + head % ring->nblocks * kWords; }
  bool has_space() {
    const uint64_t tail = std::atomic_ref(ring->tail).load(std::memory_order_acquire);
    return head - tail < ring->nblocks;
  }

  // Has the recorder not looked at the ring for two seconds? (A real VM waits LT_ORPHAN_SECONDS.)
  bool orphaned() const {
    const uint64_t alive = std::atomic_ref(ring->alive).load();
    return __rdtsc() - alive > uint64_t{2000} * ring->tick_khz && __rdtsc() > alive;
  }
  bool detached() const { return std::atomic_ref(ring->detach).load() != 0; }

  void put(uint64_t w) {
    std::atomic_ref(block()[pos++]).store(w, std::memory_order_release);
    if (!fast && log != nullptr && std::fwrite(&w, 8, 1, log) != 1) die("log");
  }

  void begin_block() {
    const uint64_t t = __rdtsc();
    put(lt_word(t, lt_ext(LTX_BLOCK, 3, 0), LT_EXT));
    put(t);
    put(1);
    put(lt_pack(syscall(SYS_gettid), id));
  }

  void end_block() {
    while (pos < kWords) put(lt_word(__rdtsc(), lt_ext(LTX_PAD, 0, 0), LT_EXT));
    std::atomic_ref(ring->head).store(++head, std::memory_order_release);
    pos = 0;
  }

  // Space for n words of one record. False: they must be dropped.
  bool reserve(size_t n) {
    if (off) return false;
    if (lost == 0 && pos + n > kWords) end_block();
    if (pos > 0) return true;
    while (!has_space()) {
      if (drop) {
        if (lost++ == 0) lost_since = __rdtsc();
        std::atomic_ref(ring->lost).store(++lost_all, std::memory_order_release);
        std::atomic_ref(ring->lost_since).store(lost_since, std::memory_order_release);
        return false;
      }
      if (detached() || orphaned()) return off = true, false;
      usleep(20);
    }
    begin_block();
    if (lost > 0) report_loss();
    return true;
  }

  void report_loss() {
    put(lt_word(__rdtsc(), lt_ext(LTX_LOSS, 2, 0), LT_EXT));
    put(lost + 1);
    put(lost_since);
    put(lt_word(__rdtsc(), lt_ext(LTX_STACK, 2, LTR_LOSS), LT_EXT));
    put(1);
    put(stack.size() + 1);
    for (const uint32_t f : stack) put(lt_word(__rdtsc(), f, LT_FRAME));
    lost = 0;
    std::atomic_ref(ring->lost_since).store(0, std::memory_order_release);
  }

  void record(std::initializer_list<uint64_t> words) {
    if (!reserve(words.size())) return;
    for (const uint64_t w : words) put(w);
  }

  void call(uint32_t kind, uint32_t f) {
    const uint64_t t = __rdtsc();
    if (f >= LT_PAYLOAD_BIG)
      record({lt_word(t, LT_PAYLOAD_BIG, kind), f});
    else
      record({lt_word(t, f, kind)});
  }

  // Appends to the meta area; waits for space.
  void meta_record(const void* p, uint32_t size) {
    const uint32_t at = meta_head % ring->meta_size;
    if (at + size > ring->meta_size) {
      const uint32_t rest = ring->meta_size - at;
      lt_func wrap{};
      wrap.size = rest;
      wrap.type = LT_META_WRAP;
      if (!wait_meta(rest)) return;
      std::memcpy(meta + at, &wrap, 8);
      meta_head += rest;
    }
    if (!wait_meta(size)) return;
    std::memcpy(meta + meta_head % ring->meta_size, p, size);
    meta_head += size;
    std::atomic_ref(ring->meta_head).store(meta_head, std::memory_order_release);
  }
  bool wait_meta(uint32_t size) {
    std::atomic_ref(ring->meta_head).store(meta_head, std::memory_order_release);
    while (meta_head + size - std::atomic_ref(ring->meta_tail).load(std::memory_order_acquire) >
           ring->meta_size) {
      off = off || detached() || orphaned();
      if (off) return false;
      usleep(20);
    }
    return true;
  }

  void describe(uint32_t f) {
    const std::string chunk = "@fake.lua", name = "f" + std::to_string(f);
    std::vector<char> r((sizeof(lt_func) + chunk.size() + name.size() + 2 + 7) / 8 * 8);
    lt_func d{};
    d.size = static_cast<uint32_t>(r.size());
    d.type = f % 10 == 0 ? LT_FUNC_C : LT_FUNC_LUA;
    d.id = f;
    d.chunk_len = static_cast<uint16_t>(chunk.size());
    d.name_len = static_cast<uint16_t>(name.size());
    std::memcpy(r.data(), &d, sizeof d);
    std::memcpy(&r[sizeof d], chunk.data(), chunk.size());
    std::memcpy(&r[sizeof d + chunk.size() + 1], name.data(), name.size());
    meta_record(r.data(), d.size);
  }

  uint32_t some_function() {
    if (random() % 100 == 0) describe(++described);
    return 1 + static_cast<uint32_t>(random() % described);
  }

  void event() {
    const uint64_t dice = random() % 1000;
    if (dice == 0) {
      record({lt_word(__rdtsc(), lt_ext(LTX_TIME, 1, 0), LT_EXT), __rdtsc()});
    } else if (dice == 1) {
      record({lt_word(__rdtsc(), lt_ext(60, 5, 3), LT_EXT), 1, 2, 3, 4, 5});
    } else if (dice == 2) {
      call(LT_RESUME, 5000000);
      record({lt_word(__rdtsc(), LTS_YIELD, LT_SUSPEND)});
    } else if (dice == 3 && stack.size() > 2) {
      stack.resize(stack.size() - 2);
      record({lt_word(__rdtsc(), lt_ext(LTX_UNWIND, 1, 0), LT_EXT), lt_pack(2, stack.back())});
    } else if (stack.empty() || (stack.size() < 30 && dice % 2 == 0)) {
      stack.push_back(dice == 10 ? 9000000 : some_function());
      call(LT_ENTRY, stack.back());
    } else {
      call(LT_RETURN, stack.back());
      stack.pop_back();
    }
  }

  void plain(uint64_t pairs) {
    fast = true;
    for (uint64_t i = 0; i < pairs; i++) {
      call(LT_ENTRY, 1 + i % 1000);
      call(LT_RETURN, 1 + i % 1000);
    }
    fast = false;
  }

  void trickle(uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
      call(LT_ENTRY, 1);
      if (log != nullptr) std::fflush(log);
      sleep_ms(1);
    }
  }

  void close_ring(uint32_t reason) {
    record({lt_word(__rdtsc(), lt_ext(LTX_STOP, 0, reason), LT_EXT)});
    std::atomic_ref(ring->stop_reason).store(reason, std::memory_order_release);
    std::atomic_ref(ring->state).store(uint32_t{LT_RING_CLOSED}, std::memory_order_release);
  }

  void until_detach(long ms) {
    for (long i = 0; i < ms; i++) {
      trickle(1);
      if (!detached()) continue;
      close_ring(LTE_DETACH);
      return say("detached\n");
    }
    say("not detached\n");
  }

  lt_ring geometry(uint32_t nblocks) const {
    lt_ring r = ring_header(nblocks, meta_size);
    r.tid = static_cast<int32_t>(syscall(SYS_gettid));
    r.recording = id;
    r.clock = LT_CLOCK_TSC;
    r.start_tick = __rdtsc();
    r.state = LT_RING_OPEN;
    std::snprintf(r.luajit, sizeof r.luajit, "fake %u", id);
    return r;
  }

  int make_memfd(const lt_ring& r, off_t size, int seals) {
    const int fd =
        static_cast<int>(syscall(SYS_memfd_create, LT_RING_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (fd < 0 || ftruncate(fd, size) != 0) die("memfd");
    if (pwrite(fd, &r, sizeof r, 0) != sizeof r) die("pwrite");
    if (seals != 0 && fcntl(fd, F_ADD_SEALS, seals) != 0) die("seals");
    return fd;
  }

  void open_ring(const std::string& how) {
    const Script parts = split(how, ',');
    drop = parts.size() > 1 && parts[1] == "drop";
    const lt_ring r = geometry(static_cast<uint32_t>(std::atol(parts[0].c_str())));
    const auto size = static_cast<off_t>(r.meta_ofs + r.meta_size);
    const int fd = make_memfd(r, size, F_SEAL_SHRINK | F_SEAL_GROW);
    auto* p =
        static_cast<std::byte*>(mmap(nullptr, static_cast<size_t>(size), PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_POPULATE, fd, 0));
    const lt_hello hello{LT_HELLO_MAGIC, LT_RING_VERSION, getpid()};
    const int answer = send_hello(&hello, sizeof hello, fd);
    close(fd);
    say(answer == 1 ? "accepted\n" : "refused\n");
    ring = reinterpret_cast<lt_ring*>(p);
    data = reinterpret_cast<uint64_t*>(p + r.data_ofs);
    meta = p + r.meta_ofs;
    if (log_name.size() > 0) log = std::fopen(log_name.c_str(), "wb");
    pos = head = meta_head = described = 0;
    off = answer != 1;
    stack.clear();
    if (!off) begin_block();
    describe(++described);
    describe(9000000);
  }

  static void stop_recorder() {
    kill(getppid(), SIGSTOP);
    for (char status = 0; status != 'T'; sleep_ms(1)) {
      FILE* f = std::fopen(("/proc/" + std::to_string(getppid()) + "/stat").c_str(), "r");
      if (f == nullptr || std::fscanf(f, "%*d (%*[^)]) %c", &status) != 1) die("stat");
      std::fclose(f);
    }
  }

  void bad_hello(const std::string& kind) {
    lt_ring r = geometry(4);
    auto size = static_cast<off_t>(r.meta_ofs + r.meta_size);
    int seals = F_SEAL_SHRINK | F_SEAL_GROW;
    lt_hello hello{LT_HELLO_MAGIC, LT_RING_VERSION, getpid()};
    size_t hello_size = sizeof hello;
    if (kind == "noseal") seals = 0;
    if (kind == "halfseal") seals = F_SEAL_GROW;
    if (kind == "small") size = LT_RING_HDR_SIZE;
    if (kind == "tiny") size = sizeof r;
    if (kind == "magic") r.magic++;
    if (kind == "version") r.version++;
    if (kind == "blocksize") r.block_size = 8;
    if (kind == "manyblocks") r.nblocks = 0xffffffffu;
    if (kind == "oneblock") r.nblocks = 1;
    if (kind == "huge") r = geometry(8000), size = static_cast<off_t>(r.meta_ofs + r.meta_size);
    if (kind == "dataofs") r.data_ofs = 0;
    if (kind == "oddofs") r.data_ofs++;
    if (kind == "metasize") r.meta_size = 0x80000000u;
    if (kind == "metaodd") r.meta_size -= 8;
    if (kind == "metaofs") r.meta_ofs = ~0ull - 7;
    if (kind == "overlap") r.meta_ofs = r.data_ofs + 4096;
    if (kind == "clock") r.clock = 9;
    if (kind == "rate") r.clock = LT_CLOCK_CNTVCT;  // at 0 Hz
    if (kind == "parent") r.pid = getppid();
    if (kind == "hellomagic") hello.magic++;
    if (kind == "helloversion") hello.version++;
    if (kind == "short") hello_size = 3;
    if (kind == "silent") hello_size = 0;
    int fd = make_memfd(r, size, seals);
    if (kind == "notmemfd") fd = open("/dev/zero", O_RDWR);
    if (kind == "nofd") fd = -1;
    hurried = kind == "hurried";
    if (hurried) stop_recorder();  // or it might be quick enough
    const int answer = send_hello(&hello, hello_size, fd);
    if (hurried) kill(getppid(), SIGCONT);
    say(answer == 1 ? "accepted\n" : "refused\n");
  }

  // A record of the meta area whose strings are longer than it is.
  void bad_function() {
    lt_func d{};
    d.size = sizeof d + 8;
    d.type = LT_FUNC_LUA;
    d.id = 77;
    d.chunk_len = 60000;
    char r[sizeof d + 8] = {};
    std::memcpy(r, &d, sizeof d);
    meta_record(r, d.size);
    call(LT_ENTRY, 77);
  }

  void hole() {
    for (int i = 0; i < 10; i++) call(LT_ENTRY, 1);
    pos++;  // never written
    for (size_t n = kWords - pos; n > 0; n--) block()[pos++] = lt_word(__rdtsc(), 1, LT_RETURN);
    end_block();
    begin_block();
  }
};

struct Runner {
  std::vector<std::thread> threads;
  std::vector<pid_t> children;
  Vm vm;

  void run(const Script& script) {
    for (const auto& s : script) step(s);
    join();
  }

  void step(const std::string& s) {
    const size_t eq = s.find('=');
    const std::string key = s.substr(0, eq), value = eq == s.npos ? "" : s.substr(eq + 1);
    const uint64_t n = std::strtoull(value.c_str(), nullptr, 10);
    if (key == "id") vm.id = static_cast<uint32_t>(n), vm.random.seed(n);
    if (key == "log") vm.log_name = value;
    if (key == "meta") vm.meta_size = static_cast<uint32_t>(n);
    if (key == "ring") vm.open_ring(value);
    if (key == "events")
      for (uint64_t i = 0; i < n; i++) vm.event();
    if (key == "plain") vm.plain(n);
    if (key == "trickle") vm.trickle(n);
    if (key == "sleep") sleep_ms(static_cast<long>(n));
    if (key == "torn")
      vm.reserve(4), vm.fast = true, vm.put(lt_word(__rdtsc(), lt_ext(LTX_BLOCK, 3, 0), LT_EXT));
    if (key == "close") vm.close_ring(LTE_CLOSE);
    while (key == "space" && !vm.has_space() && !vm.orphaned()) usleep(20);
    if (key == "pause") Vm::stop_recorder();
    if (key == "continue") kill(getppid(), SIGCONT);
    if (key == "hole") vm.hole();
    if (key == "head") std::atomic_ref(vm.ring->head).store(n);
    if (key == "metahead") std::atomic_ref(vm.ring->meta_head).store(n);
    if (key == "badfunc") vm.bad_function();
    if (key == "until_detach") vm.until_detach(static_cast<long>(n));
    if (key == "bad") vm.bad_hello(value);
    if (key == "lost") say("lost " + std::to_string(vm.lost_all) + "\n");
    if (key == "print") say(value + "\n");
    if (key == "ignore_int") signal(SIGINT, SIG_IGN), signal(SIGTERM, SIG_IGN);
    if (vm.log != nullptr) std::fflush(vm.log);
    if (key == "thread") threads.emplace_back([v = split(value, ';')] { Runner().run(v); });
    if (key == "fork") fork_child(split(value, ';'));
    if (key == "exec") exec_self(split(value, ';'));
    if (key == "join") join();
    if (key == "exit") std::_Exit(static_cast<int>(n));
    if (key == "kill") kill(getpid(), SIGKILL);
    if (key == "abort") std::abort();
  }

  void fork_child(const Script& script) {
    const pid_t pid = fork();
    if (pid < 0) die("fork");
    if (pid > 0) return children.push_back(pid);
    Runner().run(script);
    std::_Exit(0);
  }

  void exec_self(Script script) {
    std::vector<char*> argv = {const_cast<char*>("fake_vm")};
    for (auto& s : script) argv.push_back(s.data());
    argv.push_back(nullptr);
    execv("/proc/self/exe", argv.data());
    die("exec");
  }

  void join() {
    for (auto& t : threads) t.join();
    for (const pid_t c : children) waitpid(c, nullptr, 0);
    threads.clear();
    children.clear();
  }
};

}  // namespace

int main(int argc, char** argv) {
  Runner().run(Script(argv + 1, argv + argc));
  return 0;
}
