// SPDX-License-Identifier: MIT
// The records of probes/lua-calls.stp: 40 bytes each, see docs/import-format.md.
//
// Invariant: every byte is read a bounded number of times, and a run of bytes that are no records
// is counted once, however long it is.
#include <algorithm>
#include <cstring>
#include <map>
#include <string_view>

#include "analyzer/read/import.h"

namespace luatrace::analyze {
namespace {

constexpr size_t kSize = 40;
constexpr uint8_t kMark = 0x4c;
constexpr uint32_t kMagic = 0x50545354;            // "TSTP"
constexpr std::string_view kHits = "ERtUcryeSOX";  // In the order of HitKind.
constexpr std::string_view kOthers = "HPFTNZQB.";
constexpr size_t kTextBytes = 28;
constexpr uint32_t kMaxTextParts = 64;

template <class T>
T get(const uint8_t* record, size_t at) {
  T value;
  memcpy(&value, record + at, sizeof value);
  return value;
}

bool is_record(const uint8_t* p) {
  const char kind = static_cast<char>(p[0]);
  return p[1] == kMark && (kHits.find(kind) != kHits.npos || kOthers.find(kind) != kOthers.npos);
}

class StapReader {
 public:
  StapReader(Input& input, Diagnostics& diag, Spool& spool)
      : input_(input),
        out_(spool, diag, get<uint64_t>(input.data(), 8), get<uint64_t>(input.data(), 16),
             "SystemTap lua-calls.stp") {}

  void read(const Progress& progress);

 private:
  struct Function {
    uint32_t pid = 0, parts[2] = {0, 0};
    bool head = false, described = false;
    HitFunction what;
    std::map<uint32_t, std::string> text[2];  // chunk, name
  };

  void record(const uint8_t* p);
  void hit(const uint8_t* p, HitKind kind);
  void function(const uint8_t* p);
  void text(const uint8_t* p);
  void describe(uint32_t number, Function& f, bool if_incomplete);
  void end(const uint8_t* p);
  void total(const uint8_t* p);
  void skip_to_record();
  void thread(const uint8_t* p);

