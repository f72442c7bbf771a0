// SPDX-License-Identifier: MIT
// The text of probes/lua-calls.bt, see docs/import-format.md.
//
// Strings of the traced program may contain anything, even newlines and lines that look like ours.
// So they are enclosed in two copies of a number that the program cannot know: the time at which
// the tracer began.
//
// Invariant: a line is parsed once; a bad line does not affect the lines after it.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "analyzer/read/import.h"

namespace luatrace::analyze {
namespace {

constexpr std::string_view kFirst = "#luatrace-bt 1 ";
constexpr std::string_view kHitLetters = "ERTUcryeSOX";  // In the order of HitKind.
constexpr size_t kMaxLine = 4096;
constexpr size_t kPart = 63;  // str(p, 64): a part of this length continues in the next one.
constexpr size_t kMaxParts = 17;
constexpr uint64_t kBeat = 6'000'000;  // ns: how long a beat is valid.
// ns: maximum distance of the last events that bpftrace read from two processors.
constexpr uint64_t kUnread = 1'000'000'000;

// Parses numbers separated by blanks, one after the other.
class Fields {
 public:
  explicit Fields(std::string_view text, int base = 16) : at_(text), base_(base) {}
  uint64_t next() {
    while (at_.starts_with(' ')) at_.remove_prefix(1);
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(at_.data(), at_.data() + at_.size(), value, base_);
    if (error != std::errc() || end == at_.data()) good_ = false;
    at_.remove_prefix(static_cast<size_t>(end - at_.data()));
    return value;
  }
  uint32_t next32() { return static_cast<uint32_t>(next()); }
  // Whether everything was there and nothing is left.
  bool done() const { return good_ && at_.empty(); }
  bool good() const { return good_; }
  std::string_view rest() const { return at_; }

