// SPDX-License-Identifier: MIT
#include "analyzer/symbols/function_name.h"

#include <algorithm>

#include "base/escape.h"

namespace luatrace::analyze {
namespace {

std::string short_chunk(const std::string& chunk) {
  if (chunk.starts_with('@') || chunk.starts_with('=')) return chunk.substr(1);
  size_t end = chunk.find('\n');
  std::string line = chunk.substr(0, std::min<size_t>(end, 40));
  return "[string \"" + line + (line.size() < chunk.size() ? "...\"]" : "\"]");
}

// A name from a call is shown, rather than the offset in the library, which becomes the location.
void take_symbol(FunctionName& f, const Symbol& symbol) {
  if (!symbol.file.empty()) f.chunk = symbol.file;
  if (symbol.name.empty()) return;
  if (f.hint && symbol.offset) {
    f.code = LT_LINE_CODE | static_cast<uint32_t>(symbol.offset);
    return;
  }
  f.name = symbol.name;
  f.hint = false;
}

}  // namespace

const char* kind_name(FunctionKind kind) {
  static constexpr const char* kNames[] = {"",        "c",       "builtin",  "gap",   "group",
                                           "inlined", "kernel",  "lua",      "phase", "pruned",
                                           "root",    "unknown", "suspended"};
  return kNames[static_cast<size_t>(kind)];
}

bool is_main_chunk(const FunctionName& f) {
  return f.kind == FunctionKind::kLua && f.line == 0 && f.code == 0;
}

std::string identity(const FunctionName& f) {
  std::string key = kind_name(f.kind);
  if (f.coroutine) key += " coroutine";
  ((key += '\0') += f.chunk) += '\0';
  key += line_text(f);
  return f.kind == FunctionKind::kLua ? key : key + '\0' + f.name;
}

FunctionName describe(const Function& f, const SymbolFinder& symbols) {
  FunctionName out;
  out.name = f.name;
  out.chunk = f.chunk;
  const bool has_line = f.type != LT_FUNC_LUA || !(f.firstline & LT_LINE_CODE);
  (has_line ? out.line : out.code) = f.firstline;
  out.hint = f.hint && !f.name.empty();
  out.coroutine = f.coroutine;
  switch (f.type) {
    case LT_FUNC_LUA:
      out.kind = FunctionKind::kLua;
      if (is_main_chunk(out)) {  // The recorded name is whatever its caller used.
        out.name.clear();
        out.name = display_name(out);
        out.hint = false;
      }
      return out;
    case kGroupType:
      out.kind = FunctionKind::kGroup;
      return out;
    case kPrunedType:
      out.kind = FunctionKind::kPruned;
      return out;
    case LT_FUNC_KERNEL:
      out.kind = FunctionKind::kKernel;
      return out;
    case kUnknownFrameType:
      out.kind = FunctionKind::kUnknown;
      return out;
    case LT_FUNC_FF:
      out.kind = FunctionKind::kBuiltin;
      break;
    case LT_FUNC_C:
      out.kind = FunctionKind::kC;
      break;
    default:
      out.kind = FunctionKind::kUnknown;
      out.name = std::to_string(f.id).insert(0, "function #");
      return out;
  }
  if (out.name.empty() || out.hint) take_symbol(out, symbols(f));
  return out;
}

void take_name(FunctionName& f, const std::string& name, bool hint) {
  if (name.empty()) return;
  const bool better = f.name.empty() || (hint == f.hint ? name < f.name : f.hint);
  if (!better) return;
  f.name = name;
  f.hint = hint;
}

std::string file_name(const FunctionName& f) {
  const bool marked = f.chunk.starts_with('@') || f.chunk.starts_with('=');
  return marked ? f.chunk.substr(1) : f.chunk;
}

std::string line_text(const FunctionName& f) {
  if (f.kind == FunctionKind::kC && f.code) return hex(f.code & ~LT_LINE_CODE);
  return line_text(f.code ? f.code : f.line);
}

std::string display_place(const FunctionName& f) {
  if (f.kind == FunctionKind::kKernel) return f.chunk.empty() ? "kernel" : "kernel: " + f.chunk;
  if (f.chunk.empty()) return "";
  if (f.kind == FunctionKind::kLua) return short_chunk(f.chunk) + ':' + line_text(f);
  return f.code ? f.chunk + '+' + line_text(f) : f.chunk;
}

std::string shown_place(const FunctionName& f) {
  if (!is_main_chunk(f)) return display_place(f);
  return f.chunk.starts_with(kSectionChunk) ? "" : kMainChunk;
}

std::string display_name(const FunctionName& f) {
  if (is_main_chunk(f)) return f.chunk.empty() ? kMainChunk : short_chunk(f.chunk);
  if (!f.name.empty()) return f.name;
  if (f.kind == FunctionKind::kRoot) return "all";
  std::string place = display_place(f);
  return place.empty() ? "?"
                       : place.substr(f.kind == FunctionKind::kLua ? place.rfind('/') + 1 : 0);
}

bool shows_hint(const FunctionName& f) {
  return f.hint && f.name == display_name(f);
}

std::string distinct_name(const FunctionName& f) {
  if (!f.code || f.name.empty()) return display_name(f);
  return f.name + (f.kind == FunctionKind::kC ? "+" : "") + line_text(f);
}

}  // namespace luatrace::analyze
