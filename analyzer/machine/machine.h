// SPDX-License-Identifier: MIT
// The stack machine of one stream (one Lua VM): turns event words into calls.
//
// It keeps the stack of every coroutine, tracks which one is current and who resumed whom, and
// reports to its Sink where time is spent and which calls begin and end. docs/semantics.md is the
// contract. There are two loops: fast() handles entries and matching returns of the current
// coroutine with everything in registers; slow() handles one record of any kind and is the full
// definition. Their code is in machine_loop.h and machine_events.h (with machine_calls.h and
// machine_coroutines.h); files that instantiate a machine include those too.
//
// Invariants: cur_ is never null; every tick between the start and the end of a recording is passed
// to the Sink exactly once (add_self_time), except those of gaps, which gap() sums; a coroutine
// that is not running has `since` set, and its suspended time is reported when it ends or wakes.
//
// All times are in ticks. A Sink has (a node is one of its call tree, 0 is the root):
//   uint32_t enter(uint32_t node, FunctionId function)
//        A call begins or is reported: returns its node, a child of `node`. Called once for each
//        ENTRY and FRAME of the stream, in their order.
//   uint32_t enter_base(uint32_t node, FunctionId function)
//        Returns the node below `node` to which the calls of a coroutine are attached.
//   uint32_t enter_again(uint32_t node, uint32_t old, FunctionId function)
//        The call at node `old` is a child of `node` from now on; returns its new node. After
//        base(), for each open call of the coroutine, outermost first.
//   void call(uint32_t node)
//        A call begins at `node`.
//   void add_self_time(uint32_t node, uint64_t ticks)
//        Time with this call innermost.
//   void ended(uint32_t node, FunctionId function, uint64_t running)
//        A call ends whose beginning and end were seen; `running` is its inclusive time.
//   void suspended(uint32_t node, uint64_t ticks)
//        The coroutine was suspended with this call innermost.
//   static constexpr bool kNotes
//        If true, also: void note(const Note&).
// and may have
//   bool prefetches(), CallTree& machine_tree(), enter(node, function, hash)
//        Whether its call tree is too large for the caches, so that nodes should be prefetched
//        (machine/prefetch.h); that tree; enter() with a known hash of the call path.
//   void apportioned(uint32_t node, uint64_t ticks)
//        So much of the time just passed to add_self_time() was apportioned (segment_body.h).
//   void ended_inside(uint32_t node, FunctionId function, uint64_t calls, uint64_t running)
//        Instead of ended(): of so many calls, beginning and end are times apportioned in one
//        stretch. `running` is the sum of their inclusive times, which say nothing of the single
//        call.
//   void repeated(node, function, calls, running)
//        As call() and ended_inside() for so many calls. A sink without this, or whose
//        bool takes_repeats() says no, gets each call of a repeated iteration.
//   void cut(uint32_t node, uint64_t running)
//        A call ends unseen; `running` is kNotSeen if its beginning was unseen, too.
//   uint64_t border(), void cross(size_t coroutines)
//        Time stops at this tick, which is later than now (UINT64_MAX: never): the time of
//        suspended coroutines until then is passed on, too (settle()), and cross() sets another
//        border. With these also begins() and gap() of below.
//   static constexpr bool kFrames
//        If true, the sink follows single calls.
// Such a sink has, instead of call, add_self_time, ended and suspended (a call is identified by its
// coroutine and frame index; the one at `top` is meant):
//   uint32_t base(const Coroutine&, const Coroutine* resumer)
//        Returns the node to which the coroutine is attached.
//   void opened(Coroutine&, uint64_t now, bool begins)
//        The call on top has begun, or was reported (begins: false).
//   void closed(Coroutine&, uint64_t now, uint64_t running, bool whole)
//        The call ends, as Coroutine::ending says; inclusive time (kNotSeen: unknown); whole:
//        beginning and end were seen.
//   void add_self_time(Machine&, uint64_t from, uint64_t to)
//        Time of the current coroutine.
//   void suspended(Coroutine&, uint64_t from, uint64_t to, bool resumed)
//        resumed: it runs again.
//   void attached(Coroutine&, bool moved, uint64_t now)
//        Its node in the call tree is settled for now.
//   void gap(uint64_t from, uint64_t to)
//   void begins(uint64_t tick)
//        A recording begins.
//   void on_thread(ThreadId thread)
//   void created(Coroutine& by, Coroutine&, uint64_t now)
//   void gone(Coroutine&, uint64_t now, Gone how)
//        The coroutine's last event.
// and may have
//   void off_cpu(Machine&, uint64_t ticks)   (with kFrames; others: void off_cpu(node, ticks))
//        So long, until now, the thread did not run; its time was passed to add_self_time().
//   void request(Coroutine& current, Coroutine&, uint64_t request)
//        The coroutine works for this request from now on (LTX_REQUEST).
//   void labeled(Coroutine& current, Coroutine&)
//        Its labels have changed, other than by its creation.
//   void yielded(Coroutine&, const Coroutine* resumer)
//        The coroutine is about to be suspended; the resumer runs again.
//   void switched(const Coroutine& from, const Coroutine& to)
//        Control is about to pass without a resume or yield: a call of `from` is not suspended.
//   void cuts(bool gap)
//        All calls are about to be cut, by a gap (or a pause) or by the end of the recording.
// This makes a call three times as expensive. So such a sink may accept runs: periods in which
// calls of one coroutine begin and end (except the outermost call) and nothing else happens. During
// a run it is called much like a sink of sums:
//   bool takes_runs()
//        Whether it ever accepts runs. Called once per block.
//   bool begin_run(Machine&, uint64_t until)
//        Whether it accepts a run that ends no later than `until`.
//   void add_self_time(uint32_t node, uint64_t ticks)
//   void run_opened(Coroutine&, uint32_t index, uint64_t now)
//        As opened(), but `top` is not up to date.
//   void run_closed(Coroutine&, uint32_t index, uint64_t now, uint64_t running)
//        As closed(), by a return; `top` is not up to date.
//   void end_run(uint64_t from, uint64_t to)
// and for these and closed(), Coroutine::inside says whether the call is one of ended_inside().
#pragma once

