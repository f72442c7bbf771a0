// SPDX-License-Identifier: MIT
// The stack machine of one stream (one Lua state): from event words to calls.
//
// It keeps the stack of every coroutine, follows which one is current and who resumed whom, and
// tells its Sink where time is spent and which calls begin and end. docs/semantics.md is the
// contract. Two loops: fast() handles entries and matching returns of the current coroutine with
// everything in registers; slow() handles one record of any kind, and is the full definition. Their
// code is in machine_loop.h and machine_events.h, which whoever makes a machine includes as well.
//
// Invariants: cur_ is never null; every tick between the start and the end of a recording is given
// to the Sink exactly once (add_self_time), except those of gaps, which are summed in gap(); a
// coroutine that is not running has `since` set and its suspended time is told when it ends or
// wakes.
//
// A Sink has (a node is one of its call tree, 0 is the root):
//   uint32_t enter(uint32_t node, uint32_t function)
//        A call begins or is reported: returns its node, a child of `node`. Called once for each
//        ENTRY and FRAME of the stream, in their order.
//   uint32_t enter_base(uint32_t node, uint32_t function)
//        The node below which the calls of a coroutine are.
//   uint32_t enter_again(uint32_t node, uint32_t old, uint32_t function)
//        The call of node `old` is a child of `node` from now on.
//   void call(uint32_t node)
//        A call begins there.
//   void add_self_time(uint32_t node, uint64_t ticks)
//        Time with this call innermost.
//   void ended(uint32_t node, uint32_t function, uint64_t running)
//        A call ends that was seen from beginning to end.
//   void suspended(uint32_t node, uint64_t ticks)
//        Its coroutine was suspended in this call.
//   static constexpr bool kNotes
//        If true, also: void note(const Note&).
// and may have
//   bool looks_ahead(), CallTree& look_up(), enter(node, function, hash)
//        Whether the tree is too large for the caches; the tree; enter() with the hash of the call
//        stack known.
//   void cut(uint32_t node, uint64_t running)
//        A call ends without its end being seen; kNotSeen: nor was its beginning.
//   static constexpr bool kFrames
//        If true, it follows single calls instead.
// A sink that follows single calls has, instead of call, add_self_time, ended and suspended (a call
// is a coroutine and the index of a frame; that of `top` is meant):
//   uint32_t base(const Coroutine&, const Coroutine* resumer)
//        The node below which the coroutine is attached.
//   void opened(Coroutine&, uint64_t now, bool begins)
//        The call on top has begun, or was reported.
//   void closed(Coroutine&, uint64_t now, uint64_t running, bool whole)
//        It ends; its running time (kNotSeen: unknown); whole: beginning and end were seen.
//   void add_self_time(Machine&, uint64_t from, uint64_t to)
//        Time of the current coroutine.
//   void suspended(Coroutine&, uint64_t from, uint64_t to, bool resumed)
//        resumed: it runs again.
//   void attached(Coroutine&, bool moved, uint64_t now)
//        Its place in the call tree is settled for now.
//   void gap(uint64_t from, uint64_t to)
//   void begins(uint64_t tick)
//        A recording begins.
//   void on_thread(uint32_t tid)
//   void created(Coroutine& by, Coroutine&, uint64_t now)
//   void gone(Coroutine&, uint64_t now, Gone how)
//        Nothing more comes of it.
// That way a call costs three times as much. So such a sink may take runs, in which calls of one
// coroutine begin and end and nothing else happens, except for the outermost call, as a sink of
// sums does:
//   bool takes_runs()
//        Whether it ever does. Asked once a block.
//   bool begin_run(Machine&, uint64_t until)
//        Whether it takes one that ends no later than `until`.
//   void add_self_time(uint32_t node, uint64_t ticks)
//   void run_opened(Coroutine&, uint32_t index)
//        As opened(), but `top` is not up to date.
//   void run_closed(const FrameNotes&, uint64_t running)
//        As closed(); beginning and end were seen.
//   void end_run(uint64_t from, uint64_t to)
#pragma once

#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "analyzer/machine/coroutine.h"
#include "analyzer/machine/functions.h"
#include "analyzer/machine/id_set.h"
#include "analyzer/read/diagnostics.h"
#include "analyzer/read/model.h"
#include "analyzer/read/words.h"

