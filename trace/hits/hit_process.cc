// SPDX-License-Identifier: MIT
#include "trace/hits/hit_process.h"

#include <utility>

namespace luatrace {
namespace {

// Compares two coroutine numbers, each of which may be unknown (0).
bool differ(uint32_t a, uint32_t b) {
  return a && b && a != b;
}

}  // namespace

// -- Lua VMs --

HitStream* HitProcess::stream_of(uint64_t state) const {
  const auto it = states_.find(state);
  return it == states_.end() || it->second->stopped() ? nullptr : it->second;
}

HitStream* HitProcess::new_stream(const Hit& hit) {
  if (shared_.streams >= HitLimits::kMaxStreams) return nullptr;
  if (number_ == 0 && shared_.options.on_process)
    number_ = shared_.options.on_process(pid_, hit.time);
  if (number_ == 0) {
    lt_process_info info{};
    info.pid = info.ns_pid = static_cast<int32_t>(pid_);
    info.start_tick = hit.time;
    number_ = pid_;
    shared_.writer.write_process(number_, info, "", "");
  }
  lt_stream_info info{};
  info.process = number_;
  info.state_addr = hit.state;
  info.recording = 1;
  info.tid = static_cast<int32_t>(hit.tid);
  info.start_tick = hit.time;
  const uint32_t number = ++shared_.streams;
  streams_.push_back(std::make_unique<HitStream>(shared_.writer, shared_.counters, number, info));
  shared_.counters.streams++;
  HitStream* const made = streams_.back().get();
  if (hit.state) states_[hit.state] = made;
  return made;
}

// The VM to which a coroutine most likely belongs if no event says so; null if there are too many.
HitStream* HitProcess::choose(const Hit& hit, const HitThread& thread) {
  if (hit.state) {
    if (HitStream* known = stream_of(hit.state)) return known;
    HitStream* const guessed = last_on(thread);
    if (guessed && guessed->state() == 0) {
      guessed->set_state(hit.state);
      return states_[hit.state] = guessed;
    }
    return new_stream(hit);
  }
  if (HitStream* last = last_on(thread)) return last;
  if (streams_.size() == 1 && !streams_[0]->stopped()) return streams_[0].get();
  return new_stream(hit);
}

// The hit belongs to this VM: reports what was missing on the thread to the VM's stream.
void HitProcess::use(HitStream& stream, const Hit& hit, HitThread& thread) {
  uint64_t missing = std::exchange(thread.missing, 0);
  HitStream* const before = std::exchange(thread.stream, &stream);
  thread.owner = this;
  if (missing > 0) {
    const uint64_t since = thread.time ? thread.time : shared_.first_time;
    if (before && before != &stream && !before->stopped())
      before->loss(std::exchange(missing, 0), since, hit.time);
    stream.loss(missing, since, hit.time);
  }
  stream.thread(hit.tid, hit.time);
}

// -- Coroutines --

HitProcess::Slot* HitProcess::find(uint64_t L) {
  if (last_slot_ && last_L_ == L && !last_slot_->stream->stopped()) return last_slot_;
  const auto it = coroutines_.find(L);
  if (it == coroutines_.end() || it->second.stream->stopped()) return nullptr;
  last_L_ = L;
  return last_slot_ = &it->second;
}

HitProcess::Slot* HitProcess::insert(uint64_t L, HitStream& stream, uint32_t vm_id, bool empty) {
  if (coroutines_.size() >= HitLimits::kMaxCoroutines) return nullptr;
  Slot& slot = coroutines_[L];
  slot.co = stream.make_coroutine(vm_id, empty);
  slot.stream = &stream;
  last_slot_ = nullptr;
  return &slot;
}

// The coroutine of the hit, created if necessary. If the VM was traced from its beginning, a
// coroutine that appears without having been created or resumed proves a gap. Null: too many.
HitProcess::Slot* HitProcess::find_or_insert(const Hit& hit, HitThread& thread) {
  if (Slot* known = find(hit.L)) {
    use(*known->stream, hit, thread);
    return known;
  }
  HitStream* const stream = choose(hit, thread);
  if (!stream) return nullptr;
  use(*stream, hit, thread);
  if (stream->proves_gaps()) stream->odd(hit.time);
  return insert(hit.L, *stream, 0, false);
}

// The same for a coroutine that is resumed or yields; the VM's number for it is hit.value.
HitProcess::Slot* HitProcess::find_or_insert_other(const Hit& hit, uint64_t co, HitThread& thread) {
  const auto id = static_cast<uint32_t>(hit.value);
  Slot* slot = find(co);
  if (slot && differ(slot->co.vm_id, id)) {
    shared_.counters.reused++;
    slot->stream->collect(slot->co, hit.time);
    slot = insert(co, *slot->stream, id, false);
  }
  if (!slot) {
    Slot* const by = hit.L ? find(hit.L) : nullptr;
    HitStream* const stream = by ? by->stream : choose(hit, thread);
    slot = stream ? insert(co, *stream, id, false) : nullptr;
  }
  if (!slot) return nullptr;
  if (id) slot->co.vm_id = id;
  use(*slot->stream, hit, thread);
  return slot;
}

// -- Functions --

void HitProcess::describe(uint64_t key, HitFunction function) {
  if (functions_.size() >= HitLimits::kMaxFunctions && !functions_.contains(key)) return;
  Description& d = functions_[key];
  if (d.known) return;
  d.function = std::move(function);
  d.known = true;
  for (const auto& [stream, id] : d.users) stream->words().describe(id, d.function);
  d.users = {};
}

// The function's id in the stream.
uint32_t HitProcess::function(HitStream& stream, uint64_t key) {
  const uint32_t known = stream.words().id_of(key);
  if (known) return known;
  if (functions_.size() >= HitLimits::kMaxFunctions && !functions_.contains(key))
    return LT_ID_UNKNOWN;
  const uint32_t id = stream.words().new_id(key);
  Description& d = functions_[key];
  if (d.known)
    stream.words().describe(id, d.function);
  else
    d.users.emplace_back(&stream, id);
  return id;
}

// -- Hits --

void HitProcess::event(const Hit& hit, HitThread& thread) {
  switch (hit.kind) {
    case HitKind::kEntry:
    case HitKind::kReturn:
    case HitKind::kTail:
    case HitKind::kUnwind:
      return call(hit, thread);
    case HitKind::kCreate:
      return create(hit, thread);
    case HitKind::kResume:
    case HitKind::kYield:
      return coroutine(hit, thread);
    case HitKind::kEnd:
      return end(hit, thread);
    case HitKind::kStack:
      return stack(hit, thread);
    case HitKind::kOpen:
      return open(hit, thread);
    case HitKind::kClose:
      return close(hit, thread);
    default:
      return drop(hit, thread);
  }
}

// Counted as a loss in the stream to which it would have belonged.
void HitProcess::drop(const Hit& hit, HitThread& thread) {
  shared_.counters.dropped++;
  if (HitStream* const stream = last_on(thread)) stream->loss(1, hit.time, hit.time);
}

void HitProcess::call(const Hit& hit, HitThread& thread) {
  Slot* const slot = find_or_insert(hit, thread);
  if (!slot) return drop(hit, thread);
  if (hit.kind == HitKind::kUnwind) return slot->stream->unwind(slot->co, hit);
  const uint32_t id = function(*slot->stream, hit.what);
  if (hit.kind == HitKind::kEntry)
    slot->stream->entry(slot->co, hit, id);
  else
    slot->stream->leave(slot->co, hit, id);
}

void HitProcess::create(const Hit& hit, HitThread& thread) {
  if (Slot* const old = find(hit.what)) {
    shared_.counters.reused++;
    old->stream->collect(old->co, hit.time);
  }
  Slot* const by = find_or_insert(hit, thread);
  if (!by) return drop(hit, thread);
  HitStream& stream = *by->stream;
  Slot* const made = insert(hit.what, stream, static_cast<uint32_t>(hit.value), true);
  if (!made) return drop(hit, thread);
  Slot* const creator = hit.L == hit.what ? nullptr : find(hit.L);
  stream.create(creator ? &creator->co : nullptr, made->co, hit.time);
}

void HitProcess::coroutine(const Hit& hit, HitThread& thread) {
  // If neither is known, the report of its stack follows and names the VM.
  if (hit.kind == HitKind::kResume && !hit.state && !find(hit.what) && !(hit.L && find(hit.L)) &&
      !thread.holding) {
    thread.holding = true;
    thread.held = hit;
    return;
  }
  Slot* const slot = find_or_insert_other(hit, hit.what, thread);
  if (!slot) return drop(hit, thread);
  if (hit.kind == HitKind::kYield) return slot->stream->suspend(slot->co, hit.time, LTS_YIELD);
  Slot* by = hit.L && hit.L != hit.what ? find(hit.L) : nullptr;
  if (by && by->stream != slot->stream) by = nullptr;
  slot->stream->resume(by ? &by->co : nullptr, slot->co, hit.time);
}

void HitProcess::end(const Hit& hit, HitThread& thread) {
  Slot* const slot = find(hit.what);
  if (!slot) {
    if (hit.value < 0) return;  // Collected without ever having been seen.
    Hit other = hit;
    other.value = 0;
    Slot* const made = find_or_insert_other(other, hit.what, thread);
    if (!made) return drop(hit, thread);
    return made->stream->suspend(made->co, hit.time, hit.value ? LTS_ERROR : LTS_DONE);
  }
  use(*slot->stream, hit, thread);
  if (hit.value >= 0)
    return slot->stream->suspend(slot->co, hit.time, hit.value ? LTS_ERROR : LTS_DONE);
  slot->stream->collect(slot->co, hit.time);
  coroutines_.erase(hit.what);
  last_slot_ = nullptr;
}

void HitProcess::stack(const Hit& hit, HitThread& thread) {
  Slot* slot = find(hit.L);
  HitStream* const stream = slot && (!hit.state || slot->stream->state() == hit.state)
                                ? slot->stream
                                : choose(hit, thread);
  if (!stream) return drop(hit, thread);
  use(*stream, hit, thread);
  const auto id = static_cast<uint32_t>(hit.value);
  if (!slot || slot->stream != stream || differ(slot->co.vm_id, id))
    slot = insert(hit.L, *stream, id, true);
  if (!slot) return drop(hit, thread);
  if (id) slot->co.vm_id = id;
  stream->stack(slot->co, hit);
}

void HitProcess::open(const Hit& hit, HitThread& thread) {
  if (HitStream* const old = stream_of(hit.state)) {
    shared_.counters.reused++;
    old->stop(hit.time, LTE_CLOSE);
  }
  HitStream* const stream = new_stream(hit);
  if (stream) stream->opened();
  if (!stream || !insert(hit.L, *stream, 1, true)) return drop(hit, thread);
  use(*stream, hit, thread);
}

void HitProcess::close(const Hit& hit, HitThread& thread) {
  HitStream* stream = stream_of(hit.state);
  if (!stream) {
    Slot* const slot = find(hit.L);
    stream = slot ? slot->stream : nullptr;
  }
  if (!stream) return;  // It was never seen.
  use(*stream, hit, thread);
  stream->stop(hit.time, LTE_CLOSE);
  stream->words().flush();
}

// -- All VMs --

void HitProcess::loss(uint64_t state, uint64_t count, uint64_t since, uint64_t time) {
  for (const auto& stream : streams_)
    if (!stream->stopped() && (state == 0 || stream->state() == state || stream->state() == 0))
      stream->loss(std::exchange(count, 0), since, time);
}

void HitProcess::finish(uint64_t time, uint32_t reason) {
  for (const auto& stream : streams_) {
    stream->stop(time, reason);
    stream->words().flush();
  }
}

void HitProcess::flush() {
  for (const auto& stream : streams_) stream->words().flush();
}

// Not "= {}", which keeps the memory.
void HitProcess::rest() {
  for (const auto& stream : streams_) stream->words().rest();
  functions_ = decltype(functions_)();
  coroutines_ = decltype(coroutines_)();
  states_ = decltype(states_)();
  last_slot_ = nullptr;
}

uint64_t HitProcess::lost() const {
  uint64_t sum = 0;
  for (const auto& stream : streams_) sum += stream->lost();
  return sum;
}

}  // namespace luatrace