 private:
  std::string_view at_;
  int base_;
  bool good_ = true;
};

class BpftraceReader {
 public:
  BpftraceReader(Input& input, Diagnostics& diag, Spool& spool, std::string nonce, uint64_t start,
                 uint64_t real_s)
      : input_(input),
        nonce_(std::move(nonce)),
        out_(spool, diag, start, real_s * 1'000'000'000, "bpftrace lua-calls.bt") {}

  void read(const Progress& progress);

 private:
  using Key = std::tuple<uint32_t, uint32_t, uint64_t>;  // pid, id, pointer
  struct Function {
    uint64_t number = 0;  // Its number in HitWriter, 0: not described yet.
    HitFunction described;
    HitFunction next;  // Being gathered.
    bool gathering = false;
    std::array<std::string, kMaxParts> parts;
  };

  size_t line(std::string_view text, std::string_view ahead);
  bool plain(std::string_view text);
  bool hit(std::string_view text, HitKind kind);
  bool call(Fields& f, Hit& h);
  bool number_line(std::string_view text);
  void end();
  size_t string_line(std::string_view ahead);
  bool string_for(char kind, Fields& f, std::string_view value);
  bool function(Fields f, bool lua);
  void end_description(const Key& key, Function& f);
  std::string joined(const Function& f) const;
  uint64_t number(const Key& key);

  Input& input_;
  std::string nonce_;  // In hexadecimal.
  Importer out_;
  std::map<Key, Function> functions_;
  std::map<Key, uint64_t> unknown_;  // Numbers assigned before the description.
  uint64_t numbers_ = 0;
  struct Thread {
    uint32_t seq = 0, late_hits = 0;
    uint64_t late_beat = 0;
    uint32_t last_seq = 0;  // In the lines that are in the input.
    uint64_t last_time = 0;
  };
  bool is_unread(const Thread& t) const;
  void saw(const Hit& h);
  std::map<uint32_t, Thread> threads_;
  uint64_t beat_ = 0;      // Time of the last beat.
  uint64_t latest_ = 0;    // Latest time of all hits.
  uint64_t reported_ = 0;  // Messages that bpftrace reports as lost.
  std::map<uint32_t, Thread>::iterator last_thread_ = threads_.end();
};

// -- Hits --

bool BpftraceReader::call(Fields& f, Hit& h) {
  const uint32_t id = f.next32();
  h.frame = f.next32();
  h.what = number({h.pid, id, f.next()});
  return f.done();
}

bool BpftraceReader::hit(std::string_view text, HitKind kind) {
  Fields f(text);
  Hit h;
  h.kind = kind;
  h.time = f.next();
  h.pid = f.next32();
  h.tid = f.next32();
  h.seq = f.next32();
  h.L = f.next();
  if (!f.good()) return false;
  if (kind <= HitKind::kTail) {
    if (!call(f, h)) return false;
  } else if (kind == HitKind::kUnwind) {
    h.frame = f.next32();
  } else if (kind == HitKind::kOpen || kind == HitKind::kClose) {
    h.state = f.next();
  } else if (kind == HitKind::kStack) {
    h.value = static_cast<int32_t>(f.next32());
    h.frame = f.next32();
    h.reason = static_cast<uint8_t>(std::min<uint32_t>(f.next32(), LTR_FORK));
    h.state = f.next();
  } else {
    h.what = f.next();
    h.value = static_cast<int32_t>(f.next32());
  }
  if (!f.done()) return false;
  saw(h);
  out_.hit(h, input_.offset());
  return true;
}

void BpftraceReader::saw(const Hit& h) {
  if (last_thread_ == threads_.end() || last_thread_->first != h.tid)
    last_thread_ = threads_.try_emplace(h.tid).first;
  Thread& t = last_thread_->second;
  if (h.time < t.last_time) return;
  t.last_time = h.time;
  t.last_seq = h.seq;
  latest_ = std::max(latest_, h.time);
}

// -- Functions --

// Returns the function's number in HitWriter.
uint64_t BpftraceReader::number(const Key& key) {
  const auto it = functions_.find(key);
  if (it != functions_.end() && it->second.number) return it->second.number;
  uint64_t& number = unknown_[key];
  if (number == 0) number = ++numbers_;
  return number;
}

// F pid id pointer line   G pid id pointer ffid address
bool BpftraceReader::function(Fields f, bool lua) {
  const uint32_t pid = f.next32(), id = f.next32();
  const Key key{pid, id, f.next()};
  HitFunction what;
  const uint32_t n = f.next32();
  if (lua) {
    what.type = LT_FUNC_LUA;
    what.line = n;
  } else {
    what.type = n > 1 ? LT_FUNC_FF : LT_FUNC_C;
    what.ffid = n;
    what.addr = f.next();
  }
  if (!f.done()) return false;
  Function& function = functions_[key];
  function.next = std::move(what);
  function.gathering = true;
  for (auto& p : function.parts) p.clear();
  return true;
}

// Joins the parts of a string up to the first missing one.
std::string BpftraceReader::joined(const Function& f) const {
  std::string all;
  for (const std::string& part : f.parts) {
    all += part;
    if (part.size() < kPart) break;
  }
  return all;
}

// C pid id pointer part  N pid id pointer  P pid; `value` is the string
bool BpftraceReader::string_for(char kind, Fields& f, std::string_view value) {
  const uint32_t pid = f.next32();
  if (kind == 'P') {
    if (f.good()) out_.name_process(pid, std::string(value), 0);
    return f.good();
  }
  const uint32_t id = f.next32();
  const Key key{pid, id, f.next()};
  const uint64_t part = kind == 'C' ? f.next() : 0;
  if (!f.good() || part >= kMaxParts) return false;
  Function& function = functions_[key];
  if (kind == 'C') {
    function.parts[part] = value;
  } else {
    function.next.name = value;
    function.next.defined = kind == 'D';
    end_description(key, function);
  }
  return true;
}

// Passes on a description whose last line was read, unless it is known already.
void BpftraceReader::end_description(const Key& key, Function& f) {
  if (!std::exchange(f.gathering, false)) return;
  f.next.chunk = joined(f);
  const bool lua = f.next.type == LT_FUNC_LUA;
  if (lua && f.next.chunk.empty()) return;  // Not in memory; reported again soon.
  if (f.number && f.described.type == f.next.type && f.described.line == f.next.line &&
      f.described.chunk == f.next.chunk && f.described.addr == f.next.addr)
    return;
  // New, or the address now belongs to another function.
  const auto it = unknown_.find(key);
  f.number = it != unknown_.end() ? it->second : ++numbers_;
  if (it != unknown_.end()) unknown_.erase(it);
  f.described = f.next;
  out_.hits().describe(std::get<0>(key), f.number, f.described);
}

// -- Lines --

// MAP[TID]: N. Leaves `tid` alone if there is none.
bool parse_map(std::string_view text, std::string_view map, uint32_t& tid, uint64_t& n) {
  if (!text.starts_with(map)) return false;
  text.remove_prefix(map.size());
  if (text.starts_with('[')) {
    Fields thread(text.substr(1), 10);
    tid = thread.next32();
    if (!thread.good() || !thread.rest().starts_with(']')) return false;
    text = thread.rest().substr(1);
  }
  if (!text.starts_with(": ")) return false;
  Fields number(text.substr(2), 10);
  n = number.next();
  return number.done();
}

// "Lost N events", and the maps that bpftrace prints at its end.
bool BpftraceReader::number_line(std::string_view text) {
  constexpr std::string_view kLost = "Lost ";
  uint32_t tid = 0;
  uint64_t n = 0;
  if (text.starts_with(kLost)) {
    Fields f(text.substr(kLost.size()), 10);
    n = f.next();
    if (f.rest() != " events") return false;
    reported_ += n;
  } else if (parse_map(text, "@seq", tid, n)) {
    threads_[tid].seq = static_cast<uint32_t>(n);
  } else if (parse_map(text, "@late_beat", tid, n)) {
    threads_[tid].late_beat = n;
  } else if (parse_map(text, "@late_hits", tid, n)) {
    threads_[tid].late_hits = static_cast<uint32_t>(n);
  } else if (parse_map(text, "@beat", tid, n)) {
    beat_ = n;
  } else {
    // Printed only if the message that clears them got lost.
    return text.starts_with("@known[") || text.starts_with("@anew[") || text.starts_with("@full") ||
           text.starts_with("@nonce");
  }
  return true;
}

// Whether the thread was busy when bpftrace detached, and its last hits are not in the file though
// no buffer overflowed.
bool BpftraceReader::is_unread(const Thread& t) const {
  return !reported_ && t.late_hits && t.late_beat == beat_ && t.last_time + kUnread >= latest_ &&
         static_cast<int32_t>(t.seq - t.late_hits - t.last_seq) > 0;
}

// Evaluates what the maps say about the end. When a signal ends it, bpftrace discards the unread
// rest of its buffers and does not report that as a loss. The trace ends where that rest begins.
void BpftraceReader::end() {
  uint64_t end = beat_ + kBeat, unread = 0;
  bool busy = false;
  for (const auto& [tid, t] : threads_) {
    busy = busy || (t.late_hits && t.late_beat == beat_);
    if (!is_unread(t)) continue;
    end = std::min(end, t.last_time);
    unread += t.seq - t.late_hits - t.last_seq;
  }
  for (const auto& [tid, t] : threads_) {
    const uint32_t late = t.late_beat == beat_ ? t.late_hits : 0;
    if (t.seq) out_.total(tid, t.seq, is_unread(t) ? t.seq - t.last_seq : late);
  }
  out_.note("not-read-at-the-end", unread);
  if (beat_ && busy && !reported_)
    out_.set_cut(end, latest_ - std::min(kUnread, latest_));
  else if (beat_)
    out_.set_ended(beat_ + kBeat);
}

bool BpftraceReader::plain(std::string_view text) {
  if (text.empty() || text.starts_with("Attaching ")) return true;
  if (text.size() < 2 || text[1] != ' ') return number_line(text);
  const std::string_view rest = text.substr(2);
  if (const size_t kind = kHitLetters.find(text[0]); kind != kHitLetters.npos)
    return hit(rest, static_cast<HitKind>(kind + 1));
  if (text[0] == 'F' || text[0] == 'G') return function(Fields(rest), text[0] == 'F');
  return false;
}

// A line with a string: KIND FIELDS... NONCE:STRING NONCE. Returns its length with the newline, 0
// if the text does not begin with one.
size_t BpftraceReader::string_line(std::string_view ahead) {
  const std::string open = " " + nonce_ + ":";
  const std::string close = nonce_ + "\n";
  const size_t from = ahead.substr(0, 128).find(open);
  if (from == ahead.npos || from < 2) return 0;
  const size_t text = from + open.size();
  const size_t to = ahead.find(close, text);
  if (to == ahead.npos) return 0;
  Fields fields(ahead.substr(2, from - 2));
  if (!string_for(ahead[0], fields, ahead.substr(text, to - text))) return 0;
  return to + close.size();
}

// Takes one line; `ahead` is the input from its beginning, newlines included. Returns how many
// bytes the line had.
size_t BpftraceReader::line(std::string_view text, std::string_view ahead) {
  if (text.size() > 2 && text[1] == ' ' && std::strchr("CDNP", text[0])) {
    if (const size_t taken = string_line(ahead)) return taken;
  } else if (plain(text)) {
    return text.size() + 1;
  }
  out_.bad(input_.offset(), "a line that lua-calls.bt does not write");
  return text.size() + 1;
}

void BpftraceReader::read(const Progress& progress) {
  bool skipping = false;  // Within the rest of a line that is too long.
  while (const size_t have = input_.need(kMaxLine)) {
    const std::string_view ahead = input_.text().substr(0, kMaxLine);
    const size_t end = ahead.find('\n');
    if (end == ahead.npos) {
      if (!skipping)
        out_.bad(input_.offset(),
                 have < kMaxLine ? "the file ends inside a line" : "a line that is too long");
      skipping = true;
      input_.consume(ahead.size());
    } else if (std::exchange(skipping, false)) {
      input_.consume(end + 1);
    } else {
      input_.consume(line(ahead.substr(0, end), ahead));
    }
    if (progress && input_.offset() % 65536 < 64) progress(input_.offset());
  }
  out_.note("messages-lost-by-bpftrace", reported_);
  const uint64_t offset = input_.offset();
  end();
  out_.finish(offset);
  const uint64_t lost = out_.hits().lost_events();
  if (reported_ > lost)
    out_.bad(offset, "bpftrace lost " + std::to_string(reported_) + " messages, " +
                         std::to_string(lost) + " of them hits; the rest are descriptions, or " +
                         "hits after the end of the output");
}

// Returns the first line, which follows bpftrace's own output; empty if there is none.
std::string_view first_line(Input& input) {
  // A trace that is being recorded is no longer than its header until an event comes.
  const uint64_t magic = LT_FILE_MAGIC;
  if (input.need(sizeof magic) >= sizeof magic && !std::memcmp(input.data(), &magic, sizeof magic))
    return {};
  input.need(kMaxLine);
  const std::string_view ahead = input.text().substr(0, kMaxLine);
  size_t from = ahead.find(kFirst);
  if (from == ahead.npos || (from > 0 && ahead[from - 1] != '\n')) return {};
  // Only bpftrace's own messages may precede it.
  const std::string_view before = ahead.substr(0, from);
  if (!before.empty() && !before.starts_with("Attaching ") && before[0] != '\n') return {};
  const size_t end = ahead.find('\n', from);
  return end == ahead.npos ? std::string_view() : ahead.substr(from, end - from);
}

}  // namespace

bool is_bpftrace_text(Input& input) {
  return !first_line(input).empty();
}

void read_bpftrace(Input& input, Diagnostics& diag, Spool& spool, const Progress& progress) {
  const std::string_view line = first_line(input);
  const std::string_view rest = line.substr(kFirst.size());
  const std::string nonce(rest.substr(0, rest.find(' ')));
  Fields fields(rest);
  const uint64_t start = fields.next();
  Fields real(fields.rest(), 10);
  const uint64_t seconds = real.next();
  if (!fields.good() || nonce.size() < 4)
    throw Unreadable(input.name() + ": the first line of lua-calls.bt's output is damaged");
  input.consume(static_cast<size_t>(line.end() - input.text().begin()));
  BpftraceReader(input, diag, spool, nonce, start, real.good() ? seconds : 0).read(progress);
}

}  // namespace luatrace::analyze
