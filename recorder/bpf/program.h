// SPDX-License-Identifier: MIT
// Program: one loaded copy of the BPF program, its ring buffers, and where it is attached.
// Invariants: however this process ends, everything is detached (link_keeper.h); the semaphore of a
// LuaJIT is raised last and lowered first, so that events begin when every site is attached.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "recorder/bpf/link_keeper.h"
#include "recorder/bpf/mapped.h"
#include "recorder/bpf/wire.h"

struct luatrace_bpf;
struct ring_buffer;

namespace luatrace::record::bpf {

// What is requested of a process: a hit for each event, or for each block of events.
enum class Granularity { kEvent, kBlock };

// How sites are attached. kMulti (Linux 6.6): all sites of a file by one link, whose end waits for
// the kernel once (0.1 s); kEach: one perf event for each site.
enum class Mechanism { kMulti, kEach };

// A refusal by libbpf or the kernel, as errno and in words ("cannot ...: reason").
struct Failure {
  int error = 0;
  std::string text;
  explicit operator bool() const { return !text.empty(); }
};

class Program {
 public:
  Program();
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  // Loads a copy for this layout with `rings` ring buffers of `ring_bytes` each (rounded up to a
  // power of two pages).
  Failure load(const ProbedFile& layout, Mechanism mechanism, uint64_t ring_bytes, uint32_t rings);

  // If no C functions are wanted: attach() leaves out the probe of their return. The probe of their
  // entry is needed: in a stack report it shows which calls they are.
  void leave_out_c() { with_c_ = false; }
  // Attaches the probes of the file in that process. *shared is set if another tool's sites there
  // made the right order of the semaphore impossible.
  Failure attach(const LuaFile& file, pid_t pid, uint32_t slot, bool* shared);
  // The same for blocks of events.
  Failure attach_blocks(const LuaFile& file, pid_t pid, uint32_t slot);
  // Lowers the semaphores, but keeps the sites: events that are then flushed still arrive.
  void lower();
  // Detaches everything of the slot, semaphores first.
  void detach(uint32_t slot);
  void detach_all();

  // Attaches the self test at an offset of this program's own file.
  Failure attach_self_test(uint64_t offset, uint32_t slot);

  // Passes records to `take` until that returns false (it does not accept the next one yet).
  // Returns their number.
  using Take = std::function<bool(std::span<const std::byte>)>;
  uint64_t consume(const Take& take);

  // Losses of a slot that no hit has reported (after it was detached): for each VM.
  using TakeLoss = std::function<void(const ltb_loss&)>;
  void leftover_losses(uint32_t slot, const TakeLoss& take);
  uint64_t unattributed() const;  // hits lost whose VM is not known
  // Was the process that holds the probes killed?
  bool unguarded() const { return keeper_.has_ended(); }

  bool same_layout(const ProbedFile& file) const { return layout_.same_layout(file); }
  // What was missing when this was compiled, so that every load() fails; empty: nothing.
  static std::string not_built();

 private:
  struct Link {
    uint32_t slot;
    bool is_switch;  // holds the semaphore
    int number;      // the keeper's
  };
  struct Site {
    size_t kind;  // LTB_*
    uint64_t offset, semaphore;
  };
  std::vector<Site> sites_of(const ProbedFile& file, bool share) const;
  Failure attach_sites(const std::string& path, const std::string& name,
                       std::span<const Site> sites, pid_t pid, uint32_t slot);
  Failure attach_multi(const std::string& path, std::span<const Site> sites, pid_t pid,
                       uint32_t slot);
  Failure attach_each(const std::string& path, const Site& site, pid_t pid, uint32_t slot);
  void forget_states(uint32_t slot);
  Failure make_rings(uint64_t bytes, uint32_t rings);
  void detach_if(const std::function<bool(const Link&)>& wanted);
  static int on_record(void* self, void* data, size_t size);

  luatrace_bpf* skeleton_ = nullptr;
  ring_buffer* reader_ = nullptr;
  std::vector<int> ring_fds_;
  LinkKeeper keeper_;
  std::vector<Link> links_;
  ProbedFile layout_;
  Mechanism mechanism_ = Mechanism::kEach;
  bool with_c_ = true;
  const Take* take_ = nullptr;
  uint64_t taken_ = 0;
};

}  // namespace luatrace::record::bpf