  Input& input_;
  Importer out_;
  std::unordered_map<uint32_t, uint32_t> pids_;             // Thread → process.
  std::unordered_map<uint32_t, std::vector<Hit>> waiting_;  // Hits of threads of unknown process.
  std::unordered_map<uint32_t, Function> functions_;        // By number.
  std::unordered_map<uint32_t, uint32_t> totals_;           // Highest known number of each thread.
  uint32_t last_tid_ = 0, last_pid_ = 0;                    // Result of the last lookup, 0: none.
};

void StapReader::hit(const uint8_t* p, HitKind kind) {
  Hit h;
  h.kind = kind;
  h.seq = get<uint32_t>(p, 4);
  h.time = get<uint64_t>(p, 8);
  h.tid = get<uint32_t>(p, 16);
  h.value = get<int32_t>(p, 20);
  h.L = get<uint64_t>(p, 24);
  h.what = get<uint64_t>(p, 32);
  if (kind == HitKind::kOpen || kind == HitKind::kClose) h.state = h.what;
  if (kind <= HitKind::kUnwind) h.frame = get<uint32_t>(p, 32);
  if (kind <= HitKind::kTail) h.what = get<uint32_t>(p, 20);
  if (kind == HitKind::kStack) {
    h.state = h.what;
    h.frame = get<uint32_t>(p, 20);
    h.value = 0;
    h.reason = Hit::kNoReason;
  }
  if (last_tid_ != h.tid || last_pid_ == 0) {
    const auto it = pids_.find(h.tid);
    if (it == pids_.end()) return waiting_[h.tid].push_back(h);
    last_tid_ = h.tid;
    last_pid_ = it->second;
  }
  h.pid = last_pid_;
  out_.hit(h, input_.offset());
}

// Records the process of a thread.
void StapReader::thread(const uint8_t* p) {
  const auto tid = get<uint32_t>(p, 4), pid = get<uint32_t>(p, 8);
  const std::string comm(reinterpret_cast<const char*>(p + 16), 16);
  out_.name_process(pid, comm.c_str(), get<uint32_t>(p, 12));
  pids_[tid] = pid;
  last_tid_ = last_pid_ = 0;
  const auto it = waiting_.find(tid);
  if (it == waiting_.end()) return;
  for (Hit& h : it->second) {
    h.pid = pid;
    out_.hit(h, input_.offset());
  }
  waiting_.erase(it);
}

void StapReader::function(const uint8_t* p) {
  const auto number = get<uint32_t>(p, 4);
  Function& f = functions_[number];
  if (f.described) return;
  const auto id = get<uint32_t>(p, 16), type = get<uint32_t>(p, 20);
  f.head = true;
  f.pid = get<uint32_t>(p, 8);
  f.parts[0] = get<uint16_t>(p, 32);
  f.parts[1] = get<uint16_t>(p, 34);
  f.what.type = type == 1 ? LT_FUNC_LUA : id > 1 ? LT_FUNC_FF : LT_FUNC_C;
  (type == 1 ? f.what.line : f.what.ffid) = id;
  f.what.addr = get<uint64_t>(p, 24);
  f.what.defined = (p[2] & 4) != 0;
  if (type != 1 && type != 2) out_.bad(input_.offset(), "a function of an unknown type");
  // Byte 2, bit 1: the strings could not be read. A later record may have them.
  if (!(p[2] & 2)) describe(number, f, false);
}

void StapReader::text(const uint8_t* p) {
  const uint8_t which = p[2], length = p[3];
  const auto number = get<uint32_t>(p, 4), part = get<uint32_t>(p, 8);
  if (which > 1 || length > kTextBytes || part >= kMaxTextParts)
    return out_.bad(input_.offset(), "an invalid text record");
  Function& f = functions_[number];
  if (f.described) return;
  f.text[which][part].assign(reinterpret_cast<const char*>(p + 12), length);
  describe(number, f, false);
}

// Passes on a description once it is complete; `if_incomplete`: even if it is not.
void StapReader::describe(uint32_t number, Function& f, bool if_incomplete) {
  const bool whole = f.text[0].size() >= f.parts[0] && f.text[1].size() >= f.parts[1] &&
                     f.parts[0] + f.parts[1] > 0;
  if (f.described || !f.head || !(whole || if_incomplete)) return;
  for (auto& [part, text] : f.text[0]) f.what.chunk += text;
  for (auto& [part, text] : f.text[1]) f.what.name += text;
  for (std::string* s : {&f.what.chunk, &f.what.name}) std::erase(*s, '\0');
  f.described = true;
  for (auto& t : f.text) t.clear();
  out_.hits().describe(f.pid, number, std::move(f.what));
}

void StapReader::end(const uint8_t* p) {
  out_.set_ended(0);
  const auto counted = get<uint64_t>(p, 8);
  out_.set_counted(counted, get<uint64_t>(p, 24));
  out_.note("hits-counted-by-script", counted);
  const auto unprinted = get<uint64_t>(p, 16);
  if (unprinted == 0) return;
  HitLoss loss;
  loss.count = unprinted;
  loss.until = std::max(out_.hits().last_time(), get<uint64_t>(p, 24));
  out_.hits().lost(loss);
}

void StapReader::total(const uint8_t* p) {
  const auto tid = get<uint32_t>(p, 4), seq = get<uint32_t>(p, 8);
  const auto [it, first] = totals_.try_emplace(tid, seq);
  if (!first && further(seq, it->second)) it->second = seq;
}

void StapReader::record(const uint8_t* p) {
  const size_t kind = kHits.find(static_cast<char>(p[0]));
  if (kind != kHits.npos) return hit(p, static_cast<HitKind>(kind + 1));
  switch (p[0]) {
    case 'P':
      return thread(p);
    case 'B':
      return out_.name_process(get<uint32_t>(p, 4), "", get<uint32_t>(p, 16));
    case 'Q':
      return out_.end_process(get<uint32_t>(p, 4), get<uint64_t>(p, 8));
    case 'F':
      return function(p);
    case 'T':
      return text(p);
    case 'N':
      return total(p);
    case 'Z':
      return end(p);
    default:
      return;  // Another 'H', padding.
  }
}

// Bytes are missing or wrong here: searches for the next two records in a row.
void StapReader::skip_to_record() {
  const uint64_t from = input_.offset();
  input_.consume(1);
  while (input_.need(2 * kSize) >= kSize) {
    const uint8_t* p = input_.data();
    if (is_record(p) && (input_.available() < kSize + 2 || is_record(p + kSize))) break;
    input_.consume(1);
  }
  out_.bad(from, "no record where one should begin");
}

void StapReader::read(const Progress& progress) {
  while (input_.need(2 * kSize) >= kSize) {
    if (!is_record(input_.data())) {
      skip_to_record();
      continue;
    }
    record(input_.data());
    input_.consume(kSize);
    if (progress && input_.offset() % 65536 < kSize) progress(input_.offset());
  }
  if (input_.available()) out_.bad(input_.offset(), "the file ends inside a record");
  for (auto& [tid, hits] : waiting_)
    for (Hit& h : hits) {
      h.pid = tid;  // Unknown process; most processes have one thread.
      out_.hit(h, input_.offset());
    }
  for (auto& [number, f] : functions_) describe(number, f, f.text[0].size() + f.text[1].size() > 0);
  for (const auto& [tid, seq] : totals_) out_.total(tid, seq);
  out_.finish(input_.offset());
}

}  // namespace

bool is_stap_records(Input& input) {
  return input.need(kSize) >= kSize && input.data()[0] == 'H' && input.data()[1] == kMark &&
         get<uint32_t>(input.data(), 4) == kMagic;
}

void read_stap(Input& input, Diagnostics& diag, Spool& spool, const Progress& progress) {
  const auto version = get<uint16_t>(input.data(), 2);
  if (version != 1)
    throw Unreadable(input.name() + ": version " + std::to_string(version) +
                     " of lua-calls.stp's records, but this program reads version 1");
  StapReader(input, diag, spool).read(progress);
}

}  // namespace luatrace::analyze