#include <memory>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "analyzer/machine/coroutine.h"
#include "analyzer/machine/functions.h"
#include "analyzer/machine/id_set.h"
#include "analyzer/machine/segment_body.h"
#include "analyzer/read/diagnostics.h"
#include "analyzer/read/model.h"
#include "analyzer/read/words.h"

namespace luatrace::analyze {

// One event, for sinks that print.
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
  CoroutineId coroutine;
  uint32_t depth;  // Calls: depth of the call (1: outermost); others: number of open calls.
  uint64_t what;   // Function index, coroutine, status, reason or count.
};

// How a coroutine ended, for sinks that follow single calls. kLost, kPaused: a gap, or a pause of
// the recording, begins; the coroutine may appear again.
enum class Gone { kDone, kError, kCollected, kCut, kLost, kPaused };

// What a stream says of its thread's CPU time; in ticks.
struct CpuSums {
  bool known = false;      // It says something: the scheduler was followed.
  uint64_t unknown = 0;    // But not for so long.
  uint64_t preempted = 0;  // With an open call, ready to run, but not running.
  uint64_t cut = 0;        // Said by records, but longer than the time that passed.
};

template <class Sink>
class StackMachine {
 public:
  StackMachine(StreamId stream, Sink& sink, Diagnostics& diagnostics, FunctionTable& functions)
      : stream_(stream),
        sink_(sink),
        diag_(diagnostics),
        trust_(diagnostics.trust),
        ids_(functions, diagnostics.trust, stream) {
    cur_ = get(kUnknownCoroutine);
  }

  IdMap& ids() { return ids_; }
  // Processes one block. Its words are not kept. `cues`: in the order of the words.
  void block(const EventBlock& block, std::span<const SegmentCue> cues = {});
  // To be called at the end of the file: cuts all open calls.
  void finish();
  // Whether the recording was switched off, which is not its end if another one of the same Lua VM
  // follows: rejoin() says so. The next block is the first one of that stream.
  bool paused() const { return paused_; }
  void rejoin();