namespace luatrace::analyze {

// One thing that happened, for sinks that print.
struct Note {
  enum Kind {
    kEntry,
    kReturn,
    kTail,
    kFrame,
    kUnwind,
    kAbandon,
    kResume,
    kSuspend,
    kCreate,
    kCollect,
    kSwitch,
    kStack,
    kLoss,
    kThread,
    kStart,
    kStop
  };
  Kind kind;
  uint32_t coroutine;
  uint32_t depth;  // Of the call (1: outermost); of other events: number of open calls.
  uint64_t what;   // Function index, coroutine, status, reason or count.
};

// How a coroutine's life ended, for sinks that follow single calls. kLost: a gap begins; it may be
// seen again.
enum class Gone { kDone, kError, kCollected, kCut, kLost };

template <class Sink>
class StackMachine {
 public:
  StackMachine(uint32_t stream, Sink& sink, Diagnostics& diagnostics, FunctionTable& functions)
      : stream_(stream),
        sink_(sink),
        diag_(diagnostics),
        trust_(diagnostics.trust),
        ids_(functions, diagnostics.trust, stream) {
    cur_ = get(0);
  }

  IdMap& ids() { return ids_; }
  // Works through one block. Its words are not kept.
  void block(const EventBlock& block);
  // The end of the file: whatever is open is cut here.
  void finish();

  uint64_t traced() const { return traced_; }  // Ticks of all recordings, gaps included.
  uint64_t gap() const { return gap_; }        // Ticks about which nothing is known.
  uint64_t first_tick() const { return first_; }
  uint64_t last_tick() const { return now_; }
  uint64_t coroutines() const { return seen_.count(); }
  const std::set<uint32_t>& threads() const { return threads_; }
  uint64_t work() const { return used_; }  // Steps that needed kWorkPerWord, see there.

  // For sinks that follow single calls.
  Coroutine& current() { return *cur_; }
  uint64_t now() const { return now_; }
  // Resumers. LuaJIT has no limit but the C stack, of which 8 MB hold 74,000 while traced.
  static constexpr uint32_t kMaxChain = 1u << 17;
  // The coroutine with this id, null if there is none.
  Coroutine* find(uint32_t id);
  // The coroutine that resumed this one, null if nobody did (or it was suspended since).
  Coroutine* resumer_of(const Coroutine& co) {
    Coroutine* by = co.resumed ? find(co.resumer) : nullptr;
    return by && by->serial == co.resumer_serial ? by : nullptr;
  }
  // Changes when a coroutine's resumer may have become another one in any other way than by its own
  // resume or suspension.
  uint64_t links() const { return links_; }
  // `f` for this coroutine, the one that resumed it, and so on outwards. Not for each event: this
  // is work of the kind that is limited (kWorkPerWord), if less of it than the machine's own: who
  // looks at each resume of some hundred coroutines inside each other must not end it.
  static constexpr uint32_t kWorkOfLook = 64;
  template <class F>
  void each_in_chain(Coroutine& co, F f, uint32_t work_of_link = kWorkOfLook);

 private:
  static constexpr size_t kDoubledFrames = 65536;  // Longer stacks grow by a quarter.
  static constexpr uint32_t kMaxSearch = 65536;    // Frames; LuaJIT's stacks have fewer slots.

  // Some records need as many steps as the stack is deep or the chain of resumers long. A trace
  // made for it could have nothing but those. So each word brings some steps with it, many more
  // than any program needs; when they are used up, such records are done by halves, and counted.
  static constexpr uint64_t kWorkPerWord = 1024, kWorkAtFirst = 65536;
  // The first is one comparison, the others look for a node of the call tree.
  static constexpr uint32_t kWorkOfLink = 16, kWorkOfWaking = 48, kWorkOfMove = 32;
  static constexpr uint32_t kLeastSearch = 256;
  bool afford(uint64_t steps) {
    used_ += std::min(steps, work_);
    if (steps > work_) return work_ = 0, false;
    work_ -= steps;
    return true;
  }

  const uint64_t* fast(const uint64_t* p, const uint64_t* end);
  const uint64_t* fast_run(const uint64_t* p, const uint64_t* end);
  template <bool kAhead, class Ahead>
  const uint64_t* fast_run(const uint64_t* p, const uint64_t* end, Ahead ahead);
  const uint64_t* slow(const uint64_t* p, const uint64_t* end);
  uint64_t hole_before(const EventBlock& block, uint64_t base);
  void start_block(const EventBlock& block);
  void resync(const EventBlock& block);
  void take_time(const Record& r);
  void handle(const Record& r);
  void handle_ext(const Record& r);

