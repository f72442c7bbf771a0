// SPDX-License-Identifier: MIT
// Source: what `--via bpf` records. Processes are added, their hits drained into the HitWriters of
// their outputs.
//
//   probe sites -> BPF program -> ring buffers -> drain() -> HitWriter -> TraceWriter
//
// Invariants: used by one thread (the drainer's, which owns the outputs); every hit that the kernel
// saw while a process was attached is given to a HitWriter or counted as lost; while the outputs
// are not ready (Output::ready) nothing is taken from the ring buffers, where the kernel counts
// what finds no room: nothing here waits for a disk until everything is detached.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "recorder/bpf/block_stream.h"
#include "recorder/bpf/filter.h"
#include "recorder/bpf/mapped.h"
#include "recorder/bpf/program.h"
#include "recorder/bpf/strings.h"
#include "recorder/drain/output.h"
#include "recorder/os/clock.h"
#include "trace/hits/hit_writer.h"

namespace luatrace::record::bpf {

struct Settings {
  uint64_t ring_bytes = 64u << 20;         // of each ring buffer
  uint32_t rings = 1;                      // processes are spread over them
  std::optional<Granularity> granularity;  // nothing: blocks, where the LuaJIT has them
  std::optional<NopKind> nop;              // nothing: as the self test says
  uint32_t clock = LT_CLOCK_MONOTONIC;     // of the files
  std::optional<Mechanism> mechanism;      // nothing: the best that works
  FilterRules filter;
  uint32_t max_depth = 0;  // 0: no limit
};

// How the sites are attached, for messages and the NOTE block.
struct AttachMode {
  Mechanism mechanism = Mechanism::kEach;
  bool wide = false;                              // the kernel makes a call of the wide nop
  bool kills_children = false;                    // and that kills forked children: see self_test.h
  Granularity granularity = Granularity::kEvent;  // what was taken last, and
  NopKind nop = NopKind::kNarrow;
  const char* why_narrow = "";  // if wide ones would be cheaper
  bool risky = false;   // and forked children of that process die: its LuaJIT does not know of it
  bool shared = false;  // another tool has sites at the same places: the beginning is not clean
};

struct SourceTotals {
  uint64_t hits = 0;          // of probes of events, or events in blocks, that came
  uint64_t lost = 0;          // that found no room
  uint64_t unread_names = 0;  // strings that could not be read from anywhere
  uint64_t early = 0;         // hits before the first report of their state: no losses
  uint64_t late_names = 0;    // that the BPF program could not read, but we could
};

// Why a process could not be attached to.
struct Refused {
  enum Kind { kNo, kGone, kNoRight, kNoLua, kBusy, kOther } kind = kNo;
  std::string why;  // for the user: what, and what to do about it
  explicit operator bool() const { return kind != kNo; }
};

class Source {
 public:
  explicit Source(Settings settings);
  ~Source();

  // Is everything there that this needs? Tries it, on this program itself.
  Failure able();
  // Attaches to a process; if that was done, to LuaJITs that it has mapped since. What comes of it
  // waits until begin() says where to put it; `number` is that of its PROCESS block there. retold:
  // its states were on before and will report their stacks; what comes before that is left out.
  // single: only single events may be asked for.
  Refused add(pid_t pid, bool retold = false, bool single = false);
  void begin(pid_t pid, const std::shared_ptr<Output>& output, uint32_t number);

  // Passes on what has come, as far as the outputs take it, for 20 ms at most. Returns the number
  // of records. Call it every few milliseconds.
  uint64_t drain();
  // The process has ended, or is no longer wanted: detaches from it, and passes on the last of it
  // as soon as the outputs take it (by drain()). Until then its number cannot be add()ed.
  void remove(pid_t pid);
  // Detaches from all; then, and not before, waits for the outputs: passes on everything, ends the
  // streams, fills in the totals of the outputs.
  void finish();

  // Processes that have become another program since it was last asked; each wants a new number.
  std::vector<pid_t> take_execs() { return std::exchange(execs_, {}); }
  void renumber(pid_t pid, uint32_t number);
  // Processes whose first event has arrived since it was last asked: how long after add(), in ns.
  std::vector<std::pair<pid_t, uint64_t>> take_firsts() { return std::exchange(firsts_, {}); }

  // Processes that have told of new C functions since it was last asked.
  std::set<pid_t> take_with_c() { return std::exchange(with_c_, {}); }

  // Processes whose blocks we cannot make sense of, because we came late or something was lost:
  // they should be asked to begin anew.
  std::vector<pid_t> take_unsynced() { return std::exchange(unsynced_, {}); }

  bool has(pid_t pid) const { return by_pid_.contains(pid); }
  const AttachMode& mode() const { return mode_; }
  const SourceTotals& totals() const { return totals_; }

