// SPDX-License-Identifier: MIT
#include "recorder/summary.h"

#include <algorithm>
#include <cstdio>

#include "cli/execute.h"
#include "recorder/os/text.h"
#include "recorder/sampler/backend.h"

namespace luatrace::record {
namespace {

std::string per_event(uint64_t bytes, uint64_t events) {
  if (events == 0) return "";
  char text[64];
  std::snprintf(text, sizeof text, " (%.2f bytes each)",
                static_cast<double>(bytes) / static_cast<double>(events));
  return text;
}

const char* event_text(const Options& options) {
  return options.sample_hz != 0 ? "sample" : "event";
}

// What helps against the loss; empty if that is not known.
std::string advice(const Options& options, bool slow, Output& output) {
  const OutputTotals& t = output.totals();
  const TraceWriter& w = output.writer();
  if (slow || t.unwritten > 0)
    return "; " + w.name() + " is too slow: --compress helps, or a faster disk" +
           (w.seekable() ? "" : " or reader") + ", or fewer events (--exclude, --max-depth)";
  if (!w.ok() || t.lost <= t.lost_otherwise) return "";
  if (options.sample_hz != 0) return "; a larger --ring-size helps, or a lower rate";
  return options.via == "bpf" ? "; a larger --ring-size helps"
                              : "; a larger --ring-size helps, or --block";
}

// Of --sample: by CPU time there should have been more samples.
std::string skipped_text(const OutputTotals& t) {
  if (t.lost_otherwise == 0) return "";
  return "; the kernel's timer has skipped " + grouped(t.lost_otherwise) +
         " of them (interrupts take long here, the host has taken the processors, or "
         "kernel.perf_event_max_sample_rate is too low): a lower rate helps";
}

std::string lost_text(const Options& options, bool slow, Output& output) {
  const OutputTotals& t = output.totals();
  const uint64_t ticks = t.lost_time.covered(output.time().start.tick, output.time().end.tick);
  const double ns = ticks_to_ns(output.rate_so_far(), ticks);
  if (options.sample_hz != 0)
    return "LOST: " + counted(t.lost, "sample") + advice(options, slow, output) + skipped_text(t);
  std::string text = std::string("LOST: ") + (t.lost_at_least ? "at least " : "") +
                     counted(t.lost, "event") + " in " + counted(t.gaps, "gap") + ", " +
                     time_text(ns) + " in all" + advice(options, slow, output);
  if (t.unwritten > 0)
    text += "; " + grouped(t.unwritten) + " of them were read, but not written in time";
  if (t.lost_otherwise > 0)
    text += "; " + grouped(t.lost_otherwise) + " of them " +
            (options.via == "bpf" ? "are only known to be missing"
                                  : "in forked children, before they had a ring of their own");
  return text;
}

// The analyzer as the user called us.
std::string next_command(const Options& options, Outputs& outputs) {
  std::string line = shell_line(call_of("luatrace-analyze", options.self));
  for (const auto& o : outputs.all()) {
    const FlightRecorder* const flight = o->selection().flight();
    if (flight != nullptr && flight->files().empty()) continue;
    const std::string& name = flight != nullptr ? flight->files().back() : o->writer().name();
    line += " " + shell_word(name.starts_with("-") ? "./" + name : name);
  }
  return line + " --flame";
}

// What --flight and --only-slow have written, instead of everything.
void summarize_selection(const Options& options, Outputs& outputs, Output& o) {
  std::vector<std::string> lines;
  if (FlightRecorder* const flight = o.selection().flight()) {
    flight->settle();
    if (flight->failed()) outputs.set_failed();
    lines = flight->remarks();
  } else if (SlowTrees* const slow = o.selection().slow()) {
    lines = slow->remarks();
    const TraceWriter& w = slow->out();
    if (!options.quiet)
      log(w.name() + ": " + counted(slow->found(), "slow call") + ", " +
          counted(w.events(), "event") + ", " + bytes_text(w.bytes()) + " written");
  }
  for (const std::string& line : lines)
    if (!options.quiet || options.inside) log(o.writer().name() + ": " + line);
}

// Events that are in the file, not its records: a segment stands for many.
uint64_t events_of(Output& o, const OutputTotals& t) {
  const uint64_t records = o.writer().events();
  return records - std::min(records, t.segment_words) + t.segment_events;
}

// What a user who has not asked for segments should know of them.
void report_segments(const Options& options, const OutputTotals& t, uint64_t events) {
  if (options.quiet || t.segment_events == 0 || events == 0) return;
  char share[16];
  std::snprintf(share, sizeof share, "%.1f",
                100 * static_cast<double>(t.segment_events) / static_cast<double>(events));
  log(std::string(share) +
      " % of the events are in segments of compiled code: the calls are exact, times inside a "
      "segment are apportioned" +
      (options.times == "auto" ? "; --times events records the time of each call" : ""));
}

void summarize_output(const Options& options, Outputs& outputs, Output& o) {
  o.writer().forget_unwritten();
  const TraceWriter& w = o.writer();
  const OutputTotals& t = o.totals();
  const auto ns = static_cast<double>(o.time().end.mono_ns - o.time().start.mono_ns);
  const uint64_t events = events_of(o, t);
  if (!options.quiet && !options.no_file)
    log(w.name() + ": " + counted(events, event_text(options)) +
        (o.selection().takes_all() ? "" : " in all") + ", " + bytes_text(w.bytes()) +
        per_event(w.bytes(), events) + ", " + time_text(ns) + ", " + counted(t.streams, "stream") +
        " of " + counted(t.processes, "process", "processes"));
  if (!options.no_file) report_segments(options, t, events);
  summarize_selection(options, outputs, o);
  if (t.lost > 0) log(lost_text(options, outputs.queue_was_full(), o));
  if (t.lost_functions > 0)
    log(counted(t.lost_functions, "function has", "functions have") +
        " no name: the description did not fit");
  if (t.damaged > 0)
    log(counted(t.damaged, "stream is", "streams are") +
        " damaged: corrupt data in the ring buffer");
  if (t.unlisted > 0)
    log("not all code of " + counted(t.unlisted, "process", "processes") +
        " is listed, so C functions may have no name: there are too many mappings");
  if (t.forgotten > 0)
    log("what is known of the processes took more memory than " + bytes_text(sampler::kKnownMax) +
        ": that of the largest was dropped, and read again when it was needed (" +
        counted(t.forgotten, "time") + ")");
  if (t.backwards > 0 && options.verbose)
    log("the clock went backwards " + counted(t.backwards, "time"));
  o.announce_early_end();
  if (!w.ok()) outputs.set_failed();
}

// Patterns that no file has a function of: probably mistyped.
void report_unmatched(const Options& options, Outputs& outputs) {
  for (const std::string& glob : options.include) {
    const bool matched = std::any_of(outputs.all().begin(), outputs.all().end(), [&](auto& o) {
      const auto& left = o->totals().unmatched.left();
      return std::find(left.begin(), left.end(), glob) == left.end();
    });
    if (!matched)
      log("--include " + shell_word(glob) +
          ": no function of a matching chunk was recorded (chunk names are like @app/main.lua)");
  }
}

}  // namespace

void summarize(const Options& options, Outputs& outputs,
               const std::vector<std::string>& diagnosis) {
  // The command itself may have no LuaJIT while its children have: no file for nothing, but what
  // was there before stays.
  auto& all = outputs.all();
  const bool several = all.size() > 1;
  std::erase_if(all, [&](const std::shared_ptr<Output>& o) {
    const bool empty = several && o->totals().streams == 0 && o->writer().ok();
    return empty && o->remove();
  });
  for (const auto& o : all) summarize_output(options, outputs, *o);
  for (const auto& line : diagnosis) log(line);
  const bool any =
      std::any_of(all.begin(), all.end(), [](const auto& o) { return o->totals().streams > 0; });
  if (any) report_unmatched(options, outputs);
  if (any && outputs.trace_stdout() < 0 && !options.quiet && !options.no_file)
    log("next: " + next_command(options, outputs));
}

}  // namespace luatrace::record