  // For sinks of sums, between two blocks: settle() passes on the time up to now also of suspended
  // coroutines, so that the sums, and the figures below, are those until now. Then the sink may be
  // emptied; restart() begins figures from 0, and enters the open calls again. Both cost as much as
  // there are open calls.
  void settle();
  void restart();

  // Ticks of all recordings, gaps included.
  uint64_t traced() const { return traced_ + (recording_ ? now_ - begun_ : 0); }
  uint64_t gap() const { return gap_; }  // Ticks of gaps.
  uint64_t first_tick() const { return first_; }
  uint64_t last_tick() const { return now_; }
  uint64_t coroutines() const { return seen_.count(); }
  const std::set<ThreadId>& threads() const { return threads_; }
  const CpuSums& cpu() const { return cpu_; }
  uint64_t work() const { return used_; }  // Steps used of the budget, see kWorkPerWord.

  // For sinks that follow single calls.
  Coroutine& current() { return *cur_; }
  bool is_apportioned() const { return outer_ != kExactTime; }  // The time that passes now.
  uint64_t now() const { return now_; }
  // Resumers in a row. LuaJIT limits them only by the C stack; 8 MB hold 74,000 while traced.
  static constexpr uint32_t kMaxChain = 1u << 17;
  // Returns the coroutine with this id, null if there is none.
  Coroutine* find(CoroutineId id);
  // Returns the coroutine that resumed `co`, null if none did or `co` was suspended since.
  Coroutine* resumer_of(const Coroutine& co) {
    Coroutine* by = co.resumed ? find(co.resumer) : nullptr;
    return by && by->serial == co.resumer_serial ? by : nullptr;
  }
  // Whether the sink may move so many calls in its call tree, unless attach() does it; counted if
  // not, since they stay where they were.
  bool may_move(uint64_t calls) {
    if (afford(kWorkOfMove * calls)) return true;
    trust_.unbalanced++;
    return false;
  }
  // Changes when a coroutine's resumer may have changed other than by its own resume or suspension.
  uint64_t links() const { return links_; }
  // Calls `f` for this coroutine, its resumer, and so on outwards. Not to be called for each event:
  // each coroutine costs `work_of_link` steps of the work budget (kWorkPerWord).
  static constexpr uint32_t kWorkOfVisit = 64;
  template <class F>
  void each_in_chain(Coroutine& co, F f, uint32_t work_of_link = kWorkOfVisit);

 private:
  static constexpr size_t kDoubledFrames = 65536;  // Longer stacks grow by a quarter.
  static constexpr uint32_t kMaxSearch = 65536;    // Frames; LuaJIT's stacks have fewer slots.
  static constexpr uint32_t kMaxSections = 256;    // Of a coroutine; others have no frames.

  // Some records need as many steps as the stack is deep or resumers are nested; a hostile trace
  // could consist of them. So each word adds some steps to a budget, many more than any program
  // needs; when it is used up, such records are handled incompletely, and counted.
  static constexpr uint64_t kWorkPerWord = 1024, kInitialWork = 65536;
  // Cost in steps: the first is one comparison, the others look up a node of the call tree.
  static constexpr uint32_t kWorkOfLink = 16, kWorkOfWaking = 48, kWorkOfMove = 32;
  static constexpr uint32_t kMinSearch = 256;
  bool afford(uint64_t steps) {
    used_ += std::min(steps, work_);
    if (steps > work_) return work_ = 0, false;
    work_ -= steps;
    return true;
  }

