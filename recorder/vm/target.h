// SPDX-License-Identifier: MIT
// Target: one LuaJIT of a running process under our control. Invariants: the control structure is
// ours as long as `owner` in it is our number; the settings are written before `ring` is set; after
// release() nothing of ours is in it. We may be killed between any two writes: release() undoes
// whichever of them were made, by any process that knows the previous settings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "recorder/os/guarded_memory.h"
#include "recorder/vm/attached.h"
#include "recorder/vm/lua_image.h"
#include "trace/descriptor.h"

namespace luatrace::record::vm {

struct Settings {
  std::string include, exclude;
  std::string watch;  // places to watch, see luatrace_watch.h
  uint32_t cfuncs = LTC_DEFAULT;
  uint64_t ring_size = 8u << 20;
  bool block = false;
  bool children = false;
  uint32_t tick_khz = 0;
  uint64_t owner = 0;  // our number
};

// The previous contents of the control structure: the next tracer of the probes must not get our
// settings.
struct Before {
  uint32_t cfuncs = LTC_DEFAULT;
  char include[sizeof(lt_control::include)] = "", exclude[sizeof(lt_control::exclude)] = "";
};

// Lua VMs of a process, at most.
constexpr size_t kMaxStates = 65536;

// A Lua VM as it was when it was read.
struct State {
  uint64_t address = 0;  // of its LTState
  uint64_t ring = 0;     // address in the process, 0: none
  int fd = -1;
  uint32_t on = 0, stop = 0, rec = 0, serial = 0, token = 0;
  uint64_t seen = 0;  // of the control word
  uint64_t next = 0;  // address of the next one's LTState, 0: none
};

class Target {
 public:
  // owner, token, before: of a target that was claimed already.
  Target(pid_t pid, LuaImage image, uint64_t owner = 0, uint8_t token = 0,
         const Before& before = {})
      : memory_(pid, kLookingNs),
        image_(std::move(image)),
        owner_(owner),
        token_(token),
        before_(before) {}

  // Makes the control structure ours and switches the recording on. In a process that was forked by
  // one of ours it is on already, and is taken over. `prepared` is called when everything that
  // release() needs is known, before anything is written. The caller has a ClaimLock.
  Attached claim(
      const Settings& settings,
      const std::function<void(const Target&)>& prepared = [](const Target&) {});
  // Could claim() do that? Changes nothing.
  Attached check(const Settings& settings) const;
  // Is it still ours? False: gone, another program, taken over.
  bool is_ours() const;
  // Renews the sign of life.
  bool renew();
  // Switches the recording off and restores the settings, as far as still necessary.
  void release();

  // The current Lua VMs, up to `limit`. False if they cannot be read, or their list has a loop
  // (possibly for a moment, because it changes while it is read).
  bool read_states(std::vector<State>& states, size_t limit = kMaxStates) const;
  // Rings of this recording that the VMs have closed before they were opened. False if unreadable.
  bool read_untaken(uint32_t& n) const;
  // The VM whose LTState is at that address. False if it cannot be read; if it was freed meanwhile,
  // the result is what its memory holds now.
  bool read_state(uint64_t address, State& s) const;
  // Has this VM acted on the control word?
  bool has_answered(const State& s) const { return (s.seen >> 16 & 0xff) == token_; }

  const LuaImage& image() const { return image_; }
  const GuardedMemory& memory() const { return memory_; }
  uint64_t owner() const { return owner_; }
  uint8_t token() const { return token_; }
  const Before& before() const { return before_; }

 private:
  static constexpr uint64_t kLookingNs = 200'000'000;  // for its mappings

  Attached check(const lt_control& c, const Settings& settings) const;
  // Its memory could not be used, for that reason (an errno); another method may work.
  Attached no_access(int error, bool other_way) const;
  bool is_drained(const lt_control& c) const;
  bool may_release() const;
  bool read_state(const PageMap& pages, uint64_t address, State& s) const;
  int write_watch(const std::string& request);
  int write_settings(const Settings& settings, uint32_t generation);
  void restore_settings();

  GuardedMemory memory_;
  LuaImage image_;
  uint64_t owner_;
  uint8_t token_;
  bool released_ = false;
  Before before_;
};

// Only one recorder at a time should claim a process: held during this object's lifetime. If
// another process has it, this waits up to 0.2 s, 1 s for all processes; then nothing is held.
class ClaimLock {
 public:
  explicit ClaimLock(pid_t pid);
  bool is_held() const { return held_; }
  bool has_other_holder() const { return other_holder_; }

 private:
  Descriptor fd_;
  bool held_ = false, other_holder_ = false;
};

}  // namespace luatrace::record::vm
