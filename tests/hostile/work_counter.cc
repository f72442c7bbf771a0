// SPDX-License-Identifier: MIT
// What makes luatrace-analyze-counted of luatrace-analyze: counts its work instead of measuring
// time, so that a test of how it grows gives the same numbers on any machine under any load.
//
// The program's own code, with all that is inlined into it, is compiled with
// -fsanitize-coverage=trace-pc: a call of __sanitizer_cov_trace_pc in each basic block. What the C
// library does for it in proportion to a length (copying, filling, comparing) is counted by that
// length, kBytesPerStep bytes being one step. Memory is what operator new has given and not got
// back, at its most.
//
// At the end a line "STEPS PEAK_BYTES" is written to the file that LUATRACE_WORK names.
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {

constexpr uint64_t kBytesPerStep = 16;

// Helper threads that decompress count, too: additions in any order are the same sum.
std::atomic<uint64_t> steps{0}, live{0}, peak{0};

void count(uint64_t n) {
  steps.fetch_add(n, std::memory_order_relaxed);
}

void count_bytes(size_t n) {
  count(1 + n / kBytesPerStep);
}

void* counted(void* memory) {
  if (!memory) throw std::bad_alloc();
  const uint64_t now = live.fetch_add(malloc_usable_size(memory)) + malloc_usable_size(memory);
  uint64_t before = peak.load();
  while (before < now && !peak.compare_exchange_weak(before, now)) {
  }
  return memory;
}

void release(void* memory) {
  if (memory) live.fetch_sub(malloc_usable_size(memory));
  free(memory);
}

struct Report {
  ~Report() {
    const char* path = getenv("LUATRACE_WORK");
    FILE* file = path ? fopen(path, "w") : nullptr;
    if (!file) return;
    fprintf(file, "%llu %llu\n", static_cast<unsigned long long>(steps.load()),
            static_cast<unsigned long long>(peak.load()));
    fclose(file);
  }
} report;

}  // namespace

extern "C" void __sanitizer_cov_trace_pc() {
  count(1);
}

// The executable's own take the place of the C library's, for libstdc++ and libzstd as well.
extern "C" void* memcpy(void* __restrict to, const void* __restrict from, size_t n) noexcept {
  count_bytes(n);
  void* const out = to;
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
  return out;
}

extern "C" void* memmove(void* to, const void* from, size_t n) noexcept {
  void* const out = to;
  auto* t = static_cast<char*>(to);
  auto* f = static_cast<const char*>(from);
  if (t <= f || t >= f + n) return memcpy(to, from, n);
  count_bytes(n);
  t += n - 1, f += n - 1;
  asm volatile("std; rep movsb; cld" : "+D"(t), "+S"(f), "+c"(n) : : "memory");
  return out;
}

extern "C" void* memset(void* to, int value, size_t n) noexcept {
  count_bytes(n);
  void* const out = to;
  asm volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(value) : "memory");
  return out;
}

extern "C" int memcmp(const void* a, const void* b, size_t n) noexcept {
  auto* x = static_cast<const unsigned char*>(a);
  auto* y = static_cast<const unsigned char*>(b);
  size_t i = 0;
  while (i < n && x[i] == y[i]) {
    asm volatile("");  // Or the compiler makes a call of memcmp of this.
    i++;
  }
  count_bytes(i);
  return i == n ? 0 : x[i] - y[i];
}

void* operator new(size_t n) {
  return counted(malloc(n));
}
void* operator new(size_t n, std::align_val_t align) {
  const auto a = static_cast<size_t>(align);
  return counted(aligned_alloc(a, (n + a - 1) / a * a));
}
void operator delete(void* memory) noexcept {
  release(memory);
}
void operator delete(void* memory, size_t) noexcept {
  release(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  release(memory);
}
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  release(memory);
}
