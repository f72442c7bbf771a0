// SPDX-License-Identifier: MIT
// Session: what is said at the end. The outputs are closed by then.
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "recorder/os/text.h"
#include "recorder/session.h"

namespace luatrace::record {
namespace {

std::string counted(uint64_t n, const char* one, const char* many) {
  return grouped(n) + " " + (n == 1 ? one : many);
}

std::string per_event(uint64_t bytes, uint64_t events) {
  if (events == 0) return "";
  char text[64];
  std::snprintf(text, sizeof text, " (%.2f bytes each)",
                static_cast<double>(bytes) / static_cast<double>(events));
  return text;
}

}  // namespace

std::string Session::lost_text(const Output& output) const {
  const OutputTotals& t = const_cast<Output&>(output).totals();
  const double ns = ticks_to_ns(output.rate_so_far(), t.lost_ticks);
  std::string text = "LOST: " + counted(t.lost, "event", "events") + " in " +
                     counted(t.gaps, "gap", "gaps") + ", " + time_text(ns) + " in all";
  const bool slow = queue_ != nullptr && queue_->was_full();
  if (slow)
    text += "; " + const_cast<Output&>(output).writer().name() +
            " does not take them as fast as they come: --compress helps, a faster disk, or fewer "
            "events (--exclude, --max-depth)";
  else if (t.lost > t.lost_otherwise)
    text += options_.via == "bpf" ? "; a larger --ring-size helps"
                                  : "; a larger --ring-size helps, or --block";
  if (t.unwritten > 0)
    text += "; " + grouped(t.unwritten) + " of them were read, but not written in time";
  if (t.lost_otherwise > 0)
    text += "; " + grouped(t.lost_otherwise) + " of them " +
            (options_.via == "bpf" ? "are only known to be missing"
                                   : "in forked children, before they had a ring of their own");
  return text;
}

// The analyzer as the user called us: beside this program, or found in PATH.
std::string Session::next_command() const {
  const std::string& self = options_.self;
  const size_t slash = self.rfind('/');
  const std::string dir = slash == self.npos ? "" : self.substr(0, slash + 1);
  std::string line = shell_word(dir + "luatrace-analyze");
  for (const auto& o : outputs_) {
    const std::string& name = const_cast<Output&>(*o).writer().name();
    line += " " + shell_word(name.starts_with("-") ? "./" + name : name);
  }
  return line + " --flame";
}

// The disk takes nothing, not even the few last words.
void Session::say_unfinished() const {
  say("the output did not take the last " + bytes_text(queue_->held()) +
      " in time: the end of the trace is missing");
}

void Session::summarize_output(const Output& output) {
  auto& o = const_cast<Output&>(output);
  o.writer().forget_unwritten();
  const TraceWriter& w = o.writer();
  const OutputTotals& t = o.totals();
  const auto ns = static_cast<double>(output.end().mono_ns - output.start().mono_ns);
  if (!options_.quiet)
    say(w.name() + ": " + counted(w.events(), "event", "events") + ", " + bytes_text(w.bytes()) +
        per_event(w.bytes(), w.events()) + ", " + time_text(ns) + ", " +
        counted(t.streams, "stream", "streams") + " of " +
        counted(t.processes, "process", "processes"));
  if (t.lost > 0) say(lost_text(output));
  if (t.lost_functions > 0)
    say(counted(t.lost_functions, "function has", "functions have") +
        " no name: the description found no room");
  if (t.damaged > 0)
    say(counted(t.damaged, "stream is", "streams are") + " damaged: the program wrote nonsense");
  if (t.backwards > 0 && options_.verbose)
    say("the clock went backwards " + counted(t.backwards, "time", "times"));
  o.announce_early_end();
  if (!w.ok()) failed_ = true;
}

void Session::summarize() {
  // The command itself may have no LuaJIT while its children have: no file for nothing.
  const bool several = outputs_.size() > 1;
  std::erase_if(outputs_, [&](const std::shared_ptr<Output>& o) {
    const bool empty = several && o->totals().streams == 0 && o->writer().ok();
    if (empty) o->remove();
    return empty;
  });
  for (const auto& o : outputs_) summarize_output(*o);
  if (!options_.attach() && hellos_ == 0 && refused_ == 0 && phase_ == Phase::kFinished &&
      reason_ != LTQ_SIGNAL)
    for (const auto& line : diagnosis_.report(own_library_dir())) say(line);
  if (outsiders_ > 0 && !options_.quiet)
    say(counted(outsiders_, "connection", "connections") +
        " of processes that are not the command's were closed unheard");
  const bool any = std::any_of(outputs_.begin(), outputs_.end(),
                               [](const auto& o) { return o->totals().streams > 0; });
  if (any && trace_stdout_ < 0 && !options_.quiet) say("next: " + next_command());
}

}  // namespace luatrace::record