 private:
  // An output, and what turns hits into its blocks.
  struct Sink {
    std::shared_ptr<Output> output;
    std::unique_ptr<HitWriter> hits;
    uint64_t gaps = 0, lost_ticks = 0;
    uint64_t unchecked = 0;  // hits since it was asked whether there is room
    bool ended = false;      // takes nothing more
  };
  // A Lua state that hands over blocks.
  struct Stated {
    std::unique_ptr<BlockStream> stream;
    uint64_t address = 0;  // of its struct lt_ring
    uint64_t last_ns = 0;  // when something came
    bool looked = false;   // what it has not handed over was fetched since
  };
  // What a state has not handed over, fetched from its memory.
  struct Rest {
    uint64_t tick = 0;  // when it was read
    uint64_t number = 0, count = 0, funcs_number = 0, funcs = 0;
    std::vector<uint64_t> words;
    std::vector<std::byte> functions;
  };
  struct Attached {
    pid_t pid;
    uint32_t slot;
    Sink* sink;
    uint32_t image;  // names this image of the process to the HitWriter
    ProcessStrings strings;
    uint64_t added_ns = 0;
    bool began = false;
    // Records since the start, or since an exec, until the image has its number. Each: its size,
    // then itself.
    bool waits = true;
    std::vector<std::byte> held = {};
    std::vector<std::shared_ptr<LuaFile>> files = {};    // attached
    std::unordered_map<uint64_t, uint32_t> states = {};  // address -> number within the image
    uint32_t next_state = 1;
    uint64_t last_state = 0;  // and its number: mostly it is the same again
    uint32_t last_number = 0;
    Filter filter;
    bool retold = false;
    bool leaving = false, gone = false;  // removed; and the process had ended by then
    Granularity granularity = Granularity::kEvent;
    std::map<uint64_t, Stated> stated = {};  // by address of the state
    std::unordered_set<uint64_t> told = {};  // states that have reported
  };
  static constexpr uint64_t kCheckPause = 2048;  // hits between questions for room
  Failure load(const ProbedFile& layout, Program** program);
  Failure load_one(const ProbedFile& layout, std::unique_ptr<Program>& program);
  Failure attach_files(Attached& a, const MappedLua& lua);
  NopKind nop_for(const LuaFile& file, pid_t pid);
  std::optional<uint32_t> free_slot() const;
  Sink& sink_of(const std::shared_ptr<Output>& output);
  bool ready() const;
  bool drain_all();
  void end_leaving();
  void end(Attached& a);
  void flush(Sink& sink);
  bool has_room(Sink& sink);
  void end_sink(Sink& sink);
  void give_held(Attached& a);

  void take(std::span<const std::byte> record);
  static bool too_early(Attached& a, const ltb_hit& hit, uint32_t kind);
  void use(Attached& a, const ltb_hit& hit);
  void give(Attached& a, const Hit& hit);
  void take_call(Attached& a, const ltb_hit& hit, uint32_t kind);
  void take_coroutine(Attached& a, const ltb_co& record, uint32_t kind);
  void take_other(Attached& a, const ltb_hit& hit, uint32_t kind);
  void take_function(Attached& a, const ltb_func& f);
  void take_loss(Attached& a, const ltb_loss& loss);
  void take_exec(Attached& a, const ltb_hit& hit);
  // Blocks (chunks.cc).
  Granularity granularity_for(const MappedLua& lua, bool single, Refused& refused) const;
  void take_chunk(Attached& a, const ltb_block& piece);
  void start_stream(Attached& a, const ltb_block& piece);
  std::optional<Rest> read_rest(const Attached& a, const Stated& s) const;
  static void take_rest(Stated& s, const Rest& rest);
  void lose_tail(Attached& a, const ltb_loss& loss);
  void look_at_idle(uint64_t now);
  void settle();
  bool read_rests();
  void end_streams(Attached& a, bool gone);
  void finish_stream(Attached& a, Stated& s);
  uint64_t at(uint64_t ns) const;  // in the clock of the files
  uint64_t now() const;            // the same, but not after the recording's end
  std::string text(Attached& a, const char* bytes, int32_t length, uint64_t address);
  uint64_t key(Attached& a, uint64_t state, uint32_t id);
  void give_exit(Attached& a, uint64_t time);

  Settings settings_;
  MappedFiles mapped_;
  std::vector<std::unique_ptr<Program>> programs_;  // one for each layout of arguments
  std::vector<std::unique_ptr<Sink>> sinks_;
  std::map<pid_t, std::unique_ptr<Attached>> by_pid_;
  std::vector<Attached*> by_slot_;
  std::unordered_map<uint32_t, uint32_t> numbers_;  // of images in their files, 0: not known yet
  std::vector<pid_t> execs_;
  std::vector<std::pair<pid_t, uint64_t>> firsts_;
  std::vector<pid_t> unsynced_;
  std::set<pid_t> with_c_;
  uint32_t next_image_ = 1;
  lt_clock_info start_;
  mutable std::optional<ClockRate> rate_;
  std::map<std::pair<uint32_t, uint64_t>, Rest> rests_;  // at the end, by slot and state
  uint64_t stop_ns_ = UINT64_MAX;                        // what is younger is not taken
  uint64_t look_due_ns_ = 0;
  size_t leaving_ = 0;      // processes
  bool left_some_ = false;  // at the last drain(), because the outputs were not ready, or for time
  AttachMode mode_;
  SourceTotals totals_;
  bool finished_ = false;
};

}  // namespace luatrace::record::bpf