  void add_self_time_until(uint64_t tick);
  void begin(uint64_t tick);
  void cut(uint64_t& counter, bool gap);
  void stop();
  void gap_until(uint64_t tick);

  void entry(uint32_t id);
  void leave(uint32_t id, Note::Kind kind);
  void frame(uint32_t id);
  void end_report(bool complete);
  void unwind(uint32_t count, uint32_t id);
  void unwind_to(uint32_t keep, uint32_t id);
  void unwind_unknown_to(uint32_t keep, uint32_t id);
  void resume(uint32_t id);
  void suspend(uint32_t status);
  void switch_to(Coroutine& to);
  void leave_unnamed();
  void stack(uint32_t id, uint64_t calls, uint32_t reason);
  void loss(const Record& r);
  void create(uint32_t id);
  void collect(uint32_t id);
  void ring_block(uint32_t id, uint32_t tid);

  Coroutine* get(uint32_t id);
  void erase(uint32_t id);
  void cut(Coroutine& co, uint64_t& counter, Gone how);
  void set_current(Coroutine* co);
  void set_hidden(Coroutine& co, uint32_t calls);
  uint32_t find_frame(const Coroutine& co, uint32_t id, uint32_t from);
  void unlink_resumers(Coroutine& co);
  void push(Coroutine& co, uint64_t start, uint32_t id);
  void end_top(Coroutine& co);
  void end_by_error(Coroutine& co, uint32_t depth);
  void drop_to(Coroutine& co, uint32_t depth);
  void attach(Coroutine& co);
  // resumed: it runs again; else its time of being suspended only ends.
  void wake(Coroutine& co, bool resumed = true);
  void sleep(Coroutine& co);
  void thread(uint32_t tid);
  void reattach();
  void close_unseen(Coroutine& co, uint32_t depth);
  void report_gone(Coroutine& co, Gone how) {
    if constexpr (Sink::kFrames) sink_.gone(co, now_, how);
  }
  void report_attached(Coroutine& co, bool moved) {
    if constexpr (Sink::kFrames) sink_.attached(co, moved, now_);
  }
  // The time of the last record: during a report of a stack it is later than now_.
  uint64_t latest() const { return std::max(now_, held_); }
  bool reports() const { return pending_ || (torn_ && held_ != 0); }
  uint64_t clock(const Coroutine& co) const {
    return (co.running ? now_ : co.since) - co.suspended;
  }
  void note(Note::Kind kind, uint32_t depth, uint64_t what) {
    if constexpr (Sink::kNotes) sink_.note({kind, cur_->id, depth, what});
  }

  uint32_t stream_;
  Sink& sink_;
  Diagnostics& diag_;
  Trust& trust_;
  IdMap ids_;
  std::unordered_map<uint32_t, std::unique_ptr<Coroutine>, RandomHash> coroutines_;
  bool gap_seen_ = false;  // Coroutines that appear may have calls from before the gap.
  bool attached_ = false;  // So may any that is not reported: LT_START_ATTACHED.
  bool recording_ = false;
  Coroutine* cur_ = nullptr;
  std::vector<Coroutine*> woken_;  // By set_current(), which alone uses it.
  uint64_t now_ = 0;
  uint64_t begun_ = 0;      // Of this recording.
  uint64_t block_end_ = 0;  // No clock of this block can be later.
  uint64_t block_offset_ = 0;
  bool bad_said_ = false;         // About this block.
  bool opens_with_loss_ = false;  // It does, and that comes yet; the hole was cut out already.
  uint64_t records_ = 0;          // Of this block.
  uint32_t next_seq_ = 0;
  // A report of a stack is of one moment: until its last FRAME no time goes by, and how late it is
  // then is held back.
  uint64_t pending_ = 0;  // FRAMEs that must follow.
  uint64_t held_ = 0;
  bool torn_ = false;  // A gap was just before: what follows may be the rest of a report.
  uint64_t traced_ = 0, gap_ = 0, first_ = 0;
  uint64_t serials_ = 0;
  IdSet seen_;  // Coroutines, by their ids, which the VM gives once.
  uint64_t work_ = kWorkAtFirst, used_ = 0, links_ = 0;
  bool began_once_ = false;
  std::set<uint32_t> threads_;
};

}  // namespace luatrace::analyze
