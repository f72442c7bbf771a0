// SPDX-License-Identifier: MIT
#include "analyzer/read/import.h"

#include <algorithm>

#include "base/escape.h"

namespace luatrace::analyze {
namespace {

constexpr uint64_t kLongest = 1ull << 50;  // ns, 13 days
// How long, and for how many hits, to wait for the report of a stack; and then how long to wait for
// older hits that arrive later, from another CPU.
constexpr uint64_t kAttaching = 3'000'000'000;
constexpr uint64_t kSettling = 1'000'000'000;
constexpr size_t kAttachingHits = 1u << 18;
// Upper bound for a plausible number of hits: each of kMaxProcessors makes one every kFastest ns.
constexpr uint64_t kMaxProcessors = 4096;
constexpr uint64_t kFastest = 20;

lt_file_header header(uint64_t start_ns, uint64_t start_real_ns) {
  lt_file_header h = make_file_header();
  h.start_tick = h.start_mono_ns = start_ns;
  h.start_real_ns = start_real_ns;
  return h;
}

}  // namespace

bool is_import(Input& input) {
  return is_stap_records(input) || is_bpftrace_text(input);
}

std::unique_ptr<Input> import_trace(Input& input, Diagnostics& diag, const Progress& progress) {
  Spool spool;
  (is_stap_records(input) ? read_stap : read_bpftrace)(input, diag, spool, progress);
  return std::make_unique<Input>(input.name(), std::move(spool));
}

Importer::Importer(Spool& spool, Diagnostics& diag, uint64_t start_ns, uint64_t start_real_ns,
                   const std::string& recorder)
    : diag_(diag), start_(start_ns), note_("recorder=" + recorder + "\n") {
  writer_.emplace(spool, "the temporary file of the import", header(start_ns, start_real_ns));
  HitOptions options;
  options.window_ns = UINT64_MAX;  // Output need not be timely: only window_hits limits it.
  options.on_process = [this](uint32_t pid, uint64_t time) { return write_process(pid, time); };
  hits_.emplace(*writer_, std::move(options));
}

uint32_t Importer::write_process(uint32_t pid, uint64_t time) {
  Process& p = processes_[pid];
  last_process_ = nullptr;
  p.number = ++numbers_;
  lt_process_info info{};
  info.pid = info.ns_pid = static_cast<int32_t>(pid);
  const auto parent = processes_.find(p.parent);
  if (parent != processes_.end()) info.parent = static_cast<int32_t>(parent->second.number);
  info.start_tick = time;
  writer_->write_process(p.number, info, p.name, "");
  return p.number;
}

void Importer::hit(const Hit& hit, uint64_t offset) {
  if (hit.time < start_ || hit.time - start_ > kLongest)
    return bad(offset, "a time before the start of the trace or more than 13 days after it");
  if (!last_process_ || last_pid_ != hit.pid) {
    last_process_ = &processes_[hit.pid];
    last_pid_ = hit.pid;
  }
  if (hit.time >= last_process_->last) {
    last_process_->last = hit.time;
    last_process_->last_tid = hit.tid;
  }
  last_process_->begun ? hits_->hit(hit) : hold(*last_process_, hit);
  while (!held_.empty() && held_.begin()->first <= hit.time) begin(held_.begin()->second);
}

// Holds hits back until the report that shows that all probes are attached.
void Importer::hold(Process& p, const Hit& hit) {
  const bool report = hit.kind == HitKind::kStack;
  p.before.push_back(hit);
  if (report) p.report = std::min(p.report, hit.time);
  const uint64_t hold_until =
      p.before.size() >= kAttachingHits
          ? 0
          : std::min(p.hold_until, hit.time + (report ? kSettling : kAttaching));
  if (hold_until == p.hold_until) return;
  held_.erase({p.hold_until, hit.pid});
  held_.insert({p.hold_until = hold_until, hit.pid});
}

// Passes on the held hits, except those older than the report.
void Importer::begin(uint32_t pid) {
  Process& p = processes_[pid];
  held_.erase({p.hold_until, pid});
  p.begun = true;
  const std::vector<Hit> hits = std::move(p.before);
  const auto early = [&p](const Hit& h) { return p.report != UINT64_MAX && h.time < p.report; };
  for (Hit h : hits) {
    if (early(h) && h.kind != HitKind::kOpen && ++dropped_) h.kind = HitKind::kLeftOut;
    hits_->hit(h);
  }
}

void Importer::total(uint32_t tid, uint32_t seq, uint32_t late) {
  hits_->total(tid, seq - late);
  if (late) alive_.insert(tid);
}

// The last numbers of threads can be lost, too: hits that the source counted beyond those of all
// known threads are missing. If it counted fewer, something is damaged.
void Importer::compare(uint64_t offset) {
  if (!counted_) return;
  const std::string counted = "the script counted " + std::to_string(*counted_) + " hits, but ";
  const uint64_t taken = hits_->numbered(false), all = hits_->numbered(true);
  if (*counted_ < all) {
    bad(offset, counted + "the file accounts for " + std::to_string(all));
    if (*counted_ < taken) return;
    hits_->forget_totals();
  }
  HitLoss loss;
  loss.count = *counted_ - (*counted_ < all ? taken : all);
  loss.until = std::max(hits_->last_time(), std::min(counted_at_, start_ + kLongest));
  if (loss.count > kMaxProcessors * (1 + (loss.until - start_) / kFastest))
    return bad(offset, counted + "the time was too short for so many");
  if (loss.count) hits_->lost(loss);
}

void Importer::name_process(uint32_t pid, const std::string& name, uint32_t parent) {
  Process& p = processes_[pid];
  last_process_ = nullptr;
  if (!name.empty()) p.name = name;
  if (parent && parent != pid) p.parent = parent;
}

void Importer::end_process(uint32_t pid, uint64_t time) {
  Process& p = processes_[pid];
  if (!p.begun && !p.before.empty()) begin(pid);
  p.ended = true;
  Hit end;
  end.kind = HitKind::kExit;
  end.pid = pid;
  end.time = std::clamp(time, std::max(start_, p.last), start_ + kLongest);
  hits_->hit(end);
}

void Importer::bad(uint64_t offset, const std::string& what) {
  diag_.trust.bad_records++;
  diag_.log(offset, what);
}

void Importer::note(const std::string& key, uint64_t value) {
  if (value) note_ += key + "=" + std::to_string(value) + "\n";
}

void Importer::finish(uint64_t offset) {
  if (!ended_) {
    hits_->totals_are_early();
    diag_.trust.cut++;
    diag_.log(offset, "the output has no end: its tracer was killed, or the file is cut");
  }
  while (!held_.empty()) begin(held_.begin()->second);
  // Processes that are not known to be alive.
  for (auto& [pid, p] : processes_) {
    const bool alive =
        detaching_since_ && (p.last > detaching_since_ || alive_.contains(p.last_tid));
    if (!p.ended && p.last && !alive) end_process(pid, p.last);
  }
  if (detaching_since_)
    gaps_ == UINT64_MAX ? hits_->end_at(detaching_since_) : hits_->cut_at(detaching_since_, gaps_);
  hits_->settle();
  compare(offset);
  hits_->finish();
  const HitCounters& c = hits_->counters();
  note("hits", c.hits);
  note("left-out-while-attaching", dropped_);
  note("late", c.late);
  note("repeated", c.repeated);
  note("gaps-not-reported", c.odd);
  note("reused-addresses", c.reused);
  note("dropped", c.dropped);
  if (c.misnumbered) {
    diag_.trust.bad_records += c.misnumbered;
    diag_.log(offset, std::to_string(c.misnumbered) +
                          " hits have a number that the following hits do not continue: damaged");
  }
  if (c.late)
    diag_.log(offset, std::to_string(c.late) + " hits were too far out of order to be sorted in");
  writer_->write_note(note_);
  lt_end_info end{};
  end.lost = hits_->lost_events();
  end.exit_status = -1;
  writer_->write_end(end);
  if (!writer_->close()) throw Unreadable(printable(diag_.file()) + ": " + writer_->error());
}

}  // namespace luatrace::analyze
