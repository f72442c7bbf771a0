// SPDX-License-Identifier: MIT
// Turns luatrace-analyze into luatrace-analyze-counted, which counts its work instead of measuring
// time, so that a test of its growth gives the same numbers on any machine under any load.
//
// The program's own code, with all that is inlined into it, is compiled with
// -fsanitize-coverage=trace-pc: a call of __sanitizer_cov_trace_pc in each basic block. What the C
// library does for it in proportion to a length (copying, filling, comparing) is counted by that
// length, kBytesPerStep bytes being one step. Memory is the peak of what is allocated on the heap
// and mapped without a file (base/grow_array.h).
//
// At the end a line "STEPS PEAK_BYTES" is written to the file that LUATRACE_WORK names.
#include <malloc.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

constexpr uint64_t kBytesPerStep = 16;

// Threads that decompress count, too: the sum does not depend on the order of additions.
std::atomic<uint64_t> steps{0}, live{0}, peak{0};

void count(uint64_t n) {
  steps.fetch_add(n, std::memory_order_relaxed);
}

void count_bytes(size_t n) {
  count(1 + n / kBytesPerStep);
}

void add_live(uint64_t n) {
  const uint64_t now = live.fetch_add(n) + n;
  uint64_t before = peak.load();
  while (before < now && !peak.compare_exchange_weak(before, now)) {
  }
}

void* counted(void* memory) {
  if (memory) add_live(malloc_usable_size(memory));
  return memory;
}

void* as_pointer(long result) {
  return reinterpret_cast<void*>(result);
}

// Memory that was mapped without a file and not unmapped yet. Only whole mappings are
// distinguished.
struct Region {
  void* at;
  size_t size;
};
Region regions[1024];
std::atomic_flag regions_busy = ATOMIC_FLAG_INIT;

// Replaces the region at `old` (null: none, a new one) by `now` (null: unmapped).
void change_region(void* old, Region now) {
  while (regions_busy.test_and_set()) {
  }
  for (Region& r : regions) {
    if (r.at != old) continue;
    if (old) live.fetch_sub(r.size);
    if (now.at) add_live(now.size);
    r = now;
    break;
  }
  regions_busy.clear();
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

// The executable's functions take the place of the C library's, for libstdc++ and libzstd as well.
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
    asm volatile("");  // Otherwise the compiler turns this into a call of memcmp.
    i++;
  }
  count_bytes(i);
  return i == n ? 0 : x[i] - y[i];
}

// The C library's own functions; operator new uses them, too.
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);

void* malloc(size_t n) noexcept {
  return counted(__libc_malloc(n));
}
void* calloc(size_t n, size_t size) noexcept {
  return counted(__libc_calloc(n, size));
}
void* realloc(void* memory, size_t n) noexcept {
  if (memory) live.fetch_sub(malloc_usable_size(memory));
  return counted(__libc_realloc(memory, n));
}
void* aligned_alloc(size_t align, size_t n) noexcept {
  return counted(__libc_memalign(align, n));
}
int posix_memalign(void** memory, size_t align, size_t n) noexcept {
  *memory = aligned_alloc(align, n);
  return *memory ? 0 : ENOMEM;
}
void free(void* memory) noexcept {
  if (memory) live.fetch_sub(malloc_usable_size(memory));
  __libc_free(memory);
}

void* mmap(void* at, size_t size, int protection, int flags, int fd, off_t offset) noexcept {
  void* const got = as_pointer(syscall(SYS_mmap, at, size, protection, flags, fd, offset));
  if (got != MAP_FAILED && (flags & MAP_ANONYMOUS) && (protection & PROT_WRITE))
    change_region(nullptr, {got, size});
  return got;
}
int munmap(void* at, size_t size) noexcept {
  change_region(at, {nullptr, 0});
  return static_cast<int>(syscall(SYS_munmap, at, size));
}
void* mremap(void* old, size_t old_size, size_t size, int flags, ...) noexcept {
  va_list list;
  va_start(list, flags);
  void* const to = flags & MREMAP_FIXED ? va_arg(list, void*) : nullptr;
  va_end(list);
  void* const got = as_pointer(syscall(SYS_mremap, old, old_size, size, flags, to));
  if (got != MAP_FAILED) change_region(old, {got, size});
  return got;
}
}
