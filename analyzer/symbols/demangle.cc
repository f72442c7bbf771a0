// SPDX-License-Identifier: MIT
#include "analyzer/symbols/demangle.h"

#include <cxxabi.h>

#include <csetjmp>
#include <cstdlib>
#include <cstring>
#include <string_view>

#ifdef LUATRACE_DEMANGLE_CALLBACK
// Of libsupc++, for its own use in messages: what __cxa_demangle() does, but piece by piece and
// without memory of its own (so one may leave it at any piece). 0 if all is told.
extern "C" int __gcclibcxx_demangle_callback(const char* name,
                                             void (*piece)(const char*, size_t, void*), void* data);
#endif

namespace luatrace::analyze {
namespace {

#ifdef LUATRACE_DEMANGLE_CALLBACK

struct Output {
  std::string text;
  jmp_buf enough;
};

// It is C that is left by longjmp(), and nothing here is alive that has to be destroyed.
void add_piece(const char* piece, size_t bytes, void* data) {
  auto* out = static_cast<Output*>(data);
  if (out->text.size() + bytes > kLongestName) longjmp(out->enough, 1);
  out->text.append(piece, bytes);
}

bool written(const char* name, Output& out) {
  if (setjmp(out.enough) != 0) return false;
  return __gcclibcxx_demangle_callback(name, add_piece, &out) == 0 && !out.text.empty();
}

#else

struct Output {
  std::string text;
};

// Each reference to what was before (S_, T0_ ...) may double the length, at worst: three of them
// can make it three times as long. The many with fewer are a few megabytes at most.
constexpr unsigned kMostReferences = 24;

bool written(const char* name, Output& out) {
  unsigned references = 0;
  for (const char* c = name; *c; c++) references += *c == 'S' || *c == 'T';
  if (references > kMostReferences) return false;
  int status = 0;
  char* text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  const bool fits = status == 0 && text && strnlen(text, kLongestName + 1) <= kLongestName;
  if (fits) out.text = text;
  free(text);
  return fits;
}

#endif

// Else "f" would be the type float.
bool is_cxx(std::string_view name) {
  return name.starts_with("_Z") || name.starts_with("_GLOBAL_");
}

}  // namespace

std::string cut_text(const char* text, size_t most) {
  const size_t bytes = strnlen(text, most + 1);
  return bytes > most ? std::string(text, most) + "..." : std::string(text, bytes);
}

std::string demangle(const char* name) {
  const std::string raw = cut_text(name, kLongestName);
  Output out;
  return raw.size() <= kLongestName && is_cxx(raw) && written(name, out) ? out.text : raw;
}

}  // namespace luatrace::analyze
