// SPDX-License-Identifier: MIT
#include "analyzer/collect/sampled_profile.h"

#include <algorithm>

#include "analyzer/collect/process_names.h"
#include "analyzer/filter/phase.h"
#include "base/escape.h"

namespace luatrace::analyze {
namespace {

// The sum of all weights of a file stays below, so that no sum of them overflows.
constexpr uint64_t kMaxNs = uint64_t{1} << 62;

// Where the file has no symbol for an address, its functions are not told apart: "[libfoo.so]".
std::string name_without_symbol(const std::string& place) {
  const std::string file = place.substr(0, place.rfind('+'));
  return file.starts_with('[') ? file : '[' + file + ']';
}

}  // namespace

SampledProfile::SampledProfile(const FilterPlan& plan, TraceFacts& facts,
                               const SymbolFinder& symbols, Diagnostics& diagnostics, bool off_cpu,
                               SampleBuckets* buckets)
    : plan_(plan),
      options_(*plan.options),
      facts_(facts),
      symbols_(symbols),
      diag_(diagnostics),
      off_cpu_(off_cpu ? std::optional(true) : std::nullopt),
      placement_(plan, facts.functions, symbols, profile_.tree()),
      unknown_(facts.functions.add_unknown_frame()),
      buckets_(buckets) {}

void SampledProfile::limit(NodeBudget* budget) {
  placement_.limit(budget);
}

SampledProfile::Stream& SampledProfile::stream(StreamId number) {
  return streams_.try_emplace(number, facts_.functions, diag_.trust, number).first->second;
}

void SampledProfile::on_header(const Clock& clock, const lt_file_header&) {
  facts_.clock = clock;
  if (buckets_) buckets_->set_clock(clock);
}

void SampledProfile::on_stream(const StreamInfo& info) {
  facts_.streams[info.number] = info;
  Stream& s = stream(info.number);
  s.process = info.process;
  s.ids.set_process(info.process);
}

void SampledProfile::on_function(const FunctionInfo& info) {
  Stream& s = stream(info.stream);
  if (info.type != LT_FUNC_LABEL) return s.ids.define(info);
  if (options_.group == GroupBy::kLabel && info.chunk == options_.label)
    s.labels[info.id] = info.name;
}

// Null: it has none.
const std::string* SampledProfile::Stream::label(const Sample& sample) const {
  for (const uint64_t frame : sample.frames) {
    if ((frame & 15) != LT_FRAME_LABEL) break;
    const auto value = labels.find(frame >> 4);
    if (value != labels.end()) return &value->second;
  }
  return nullptr;
}

// What was in no mapping may be in this one.
void SampledProfile::on_map(const MapInfo& info) {
  facts_.maps.add(info);
  std::erase_if(by_address_, [&](const auto& known) { return known.second == unknown_; });
}

void SampledProfile::on_events(const EventBlock& block) {
  diag_.trust.bad_records++;
  diag_.log(block.offset, "events in a trace of samples: left out");
}

// -- Samples --

void SampledProfile::on_samples(const SampleBlock& block) {
  Stream& from = stream(block.stream);
  if (block.seq != from.next_seq) {
    diag_.trust.missing_blocks++;
    diag_.log(block.offset, "blocks of samples are missing before this one");
  }
  from.next_seq = block.seq + 1;
  check_order(from, block);
  for (const Sample& sample : block.samples) {
    if (buckets_) buckets_->at(sample.head.tick, sums_, filtered_ns_);
    add(from, sample);
  }
}

// Threads may differ by a little.
void SampledProfile::check_order(Stream& from, const SampleBlock& block) {
  for (const Sample& s : block.samples) {
    const uint64_t tick = s.head.tick;
    if (tick < from.sums.last && facts_.clock.ns(from.sums.last - tick) > LT_SAMPLE_DISORDER_NS) {
      diag_.trust.clock_anomalies++;
      diag_.log(block.offset, "a sample is much older than the one before");
    }
    from.sums.first = std::min(from.sums.first, tick);
    from.sums.last = std::max(from.sums.last, tick);
  }
}

uint64_t SampledProfile::weight_of(const Sample& sample) {
  const uint64_t weight = sample.head.weight_ns;
  if (weight <= kMaxNs - all_ns_) return all_ns_ += weight, weight;
  diag_.trust.clock_anomalies++;
  return 0;
}

void SampledProfile::add(Stream& from, const Sample& sample) {
  diag_.trust.events++;
  const lt_sample& s = sample.head;
  const uint64_t weight = weight_of(sample);
  from.sums.threads.emplace(static_cast<uint32_t>(s.tid));
  if (s.coroutine) coroutines_.emplace(vm_number(from, s), s.coroutine);
  const bool off_cpu = (s.flags & LTS_OFF_CPU) != 0;
  if (!off_cpu_) off_cpu_ = off_cpu;
  if (off_cpu != *off_cpu_) {
    sums_.others++;
    sums_.others_ns += weight;
    return;
  }
  sums_.samples++;
  from.sums.traced += weight;
  if (!is_wanted(from, s)) {
    sums_.filtered++;
    filtered_ns_ += weight;
    return;
  }
  read_frames(from, sample);
  const uint32_t node = enter_stack(from, sample);
  placement_.raw()[NodeId(node)].self += weight;
  placement_.raw()[NodeId(node)].calls++;
  const uint64_t compiled = s.state == LT_SAMPLE_COMPILED ? weight : 0;
  if (compiled) compiled_[node] += compiled;
  if (buckets_) buckets_->add(node, weight, compiled);
}

bool SampledProfile::is_wanted(const Stream& from, const lt_sample& s) {
  const auto has = [](const auto& list, auto value) {
    return list.empty() || std::find(list.begin(), list.end(), value) != list.end();
  };
  if (s.tick < plan_.from || s.tick > plan_.to) return false;
  if (!has(options_.threads, ThreadId(static_cast<uint32_t>(s.tid)))) return false;
  if (!options_.vms.empty() && !has(options_.vms, StreamId(vm_number(from, s)))) return false;
  const auto& filters = options_.coroutines;
  return filters.empty() || std::any_of(filters.begin(), filters.end(), [&](const auto& f) {
           return s.coroutine && f.id == CoroutineId(s.coroutine) &&
                  (!f.vm || f.vm == StreamId(vm_number(from, s))) &&
                  (!f.address || f.address == s.state_addr);
         });
}

// Lua VMs are numbered from 1, in the order in which they occur; 0: not in Lua.
uint32_t SampledProfile::vm_number(const Stream& from, const lt_sample& s) {
  if (!s.state_addr) return 0;
  const auto next = static_cast<uint32_t>(vms_.size() + 1);
  return vms_.try_emplace({from.sums.stream, s.state_addr}, next).first->second;
}

// -- Frames --

FunctionId SampledProfile::native(ProcessId process, uint64_t address) {
  const auto [known, fresh] = by_address_.try_emplace({process, address}, unknown_);
  if (!fresh) return known->second;
  Function f;
  f.type = LT_FUNC_C;
  f.process = process;
  f.addr = address;
  const Symbol symbol = symbols_(f);
  if (symbol.name.empty()) return unknown_;
  FunctionInfo info;
  info.type = LT_FUNC_C;
  info.chunk = symbol.file;
  info.name = symbol.offset ? name_without_symbol(symbol.name) : symbol.name;
  return known->second = facts_.functions.add(info, process);
}

FunctionId SampledProfile::function(Stream& from, uint64_t frame) {
  const uint64_t value = frame >> 4;
  switch (frame & 15) {
    case LT_FRAME_FUNCTION:
      return lt_lo(value) ? from.ids(VmFunctionId(lt_lo(value))) : unknown_;
    case LT_FRAME_NATIVE:
      return native(from.process, value);
    case LT_FRAME_RETURN:
      return value ? native(from.process, value - 1) : unknown_;
    default:
      return unknown_;
  }
}

// The steps of the stack, the outermost first. Unknown frames that follow each other are one.
void SampledProfile::read_frames(Stream& from, const Sample& sample) {
  steps_.clear();
  bool in_coroutine = false;
  for (size_t i = sample.frames.size(); i-- > 0;) {
    const uint64_t frame = sample.frames[i];
    if ((frame & 15) == LT_FRAME_LABEL) continue;
    if ((frame & 15) == LT_FRAME_COROUTINE) {
      steps_.push_back({kCoroutineFunction, frame >> 4});
      in_coroutine = true;
      continue;
    }
    const FunctionId f = function(from, frame);
    if (f == unknown_) {
      sums_.unknown_frames++;
      if (!steps_.empty() && steps_.back().function == unknown_) continue;
    }
    steps_.push_back({f});
  }
  if (sample.head.coroutine && !in_coroutine)
    steps_.insert(steps_.begin(), {kCoroutineFunction, sample.head.coroutine});
}

// -- Their place in the tree --

// The node of the raw tree that has the whole stack below it.
uint32_t SampledProfile::root(const Stream& from, const Sample& sample) {
  const lt_sample& s = sample.head;
  switch (options_.group) {
    case GroupBy::kThread:
      return placement_.enter(0, placement_.group("thread " + std::to_string(s.tid)));
    case GroupBy::kVm: {
      const uint32_t vm = vm_number(from, s);
      const std::string name = vm ? "Lua VM " + std::to_string(vm) : "[no Lua VM]";
      return placement_.enter(0, placement_.group(name + pid_text(facts_, from.process)));
    }
    case GroupBy::kProcess:
      return placement_.enter(0, placement_.group(process_name(facts_, from.process)));
    case GroupBy::kRequest:
      if (!s.request) return 0;
      return placement_.enter_group(0, placement_.group("request " + hex(s.request - 1)));
    case GroupBy::kLabel: {
      const std::string* const value = from.label(sample);
      if (!value) return 0;
      const bool own = !label_groups || label_groups->contains(*value);
      return placement_.enter_group(0, placement_.group(own ? *value : kOtherValues));
    }
    case GroupBy::kPhase:
      return phase_root();
    default:
      return 0;
  }
}

// That of the innermost block of a phase.
uint32_t SampledProfile::phase_root() {
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    if (step->function < kFirstFunction) continue;
    const std::string phase = nginx_phase(placement_.described(step->function));
    if (!phase.empty()) return placement_.enter(0, placement_.group(phase));
  }
  return 0;
}

