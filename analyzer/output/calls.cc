// SPDX-License-Identifier: MIT
#include "analyzer/output/calls.h"

#include <algorithm>
#include <array>
#include <ostream>

#include "analyzer/read/text_names.h"
#include "base/escape.h"

namespace luatrace::analyze {
namespace {

constexpr std::array<std::string_view, 16> kNoteNames = {
    "entry",  "return",  "tail",   "frame", "unwind", "abandon", "resume", "suspend",
    "create", "collect", "switch", "stack", "loss",   "thread",  "start",  "stop"};

}  // namespace

std::string CallsSink::what(const Note& n) const {
  switch (n.kind) {
    case Note::kSuspend:
      return name_of(kSuspendNames, n.what);
    case Note::kStack:
      return name_of(kStackNames, n.what);
    case Note::kStop:
      return name_of(kStopNames, n.what);
    case Note::kEntry:
    case Note::kReturn:
    case Note::kTail:
    case Note::kFrame:
    case Note::kUnwind:
    case Note::kAbandon:
      return namer_(FunctionId(static_cast<uint32_t>(n.what)));
    default:
      return std::to_string(n.what);
  }
}

// Returns whether the note is of a hidden call, which begins or ends.
bool CallsSink::hides(const Note& n) {
  const bool begins = n.kind == Note::kEntry || n.kind == Note::kFrame;
  const bool ends = n.kind == Note::kReturn || n.kind == Note::kTail || n.kind == Note::kUnwind ||
                    n.kind == Note::kAbandon;
  if (!begins && !ends) return false;
  const auto it = hidden_.find({stream_, n.coroutine});
  if (it != hidden_.end()) {  // What is as deep has ended, seen or not.
    auto& depths = it->second;
    while (n.depth && !depths.empty() && depths.back() >= n.depth) depths.pop_back();
    if (depths.empty()) hidden_.erase(it);
  }
  if (!hider_(FunctionId(static_cast<uint32_t>(n.what)))) return false;
  if (begins) hidden_[{stream_, n.coroutine}].push_back(n.depth);
  return true;
}

void CallsSink::note(const Note& n) {
  if (hides(n)) return;
  const auto it = hidden_.find({stream_, n.coroutine});
  const uint32_t hidden =
      it == hidden_.end()
          ? 0
          : static_cast<uint32_t>(std::upper_bound(it->second.begin(), it->second.end(), n.depth) -
                                  it->second.begin());
  out_ << 'S' << stream_ << " C" << n.coroutine << " D" << n.depth - hidden << ' '
       << kNoteNames[n.kind] << ' ' << what(n) << '\n';
}

std::string call_name(const Function& f, const std::string& symbol) {
  constexpr size_t kLongest = 500;  // Printed for each event.
  if (f.type == LT_FUNC_LUA) {
    std::string_view chunk = f.chunk;
    const bool file = chunk.starts_with('@');
    if (file || chunk.starts_with('=')) chunk.remove_prefix(1);
    if (file) chunk.remove_prefix(chunk.size() - std::min(chunk.size(), kLongest));
    if (file) chunk.remove_prefix(chunk.rfind('/') + 1);
    return printable(cut_bytes(chunk, kLongest)) + ':' + line_text(f.firstline);
  }
  if (f.type == 0) return "?:" + std::to_string(f.id);
  if (!f.name.empty()) return "C:" + printable(cut_bytes(f.name, kLongest));
  if (!symbol.empty()) return "C:" + printable(symbol);
  return "C:" + hex(f.addr);
}

}  // namespace luatrace::analyze
