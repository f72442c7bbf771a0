// SPDX-License-Identifier: MIT
#include "analyzer/collect/leading_calls.h"
#include "analyzer/collect/verdict_pass.h"

namespace luatrace::analyze {

LeadingCalls::LeadingCalls(const FilterPlan& plan, const FunctionTable& functions,
                           const SymbolFinder& symbols)
    : min_ns_(plan.options->min_ns),
      separate_(plan.options->mode == CoroutineMode::kSeparate),
      merged_(plan.options->mode == CoroutineMode::kMerged),
      by_coroutine_(plan.options->group == GroupBy::kCoroutine),
      path_(plan, functions, symbols) {
  stream(kNoStream);
}

void LeadingCalls::stream(StreamId number) {
  stream_ = &streams_[number];
  stream_->verdicts = &verdicts[number];
}

// As in Scope::base(): the calls of a separate coroutine have no callers outside of it.
uint32_t LeadingCalls::base(const Coroutine& co, const Coroutine* by) const {
  const bool apart = by_coroutine_ || merged_ || (separate_ && co.id);
  return apart || !by ? path_.root() : by->frames[by->top].node & ~CallPath::kTarget;
}

// The call is dropped until it is known to lead to a function of -C.
void LeadingCalls::begin(Coroutine& co, uint32_t index) {
  co.notes[index].number = next_call(stream_->calls);
  stream_->verdicts->drop(co.notes[index].number, true);
  if (is(co, index, CallPath::kTarget)) mark_leading(co, index);
}

bool LeadingCalls::begin_run(Machine& machine, uint64_t) {
  stream_->machine = &machine;
  return !needs_marking(machine.current());
}

// Calls of the coroutines that have resumed this one since the call of -C began led to it, too.
void LeadingCalls::add_self_time(Machine& machine, uint64_t from, uint64_t to) {
  stream_->machine = &machine;
  Coroutine& co = machine.current();
  if (from >= to || !needs_marking(co)) return;
  uint32_t links = 0;  // A damaged trace might have a cycle.
  for (Coroutine* c = &co; c && c->marked_epoch != c->epoch && links <= Machine::kMaxChain;
       links++) {
    if (const uint32_t index = target_in(*c)) return mark_leading(*c, index);
    c->marked_epoch = c->epoch;  // The resumers are marked now.
    c = machine.resumer_of(*c);
  }
}

// Returns the index of the open call of -C in the coroutine, 0 if there is none.
uint32_t LeadingCalls::target_in(const Coroutine& co) {
  uint32_t before = 0, reached = co.top;
  while (reached - before > 1) {
    const uint32_t middle = before + (reached - before) / 2;
    (is(co, middle, CallPath::kReached) ? reached : before) = middle;
  }
  return reached && is(co, reached, CallPath::kTarget) ? reached : 0;
}

// Marks all open calls from the one at `index` outwards, across resumers, as leading to it.
void LeadingCalls::mark_leading(Coroutine& co, uint32_t index) {
  StreamVerdicts& verdicts = *stream_->verdicts;
  auto mark = [&](Coroutine& c, uint32_t from) {
    for (uint32_t i = from; i > 0 && verdicts.drops(c.notes[i].number); i--)
      verdicts.drop(c.notes[i].number, false);
  };
  mark(co, index);
  // marked_epoch == epoch: the resumers were marked since the coroutine woke; they have no new
  // calls.
  for (Coroutine* c = &co; stream_->machine && c->marked_epoch != c->epoch;) {
    c->marked_epoch = c->epoch;
    c = stream_->machine->resumer_of(*c);
    if (!c) return;
    mark(*c, c->top);
  }
}

}  // namespace luatrace::analyze