  void words(const uint64_t* p, const uint64_t* end);
  const uint64_t* fast(const uint64_t* p, const uint64_t* end);
  const uint64_t* fast_run(const uint64_t* p, const uint64_t* end);
  template <bool kAhead, bool kApportioned, class Ahead>
  const uint64_t* fast_run(const uint64_t* p, const uint64_t* end, Ahead ahead);
  template <bool kAhead, class Ahead>
  const uint64_t* fast_run_of(const uint64_t* p, const uint64_t* end, Ahead ahead);
  bool may_run() const { return recording_ && pending_ == 0 && !torn_; }
  uint64_t until_border() const;
  void cue(const SegmentCue& cue);
  void end_apportioned(uint64_t tick);
  bool multiply(const SegmentCue& cue);
  void add_repeated(const SegmentCue& cue);
  void write_out(const SegmentCue& cue);
  template <bool kApportioned>
  [[gnu::always_inline]] void pass_self_time(uint32_t node, uint64_t ticks) {
    sink_.add_self_time(node, ticks);
    if constexpr (kApportioned && requires { sink_.apportioned(node, ticks); })
      sink_.apportioned(node, ticks);
  }
  void pass_self_time(uint32_t node, uint64_t ticks) {
    is_apportioned() ? pass_self_time<true>(node, ticks) : pass_self_time<false>(node, ticks);
  }
  // A call at this depth ends while times are apportioned. Did it begin since then, too?
  static bool ends_inside(uint32_t depth, uint32_t& outer) {
    if (depth > outer) return true;
    return outer = depth - 1, false;
  }
  const uint64_t* slow(const uint64_t* p, const uint64_t* end);
  uint64_t gap_start_before(const EventBlock& block, uint64_t base);
  void start_block(const EventBlock& block);
  void resync(const EventBlock& block);
  void take_time(const Record& r);
  void handle(const Record& r);
  void handle_ext(const Record& r);

  template <class Pass>
  void pass_until(uint64_t tick, Pass pass);
  void add_self_time_until(uint64_t tick);
  void begin(uint64_t tick);
  void cut(uint64_t& counter, Gone how);
  void stop(bool pauses = false);
  void gap_until(uint64_t tick);

  void entry(VmFunctionId id);
  void leave(VmFunctionId id, Note::Kind kind);
  void end_call(Coroutine& co, VmFunctionId id, Note::Kind kind);
  void frame(VmFunctionId id);
  void end_report(bool complete);
  void unwind(uint32_t count, VmFunctionId id);
  void unwind_to(uint32_t keep, VmFunctionId id);
  void unwind_at_unknown_depth(uint32_t keep, VmFunctionId id);
  void resume(CoroutineId id);
  void suspend(uint32_t status);
  void switch_to(Coroutine& to);
  void leave_unnamed();
  void stack(CoroutineId id, uint64_t calls, uint32_t reason);
  void loss(const Record& r);
  void create(CoroutineId id);
  void collect(CoroutineId id);
  void request(CoroutineId id, uint64_t request);
  void mark(const Record& r);
  void label(const Record& r);
  void cpu(const Record& r);
  uint64_t absence(const Record& r);
  void ring_block(CoroutineId id, ThreadId tid);

