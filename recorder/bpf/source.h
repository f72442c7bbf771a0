// SPDX-License-Identifier: MIT
// Source: what `--via bpf` records. Processes are added, their hits drained into a HitWriter.
//
//   probe sites -> BPF program -> ring buffers -> drain() -> HitWriter -> TraceWriter
//
// Invariants: of one thread at a time (the drainer's); every hit that the kernel saw while a
// process was attached is given to the HitWriter or counted as lost.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "recorder/bpf/mapped.h"
#include "recorder/bpf/program.h"
#include "recorder/bpf/strings.h"
#include "trace/hits/hit_writer.h"

namespace luatrace::bpf {

struct Settings {
  uint64_t ring_bytes = 64u << 20;     // of each ring buffer
  uint32_t rings = 1;                  // processes are spread over them
  std::optional<Width> width;          // nothing: as the self test says
  std::optional<Mechanism> mechanism;  // nothing: the best that works
};

// How the sites are attached, for messages and the NOTE block.
struct Means {
  Mechanism mechanism = Mechanism::kEach;
  Width width = Width::kNarrow;
  bool shared = false;  // another tool has sites at the same places: the beginning is not clean
};

struct SourceTotals {
  uint64_t lost = 0;          // hits that found no room
  uint64_t gaps = 0;          // in so many pieces
  uint64_t lost_ns = 0;       // sum of their time spans
  uint64_t unread_names = 0;  // strings that could not be read from anywhere
  uint64_t late_names = 0;    // that the BPF program could not read, but we could
  uint64_t first_ns = 0;      // CLOCK_MONOTONIC of the first hit, 0: none yet
};

class Source {
 public:
  // begin_process(pid, time): writes the PROCESS block of a new image of that process and returns
  // its number in the file.
  using BeginProcess = std::function<uint32_t(pid_t pid, uint64_t time)>;
  Source(TraceWriter& writer, Settings settings, BeginProcess begin_process);
  ~Source();

  // Attaches to a process. Empty: done; else why not, and what to do about it.
  std::string add(pid_t pid);

  // Passes on what has come. Returns the number of records. Call it every few milliseconds.
  uint64_t drain();
  // The process has ended: passes on the last of it.
  void remove(pid_t pid);
  // Detaches from all, passes on everything, finishes the streams.
  void finish();

  bool has(pid_t pid) const;
  size_t processes() const { return by_pid_.size(); }
  const Means& means() const { return means_; }
  const SourceTotals& totals() const { return totals_; }
  const HitCounters& counters() const { return hits_.counters(); }

 private:
  struct Attached {
    pid_t pid;
    uint32_t slot;
    uint32_t image;  // names this image of the process to the HitWriter
    ProcessStrings strings;
    std::vector<std::shared_ptr<LuaFile>> files = {};  // attached
    std::unordered_map<uint64_t, uint32_t> states = {};  // address -> number within the image
    uint32_t next_state = 1;
    uint64_t last_state = 0;  // and its number: mostly it is the same again
    uint32_t last_number = 0;
  };
  Failure load(const ProbedFile& layout, Program** program);
  std::string attach_files(Attached& a, const MappedLua& lua);
  std::optional<uint32_t> free_slot() const;

  void take(std::span<const std::byte> record);
  void take_call(Attached& a, const ltb_hit& hit, uint32_t kind);
  void take_coroutine(Attached& a, const ltb_co& record, uint32_t kind);
  void take_other(Attached& a, const ltb_hit& hit, uint32_t kind);
  void take_function(Attached& a, const ltb_func& f);
  void take_loss(Attached& a, const ltb_loss& loss);
  void take_exec(Attached& a, const ltb_hit& hit);
  std::string text(Attached& a, const char* bytes, int32_t length, uint64_t address);
  uint64_t key(Attached& a, uint64_t state, uint32_t id);
  void give_exit(const Attached& a, uint64_t time);

  Settings settings_;
  BeginProcess begin_process_;
  HitWriter hits_;
  MappedFiles mapped_;
  std::vector<std::unique_ptr<Program>> programs_;  // one for each layout of arguments
  std::map<pid_t, std::unique_ptr<Attached>> by_pid_;
  std::vector<Attached*> by_slot_;
  std::unordered_map<uint32_t, pid_t> images_;
  uint32_t next_image_ = 1;
  uint64_t stop_ns_ = UINT64_MAX;  // what is younger is not taken
  Means means_;
  SourceTotals totals_;
  bool finished_ = false;
};

}  // namespace luatrace::bpf
