// SPDX-License-Identifier: MIT
#include "analyzer/machine/segment_runs.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace luatrace::analyze {
namespace {

uint64_t mixed(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 29;
}

uint64_t mixed(uint64_t hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3;
  return mixed(hash, text.size());
}

size_t index_of(const std::vector<uint32_t>& sorted, uint64_t offset) {
  return static_cast<size_t>(std::lower_bound(sorted.begin(), sorted.end(), offset) -
                             sorted.begin());
}

}  // namespace

// As in reports: a definition is one function, however often it is loaded.
void SegmentRuns::on_function(const FunctionInfo& info) {
  if (info.type == LT_FUNC_LABEL) return;
  uint64_t hash = mixed(mixed(info.type, info.firstline), info.chunk);
  if (info.type != LT_FUNC_LUA) hash = mixed(mixed(hash, info.name), info.ffid);
  stream(info.stream).functions[info.id] = hash;
}

uint64_t SegmentRuns::identity(const Stream& stream, uint32_t event) {
  const uint32_t id = event >> LT_KIND_BITS;
  const auto known = stream.functions.find(id);
  return mixed(lt_kind(event), known == stream.functions.end() ? id : known->second);
}

void SegmentRuns::on_segment(const SegmentInfo& info) {
  Stream& from = stream(info.stream);
  if (!from.expander.add(info)) return;
  Steps& s = from.steps[info.id];
  s.code = {info.trace, info.bytes, info.loops, {}};
  s.at = {0};
  const CodeScale costs(info);
  for (const SegmentPiece& p : from.expander.pieces(info.id)) {
    const uint64_t before = mixed(0, identity(from, p.before));  // The order counts.
    s.code.pieces.push_back(
        {p.end, mixed(before, identity(from, p.after)), 0, costs.factor(p.begin, p.end)});
    s.at.push_back(p.end);
  }
  for (const SegmentInfo::Place& place : info.places) s.at.push_back(place.offset);
  std::sort(s.at.begin(), s.at.end());
  s.at.erase(std::unique(s.at.begin(), s.at.end()), s.at.end());
  s.change.resize(s.at.size());
}

void SegmentRuns::on_events(const EventBlock& block) {
  const auto found = streams_.find(block.stream);
  if (found == streams_.end()) return;
  Stream& from = found->second;
  from.expander.follow(block, [&](uint32_t id, uint64_t begin, uint64_t end, uint64_t times) {
    Steps& s = from.steps[id];
    const size_t first = index_of(s.at, begin), last = index_of(s.at, end);
    if (first >= last || last >= s.at.size()) return;
    s.change[first] += times;
    s.change[last] -= times;
  });
}

std::vector<SegmentRuns::Piece> SegmentRuns::pieces_that_ran(const Steps& steps) {
  std::vector<Piece> pieces = steps.code.pieces;
  uint64_t runs = 0;
  for (size_t i = 0, piece = 0; i + 1 < steps.at.size(); i++) {
    runs += steps.change[i];
    while (piece < pieces.size() && pieces[piece].end <= steps.at[i]) piece++;
    if (piece == pieces.size()) break;
    pieces[piece].bytes += static_cast<double>(runs) * (steps.at[i + 1] - steps.at[i]);
  }
  return pieces;
}

std::map<uint32_t, SegmentRuns::Code> SegmentRuns::codes(StreamId number) const {
  std::map<uint32_t, Code> out;
  const auto found = streams_.find(number);
  if (found == streams_.end()) return out;
  for (const auto& [id, steps] : found->second.steps) {
    Code& code = out[id] = steps.code;
    code.pieces = pieces_that_ran(steps);
  }
  return out;
}

}  // namespace luatrace::analyze
