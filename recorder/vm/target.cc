// SPDX-License-Identifier: MIT
// Target; see target.h and struct lt_control.
#include "recorder/vm/target.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <span>

#include "base/escape.h"
#include "luatrace_watch.h"
#include "recorder/os/clock.h"
#include "recorder/os/process.h"
#include "recorder/os/run_apart.h"

namespace luatrace::record::vm {
namespace {

constexpr int kLockTries = 200;      // of a millisecond
constexpr int kAllLockTries = 1000;  // for all processes

template <class T>
T at(const std::vector<char>& bytes, int32_t offset) {
  T v;
  std::memcpy(&v, bytes.data() + offset, sizeof v);
  return v;
}

bool is_young(uint64_t alive, uint64_t now, uint32_t khz) {
  const uint64_t limit = uint64_t{LT_ORPHAN_SECONDS} * 1000 * (khz != 0 ? khz : 4000000);
  return alive != 0 && (now <= alive || now - alive < limit);
}

// The socket of the recorder that has started this process: its luatrace-listen removes the socket
// when that recorder is gone. If the process sees other paths, nothing is known: false. The process
// may have written any path, also one to a file system that does not answer.
bool socket_is_gone(pid_t pid, const lt_control& c) {
  const std::string path(c.socket, strnlen(c.socket, sizeof c.socket));
  const std::string there = "/proc/" + std::to_string(pid), here = "/proc/self";
  if (path.empty() || path[0] != '/' || read_link(there + "/root") != "/") return false;
  const std::string space = read_link(there + "/ns/mnt");
  if (space.empty() || space != read_link(here + "/ns/mnt")) return false;
  std::byte gone{};
  const auto look = [&](std::span<std::byte> to) {
    to[0] = std::byte{access(path.c_str(), F_OK) != 0 && errno == ENOENT};
    return size_t{1};
  };
  return run_apart(named_by(pid), look, std::span(&gone, 1)) == 1 && gone != std::byte{};
}

// The program's file; -1: it cannot be opened, or its file system may not answer.
int open_program(pid_t pid) {
  const std::string path = "/proc/" + std::to_string(pid) + "/exe";
  const Descriptor look(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (look < 0 || file_may_not_answer(pid, look)) return -1;
  return open(("/proc/self/fd/" + std::to_string(look)).c_str(), O_RDONLY | O_CLOEXEC);
}

}  // namespace

// The lock is on the program file: that is the same object for recorders in all namespaces. Nothing
// is written to it. Any user who can read the file can keep the lock, so the wait for it is
// limited, and no process is refused because of it: any user could keep root from recording.
// Two recorders without the lock notice each other, but later (is_ours(), renew()).
ClaimLock::ClaimLock(pid_t pid) : fd_(open_program(pid)) {
  static int tries_left = kAllLockTries;
  if (fd_ < 0) return;
  held_ = flock(fd_, LOCK_EX | LOCK_NB) == 0;
  other_holder_ = !held_ && errno == EWOULDBLOCK;
  for (int i = 0; other_holder_ && i < kLockTries && tries_left > 0; i++, tries_left--) {
    usleep(1000);
    held_ = flock(fd_, LOCK_EX | LOCK_NB) == 0;
    other_holder_ = !held_ && errno == EWOULDBLOCK;
  }
}

// The memory found before is gone (EFAULT): so is the program that had it.
Attached Target::no_access(int error, bool other_way) const {
  const bool gone = error == ESRCH || error == EFAULT;
  return {gone ? Refusal::kNoProcess : Refusal::kNoPermission,
          explain_no_access(memory_.pid(), error), other_way && !gone};
}

// Does a recorder read any ring of this process?
bool Target::is_drained(const lt_control& c) const {
  if (c.owner == 0 && socket_is_gone(memory_.pid(), c)) return false;
  const uint64_t now = read_tick(image_.note.clock);
  if (is_young(c.alive, now, c.tick_khz)) return true;
  std::vector<State> states;
  read_states(states);
  for (const auto& s : states) {
    lt_ring ring;
    if (s.ring == 0 || memory_.read(s.ring, ring) != 0) continue;
    if (ring.state == LT_RING_OPEN && is_young(ring.alive, now, ring.tick_khz)) return true;
  }
  return false;
}

Attached Target::check(const lt_control& c, const Settings& settings) const {
  if (c.magic != LUAJIT_USDT_MAGIC || c.version != LT_CONTROL_VERSION || c.size != sizeof c)
    return {Refusal::kOther,
            "cannot be recorded: the control structure of " + printable(image_.path) +
                " does not match its note",
            true};
  if (!settings.watch.empty() && image_.note.reserved == 0)
    return {Refusal::kOther, "has an older LuaJIT with tracepoints, which cannot watch places"};
  if (c.block != 0 || c.segments != 0)
    return {Refusal::kBusy,
            "is being recorded in blocks through BPF; record it the same way (--via bpf), or end "
            "that recording"};
  if (c.ring == 0 || c.owner == settings.owner || !is_drained(c)) return {};
  std::string owner = "another luatrace-record";
  if (c.owner != 0) owner += " (process " + std::to_string(c.owner_pid) + " there)";
  return {Refusal::kBusy, "is being recorded by " + owner + "; only one can record a process"};
}

// The places to watch, or that there are none. Returns 0, or an errno.
int Target::write_watch(const std::string& request) {
  if (image_.note.reserved == 0) return 0;
  const std::string text = request.substr(0, LT_WATCH_REQUEST_MAX);
  const uint64_t to = image_.control + static_cast<uint64_t>(int64_t{image_.note.reserved});
  return memory_.write(to, text.c_str(), text.size() + 1);
}

// Everything from `cfuncs` to `tick_khz`, except what the VM owns.
int Target::write_settings(const Settings& s, uint32_t generation) {
  lt_control c{};
  c.cfuncs = s.cfuncs;
  // A VM that does not know them would take them for `all`.
  if ((image_.note.flags & LTN_FFI) == 0) c.cfuncs &= ~LTC_FFI;
  if ((image_.note.flags & LTN_SEGMENTS) == 0) c.cfuncs &= ~(LTC_SEGMENTS | LTC_AUTO);
  c.ring_size = s.ring_size;
  c.ring_block = s.block ? 1 : 0;
  c.envdone = 1;
  c.children = s.children ? 1 : 0;
  std::memcpy(c.include, s.include.c_str(), s.include.size());
  std::memcpy(c.exclude, s.exclude.c_str(), s.exclude.size());
  c.owner = s.owner;
  c.alive = read_tick(image_.note.clock);
  c.tick_khz = s.tick_khz;
  c.owner_pid = getpid();
  c.generation = generation;
  const size_t from = offsetof(lt_control, cfuncs), to = offsetof(lt_control, states);
  return memory_.write(image_.control + from, reinterpret_cast<const char*>(&c) + from, to - from);
}

Attached Target::check(const Settings& settings) const {
  lt_control c;
  if (const int e = memory_.read(image_.control, c)) return no_access(e, true);
  return check(c, settings);
}

Attached Target::claim(const Settings& settings,
                       const std::function<void(const Target&)>& prepared) {
  lt_control c;
  const auto failed = [this](int error) { return no_access(error, false); };
  if (const int e = memory_.read(image_.control, c)) return failed(e);
  if (const Attached a = check(c, settings); !a) return a;
  owner_ = settings.owner;
  if (c.ring == 0 && c.owner == 0) {  // otherwise they are those of another recorder
    before_.cfuncs = c.cfuncs;
    std::memcpy(before_.include, c.include, strnlen(c.include, sizeof c.include - 1));
    std::memcpy(before_.exclude, c.exclude, strnlen(c.exclude, sizeof c.exclude - 1));
  }
  if (c.ring != 0 && c.owner == settings.owner) {  // inherited from an attached parent
    token_ = static_cast<uint8_t>(c.ring);
    prepared(*this);
    return renew() ? Attached{} : Attached{Refusal::kNoProcess, "no longer exists"};
  }
  // Off first: an orphan's leftovers must not meet half of our settings.
  uint32_t generation = c.generation + 1;
  if (generation % 255 + 1 == c.ring) generation++;
  token_ = static_cast<uint8_t>(generation % 255 + 1);
  prepared(*this);
  const uint8_t off = 0, on = token_;
  const uint64_t ring = image_.control + offsetof(lt_control, ring);
  if (c.ring != 0)
    if (const int e = memory_.write(ring, off)) return failed(e);
  // The owner first: if we are killed in a later write, the guard must see that the half-done
  // settings are ours.
  if (const int e = memory_.write(image_.control + offsetof(lt_control, owner), owner_))
    return failed(e);
  if (const int e = write_settings(settings, generation)) return failed(e);
  if (const int e = write_watch(settings.watch)) return failed(e);
  if (const int e = memory_.write(ring, on)) return failed(e);
  return {};
}

bool Target::is_ours() const {
  lt_control c;
  return memory_.read(image_.control, c) == 0 && c.magic == LUAJIT_USDT_MAGIC &&
         c.owner == owner_ && c.ring == token_;
}

bool Target::renew() {
  if (!is_ours()) return false;
  const uint64_t now = read_tick(image_.note.clock);
  return memory_.write(image_.control + offsetof(lt_control, alive), now) == 0;
}

// Also in the middle of claim() or release(). False: gone, another program, taken over.
bool Target::may_release() const {
  lt_control c;
  return owner_ != 0 && memory_.read(image_.control, c) == 0 && c.magic == LUAJIT_USDT_MAGIC &&
         c.owner == owner_ && (c.ring == token_ || c.ring == 0);
}

void Target::restore_settings() {
  memory_.write(image_.control + offsetof(lt_control, cfuncs), before_.cfuncs);
  memory_.write(image_.control + offsetof(lt_control, include), before_.include,
                sizeof before_.include);
  memory_.write(image_.control + offsetof(lt_control, exclude), before_.exclude,
                sizeof before_.exclude);
  write_watch("");
}

// The owner last: until then release() can be repeated.
void Target::release() {
  if (released_ || !may_release()) return;
  released_ = true;
  const uint8_t off = 0;
  const uint64_t nothing[2] = {0, 0};  // owner, alive
  memory_.write(image_.control + offsetof(lt_control, ring), off);
  restore_settings();
  memory_.write(image_.control + offsetof(lt_control, owner), nothing);
}

bool Target::read_state(uint64_t address, State& s) const {
  return read_state(PageMap(memory_.pid()), address, s);
}

bool Target::read_state(const PageMap& pages, uint64_t address, State& s) const {
  const lt_note& n = image_.note;
  const int32_t last = std::max({n.lt_next, n.lt_on, n.lt_stop, n.lt_seen, n.lt_ring, n.lt_fd,
                                 n.lt_rec, n.lt_serial, n.lt_token});
  std::vector<char> bytes(static_cast<size_t>(last) + 8);
  if (memory_.read(pages, address, bytes.data(), bytes.size()) != 0) return false;
  s.address = address;
  s.ring = at<uint64_t>(bytes, n.lt_ring);
  s.fd = at<int32_t>(bytes, n.lt_fd);
  s.on = at<uint32_t>(bytes, n.lt_on);
  s.stop = at<uint32_t>(bytes, n.lt_stop);
  s.seen = at<uint64_t>(bytes, n.lt_seen);
  s.rec = at<uint32_t>(bytes, n.lt_rec);
  s.token = at<uint32_t>(bytes, n.lt_token);
  s.serial = at<uint32_t>(bytes, n.lt_serial);
  s.next = at<uint64_t>(bytes, n.lt_next);
  return true;
}

bool Target::read_untaken(uint32_t& n) const {
  return memory_.read(image_.control + offsetof(lt_control, untaken), n) == 0;
}

bool Target::read_states(std::vector<State>& states, size_t limit) const {
  uint64_t next = 0;
  if (memory_.read(image_.control + offsetof(lt_control, states), next) != 0) return false;
  const PageMap pages(memory_.pid());
  uint64_t mark = 0;  // a list that returns to its VM number 1, 2, 4, 8, ... has a loop
  while (next != 0 && states.size() < limit) {
    if (next == mark) return false;
    if (std::has_single_bit(states.size() + 1)) mark = next;
    State s;
    if (!read_state(pages, next, s)) return false;
    states.push_back(s);
    next = s.next;
  }
  return true;
}

}  // namespace luatrace::record::vm
