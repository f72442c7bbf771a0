// SPDX-License-Identifier: MIT
#include "analyzer/output/dump.h"

#include <algorithm>
#include <ostream>
#include <span>

#include "analyzer/read/text_names.h"
#include "analyzer/read/words.h"
#include "base/escape.h"
#include "luatrace_watch.h"
#include "luatrace_work.h"
#include "trace/packed_word.h"

namespace luatrace::analyze {
namespace {

void print_unwind(std::ostream& out, const Record& r) {
  const uint64_t w = r.words[0];
  if (r.arg == 1)
    out << "unwindto " << lt_lo(w) - 1 << " top=";
  else
    out << "unwind " << lt_lo(w) << " top=";
  if (lt_hi(w) == LT_ID_NONE)
    out << '-';
  else
    out << lt_hi(w);
}

void print_gc(std::ostream& out, const Record& r) {
  out << "gc " << (r.arg & LTG_END ? "end" : "start") << " state=" << (r.arg >> LTG_STATE_SHIFT)
      << " bytes=" << r.words[0];
  if (r.arg & LTG_FULL) out << " full=1";
}

// Returns whether the record has the words that its kind has, and only the known bits.
bool is_trace_record(const Record& r) {
  const uint32_t kind = r.arg & LTT_MASK;
  return kind < kTraceNames.size() && !(r.arg & ~(LTT_MASK | LTT_FLAG)) &&
         r.nwords == (kind == LTT_EXIT ? 1 : 2);
}

void print_trace(std::ostream& out, const Record& r) {
  const uint64_t* w = r.words;
  out << "trace " << kTraceNames[r.arg & LTT_MASK] << ' ' << (lt_lo(w[0]) & 0xffff)
      << " a=" << (lt_lo(w[0]) >> 16) << " b=" << lt_hi(w[0]);
  if (r.nwords > 1) out << " x=" << lt_lo(w[1]) << " y=" << lt_hi(w[1]);
  if (r.arg & LTT_FLAG) out << " flag=1";
}

// Prints a kind that this version does not know.
void print_unknown(std::ostream& out, const Record& r) {
  out << "ext " << r.sub << " arg=" << r.arg;
  for (uint32_t i = 0; i < r.nwords; i++) out << ' ' << hex(r.words[i]);
}

void print_label(std::ostream& out, const Record& r) {
  const LabelRecord label(r);
  out << (r.arg == LTL_CLEAR ? "unlabeled " : "label ") << label.coroutine;
  if (r.arg != LTL_CLEAR) out << ' ' << quote(label.key) << ' ' << quote(label.value);
}

// Returns whether the record has a known kind and only the known bits.
bool is_watch_record(const Record& r) {
  return (r.arg & LTW_KIND) < kWatchNames.size() && !(r.arg & ~(LTW_KIND | LTW_MORE));
}

void print_watch(std::ostream& out, const Record& r) {
  out << "watch " << lt_lo(r.words[0]) << ' ' << kWatchNames[r.arg & LTW_KIND]
      << " place=" << lt_hi(r.words[0]) << ' ' << quote(text_of(r.words + 1, r.nwords - 1));
  if (r.arg & LTW_MORE) out << " more=1";
}

void print_packed(std::ostream& out, uint64_t word) {
  out << "packed";
  const PackedWord packed(word);
  for (const auto& place : packed.places()) {
    out << ' ' << place.id;
    const std::span counts(place.counts);
    const auto last =
        std::find_if(counts.rbegin(), counts.rend(), [](uint64_t n) { return n > 1; });
    char before = '*';
    for (auto n = counts.begin(); n != last.base(); n++, before = ',') out << before << *n - 1;
  }
}

void print_segment(std::ostream& out, const Record& r) {
  if (r.is_packed()) return print_packed(out, r.word);
  out << "segment " << r.segment();
  for (uint32_t i = 1; i < r.nwords; i++) out << ' ' << r.words[i] - 1;
}

void print_ext(std::ostream& out, const Record& r) {
  const uint64_t* w = r.words;
  for (const auto& [name, sub] : kNumberedNames)
    if (r.sub == sub) return void(out << name << ' ' << w[0]);
  if (r.sub == LTX_UNWIND)
    print_unwind(out, r);
  else if (r.sub == LTX_BLOCK)
    out << "ringblock co=" << lt_lo(w[1]) << " tid=" << lt_lo(w[2]) << " rec=" << lt_hi(w[2]);
  else if (r.sub == LTX_STACK)
    out << "stack " << w[0] << ' ' << name_of(kStackNames, r.arg) << " n=" << w[1] - 1;
  else if (r.sub == LTX_REQUEST)
    out << "request " << w[0] << ' ' << hex(w[1] - 1);
  else if (r.sub == LTX_MARK && r.arg <= LTM_OPEN)
    out << "section " << w[0] << ' ' << name_of(kMarkNames, r.arg) << ' '
        << quote(text_of(w + 1, r.nwords - 1));
  else if (r.sub == LTX_LABEL && r.arg <= LTL_CLEAR)
    print_label(out, r);
  else if (r.sub == LTX_WATCH && is_watch_record(r))
    print_watch(out, r);
  else if (r.sub == LTX_LOSS)
    out << "loss " << w[0] - 1 << " since=" << w[1] << " kind=" << r.arg;
  else if (r.sub == LTX_START)
    out << "start rec=" << lt_lo(w[1]) << " flags=" << hex(lt_hi(w[1]))
        << (r.arg == LT_START_ATTACHED ? " attached=1" : "");
  else if (r.sub == LTX_STOP)
    out << "stop " << name_of(kStopNames, r.arg);
  else if (r.sub == LTX_PAD || r.sub == LTX_TIME)
    out << (r.sub == LTX_PAD ? "pad" : "time");
  else if (r.sub == LTX_GC && r.nwords == 1)
    print_gc(out, r);
  else if (r.sub == LTX_TRACE && is_trace_record(r))
    print_trace(out, r);
  else if (r.sub == LTX_SEGMENT && r.arg == 0)
    print_segment(out, r);
  else if (r.sub == LTX_CPU)
    out << "cpu " << name_of(kCpuNames, r.arg) << " ticks=" << r.words[0];
  else
    print_unknown(out, r);
}

void print_frame(std::ostream& out, uint64_t frame) {
  const uint64_t value = frame >> 4;
  switch (frame & 15) {
    case LT_FRAME_FUNCTION:
      out << lt_lo(value);
      if (lt_hi(value)) out << ':' << lt_hi(value);
      break;
    case LT_FRAME_NATIVE:
      out << 'n' << hex(value);
      break;
    case LT_FRAME_RETURN:
      out << 'r' << hex(value);
      break;
    case LT_FRAME_COROUTINE:
      out << "co" << value;
      break;
    case LT_FRAME_LABEL:
      out << "la" << value;
      break;
    default:
      out << '?';
  }
}

void print_event(std::ostream& out, const Record& r) {
  if (r.kind == LT_EXT) return print_ext(out, r);
  if (r.is_segment()) return print_segment(out, r);
  out << kEventNames[r.kind - LT_ENTRY] << ' ';
  if (r.kind == LT_SUSPEND)
    out << name_of(kSuspendNames, r.value);
  else
    out << r.value;
}

}  // namespace

void DumpSink::on_header(const Clock& c, const lt_file_header& h) {
  out_ << "#luatrace-text 1\nclock " << name_of(kClockNames, c.kind) << " mult=" << c.mult
       << " shift=" << c.shift << " start=" << c.start_tick << " mono=" << c.start_mono_ns
       << " real=" << c.start_real_ns << " id=" << hex(h.trace_id);
  if (h.required) out_ << " required=" << hex(h.required);
  if (h.optional) out_ << " optional=" << hex(h.optional);
  out_ << '\n';
}

void DumpSink::on_process(const ProcessInfo& p) {
  out_ << "process " << p.number << " pid=" << p.pid << " ns_pid=" << p.ns_pid
       << " parent=" << p.parent << " uid=" << p.uid << " start=" << p.start_tick
       << " exe=" << quote(p.exe);
  const char* before = " cmd=";
  for (const auto& word : p.cmdline) {
    out_ << before << quote(word);
    before = " ";
  }
  out_ << '\n';
}

void DumpSink::on_stream(const StreamInfo& s) {
  out_ << "stream " << s.number << " process=" << s.process << " tid=" << s.tid
       << " flags=" << hex(s.flags) << " state=" << hex(s.state_addr)
       << " recording=" << s.recording << " start=" << s.start_tick
       << " cost_ps=" << s.event_cost_ps << " luajit=" << quote(s.luajit) << '\n';
}

void DumpSink::on_function(const FunctionInfo& f) {
  out_ << "func " << f.stream << ':' << f.id << ' ' << name_of(kFunctionNames, f.type)
       << " line=" << f.firstline << " last=" << f.lastline << " addr=" << hex(f.addr)
       << " ffid=" << f.ffid << " hint=" << f.hint;
  if (f.fileofs) out_ << " fileofs=" << hex(f.fileofs);
  out_ << " chunk=" << quote(f.chunk) << " name=" << quote(f.name) << '\n';
}

// The events as kind:function: 1:7 2:7 is an entry of function 7, and its return.
void DumpSink::on_segment(const SegmentInfo& s) {
  out_ << "segments " << s.stream << ':' << s.id << " parent=" << s.parent << " trace=" << s.trace
       << " bytes=" << s.bytes << " level=" << s.level << " counts=" << s.counts
       << " loops=" << s.loops << " loop=" << s.loop << " marks=" << s.marks;
  for (const auto& place : s.places) out_ << " @" << place.before << '+' << place.offset;
  for (const uint32_t event : s.events)
    out_ << ' ' << lt_kind(event) << ':' << (event >> LT_KIND_BITS);
  for (const auto& cost : s.costs) out_ << " ~" << cost.end << '+' << cost.bytes;
  out_ << '\n';
}

void DumpSink::on_map(const MapInfo& m) {
  out_ << "map " << m.process << ' ' << hex(m.start) << ' ' << hex(m.end) << ' ' << hex(m.offset)
       << ' ' << (m.build_id.empty() ? "-" : hex_bytes(m.build_id)) << ' ' << quote(m.path) << '\n';
}

// Prints one line per line of the note, quoted if it could not be read back otherwise.
void DumpSink::on_note(const std::string& text) {
  size_t from = 0;
  while (from < text.size()) {
    size_t end = std::min(text.find('\n', from), text.size());
    std::string line = text.substr(from, end - from);
    std::string quoted = quote(line);
    bool plain = !line.empty() && quoted.size() == line.size() + 2 && line.front() != ' ';
    out_ << "note " << (plain ? line : quoted) << '\n';
    from = end + 1;
  }
}

void DumpSink::on_clock(const lt_clock_info& c) {
  out_ << "sync " << c.tick << " mono=" << c.mono_ns << " real=" << c.real_ns << '\n';
}

void DumpSink::on_events(const EventBlock& block) {
  out_ << "block " << block.stream << " seq=" << block.seq << " base=" << block.base_tick
       << " co=" << block.coroutine << " depth=";
  if (block.depth == LT_DEPTH_UNKNOWN)
    out_ << '-';
  else
    out_ << block.depth;
  out_ << " flags=" << block.flags << '\n';
  uint64_t now = block.base_tick;
  for (size_t at = 0; at < block.words.size();) {
    Record r;
    bool good = read_record(&block.words[at], block.words.size() - at, r);
    at += r.length;
    if (!good) {
      out_ << "# malformed word " << hex(r.word) << '\n';
      continue;
    }
    if (uint64_t tick; r.full_clock(tick))
      now = tick;
    else if (r.has_time())
      now = unwrap(now, lt_time(r.word));
    out_ << now << ' ' << block.stream << ' ';
    print_event(out_, r);
    out_ << '\n';
  }
}

void DumpSink::on_samples(const SampleBlock& block) {
  for (const Sample& s : block.samples) {
    const lt_sample& h = s.head;
    out_ << "sample " << block.stream << ' ' << h.tick << " ns=" << h.weight_ns << " tid=" << h.tid
         << " state=" << name_of(kSampleNames, h.state) << " co=" << h.coroutine
         << " vm=" << hex(h.state_addr) << " request=" << hex(h.request);
    if (h.flags & LTS_OFF_CPU) out_ << " off=1";
    if (h.flags & LTS_TRUNCATED) out_ << " cut=1";
    if (h.flags & LTS_CODE)
      out_ << " trace=" << s.code.trace << " bytes=" << s.code.bytes << " at=" << s.code.offset;
    for (const uint64_t frame : s.frames) print_frame(out_ << ' ', frame);
    out_ << '\n';
  }
}

void DumpSink::on_end(const EndInfo& e) {
  out_ << "end events=" << e.events << " lost=" << e.lost << " blocks=" << e.blocks
       << " streams=" << e.streams << " reason=" << e.reason << " exit=" << e.exit_status << '\n';
}

}  // namespace luatrace::analyze