// Returns the node below which the calls of a coroutine are. `node`: that of its resumer's call; 0
// if none is known: then it is `top`.
uint32_t SampledProfile::enter_coroutine(const Stream& from, const lt_sample& s, uint32_t root,
                                         uint32_t top, uint32_t node, uint64_t id) {
  const bool by_coroutine = options_.group == GroupBy::kCoroutine;
  if (by_coroutine || options_.mode == CoroutineMode::kSeparate) {
    const std::string name = "coroutine " + std::to_string(vm_number(from, s)) + ':' +
                             (id ? std::to_string(id) : "?") + pid_text(facts_, from.process);
    return placement_.enter(root, placement_.group(name, true));
  }
  if (!node) return top;
  if (options_.mode == CoroutineMode::kMerged)
    return placement_.enter(root, placement_.group("[coroutines]", true));
  return placement_.enter(node, kCoroutineFunction);
}

uint32_t SampledProfile::enter_stack(const Stream& from, const Sample& sample) {
  const lt_sample& s = sample.head;
  const uint32_t base = root(from, sample);
  uint32_t top = base;
  if (s.flags & LTS_TRUNCATED) sums_.truncated++;
  // Without a coroutine the group of coroutines is that of none.
  if (options_.group == GroupBy::kCoroutine &&
      (steps_.empty() || steps_.front().function != kCoroutineFunction))
    top = placement_.enter(base, placement_.group("[no coroutine]", true));
  if (steps_.empty() || (s.flags & LTS_TRUNCATED)) top = placement_.enter(top, kUnknownFunction);
  uint32_t node = top;
  for (const Step& step : steps_) {
    if (step.function != kCoroutineFunction)
      node = placement_.enter(node, step.function);
    else
      node = enter_coroutine(from, s, base, top, node == top ? 0 : node, step.coroutine);
  }
  return node;
}

