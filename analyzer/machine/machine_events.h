// SPDX-License-Identifier: MIT
// StackMachine: the record that comes next goes to what it concerns.
#pragma once

#include <algorithm>

#include "analyzer/machine/machine.h"
#include "analyzer/machine/machine_calls.h"
#include "analyzer/machine/machine_coroutines.h"
#include "luatrace_watch.h"

namespace luatrace::analyze {

// Function ids are below those of sections; a larger value becomes the unknown function.
inline VmFunctionId function_id(uint64_t value) {
  return value < kFirstSection ? VmFunctionId(static_cast<uint32_t>(value)) : kUnknownVmFunction;
}

// The coroutine in the lower half of a continuation word.
inline CoroutineId coroutine_id(uint64_t word) {
  return CoroutineId(lt_lo(word));
}

// False for records that may stand outside a recording; any other shows that it has begun.
inline bool begins_recording(const Record& r) {
  return r.kind != LT_EXT || !(r.sub == LTX_START || r.sub == LTX_STOP || r.sub == LTX_BLOCK ||
                               r.sub == LTX_TIME || r.sub == LTX_THREAD);
}

// Records that do not concern stacks: they may stand anywhere, even inside a report of a stack.
inline bool is_aside(const Record& r) {
  if (r.kind != LT_EXT) return false;
  switch (r.sub) {
    case LTX_UNWIND:
    case LTX_CREATE:
    case LTX_COLLECT:
    case LTX_SWITCH:
    case LTX_STACK:
    case LTX_LOSS:
    case LTX_START:
    case LTX_STOP:
      return false;
    default:
      return true;
  }
}

template <class Sink>
void StackMachine<Sink>::handle(const Record& r) {
  if (!recording_ && begins_recording(r)) begin(now_);
  if (is_aside(r)) return handle_ext(r);
  if (r.kind != LT_FRAME) {
    // The lost events may be the rest of the report; a recording may end anywhere.
    const bool cut = r.kind == LT_EXT && (r.sub == LTX_LOSS || r.sub == LTX_STOP);
    if (pending_ && !cut) end_report(false);
    if (r.kind != LT_EXT || (r.sub != LTX_SWITCH && r.sub != LTX_LOSS)) torn_ = false;
  }
  switch (r.kind) {
    case LT_ENTRY:
      return entry(function_id(r.value));
    case LT_RETURN:
      return leave(function_id(r.value), Note::kReturn);
    case LT_TAIL:
      return leave(function_id(r.value), Note::kTail);
    case LT_FRAME:
      return frame(function_id(r.value));
    case LT_RESUME:
      return resume(coroutine_id(r.value));
    case LT_SUSPEND:
      return suspend(static_cast<uint32_t>(r.value));
    default:
      return handle_ext(r);
  }
}

template <class Sink>
void StackMachine<Sink>::handle_ext(const Record& r) {
  switch (r.sub) {
    case LTX_BLOCK:
      return ring_block(coroutine_id(r.words[1]), ThreadId(lt_lo(r.words[2])));
    case LTX_UNWIND:
      if (r.arg == 1) return unwind_to(lt_lo(r.words[0]) - 1, VmFunctionId(lt_hi(r.words[0])));
      return unwind(lt_lo(r.words[0]), VmFunctionId(lt_hi(r.words[0])));
    case LTX_CREATE:
      return create(coroutine_id(r.words[0]));
    case LTX_COLLECT:
      return collect(coroutine_id(r.words[0]));
    case LTX_REQUEST:
      return request(coroutine_id(r.words[0]), r.words[1] - 1);
    case LTX_MARK:
      return mark(r);
    case LTX_LABEL:
      return label(r);
    case LTX_SWITCH:
      note(Note::kSwitch, cur_->top, lt_lo(r.words[0]));
      return switch_to(*get(coroutine_id(r.words[0])));
    case LTX_STACK:
      return stack(coroutine_id(r.words[0]), r.words[1] - 1, r.arg);
    case LTX_LOSS:
      return loss(r);
    case LTX_THREAD:
      note(Note::kThread, cur_->top, lt_lo(r.words[0]));
      return thread(ThreadId(lt_lo(r.words[0])));
    case LTX_START:
      stop();
      begin(now_);
      attached_ = r.arg == LT_START_ATTACHED;
      return note(Note::kStart, 0, lt_lo(r.words[1]));
    case LTX_STOP:
      note(Note::kStop, cur_->top, r.arg);
      return stop(r.arg == LTE_DETACH);
    case LTX_CPU:
      return cpu(r);
    case LTX_TIME:
    case LTX_WATCH:  // Values, for people.
    case LTX_GC:     // Collector and compiler are calls; these records only say more of them.
    case LTX_TRACE:
      return;
    default:
      trust_.unknown++;
  }
}

// The time of a record. All absences together are no longer than the time that passed: the rest is
// counted, unless nothing is known of that time anyway. A single one is not compared with the
// events around it, because the recorder may learn of it late (recorder/drain/cpu_time.cc).
template <class Sink>
uint64_t StackMachine<Sink>::absence(const Record& r) {
  const uint64_t passed = now_ - std::min(now_, known_since_);
  const uint64_t known = std::min(r.words[0], passed);
  const uint64_t ticks = std::min(known, passed - std::min(passed, absent_));
  cpu_.cut += known - ticks;
  absent_ += ticks;
  return ticks;
}

// For so long until now the thread did not run, or it is not known whether it did. It is the time
// of what is innermost now.
template <class Sink>
void StackMachine<Sink>::cpu(const Record& r) {
  cpu_.known = true;
  if (!recording_) return;
  if (r.arg >= LTC_UNKNOWN) {
    cpu_.unknown += std::min({r.words[0], now_ - begun_, UINT64_MAX - cpu_.unknown});
    return;
  }
  const uint64_t ticks = absence(r);
  if (r.arg == LTC_PREEMPTED && cur_->top) cpu_.preempted += ticks;
  if constexpr (requires { sink_.off_cpu(*this, ticks); })
    sink_.off_cpu(*this, ticks);
  else if constexpr (requires { sink_.off_cpu(uint32_t{}, ticks); })
    sink_.off_cpu(cur_->frames[cur_->top].node, ticks);
}

}  // namespace luatrace::analyze
