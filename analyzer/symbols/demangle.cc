// SPDX-License-Identifier: MIT
#include "analyzer/symbols/demangle.h"

#include <cxxabi.h>

#include <csetjmp>
#include <cstdlib>
#include <cstring>
#include <string_view>

#ifdef LUATRACE_DEMANGLE_CALLBACK
// An internal function of libsupc++: does what __cxa_demangle() does, but in pieces and without
// allocating memory, so that it can be left at any piece. Returns 0 on success.
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

// longjmp() is safe here: it only leaves C code, and no object is alive that has a destructor.
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

// In the worst case each back reference (S_, T0_ ...) doubles the length; three in a row can triple
// it. Names with fewer references than this take a few megabytes at most.
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

// Needed because "f", for example, would demangle to the type float.
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
