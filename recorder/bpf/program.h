// SPDX-License-Identifier: MIT
// Program: one loaded copy of the BPF program, its ring buffer, and where it is attached.
// Invariants: however this process ends, everything is detached (link_keeper.h); the semaphore of a
// LuaJIT is raised last and lowered first, so that events begin when every site is attached.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "recorder/bpf/link_keeper.h"
#include "recorder/bpf/mapped.h"

struct luatrace_bpf;
struct ring_buffer;

namespace luatrace::record::bpf {

// A refusal by libbpf or the kernel, as errno and in words ("cannot ...: reason").
struct Failure {
  int error = 0;
  std::string text;
  explicit operator bool() const { return !text.empty(); }
};

class Program {
 public:
  ~Program();

  // Loads a copy for this layout with a ring buffer of `ring_bytes` (rounded up to a power of two
  // pages).
  Failure load(const ProbedFile& layout, Mechanism mechanism, uint64_t ring_bytes);

  // Attaches the probes of the file in that process. times: LTC_SEGMENTS, LTC_AUTO, or 0; it is
  // what the VMs are asked for, if they know segments.
  Failure attach(const LuaFile& file, pid_t pid, uint32_t slot, uint32_t times);
  // Lowers the semaphores, but keeps the sites: events that are then flushed still arrive.
  void lower();
  // Detaches everything of the slot, semaphores first.
  void detach(uint32_t slot);
  void detach_all();

  // Does a BPF program that is hit report it? Without some capabilities (CAP_SYS_ADMIN, in
  // containers) everything can be attached and no event ever arrives. Before anything is attached.
  Failure self_test();

  // Passes records to `take` until that returns false (it does not accept the next one yet).
  // Returns their number.
  using Take = std::function<bool(std::span<const std::byte>)>;
  uint64_t consume(const Take& take);

  // How many events of each VM of a slot (0: not known of which) were lost, after it was detached.
  using TakeLoss = std::function<void(uint64_t state, uint64_t events)>;
  void leftover_losses(uint32_t slot, const TakeLoss& take);
  uint64_t unattributed() const;  // events lost whose process is not known
  // Was the process that holds the probes killed?
  bool unguarded() const { return keeper_.has_ended(); }

  bool same_layout(const ProbedFile& file) const { return layout_.same_layout(file); }
  bool has_links() const { return !links_.empty(); }
  // What was missing when this was compiled, so that every load() fails; empty: nothing.
  static std::string not_built();

 private:
  struct Link {
    uint64_t slot;
    bool is_switch;  // holds the semaphore
    int number;      // the keeper's
  };
  int attach_site(const std::string& path, const LinkKeeper::Site& site, pid_t pid, bool is_switch);
  int attach_probe(const LuaFile& file, uint64_t offset, uint64_t semaphore, pid_t pid,
                   uint32_t slot);
  int raise(const LuaFile& file, uint64_t offset, uint64_t semaphore, pid_t pid, uint32_t slot);
  int attach_both(const LuaFile& file, pid_t pid, uint32_t slot);
  int raise_both(const LuaFile& file, pid_t pid, uint32_t slot);
  int attach_all(const LuaFile& file, pid_t pid, uint32_t slot, uint32_t times);
  void detach_if(const std::function<bool(const Link&)>& wanted);
  static int on_record(void* self, void* data, size_t size);

  luatrace_bpf* skeleton_ = nullptr;
  ring_buffer* reader_ = nullptr;
  LinkKeeper keeper_;
  std::vector<Link> links_;
  ProbedFile layout_;
  Mechanism mechanism_ = Mechanism::kEach;
  const Take* take_ = nullptr;
  uint64_t taken_ = 0;
};

}  // namespace luatrace::record::bpf
