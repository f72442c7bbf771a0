// SPDX-License-Identifier: MIT
#include "analyzer/symbols/function_name.h"

#include <algorithm>

namespace luatrace::analyze {
namespace {

constexpr const char* kMainChunk = "main chunk";

bool is_main(const FunctionName& f) {
  return f.kind == FunctionKind::kLua && f.line == 0 && f.code == 0;
}

std::string short_chunk(const std::string& chunk) {
  if (chunk.starts_with('@') || chunk.starts_with('=')) return chunk.substr(1);
  size_t end = chunk.find('\n');
  std::string line = chunk.substr(0, std::min<size_t>(end, 40));
  return "[string \"" + line + (line.size() < chunk.size() ? "...\"]" : "\"]");
}

}  // namespace

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
      if (is_main(out)) {  // The recorded name is whatever its caller used.
        out.name = kMainChunk;
        out.hint = false;
      }
      return out;
    case kGroupType:
      out.kind = FunctionKind::kGroup;
      return out;
    case kPrunedType:
      out.kind = FunctionKind::kPruned;
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
  if (!f.name.empty() && !f.hint) return out;
  Symbol symbol = symbols(f);  // More reliable than a name taken from a call.
  if (!symbol.file.empty()) out.chunk = symbol.file;
  if (!symbol.name.empty()) {
    out.name = symbol.name;
    out.hint = false;
  }
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
  return line_text(f.code ? f.code : f.line);
}

std::string display_place(const FunctionName& f) {
  if (f.chunk.empty()) return "";
  if (f.kind == FunctionKind::kLua) return short_chunk(f.chunk) + ':' + line_text(f);
  return f.chunk;
}

std::string display_name(const FunctionName& f) {
  if (is_main(f)) return kMainChunk;
  if (!f.name.empty()) return f.name;
  if (f.kind == FunctionKind::kRoot) return "all";
  std::string place = display_place(f);
  return place.empty() ? "?"
                       : place.substr(f.kind == FunctionKind::kLua ? place.rfind('/') + 1 : 0);
}

std::string distinct_name(const FunctionName& f) {
  return f.code && !f.name.empty() ? f.name + line_text(f) : display_name(f);
}

}  // namespace luatrace::analyze