  Coroutine* get(CoroutineId id);
  void erase(CoroutineId id);
  void cut(Coroutine& co, uint64_t& counter, Gone how);
  void set_current(Coroutine* co);
  void set_hidden(Coroutine& co, uint32_t calls);
  uint32_t find_frame(const Coroutine& co, VmFunctionId id, uint32_t from);
  void unlink_resumers(Coroutine& co);
  void push(Coroutine& co, uint64_t start, VmFunctionId id);
  void end_top(Coroutine& co, CallEnding ending = CallEnding::kReturn);
  void report_ended(bool inside, uint32_t node, FunctionId function, uint64_t running) {
    if constexpr (requires { sink_.ended_inside(node, function, 1, running); })
      if (inside) return sink_.ended_inside(node, function, 1, running);
    sink_.ended(node, function, running);
  }
  static void forget_section(Coroutine& co, VmFunctionId id);
  static uint32_t calls_above(const Coroutine& co, uint32_t depth);
  static std::pair<uint32_t, uint32_t> below_calls(const Coroutine& co, uint32_t count);
  void end_sections(Coroutine& co, bool all);
  void carry(const Frame& section);
  void open_earlier(Coroutine& co);
  void end_by_error(Coroutine& co, uint32_t depth);
  void drop_to(Coroutine& co, uint32_t depth);
  static bool is_assumed(const Coroutine& co, uint32_t at);
  void forget_calls(Coroutine& co);
  void forget_assumed(Coroutine& co);
  void attach(Coroutine& co);
  // resumed: it runs again; otherwise only its suspended time ends.
  void wake(Coroutine& co, bool resumed = true);
  void sleep(Coroutine& co);
  void thread(ThreadId tid);
  void reattach();
  void enter_all(Coroutine& co, uint32_t base);
  void close_unseen(Coroutine& co, uint32_t depth, CallEnding ending = CallEnding::kUnseen);
  void report_gone(Coroutine& co, Gone how) {
    if constexpr (Sink::kFrames) sink_.gone(co, now_, how);
  }
  void report_attached(Coroutine& co, bool moved) {
    if constexpr (Sink::kFrames) sink_.attached(co, moved, now_);
  }
  // The time of the last record, which is later than now_ during a report of a stack.
  uint64_t latest() const { return std::max(now_, held_); }
  bool reports() const { return pending_ || (torn_ && held_ != 0); }
  uint64_t clock(const Coroutine& co) const {
    return (co.running ? now_ : co.since) - co.suspended;
  }
  void note(Note::Kind kind, uint32_t depth, uint64_t what) {
    if constexpr (Sink::kNotes) sink_.note({kind, cur_->id, depth, what});
  }

  StreamId stream_;
  Sink& sink_;
  Diagnostics& diag_;
  Trust& trust_;
  IdMap ids_;
  std::unordered_map<CoroutineId, std::unique_ptr<Coroutine>, RandomHash> coroutines_;
  bool gap_seen_ = false;  // Coroutines that appear may have calls from before the gap.
  bool attached_ = false;  // LT_START_ATTACHED: so may coroutines that were not reported.
  bool recording_ = false;
  bool paused_ = false;  // Switched off: calls stay open until it is known whether that is the end.
  Coroutine* cur_ = nullptr;
  std::vector<VmFunctionId> carried_;  // Scratch memory of open_earlier().
  std::vector<Coroutine*> woken_;      // Scratch memory of set_current().
  // Of add_repeated(), by call of the iteration, and of write_out().
  std::vector<uint32_t> nodes_;
  std::vector<uint64_t> ticks_, written_;
  // While times are apportioned: calls at greater depths began since then.
  static constexpr uint32_t kExactTime = UINT32_MAX;
  uint32_t outer_ = kExactTime;
  uint64_t now_ = 0;
  uint64_t begun_ = 0;      // When this recording began.
  uint64_t block_end_ = 0;  // Upper bound of all clocks in this block.
  uint64_t block_offset_ = 0;
  bool bad_logged_ = false;       // A message about this block was logged.
  bool opens_with_loss_ = false;  // The block's loss record is yet to come; its gap is done.
  uint64_t records_ = 0;          // In this block.
  uint32_t next_seq_ = 0;
  // A report of a stack describes one moment: no time passes until its last FRAME; the time of its
  // records is held back in held_.
  uint64_t pending_ = 0;  // FRAMEs that must follow.
  uint64_t held_ = 0;
  bool torn_ = false;  // Just after a gap: what follows may be the rest of a report.
  uint64_t traced_ = 0, gap_ = 0, first_ = 0;
  CpuSums cpu_;
  // For cpu(): since when all events are known (the beginning of the recording, or the last gap),
  // and for how long of it the thread did not run.
  uint64_t known_since_ = 0, absent_ = 0;
  uint64_t serials_ = 0;
  IdSet seen_;  // Ids of all coroutines; the VM never reuses an id.
  uint64_t work_ = kInitialWork, used_ = 0, links_ = 0;
  bool began_once_ = false;
  std::set<ThreadId> threads_;
};

}  // namespace luatrace::analyze
