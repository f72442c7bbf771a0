// SPDX-License-Identifier: MIT
#include "hits.h"

#include <cstring>
#include <map>
#include <sstream>

namespace luatrace::analyze::test {
namespace {

constexpr uint32_t kPid = 0x7;
const char* const kNonce = "100000000000";

// One line of the short form: KIND [:SEQ] [%TID] @TIME FIELDS..., numbers hexadecimal.
struct Line {
  char kind = 0;
  uint64_t time = 0;
  uint32_t tid = 0x70;
  uint32_t seq = 0;
  std::vector<uint64_t> fields;
};

// How many hits a thread made, by its tid; the number of the last one wraps over 0 to 1.
using Counts = std::map<uint32_t, uint64_t>;

uint32_t seq_of(uint64_t count) {
  return count == 0 ? 0 : static_cast<uint32_t>((count - 1) % UINT32_MAX + 1);
}

bool parse(const std::string& text, Counts& counts, Line& line) {
  std::istringstream in(text);
  std::string word;
  if (!(in >> word)) return false;
  line.kind = word[0];
  bool numbered = false;
  while (in >> word) {
    const char* digits = word.c_str() + (isxdigit(word[0]) ? 0 : 1);
    const uint64_t value = std::stoull(digits, nullptr, 16);
    if (word[0] == '@')
      line.time = kStart + value;
    else if (word[0] == '%')
      line.tid = static_cast<uint32_t>(value);
    else if (word[0] == ':')
      line.seq = static_cast<uint32_t>(value), numbered = true;
    else
      line.fields.push_back(value);
  }
  uint64_t& count = counts[line.tid];
  const uint32_t last = seq_of(count);
  if (!numbered) line.seq = seq_of(count + 1);
  const auto ahead = static_cast<int32_t>(line.seq - last);
  if (ahead > 0) count += static_cast<uint32_t>(ahead) - (line.seq < last);
  return true;
}

void put(std::vector<uint8_t>& out, size_t at, uint64_t value, size_t size) {
  memcpy(&out[out.size() - 40 + at], &value, size);
}

void record(std::vector<uint8_t>& out, char kind) {
  out.resize(out.size() + 40);
  put(out, 0, static_cast<uint8_t>(kind), 1);
  put(out, 1, 0x4c, 1);
}

void text(std::vector<uint8_t>& out, uint32_t function, int which, const std::string& s) {
  for (size_t at = 0, part = 0; at < s.size(); at += 28, part++) {
    const std::string piece = s.substr(at, 28);
    record(out, 'T');
    put(out, 2, which, 1);
    put(out, 3, piece.size(), 1);
    put(out, 4, function, 4);
    put(out, 8, part, 4);
    memcpy(&out[out.size() - 28], piece.data(), piece.size());
  }
}

void head(std::vector<uint8_t>& out) {
  record(out, 'H');
  put(out, 2, 1, 2);
  put(out, 4, 0x50545354, 4);
  put(out, 8, kStart, 8);
  for (uint32_t id = 1; id <= 9; id++) {
    record(out, 'F');
    put(out, 2, id % 2 == 0 ? 4 : 0, 1);  // The names of f2, f4, ... are of their definitions.
    put(out, 4, id, 4);
    put(out, 8, kPid, 4);
    put(out, 12, id, 4);
    put(out, 16, 10 * id, 4);
    put(out, 20, 1, 4);
    put(out, 32, 2, 2);
    put(out, 34, 1, 2);
    text(out, id, 0, "@dir/a_name_that_needs_two.lua");
    text(out, id, 1, "f" + std::to_string(id));
  }
}

void hit(std::vector<uint8_t>& out, const Line& l) {
  record(out, l.kind == 'T' ? 't' : l.kind);
  put(out, 4, l.seq, 4);
  put(out, 8, l.time, 8);
  put(out, 16, l.tid, 4);
  if (strchr("OXU", l.kind)) {  // L g, or L frame
    put(out, 24, l.fields.at(0), 8);
    put(out, 32, l.fields.at(1), 8);
  } else if (l.kind == 'S') {  // L id n reason g
    put(out, 20, l.fields.at(2), 4);
    put(out, 24, l.fields.at(0), 8);
    put(out, 32, l.fields.at(4), 8);
  } else if (strchr("ERT", l.kind)) {  // L id frame
    put(out, 20, l.fields.at(1), 4);
    put(out, 24, l.fields.at(0), 8);
    put(out, 32, l.fields.at(2), 8);
  } else {  // L co id
    put(out, 20, l.fields.at(2), 4);
    put(out, 24, l.fields.at(0), 8);
    put(out, 32, l.fields.at(1), 8);
  }
}

}  // namespace

std::string bt_text(const std::string& hits, bool end) {
  std::ostringstream out;
  const std::string n = kNonce;
  out << "Attaching 15 probes...\n#luatrace-bt 1 " << n << " 1700000000\n";
  out << "P 7 " << n << ":luajit" << n << "\n" << std::hex;
  for (int id = 1; id <= 9; id++)
    out << "F 7 " << id << " beef " << 10 * id << "\nC 7 " << id << " beef 0 " << n
        << ":@dir/a_name_that_needs_two.lua" << n << "\nN 7 " << id << " beef " << n << ":f" << id
        << n << "\n";
  std::istringstream in(hits);
  Counts seqs, late;
  for (std::string text; std::getline(in, text);) {
    text.erase(0, text.find_first_not_of(' '));
    Line l;
    if (text.starts_with('='))
      out << text.c_str() + 1 << "\n";
    else if (parse(text, seqs, l)) {
      out << l.kind << ' ' << l.time << " 7 " << l.tid << ' ' << l.seq;
      for (uint64_t f : l.fields) out << ' ' << f;
      if (l.time > kStart + kBeat + 6'000'000) late[l.tid]++;
      out << (strchr("ERT", l.kind) ? " beef\n" : "\n");
    }
  }
  if (!end) return out.str();
  out << "\n\n@beat: " << std::dec << kStart + kBeat << "\n";
  for (const auto& [tid, n] : late)
    out << "@late_beat[" << tid << "]: " << kStart + kBeat << "\n@late_hits[" << tid << "]: " << n
        << "\n";
  for (const auto& [tid, count] : seqs)
    out << "@seq[" << std::dec << tid << "]: " << seq_of(count) << "\n";
  return out.str();
}

std::vector<uint8_t> stap_records(const std::string& hits, bool end) {
  std::vector<uint8_t> out;
  head(out);
  std::istringstream in(hits);
  Counts seqs;
  uint64_t sum = 0;
  for (std::string text; std::getline(in, text);) {
    Line l;
    text.erase(0, text.find_first_not_of(' '));
    if (text.starts_with('=') || !parse(text, seqs, l)) continue;
    hit(out, l);
  }
  for (const auto& [tid, count] : seqs) {
    sum += count;
    record(out, 'P');
    put(out, 4, tid, 4);
    put(out, 8, kPid, 4);
    memcpy(&out[out.size() - 24], "luajit", 6);
    if (!end) continue;
    record(out, 'N');
    put(out, 4, tid, 4);
    put(out, 8, seq_of(count), 4);
  }
  if (end) record(out, 'Z'), put(out, 8, sum, 8);
  return out;
}

}  // namespace luatrace::analyze::test
