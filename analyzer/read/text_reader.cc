// SPDX-License-Identifier: MIT
#include "analyzer/read/text_reader.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "analyzer/read/image.h"
#include "analyzer/read/text_line.h"
#include "analyzer/read/text_names.h"
#include "analyzer/read/words.h"
#include "base/escape.h"
#include "luatrace_watch.h"
#include "luatrace_work.h"
#include "trace/records.h"

namespace luatrace::analyze {
namespace {

constexpr std::string_view kFirstLine = "#luatrace-text";

// Collects lines into blocks: events or descriptions of one stream, maps of one process.
class TextReader {
 public:
  explicit TextReader(std::string name) : name_(std::move(name)) {}
  void line(std::string_view text, size_t number);
  std::vector<uint8_t> finish();

 private:
  void header(const TextLine& line);
  void note(std::string_view text, const TextLine& line);
  void process(const TextLine& line);
  void stream(const TextLine& line);
  void function(const TextLine& line);
  void segments(const TextLine& line);
  void segment_event(const TextLine& line);
  void packed_event(const TextLine& line);
  void map(const TextLine& line);
  void clock(const TextLine& line);
  void end(const TextLine& line);
  void block(const TextLine& line);
  void sample(const TextLine& line);
  uint64_t frame(const TextLine& line, const std::string& word) const;
  void event(const TextLine& line);
  void ext_event(const TextLine& line, const std::string& what);
  void gc_event(const TextLine& line);
  void trace_event(const TextLine& line);
  void word(uint32_t payload, uint32_t kind) { words_.push_back(lt_word(tick_, payload, kind)); }
  void plain(uint64_t value, uint32_t kind);
  void ext(uint32_t sub, uint64_t arg, std::initializer_list<uint64_t> more);
  void ext_texts(const TextLine& line, uint32_t sub, uint64_t arg, uint64_t first,
                 std::initializer_list<std::string_view> texts);

  TraceImage& image();
  void gather(uint16_t type, uint32_t owner);
  void flush();
  template <class T>
  void add(uint16_t type, uint32_t owner, const T& info) {
    flush();
    lt_block b{};
    b.type = type;
    b.stream = owner;
    image().add(b, std::as_bytes(std::span(&info, 1)));
  }

