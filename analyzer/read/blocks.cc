// SPDX-License-Identifier: MIT
#include "analyzer/read/blocks.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/escape.h"
#include "base/unique_owner.h"
#include "trace/crc32c.h"

namespace luatrace::analyze {
// -- Finding and checking blocks --

namespace {

// Flags of lt_file_header.required.
constexpr uint64_t kKnownFeatures = LT_FEATURE_ZSTD | LT_FEATURE_SEGMENTS;
constexpr uint64_t kRescanFree = 64u << 20;  // Bytes of bad payloads that are always searched.

// Reads a block header from the 64 bytes at `data`; false if there is none.
bool parse_header(const uint8_t* data, lt_block& block) {
  memcpy(&block, data, sizeof block);
  return block.sync == LT_SYNC && block.payload_size <= LT_PAYLOAD_MAX &&
         block.header_crc == crc32c(data, offsetof(lt_block, header_crc));
}

size_t padded(size_t size) {
  return (size + 7) & ~size_t{7};
}

}  // namespace

BlockReader::BlockReader(Input& input, Diagnostics& diagnostics)
    : input_(input), diag_(diagnostics) {
  read_header();
}

void BlockReader::read_header() {
  auto fail = [&](const std::string& why) {
    throw Unreadable(printable(diag_.file()) + ": " + why);
  };
  size_t have = input_.need(sizeof header_);
  if (have == 0) fail("the file is empty");
  memcpy(&header_, input_.data(), std::min(have, sizeof header_));
  uint64_t magic = LT_FILE_MAGIC;
  if (have >= sizeof magic && header_.magic == __builtin_bswap64(magic))
    fail(
        "a trace in the other byte order, most significant byte first (offset 0): it cannot be "
        "read "
        "here, and no recorder of luatrace writes one");
  if (memcmp(&magic, input_.data(), std::min(have, sizeof magic)) != 0)
    fail("not a luatrace trace (offset 0: the first 8 bytes are not \"LUATRACE\")");
  if (have < sizeof header_)
    fail("cut inside the file header (offset " + std::to_string(have) + " of " +
         std::to_string(sizeof header_) + "): nothing can be read");
  bool damaged = header_.crc != crc32c(&header_, offsetof(lt_file_header, crc));
  if (header_.version > LT_FILE_VERSION || header_.version == 0)
    fail("trace version " + std::to_string(header_.version) + ", but this program reads up to " +
         std::to_string(LT_FILE_VERSION) +
         (damaged ? " (offset 8; the header is damaged: its checksum is wrong)"
                  : " (offset 8): use a newer luatrace-analyze"));
  if (uint64_t unknown = header_.required & ~kKnownFeatures; unknown && !damaged)
    fail(std::string("needs a feature that this program does not have (offset 16, bits ") +
         std::to_string(unknown) + "): use a newer luatrace-analyze");
  check_header_values(damaged);
}

void BlockReader::check_header_values(bool damaged) {
  if (damaged) {
    diag_.trust.bad_blocks++;
    diag_.log(0, "the file header is damaged (its checksum is wrong): times may be wrong");
  }
  if (header_.tick_shift > 63 || header_.tick_mult == 0) {
    if (!damaged) diag_.trust.bad_records++;
    diag_.log(36, "the clock's rate is invalid: times are in ticks");
    header_.tick_shift = 0;
    header_.tick_mult = 1;
  }
  size_t size = header_.header_size;
  if (size < sizeof header_ || size > 65536 || (damaged && size != sizeof header_)) {
    if (!damaged) {
      diag_.trust.bad_records++;
      diag_.log(12, "the header's size is invalid: " + std::to_string(size));
    }
    size = sizeof header_;
  }
  input_.consume(std::min(input_.need(size), size));
}

bool BlockReader::next(Block& block) {
  block.hold = nullptr;
  while (find_block())
    if (deliver(block)) return true;
  return false;
}

// Moves to the next good block header; false if there is none.
bool BlockReader::find_block() {
  size_t have = input_.need(sizeof(lt_block));
  if (have == 0) return false;
  lt_block header;
  if (have >= sizeof header && parse_header(input_.data(), header)) {
    searching_ = false;
    return true;
  }
  if (!searching_) {
    diag_.trust.bad_blocks++;
    diag_.log(input_.offset(), have < sizeof header
                                   ? "the file ends inside a block header"
                                   : "no block begins here (bad sync or header checksum): "
                                     "searching for the next one");
  }
  return search();
}

bool BlockReader::search() {
  searching_ = true;
  const uint64_t sync = LT_SYNC;
  lt_block header;
  while (input_.need(sizeof header) >= sizeof header) {
    const uint8_t* data = input_.data();
    size_t have = input_.available();
    auto* found = static_cast<const uint8_t*>(memmem(data, have, &sync, sizeof sync));
    size_t skip = found ? static_cast<size_t>(found - data) : have - (sizeof sync - 1);
    if (found && have - skip >= sizeof header && parse_header(found, header)) {
      input_.consume(skip);
      diag_.log(input_.offset(), "reading continues here");
      searching_ = false;
      return true;
    }
    // A candidate at the edge of the window is checked again when all of its header is there.
    bool whole = !found || have - skip >= sizeof header;
    input_.consume(found ? skip + whole : std::max<size_t>(skip, 1));
  }
  input_.consume(input_.available());
  return false;
}

// Reads the block at the current offset, whose header is good. False: unusable, continue.
bool BlockReader::deliver(Block& block) {
  lt_block header;
  memcpy(&header, input_.data(), sizeof header);
  size_t size = sizeof header + padded(header.payload_size);
  size_t have = input_.need(size);
  if (have < sizeof header + header.payload_size) return deliver_cut(block, header);
  const uint8_t* payload = input_.data() + sizeof header;
  if (header.payload_crc != crc32c(payload, header.payload_size)) {
    diag_.trust.bad_blocks++;
    if (header.type == LT_BLOCK_EVENTS) diag_.trust.bad_block_events += header.count;
    diag_.log(input_.offset(), "block of type " + std::to_string(header.type) + ", " +
                                   std::to_string(header.payload_size) +
                                   " bytes: wrong checksum, skipped");
    // Bytes may be missing: the next block may begin inside this payload. The budget limits the
    // cost of a file of nested false headers to a few passes.
    rescanned_ += header.payload_size;
    bool affordable = rescanned_ <= kRescanFree + 4 * input_.offset();
    input_.consume(affordable ? sizeof header : std::min(size, have));
    searching_ = true;
    return false;
  }
  block = {header, input_.offset(), {payload, header.payload_size}, false, input_.hold()};
  input_.consume(std::min(size, have));  // Now, so that what is available has not been delivered.
  return true;
}

bool BlockReader::deliver_cut(Block& block, const lt_block& header) {
  size_t have = input_.available() - sizeof header;
  diag_.trust.bad_blocks++;
  diag_.log(input_.offset(), "block of type " + std::to_string(header.type) +
                                 ": the file ends after " + std::to_string(have) + " of its " +
                                 std::to_string(header.payload_size) + " bytes");
  if (header.type != LT_BLOCK_EVENTS || (header.flags & LT_BLOCK_F_ZSTD)) {
    // A damaged length whose checksum happens to match must not hide what follows.
    input_.consume(sizeof header);
    searching_ = true;
    return false;
  }
  block = {header,
           input_.offset(),
           {input_.data() + sizeof header, have & ~size_t{7}},
           true,
           input_.hold()};
  input_.consume(input_.available());
  return true;
}

// -- Their contents --

namespace {

// Parsers for the payloads of blocks other than EVENTS, or for one record of them. Each checks
// every length, and returns false if something is malformed.

// Copies the struct at the front of `bytes`; false if there are too few bytes.
template <class T>
bool take(std::span<const uint8_t> bytes, T& out) {
  if (bytes.size() < sizeof out) return false;
  memcpy(&out, bytes.data(), sizeof out);
  return true;
}

std::string text(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::string> split_nul(const std::string& all) {
  std::vector<std::string> parts;
  if (all.empty()) return parts;
  size_t from = 0;
  for (size_t at; (at = all.find('\0', from)) != std::string::npos; from = at + 1)
    parts.push_back(all.substr(from, at - from));
  parts.push_back(all.substr(from));
  return parts;
}

bool parse_process(const Block& block, ProcessInfo& out) {
  lt_process_info raw;
  if (!take(block.payload, raw)) return false;
  auto tail = block.payload.subspan(sizeof raw);
  if (raw.exe_len > tail.size() || raw.cmd_len > tail.size() - raw.exe_len) return false;
  const ProcessId number(block.header.stream);
  out = {number, raw.pid, raw.ns_pid, raw.parent, raw.uid, raw.start_tick, {}, {}};
  out.exe = text(tail.first(raw.exe_len));
  out.cmdline = split_nul(text(tail.subspan(raw.exe_len, raw.cmd_len)));
  return number != kNoProcess;
}

bool parse_stream(const Block& block, StreamInfo& out) {
  lt_stream_info raw;
  if (!take(block.payload, raw)) return false;
  const StreamId number(block.header.stream);
  const ProcessId process(raw.process);
  out = {number,         process,           raw.flags, raw.state_addr, raw.recording, raw.tid,
         raw.start_tick, raw.event_cost_ps, {}};
  out.luajit.assign(raw.luajit, strnlen(raw.luajit, sizeof raw.luajit));
  return number != kNoStream;
}

bool parse_function(const Block& block, std::span<const uint8_t> record, const lt_func& raw,
                    FunctionInfo& out) {
  size_t strings = size_t{raw.chunk_len} + 1 + raw.name_len + 1;
  if (record.size() - sizeof raw < strings || raw.id == 0) return false;
  if (raw.type < LT_FUNC_LUA || raw.type > LT_FUNC_LABEL) return false;
  auto tail = record.subspan(sizeof raw);
  out.stream = StreamId(block.header.stream);
  out.id = VmFunctionId(raw.id);
  out.type = raw.type;
  out.hint = raw.flags & LT_FUNC_HINT;
  out.firstline = raw.firstline;
  out.lastline = raw.lastline;
  out.ffid = raw.ffid;
  out.fileofs = raw.fileofs;
  out.addr = raw.addr;
  out.chunk = text(tail.first(raw.chunk_len));
  out.name = text(tail.subspan(raw.chunk_len + size_t{1}, raw.name_len));
  return true;
}

// Whether what the description says of itself is possible. Whether its parent exists is not known
// here.
bool is_possible(const lt_segment& raw) {
  return raw.type == LT_META_SEGMENT && raw.id != 0 && raw.parent < raw.id && raw.nmarks != 0 &&
         raw.id < LT_SEGMENT_IDS && raw.nevents <= LT_SEGMENT_EVENTS_MAX &&
         raw.level <= LT_SEGMENT_LEVELS && raw.bytes <= LT_SEGMENT_CODE_MAX &&
         !((raw.flags & LT_SEGMENT_COUNTS) && raw.level == 0);
}

bool parse_segment(const Block& block, std::span<const uint8_t> record, const lt_segment& raw,
                   SegmentInfo& out) {
  const uint32_t places = uint32_t{raw.nmarks} + raw.nexits;
  const size_t numbers_size = size_t{places} + raw.nevents + raw.ncosts;
  if (!is_possible(raw) || record.size() - sizeof raw < 4 * numbers_size) return false;
  out.stream = StreamId(block.header.stream);
  out.id = raw.id;
  out.parent = raw.parent;
  out.trace = raw.trace;
  out.bytes = raw.bytes;
  out.marks = raw.nmarks;
  out.loop = raw.loop;
  out.level = raw.level;
  out.counts = raw.flags & LT_SEGMENT_COUNTS;
  out.loops = raw.flags & LT_SEGMENT_LOOPS;
  std::vector<uint32_t> numbers(numbers_size);
  if (!numbers.empty()) memcpy(numbers.data(), &record[sizeof raw], 4 * numbers.size());
  for (uint32_t i = 0; i < places; i++) {
    out.places.push_back({numbers[i] & 0xffff, numbers[i] >> 16});
    if (out.places.back().before > raw.nevents) return false;
  }
  const auto costs = numbers.begin() + places + raw.nevents;
  out.events.assign(numbers.begin() + places, costs);
  for (auto it = costs; it != numbers.end(); ++it) {
    if (!out.costs.empty() && (*it & 0xffff) <= out.costs.back().end) return false;
    out.costs.push_back({*it & 0xffff, *it >> 16});
  }
  return std::all_of(out.events.begin(), out.events.end(), [](uint32_t event) {
    const uint32_t kind = lt_kind(event);
    return (kind == LT_ENTRY || kind == LT_RETURN || kind == LT_TAIL) &&
           event >> LT_KIND_BITS < LT_PAYLOAD_BIG;
  });
}

bool parse_map(const Block& block, std::span<const uint8_t> record, const lt_map& raw,
               MapInfo& out) {
  if (raw.build_id_len > sizeof raw.build_id || raw.path_len > record.size() - sizeof raw)
    return false;
  out = {ProcessId(block.header.stream), raw.start, raw.end, raw.offset, {}, {}, false};
  out.build_id = text({raw.build_id, raw.build_id_len});
  out.path = text(record.subspan(sizeof raw, raw.path_len));
  return true;
}

// Copies one sample from the front of `words`; `left` counts the bytes there.
bool parse_sample(const uint64_t* words, size_t left, Sample& out) {
  lt_sample& s = out.head;
  if (left < sizeof s) return false;
  memcpy(&s, words, sizeof s);
  if (s.size < sizeof s || s.size % 8 || s.size > left) return false;
  if (s.nframes > LT_SAMPLE_FRAMES_MAX || s.nframes > (s.size - sizeof s) / 8 || s.tid < 0)
    return false;
  out.frames = {words + sizeof s / 8, s.nframes};
  if (!(s.flags & LTS_CODE)) return true;
  if (s.size - sizeof s - out.frames.size_bytes() < sizeof out.code) return false;
  memcpy(&out.code, out.frames.data() + s.nframes, sizeof out.code);
  return true;
}

bool parse_clock(const Block& block, lt_clock_info& out) {
  return take(block.payload, out);
}

bool parse_end(const Block& block, EndInfo& out) {
  lt_end_info raw;
  if (!take(block.payload, raw)) return false;
  out = {raw.events, raw.lost, raw.blocks, raw.streams, raw.reason, raw.exit_status};
  return true;
}

}  // namespace

bool set_unpacked(Block& block, Words words, const char* problem, Diagnostics& diag) {
  if (problem) {
    diag.trust.bad_blocks++;
    if (block.header.type == LT_BLOCK_EVENTS) diag.trust.bad_block_events += block.header.count;
    diag.log(block.offset, "block of type " + std::to_string(block.header.type) +
                               ": its payload cannot be decompressed (" + problem + "), skipped");
    return false;
  }
  block.header.flags &= static_cast<uint16_t>(~LT_BLOCK_F_ZSTD);
  block.header.payload_size = block.header.raw_size;
  block.payload = {reinterpret_cast<const uint8_t*>(words->data()), block.header.raw_size};
  block.hold = std::move(words);
  return true;
}

void BlockDecoder::decode(Block block) {
  Words& words = free_words();
  const char* problem = unpacker_.unpack(block.header, block.payload, *words);
  if (set_unpacked(block, words, problem, diag_)) parse(block);
}

Words& BlockDecoder::free_words() {
  for (Words& words : words_) {
    if (is_unique_owner(words)) return words;
  }
  return words_.emplace_back(std::make_shared<std::vector<uint64_t>>());
}

void BlockDecoder::parse(const Block& block) {
  if (!contents(block)) {
    diag_.trust.bad_records++;
    diag_.log(block.offset,
              "malformed record in a block of type " + std::to_string(block.header.type));
  }
}

template <class T>
bool BlockDecoder::one(const Block& block, bool (*parser)(const Block&, T&),
                       void (TraceSink::*give)(const T&)) {
  T info{};
  if (!parser(block, info)) return false;
  (sink_.*give)(info);
  return true;
}

// Parses records {u32 size, ...} of at least sizeof(Raw), and passes on those before the first
// malformed one.
template <class Raw, class T>
bool BlockDecoder::each(const Block& block,
                        bool (*parser)(const Block&, std::span<const uint8_t>, const Raw&, T&),
                        void (TraceSink::*give)(const T&)) {
  for (auto rest = block.payload; !rest.empty();) {
    Raw raw;
    if (!take(rest, raw) || raw.size < sizeof raw || raw.size % 8 || raw.size > rest.size())
      return false;
    T info;
    if (!parser(block, rest.first(raw.size), raw, info)) return false;
    (sink_.*give)(info);
    rest = rest.subspan(raw.size);
  }
  return true;
}

bool BlockDecoder::contents(const Block& block) {
  switch (block.header.type) {
    case LT_BLOCK_EVENTS:
      return events(block);
    case LT_BLOCK_SAMPLES:
      return samples(block);
    case LT_BLOCK_FUNCS:
      return each(block, parse_function, &TraceSink::on_function);
    case LT_BLOCK_SEGMENTS:
      return each(block, parse_segment, &TraceSink::on_segment);
    case LT_BLOCK_STREAM:
      return one(block, parse_stream, &TraceSink::on_stream);
    case LT_BLOCK_PROCESS:
      return one(block, parse_process, &TraceSink::on_process);
    case LT_BLOCK_MAPS:
      return each(block, parse_map, &TraceSink::on_map);
    case LT_BLOCK_CLOCK:
      return one(block, parse_clock, &TraceSink::on_clock);
    case LT_BLOCK_NOTE:
      return sink_.on_note(text(block.payload)), true;
    case LT_BLOCK_END:
      return ended_ = one(block, parse_end, &TraceSink::on_end);
    default:
      diag_.trust.unknown++;
      return true;
  }
}

bool BlockDecoder::events(const Block& block) {
  const lt_block& h = block.header;
  const StreamId stream(h.stream);
  if (stream == kNoStream) return false;
  EventBlock out{
      stream,  h.seq,     h.flags,      h.count, h.base_tick, h.end_tick, CoroutineId(h.coroutine),
      h.depth, block.cut, block.offset, {},      block.hold};
  size_t words = block.payload.size() / 8;
  auto* data = block.payload.data();
  if (reinterpret_cast<uintptr_t>(data) % 8) {  // Only if bytes are missing before it.
    auto copy = std::make_shared<std::vector<uint64_t>>(words);
    if (words) memcpy(copy->data(), data, words * 8);
    out.words = *copy;
    out.hold = copy;
  } else {
    out.words = {reinterpret_cast<const uint64_t*>(data), words};
  }
  sink_.on_events(out);
  return block.payload.size() % 8 == 0;
}

// Copied, as records after damage may be at any address.
bool BlockDecoder::samples(const Block& block) {
  const size_t size = block.payload.size();
  SampleBlock out{StreamId(block.header.stream), block.header.seq, block.offset, {}};
  if (out.stream == kNoStream) return false;
  std::vector<uint64_t> words((size + 7) / 8);
  if (size) memcpy(words.data(), block.payload.data(), size);
  std::vector<Sample> samples;
  bool good = true;
  for (size_t at = 0; at < size && good;) {
    Sample& s = samples.emplace_back();
    good = parse_sample(&words[at / 8], size - at, s);
    at += s.head.size;
    if (!good) samples.pop_back();
  }
  out.samples = samples;
  sink_.on_samples(out);
  return good && samples.size() == block.header.count;
}

}  // namespace luatrace::analyze
