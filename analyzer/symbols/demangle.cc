// SPDX-License-Identifier: MIT
#include "analyzer/symbols/demangle.h"

#include <csetjmp>
#include <cstring>
#include <string_view>

// An internal function of libsupc++: does what __cxa_demangle() does, but in pieces and without
// allocating memory, so that it can be left at any piece. Returns 0 on success.
extern "C" int __gcclibcxx_demangle_callback(const char* name,
                                             void (*piece)(const char*, size_t, void*), void* data);

namespace luatrace::analyze {
namespace {

struct Output {
  std::string text;
  jmp_buf enough;
};

// longjmp() is safe here: it only leaves C code, and no object is alive that has a destructor.
void add_piece(const char* piece, size_t bytes, void* data) {
  auto* out = static_cast<Output*>(data);
  if (out->text.size() + bytes > kLongestName) longjmp(out->enough, 1);
  out->text.append(piece, bytes);
}

bool demangle_short(const char* name, Output& out) {
  if (setjmp(out.enough) != 0) return false;
  return __gcclibcxx_demangle_callback(name, add_piece, &out) == 0 && !out.text.empty();
}

// Needed because "f", for example, would demangle to the type float.
bool is_cxx(std::string_view name) {
  return name.starts_with("_Z") || name.starts_with("_GLOBAL_");
}

}  // namespace

std::string cut_text(const char* text, size_t max) {
  const size_t bytes = strnlen(text, max + 1);
  return bytes > max ? std::string(text, max) + "..." : std::string(text, bytes);
}

std::string demangle(const char* name) {
  const std::string raw = cut_text(name, kLongestName);
  Output out;
  return raw.size() <= kLongestName && is_cxx(raw) && demangle_short(name, out) ? out.text : raw;
}

}  // namespace luatrace::analyze