  std::string name_;
  std::optional<TraceImage> image_;
  lt_block block_{};                // The block being collected; type 0: none.
  std::vector<std::byte> payload_;  // Records or text.
  std::vector<uint64_t> words_;     // Events.
  uint64_t tick_ = 0;               // Of the event being read.
  std::unordered_map<uint32_t, uint32_t> next_seq_;
};

TraceImage& TextReader::image() {
  if (!image_) {
    lt_file_header h{};
    h.clock = LT_CLOCK_MONOTONIC;
    h.tick_mult = 1;
    image_.emplace(h);
  }
  return *image_;
}

// Continues the current block if it has this type and owner, otherwise begins one.
void TextReader::gather(uint16_t type, uint32_t owner) {
  if (block_.type == type && block_.stream == owner) return;
  flush();
  block_.type = type;
  block_.stream = owner;
}

void TextReader::flush() {
  if (block_.type == LT_BLOCK_EVENTS)
    image().add(block_, std::as_bytes(std::span(words_)));
  else if (block_.type != 0)
    image().add(block_, payload_);
  block_ = {};
  payload_.clear();
  words_.clear();
}

std::vector<uint8_t> TextReader::finish() {
  flush();
  return image().take();
}

void TextReader::line(std::string_view text, size_t number) {
  if (text.ends_with('\r')) text.remove_suffix(1);
  TextLine line(text.starts_with("note ") ? "note" : text,
                printable(name_) + ": line " + std::to_string(number));
  if (text.starts_with('#') || (line.words() == 0)) return;
  const std::string& what = line.word(0);
  if (what[0] >= '0' && what[0] <= '9') return event(line);
  if (what == "clock") return header(line);
  if (what == "note") return note(text, line);
  if (what == "process") return process(line);
  if (what == "stream") return stream(line);
  if (what == "func") return function(line);
  if (what == "segments") return segments(line);
  if (what == "map") return map(line);
  if (what == "sync") return clock(line);
  if (what == "block") return block(line);
  if (what == "sample") return sample(line);
  if (what == "end") return end(line);
  line.fail("unknown line: " + quote(what));
}

void TextReader::header(const TextLine& line) {
  if (image_ || block_.type) line.fail("the clock line must be the first one");
  lt_file_header h{};
  h.clock = static_cast<uint32_t>(line.choice(kClockNames, line.word(1)));
  h.tick_mult = line.number("mult", 1);
  h.tick_shift = static_cast<uint32_t>(line.number("shift"));
  h.start_tick = line.number("start");
  h.start_mono_ns = line.number("mono");
  h.start_real_ns = line.number("real");
  h.trace_id = line.number("id");
  h.required = line.number("required");
  h.optional = line.number("optional");
  image_.emplace(h);
}

void TextReader::note(std::string_view text, const TextLine& line) {
  gather(LT_BLOCK_NOTE, 0);
  std::string value(text.substr(std::min<size_t>(5, text.size())));
  size_t pos = 0;
  if (value.starts_with('"')) {
    std::string raw = value;
    if (!unquote(raw, pos, value)) line.fail("malformed string");
  }
  value += '\n';
  auto bytes = std::as_bytes(std::span(value));
  payload_.insert(payload_.end(), bytes.begin(), bytes.end());
}

void TextReader::process(const TextLine& line) {
  gather(LT_BLOCK_PROCESS, static_cast<uint32_t>(line.word_number(1)));
  std::string exe = line.text("exe"), cmd = line.text("cmd");
  for (size_t i = 2; i < line.words(); i++) (cmd += '\0') += line.word(i);
  lt_process_info p{};
  p.pid = static_cast<int32_t>(line.number("pid"));
  p.ns_pid = static_cast<int32_t>(line.number("ns_pid", line.number("pid")));
  p.parent = static_cast<int32_t>(line.number("parent"));
  p.uid = static_cast<int32_t>(line.number("uid"));
  p.start_tick = line.number("start");
  p.exe_len = static_cast<uint32_t>(exe.size());
  p.cmd_len = static_cast<uint32_t>(cmd.size());
  for (auto part : {std::as_bytes(std::span(&p, 1)), std::as_bytes(std::span(exe)),
                    std::as_bytes(std::span(cmd))})
    payload_.insert(payload_.end(), part.begin(), part.end());
  flush();
}

void TextReader::stream(const TextLine& line) {
  lt_stream_info s{};
  s.process = static_cast<uint32_t>(line.number("process"));
  s.flags = static_cast<uint32_t>(line.number("flags"));
  s.state_addr = line.number("state");
  s.recording = static_cast<uint32_t>(line.number("recording"));
  s.tid = static_cast<int32_t>(line.number("tid"));
  s.start_tick = line.number("start");
  s.event_cost_ps = line.number("cost_ps");
  line.text("luajit").copy(s.luajit, sizeof s.luajit - 1);
  add(LT_BLOCK_STREAM, static_cast<uint32_t>(line.word_number(1)), s);
}

// func STREAM:ID KIND ...
void TextReader::function(const TextLine& line) {
  const std::string& key = line.word(1);
  size_t colon = key.find(':');
  if (colon == std::string::npos) line.fail("func needs STREAM:ID");
  gather(LT_BLOCK_FUNCS, static_cast<uint32_t>(line.to_number(key.substr(0, colon))));
  lt_func f{};
  f.type = static_cast<uint16_t>(line.choice(kFunctionNames, line.word(2)));
  f.flags = line.number("hint") ? LT_FUNC_HINT : 0;
  f.id = static_cast<uint32_t>(line.to_number(key.substr(colon + 1)));
  f.firstline = static_cast<uint32_t>(line.number("line"));
  f.lastline = static_cast<uint32_t>(line.number("last"));
  f.ffid = static_cast<uint32_t>(line.number("ffid"));
  f.addr = line.number("addr");
  f.fileofs = static_cast<uint32_t>(line.number("fileofs"));
  append_func(payload_, f, line.text("chunk"), line.text("name"));
  block_.count++;
}

// segments STREAM:ID ... @BEFORE+OFFSET ... KIND:FUNCTION ... ~END+COST ...
void TextReader::segments(const TextLine& line) {
  const auto pair = [&line](const std::string& word, char between, size_t from = 0) {
    const size_t at = word.find(between);
    if (at == std::string::npos) line.fail("malformed: " + quote(word));
    return std::pair(line.to_number(word.substr(from, at - from)),
                     line.to_number(word.substr(at + 1)));
  };
  const auto [stream, id] = pair(line.word(1), ':');
  gather(LT_BLOCK_SEGMENTS, static_cast<uint32_t>(stream));
  std::vector<uint32_t> places, events, costs;
  for (size_t i = 2; i < line.words(); i++) {
    const std::string& word = line.word(i);
    const bool place = word.starts_with('@'), cost = word.starts_with('~');
    const auto [low, high] = pair(word, place || cost ? '+' : ':', place || cost);
    if (place || cost)
      (place ? places : costs).push_back(static_cast<uint32_t>((low & 0xffff) | high << 16));
    else
      events.push_back(static_cast<uint32_t>((low & 7) | high << LT_KIND_BITS));
  }
  lt_segment s{};
  s.id = static_cast<uint32_t>(id);
  s.parent = static_cast<uint32_t>(line.number("parent"));
  s.trace = static_cast<uint32_t>(line.number("trace"));
  s.bytes = static_cast<uint32_t>(line.number("bytes"));
  s.level = static_cast<uint16_t>(line.number("level"));
  s.flags = static_cast<uint16_t>((line.number("counts") ? LT_SEGMENT_COUNTS : 0) |
                                  (line.number("loops") ? LT_SEGMENT_LOOPS : 0));
  s.loop = static_cast<uint16_t>(line.number("loop"));
  s.nmarks = static_cast<uint16_t>(line.number("marks", 1));
  if (s.nmarks > places.size() || places.size() - s.nmarks > LT_SEGMENT_PLACES_MAX)
    line.fail("a wrong number of places");
  s.nexits = static_cast<uint16_t>(places.size() - s.nmarks);
  append_segment(payload_, s, places, events, costs);
  block_.count++;
}

// map PROCESS START END OFFSET BUILDID|- "PATH"
void TextReader::map(const TextLine& line) {
  gather(LT_BLOCK_MAPS, static_cast<uint32_t>(line.word_number(1)));
  lt_map m{};
  m.start = line.word_number(2);
  m.end = line.word_number(3);
  m.offset = line.word_number(4);
  std::vector<std::byte> id;
  const std::string& hex = line.word(5);
  if (hex != "-" && hex.size() % 2)
    line.fail("a build-id has an even number of digits: " + quote(hex));
  if (hex != "-")
    for (size_t i = 0; i < hex.size(); i += 2)
      id.push_back(static_cast<std::byte>(line.to_number("0x" + hex.substr(i, 2))));
  append_map(payload_, m, id, line.word(6));
  block_.count++;
}

void TextReader::clock(const TextLine& line) {
  add(LT_BLOCK_CLOCK, 0,
      lt_clock_info{line.word_number(1), line.number("mono"), line.number("real")});
}

void TextReader::end(const TextLine& line) {
  flush();
  lt_end_info e{};
  e.events = line.number("events");
  e.lost = line.number("lost");
  e.blocks = line.number("blocks", image().blocks());
  e.streams = static_cast<uint32_t>(line.number("streams"));
  e.reason = static_cast<uint32_t>(line.number("reason"));
  e.exit_status = static_cast<int32_t>(line.number("exit"));
  add(LT_BLOCK_END, 0, e);
}

void TextReader::block(const TextLine& line) {
  flush();
  block_.type = LT_BLOCK_EVENTS;
  block_.stream = static_cast<uint32_t>(line.word_number(1));
  block_.seq = static_cast<uint32_t>(line.number("seq", next_seq_[block_.stream]));
  block_.base_tick = block_.end_tick = line.number("base");
  block_.coroutine = static_cast<uint32_t>(line.number("co"));
  bool unknown = line.text("depth", "-") == "-";
  block_.depth = unknown ? LT_DEPTH_UNKNOWN : static_cast<uint32_t>(line.number("depth"));
  block_.flags = static_cast<uint16_t>(line.number("flags"));
  next_seq_[block_.stream] = block_.seq + 1;
}

// FUNCTION[:LINE], n0xADDRESS, r0xADDRESS (after a call), coN, laN (a label) or ?
uint64_t TextReader::frame(const TextLine& line, const std::string& word) const {
  if (word == "?") return sample_frame(LT_FRAME_UNKNOWN, 0);
  if (word.starts_with("co"))
    return sample_frame(LT_FRAME_COROUTINE, line.to_number(word.substr(2)));
  if (word.starts_with("la")) return sample_frame(LT_FRAME_LABEL, line.to_number(word.substr(2)));
  if (word[0] == 'n') return sample_frame(LT_FRAME_NATIVE, line.to_number(word.substr(1)));
  if (word[0] == 'r') return sample_frame(LT_FRAME_RETURN, line.to_number(word.substr(1)));
  const size_t colon = std::min(word.find(':'), word.size());
  const uint64_t running =
      colon < word.size() ? line.to_number(word.substr(colon + 1)) : uint64_t{0};
  return function_frame(static_cast<uint32_t>(line.to_number(word.substr(0, colon))),
                        static_cast<uint32_t>(running));
}

// sample STREAM TICK ns=N tid=N state=STATE co=N vm=N request=N off=1 cut=1 trace=N bytes=N at=N
// FRAME... (the innermost first)
void TextReader::sample(const TextLine& line) {
  const auto stream = static_cast<uint32_t>(line.word_number(1));
  if (payload_.size() > LT_PAYLOAD_MAX / 2) flush();
  const bool first = block_.type != LT_BLOCK_SAMPLES || block_.stream != stream || payload_.empty();
  gather(LT_BLOCK_SAMPLES, stream);
  if (first) block_.seq = next_seq_[stream]++;
  lt_sample s{};
  s.tick = line.word_number(2);
  s.weight_ns = line.number("ns");
  s.tid = static_cast<int32_t>(line.number("tid"));
  s.state = static_cast<uint8_t>(line.choice(kSampleNames, line.text("state", "native")));
  s.coroutine = static_cast<uint32_t>(line.number("co"));
  s.state_addr = line.number("vm");
  s.request = line.number("request");
  s.flags = static_cast<uint8_t>((line.number("off") ? LTS_OFF_CPU : 0) |
                                 (line.number("cut") ? LTS_TRUNCATED : 0));
  std::vector<uint64_t> frames;
  for (size_t i = 3; i < line.words(); i++) frames.push_back(frame(line, line.word(i)));
  const lt_sample_code code{static_cast<uint32_t>(line.number("trace")),
                            static_cast<uint32_t>(line.number("bytes")),
                            static_cast<uint32_t>(line.number("at")), 0};
  append_sample(payload_, s, frames, code.trace ? &code : nullptr);
  block_.base_tick = first ? s.tick : std::min(block_.base_tick, s.tick);
  block_.end_tick = std::max(block_.end_tick, s.tick);
  block_.count++;
}

void TextReader::plain(uint64_t value, uint32_t kind) {
  bool big = value >= LT_PAYLOAD_BIG;
  word(big ? LT_PAYLOAD_BIG : static_cast<uint32_t>(value), kind);
  if (big) words_.push_back(value);
}

void TextReader::ext(uint32_t sub, uint64_t arg, std::initializer_list<uint64_t> more) {
  word(lt_ext(sub, more.size(), arg & 0x7ff), LT_EXT);
  words_.insert(words_.end(), more);
}

void TextReader::ext_texts(const TextLine& line, uint32_t sub, uint64_t arg, uint64_t first,
                           std::initializer_list<std::string_view> texts) {
  std::vector<uint64_t> all{first};
  for (const std::string_view text : texts)
    for (const uint64_t w : words_of(text)) all.push_back(w);
  if (all.size() > 15) line.fail("a name is too long");
  word(lt_ext(sub, all.size(), arg & 0x7ff), LT_EXT);
  words_.insert(words_.end(), all.begin(), all.end());
}

// TICK STREAM EVENT ...
void TextReader::event(const TextLine& line) {
  tick_ = line.word_number(0);
  auto stream = static_cast<uint32_t>(line.word_number(1));
  const std::string& what = line.word(2);
  if (block_.type != LT_BLOCK_EVENTS || block_.stream != stream ||
      words_.size() * 8 > LT_PAYLOAD_MAX - 1024) {
    flush();
    block_.type = LT_BLOCK_EVENTS;
    block_.stream = stream;
    block_.seq = next_seq_[stream]++;
    block_.depth = LT_DEPTH_UNKNOWN;
    block_.base_tick = block_.end_tick = tick_;
  }
  block_.end_tick = std::max(block_.end_tick, tick_);
  block_.count++;
  const auto kind = static_cast<uint32_t>(LT_ENTRY + place_of(kEventNames, what));
  if (kind == LT_SUSPEND)
    word(static_cast<uint32_t>(line.choice(kSuspendNames, line.word(3))), LT_SUSPEND);
  else if (kind < LT_EXT)
    plain(line.word_number(3), kind);
  else
    ext_event(line, what);
}

// segment ID [ITERATIONS ...]
void TextReader::segment_event(const TextLine& line) {
  const uint64_t id = line.word_number(3);
  std::vector<uint64_t> all{id + 1};
  for (size_t i = 4; i < line.words(); i++) all.push_back(line.word_number(i) + 1);
  if (all.size() == 1 && id < LT_SEGMENT_IDS)
    return word(static_cast<uint32_t>(LT_SEGMENT_FIRST + id), LT_SUSPEND);
  if (all.size() > 15) line.fail("too many levels");
  word(lt_ext(LTX_SEGMENT, all.size(), 0), LT_EXT);
  words_.insert(words_.end(), all.begin(), all.end());
}

// packed ID[*ITERATIONS,...] ...
void TextReader::packed_event(const TextLine& line) {
  std::vector<uint64_t> items;
  for (size_t i = 3; i < line.words(); i++) {
    const std::string& text = line.word(i);
    size_t at = std::min(text.find('*'), text.size());
    const uint64_t id = line.to_number(text.substr(0, at));
    if (id >= LT_PACKED - LT_PACKED_PLACE) line.fail("a place with too large an id");
    for (uint64_t level = 0; at != text.size(); level++) {
      const size_t end = std::min(text.find(',', at + 1), text.size());
      const uint64_t n = line.to_number(text.substr(at + 1, end - at - 1));
      if (n >= LT_PACKED_COUNTS || level >= LT_PACKED_LEVELS) line.fail("too many iterations");
      if (n != 0) items.push_back(level * LT_PACKED_COUNTS + n);
      at = end;
    }
    items.push_back(LT_PACKED_PLACE + id);
  }
  if (items.empty() || items.size() > LT_PACKED_ITEMS)
    line.fail("no place, or more than a word has space for");
  uint64_t all = 0;
  for (const uint64_t item : items) all = all << LT_PACKED_BITS | item;
  words_.push_back(lt_packed_word(all));
}

// gc start|end state=N bytes=N [full=1]
void TextReader::gc_event(const TextLine& line) {
  const uint32_t end = line.word(3) == "end" ? LTG_END : 0;
  if (!end && line.word(3) != "start") line.fail("gc needs start or end");
  ext(LTX_GC, end | (line.number("full") ? LTG_FULL : 0) | line.number("state") << LTG_STATE_SHIFT,
      {line.number("bytes")});
}

// trace KIND NUMBER a=N b=N [x=N y=N] [flag=1]: see LTT_* in luatrace_work.h
void TextReader::trace_event(const TextLine& line) {
  const uint64_t kind = line.choice(kTraceNames, line.word(3));
  if (kind >= kTraceNames.size()) line.fail("unknown kind of trace event");
  const uint64_t arg = kind | (line.number("flag") ? LTT_FLAG : 0);
  const uint64_t first =
      lt_pack((line.word_number(4) & 0xffff) | line.number("a") << 16, line.number("b"));
  if (kind == LTT_EXIT) return ext(LTX_TRACE, arg, {first});
  ext(LTX_TRACE, arg, {first, lt_pack(line.number("x"), line.number("y"))});
}

void TextReader::ext_event(const TextLine& line, const std::string& what) {
  if (what == "pad") return ext(LTX_PAD, 0, {});
  if (what == "time") return ext(LTX_TIME, 0, {tick_});
  if (what == "ringblock")
    return ext(LTX_BLOCK, 0,
               {tick_, line.number("co"), lt_pack(line.number("tid"), line.number("rec"))});
  if (what == "start")
    return ext(LTX_START, line.number("attached") ? LT_START_ATTACHED : 0,
               {tick_, lt_pack(line.number("rec"), line.number("flags"))});
  if (what == "stop") return ext(LTX_STOP, line.choice(kStopNames, line.word(3)), {});
  if (what == "gc") return gc_event(line);
  if (what == "segment") return segment_event(line);
  if (what == "packed") return packed_event(line);
  if (what == "trace") return trace_event(line);
  if (what == "cpu")
    return ext(LTX_CPU, line.choice(kCpuNames, line.word(3)), {line.number("ticks")});
  uint64_t value = line.word_number(3);
  if (what == "unwind" || what == "unwindto") {
    uint64_t top = line.text("top", "-") == "-" ? LT_ID_NONE : line.number("top");
    if (what == "unwindto") return ext(LTX_UNWIND, 1, {lt_pack(value + 1, top)});
    return ext(LTX_UNWIND, 0, {lt_pack(value, top)});
  }
  for (const auto& [name, sub] : kNumberedNames)
    if (what == name) return ext(sub, 0, {value});
  if (what == "stack")
    return ext(LTX_STACK, line.choice(kStackNames, line.word(4)), {value, line.number("n") + 1});
  if (what == "request") return ext(LTX_REQUEST, 0, {value, line.word_number(4) + 1});
  if (what == "section")
    return ext_texts(line, LTX_MARK, line.choice(kMarkNames, line.word(4)), value, {line.word(5)});
  if (what == "watch")
    return ext_texts(line, LTX_WATCH,
                     line.choice(kWatchNames, line.word(4)) | (line.number("more") ? LTW_MORE : 0),
                     lt_pack(value, line.number("place")), {line.word(5)});
  if (what == "unlabeled") return ext(LTX_LABEL, LTL_CLEAR, {value});
  if (what == "label") {
    const std::string& key = line.word(4);
    return ext_texts(line, LTX_LABEL, LTL_SET, lt_pack(value, lt_text_words(key.size())),
                     {key, line.word(5)});
  }
  if (what == "loss")
    return ext(LTX_LOSS, line.number("kind"), {value + 1, line.number("since", tick_)});
  if (what != "ext") line.fail("unknown event: " + quote(what));
  size_t more = line.words() - 4;
  if (more > 15) line.fail("too many words");
  word(lt_ext(value & 63, more, line.number("arg") & 0x7ff), LT_EXT);
  for (size_t i = 4; i < line.words(); i++) words_.push_back(line.word_number(i));
}

}  // namespace

bool is_text_trace(Input& input) {
  input.need(kFirstLine.size());
  return input.text().starts_with(kFirstLine);
}

std::vector<uint8_t> text_to_binary(Input& input) {
  TextReader reader(input.name());
  for (size_t number = 1, want = 1; input.need(want) > 0;) {
    const std::string_view ahead = input.text();
    const size_t size = std::min(ahead.find('\n'), ahead.size());
    const bool is_whole = size < ahead.size() || ahead.size() < want;  // Or else the last line.
    want = is_whole ? 1 : 2 * ahead.size();
    if (!is_whole) continue;
    reader.line(ahead.substr(0, size), number++);
    input.consume(std::min(size + 1, ahead.size()));
  }
  return reader.finish();
}

}  // namespace luatrace::analyze