// -- The end --

void SampledProfile::finish(bool continues) {
  CallTree& raw = placement_.raw();
  CallTree& out = profile_.tree();
  if (buckets_) buckets_->finish(placement_, sums_, filtered_ns_);
  for (uint32_t i = 0; i < raw.size() && &raw != &out; i++) {
    const CallNode& n = raw[NodeId(i)];
    const Place p = placement_[i];
    if (p.takes) {
      out[p.out].self += n.self;
      out[p.out].calls += n.calls;
    } else {
      filtered_ns_ += n.self;
      sums_.filtered += n.calls;
    }
  }
  for (const auto& [node, ns] : compiled_)
    if (&raw == &out || placement_[node].takes)
      profile_.compiled(&raw == &out ? node : placement_[node].out, ns);
  facts_.sums.clear();
  for (auto& [number, s] : streams_) facts_.sums.push_back(s.sums);
  if (!facts_.sums.empty()) facts_.sums[0].coroutines = coroutines_.size();
  if (facts_.end) diag_.trust.lost = std::max(diag_.trust.lost, facts_.end->lost);
  if (continues) return;
  placement_.close();
  profile_.close();
}

void SampledProfile::restart(NodeBudget* budget) {
  profile_ = Profile();
  limit(budget);
  compiled_.clear();
  sums_ = {};
  all_ns_ = filtered_ns_ = 0;
  for (auto& [number, s] : streams_) s.sums.traced = 0, s.sums.threads.clear();
}

}  // namespace luatrace::analyze
