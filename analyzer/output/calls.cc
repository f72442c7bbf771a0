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

void CallsSink::note(const Note& n) {
  out_ << 'S' << stream_ << " C" << n.coroutine << " D" << n.depth << ' ' << kNoteNames[n.kind]
       << ' ' << what(n) << '\n';
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
