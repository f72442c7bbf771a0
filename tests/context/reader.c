// SPDX-License-Identifier: MIT
// Reads the contexts of a process's threads as a profiler outside of it does (OTEP 4947 and 4719),
// and compares them with what the program says is true (truth.h). Every thread is stopped at random
// moments. x86-64 and glibc only.
//
//   reader PID FILE N   compares N samples for which the program says in FILE what is true
//   reader PID none     there is no process context, and no thread has a context
//   reader PID null     no thread has a context
//   reader PID show     prints the threads' contexts, once
//
// Prints what it has seen. Status: 0 all agree, 1 something is wrong.
#define _GNU_SOURCE
#include "truth.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "luatrace_context.h"

static int pid, mem;

static void die(const char* what) {
  printf("reader: %s (%s)\n", what, strerror(errno));
  exit(1);
}

static int get(uint64_t address, void* to, size_t n) {
  return pread(mem, to, n, (off_t)address) == (ssize_t)n;
}
static uint64_t word(uint64_t address) {
  uint64_t w = 0;
  if (!get(address, &w, sizeof w)) die("cannot read the process's memory");
  return w;
}

// -- The process context ------------------------------------------------------------------------

static char keys[LT_CONTEXT_KEYS][64];
static int nkeys = -1;  // -1: there is no process context

struct field {
  uint32_t number;
  const uint8_t* p;
  size_t n;
};

static uint64_t varint(const uint8_t** p, const uint8_t* end) {
  uint64_t v = 0;
  for (int shift = 0; *p < end && shift < 64; shift += 7) {
    const uint8_t byte = *(*p)++;
    v |= (uint64_t)(byte & 127) << shift;
    if (!(byte & 128)) break;
  }
  return v;
}

// The next field of a message, which must be one of bytes.
static int next(const uint8_t** p, const uint8_t* end, struct field* f) {
  if (*p >= end) return 0;
  const uint64_t tag = varint(p, end);
  f->n = varint(p, end);
  f->number = (uint32_t)(tag >> 3);
  f->p = *p;
  if ((tag & 7) != 2 || f->n > (size_t)(end - *p)) die("the payload is damaged");
  *p += f->n;
  return 1;
}

static void copy(char* to, size_t size, const struct field* f) {
  if (f->n >= size) die("a text is too long");
  memcpy(to, f->p, f->n);
  to[f->n] = '\0';
}

// A KeyValue: its key, and the fields of its value.
static struct field value_of(const struct field* attribute, char* key, size_t size) {
  const uint8_t *p = attribute->p, *end = p + attribute->n;
  struct field f, value = {0, NULL, 0};
  key[0] = '\0';
  while (next(&p, end, &f)) {
    if (f.number == 1) copy(key, size, &f);
    if (f.number == 2) value = f;
  }
  return value;
}

static void read_keys(const struct field* array) {
  const uint8_t *p = array->p, *end = p + array->n;
  struct field any, string;
  for (nkeys = 0; next(&p, end, &any); nkeys++) {
    const uint8_t* q = any.p;
    if (nkeys == (int)LT_CONTEXT_KEYS || !next(&q, any.p + any.n, &string) || string.number != 1)
      die("the map of keys is damaged");
    copy(keys[nkeys], sizeof keys[0], &string);
  }
}

// False: being changed.
static int read_payload(uint64_t address) {
  static uint8_t payload[65536];
  struct lt_process_context c, again;
  char key[64], schema[64] = "", runtime[64] = "";
  if (!get(address, &c, sizeof c)) die("cannot read the process context");
  if (memcmp(c.signature, LT_PROCESS_NAME, 8) != 0 || c.version != 2) die("no process context");
  if (c.published == 0 || c.size > sizeof payload) return 0;
  if (!get(c.payload, payload, c.size) || !get(address, &again, sizeof again)) return 0;
  if (again.published != c.published) return 0;
  const uint8_t *p = payload, *end = p + c.size;
  struct field f, any, value;
  while (next(&p, end, &f)) {
    const uint8_t* q = f.p;
    if (f.number == 1 && next(&q, f.p + f.n, &any)) {
      value = value_of(&any, key, sizeof key);
      q = value.p;
      if (strcmp(key, "process.runtime.name") == 0 && next(&q, value.p + value.n, &any))
        copy(runtime, sizeof runtime, &any);
    } else if (f.number == 2) {
      value = value_of(&f, key, sizeof key);
      q = value.p;
      if (strcmp(key, "threadlocal.schema_version") == 0 && next(&q, value.p + value.n, &any))
        copy(schema, sizeof schema, &any);
      if (strcmp(key, "threadlocal.attribute_key_map") == 0 && next(&q, value.p + value.n, &any))
        read_keys(&any);
    }
  }
  if (strcmp(schema, "tlsdesc_v1_dev") != 0 || strcmp(runtime, "luajit") != 0)
    die("the process context is not that of LuaJIT");
  return 1;
}

static uint64_t context_mapping;

static int read_process_context(void) {
  for (int tries = 0; tries < 1000; tries++) {
    if (read_payload(context_mapping)) return 1;
    usleep(100);
  }
  die("the process context is being changed all the time");
  return 0;
}

// -- The thread-local variable ------------------------------------------------------------------

enum { kNowhere, kStatic, kDynamic };
static struct {
  int how;
  int64_t offset;   // kStatic: from the thread pointer; kDynamic: in the module's block
  uint64_t module;  // kDynamic
} place;

struct file {
  const char* bytes;
  size_t size;
  uint64_t base;
  int program;  // not a library
};

static const Elf64_Shdr* section(const struct file* f, size_t i) {
  const Elf64_Ehdr* const e = (const Elf64_Ehdr*)f->bytes;
  return (const Elf64_Shdr*)(f->bytes + e->e_shoff) + i;
}

// The index of the symbol in the table of dynamic symbols, 0: none.
static size_t find_symbol(const struct file* f, const Elf64_Sym** found) {
  const Elf64_Ehdr* const e = (const Elf64_Ehdr*)f->bytes;
  for (size_t i = 0; i < e->e_shnum; i++) {
    const Elf64_Shdr* const s = section(f, i);
    if (s->sh_type != SHT_DYNSYM) continue;
    const char* const names = f->bytes + section(f, s->sh_link)->sh_offset;
    const Elf64_Sym* const table = (const Elf64_Sym*)(f->bytes + s->sh_offset);
    for (size_t k = 1; k < s->sh_size / sizeof *table; k++)
      if (ELF64_ST_TYPE(table[k].st_info) == STT_TLS && table[k].st_shndx != SHN_UNDEF &&
          strcmp(names + table[k].st_name, LT_CONTEXT_SYMBOL) == 0) {
        *found = &table[k];
        return k;
      }
  }
  return 0;
}

// Resolved by the dynamic linker: a descriptor with an offset from the thread pointer, or with the
// address of a module and an offset.
static int by_descriptor(const struct file* f, size_t symbol) {
  const Elf64_Ehdr* const e = (const Elf64_Ehdr*)f->bytes;
  for (size_t i = 0; i < e->e_shnum; i++) {
    const Elf64_Shdr* const s = section(f, i);
    if (s->sh_type != SHT_RELA) continue;
    const Elf64_Rela* const r = (const Elf64_Rela*)(f->bytes + s->sh_offset);
    for (size_t k = 0; k < s->sh_size / sizeof *r; k++) {
      if (ELF64_R_SYM(r[k].r_info) != symbol || ELF64_R_TYPE(r[k].r_info) != R_X86_64_TLSDESC)
        continue;
      const int64_t argument = (int64_t)word(f->base + r[k].r_offset + 8);
      place.how = argument < 0 ? kStatic : kDynamic;
      place.offset = argument;
      if (place.how == kStatic) return 1;
      place.module = word((uint64_t)argument);
      place.offset = (int64_t)word((uint64_t)argument + 8);
      return 1;
    }
  }
  return 0;
}

// The first block below the thread pointer is that of the program itself.
static void in_program(const struct file* f, const Elf64_Sym* symbol) {
  const Elf64_Ehdr* const e = (const Elf64_Ehdr*)f->bytes;
  const Elf64_Phdr* const p = (const Elf64_Phdr*)(f->bytes + e->e_phoff);
  for (size_t i = 0; i < e->e_phnum; i++)
    if (p[i].p_type == PT_TLS) {
      const uint64_t align = p[i].p_align ? p[i].p_align : 1;
      place.how = kStatic;
      place.offset =
          (int64_t)symbol->st_value - (int64_t)((p[i].p_memsz + align - 1) / align * align);
    }
}

static void look_into(const char* path, uint64_t base, int program) {
  char name[4300];
  struct stat st;
  snprintf(name, sizeof name, "/proc/%d/root%s", pid, path);
  const int fd = open(name, O_RDONLY);
  if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size < 64) return;
  const char* const p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (p == MAP_FAILED) return;
  const struct file f = {p, (size_t)st.st_size, base, program};
  const Elf64_Sym* symbol;
  if (memcmp(p, ELFMAG, SELFMAG) != 0) return;
  const size_t index = find_symbol(&f, &symbol);
  if (index == 0) return;
  if (!by_descriptor(&f, index) && program) in_program(&f, symbol);
  printf("%s in %s: %s %lld\n", LT_CONTEXT_SYMBOL, strrchr(path, '/') + 1,
         place.how == kStatic    ? "static"
         : place.how == kDynamic ? "dynamic"
                                 : "not resolved",
         (long long)place.offset);
}

static void look_at_mappings(void) {
  char name[64], line[4300], path[4200], program[4200] = "";
  snprintf(name, sizeof name, "/proc/%d/exe", pid);
  if (readlink(name, program, sizeof program - 1) < 0) die("no such process");
  snprintf(name, sizeof name, "/proc/%d/maps", pid);
  FILE* const maps = fopen(name, "r");
  if (!maps) die("cannot read the mappings");
  while (fgets(line, sizeof line, maps)) {
    unsigned long long begin, end, offset;
    path[0] = '\0';
    if (sscanf(line, "%llx-%llx %*s %llx %*s %*s %4199[^\n]", &begin, &end, &offset, path) < 3)
      continue;
    if (strncmp(path, "[anon_shmem:OTEL_CTX]", 21) == 0 ||
        strncmp(path, "[anon:OTEL_CTX]", 15) == 0 || strncmp(path, "/memfd:OTEL_CTX", 15) == 0) {
      if (context_mapping) die("two process contexts");
      context_mapping = begin;
    }
    if (path[0] == '/' && offset == 0 && place.how == kNowhere)
      look_into(path, begin, strcmp(path, program) == 0);
  }
  fclose(maps);
}

// The record to which the variable of a stopped thread points, 0: none.
static uint64_t record_of(uint64_t thread_pointer) {
  if (place.how == kStatic) return word(thread_pointer + (uint64_t)place.offset);
  const uint64_t dtv = word(thread_pointer + 8);
  if (word(dtv - 16) < place.module) return 0;  // its length: the thread has never used the module
  const uint64_t block = word(dtv + 16 * place.module);
  return block == UINT64_MAX ? 0 : word(block + (uint64_t)place.offset);
}

// -- Samples --------------------------------------------------------------------------------------

static struct truth* truth;
static unsigned long samples, compared, wrong, labelled, outside, unlabelled, requests;

static void report(const char* what, uint32_t value, const char* seen) {
  if (wrong++ < 20) printf("wrong: %s: truth %u, context '%s'\n", what, value, seen);
}

static int attribute(const struct lt_context* r, const char* key, char* value) {
  int found = 0;
  for (size_t i = 0; i + 2 <= r->attrs_size && i + 2 + r->attrs[i + 1] <= r->attrs_size;
       i += 2u + r->attrs[i + 1]) {
    if (r->attrs[i] >= nkeys) read_process_context();
    if (r->attrs[i] >= nkeys || strcmp(keys[r->attrs[i]], key) != 0) continue;
    memcpy(value, r->attrs + i + 2, r->attrs[i + 1]);
    value[r->attrs[i + 1]] = '\0';
    found = 1;
  }
  return found;
}

static void compare_record(const struct lt_context* r, const struct truth_slot* t) {
  char id[256] = "", kind[256] = "", request[256] = "", expected[64];
  attribute(r, "id", id);
  attribute(r, "kind", kind);
  attribute(r, "luatrace.request", request);
  if (t->value == kUnlabelled) {
    if (id[0]) report("without labels", t->value, id);
    unlabelled++;
    return;
  }
  snprintf(expected, sizeof expected, "%u", t->value);
  if (strcmp(id, expected) != 0) report("id", t->value, id);
  snprintf(expected, sizeof expected, "coroutine %u", t->value);
  if (strcmp(kind, expected) != 0) report("kind", t->value, kind);
  expected[0] = '\0';
  if (t->request) snprintf(expected, sizeof expected, "0x%llx", (unsigned long long)t->request);
  if (strcmp(request, expected) != 0) report("request", t->value, request);
  labelled++;
  requests += t->request != 0;
}

static void compare(uint64_t record, const struct truth_slot* t) {
  struct lt_context r;
  memset(&r, 0, sizeof r);
  samples++;
  if (record &&
      (record & 1 || !get(record, &r, LT_CONTEXT_HEAD) || r.valid != 1 ||
       r.attrs_size > sizeof r.attrs || !get(record + LT_CONTEXT_HEAD, r.attrs, r.attrs_size)))
    return report("no valid record", t ? t->value : 0, "");
  if (!t || t->value == kUnknown) return;
  compared++;
  if (t->value == kOutside) {
    outside++;
    if (record) report("outside", t->value, "a record");
  } else if (!record && t->value != kUnlabelled) {
    report("no record", t->value, "");
  } else {
    compare_record(&r, t);
  }
}

static const struct truth_slot* slot_of(int tid) {
  for (int i = 0; truth && i < TRUTH_SLOTS; i++)
    if (truth->slot[i].tid == tid) return &truth->slot[i];
  return NULL;
}

// False: the thread has ended.
static int sample(int tid) {
  struct user_regs_struct regs;
  int status;
  if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0) return 0;
  if (waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status)) return 0;
  if (ptrace(PTRACE_GETREGS, tid, NULL, &regs) != 0) die("cannot read a thread's registers");
  compare(record_of(regs.fs_base), slot_of(tid));
  int signal = WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status);
  ptrace(PTRACE_CONT, tid, NULL, (void*)(intptr_t)signal);
  return 1;
}

static int threads(int* tids, int max) {
  char name[64];
  int n = 0;
  snprintf(name, sizeof name, "/proc/%d/task", pid);
  DIR* const dir = opendir(name);
  if (!dir) die("no such process");
  for (const struct dirent* e; n < max && (e = readdir(dir));)
    if (e->d_name[0] != '.' && ptrace(PTRACE_SEIZE, atoi(e->d_name), NULL, NULL) == 0)
      tids[n++] = atoi(e->d_name);
  closedir(dir);
  return n;
}

static void show(uint64_t record) {
  struct lt_context r;
  if (!record || !get(record, &r, LT_CONTEXT_HEAD) ||
      !get(record + LT_CONTEXT_HEAD, r.attrs, r.attrs_size)) {
    printf("no context\n");
    return;
  }
  printf("valid %d flags %02x trace ", r.valid, r.trace_flags);
  for (int i = 0; i < 16; i++) printf("%02x", r.trace_id[i]);
  printf(" span ");
  for (int i = 0; i < 8; i++) printf("%02x", r.span_id[i]);
  printf(" bytes %u\n", LT_CONTEXT_HEAD + r.attrs_size);
  for (size_t i = 0; i + 2 <= r.attrs_size; i += 2u + r.attrs[i + 1])
    printf("%s=%.*s\n", r.attrs[i] < nkeys ? keys[r.attrs[i]] : "?", r.attrs[i + 1],
           (const char*)r.attrs + i + 2);
}

static void look_once(const char* what) {
  int tids[256];
  const int n = threads(tids, 256);
  if (context_mapping && strcmp(what, "none") == 0) report("there is a process context", 0, "");
  for (int i = 0; i < n; i++) {
    struct user_regs_struct regs;
    int status;
    if (ptrace(PTRACE_INTERRUPT, tids[i], NULL, NULL) != 0 ||
        waitpid(tids[i], &status, __WALL) < 0 || ptrace(PTRACE_GETREGS, tids[i], NULL, &regs) != 0)
      die("cannot stop a thread");
    const uint64_t record = record_of(regs.fs_base);
    if (strcmp(what, "show") == 0)
      show(record);
    else if (record)
      report("a thread has a context", 0, "");
  }
  printf("%d threads, %lu wrong\n", n, wrong);
}

int main(int argc, char** argv) {
  if (argc != 3 && argc != 4) return 2;
  char name[64];
  pid = atoi(argv[1]);
  snprintf(name, sizeof name, "/proc/%d/mem", pid);
  mem = open(name, O_RDONLY);
  if (mem < 0) die("cannot open the process's memory");
  look_at_mappings();
  if (place.how == kNowhere) die(LT_CONTEXT_SYMBOL " was not found");
  if (argc == 3) {
    if (context_mapping && strcmp(argv[2], "show") == 0) read_process_context();
    look_once(argv[2]);
    return wrong != 0;
  }
  if (!context_mapping) die("there is no process context");
  read_process_context();
  const int fd = open(argv[2], O_RDWR);
  truth = mmap(NULL, sizeof *truth, PROT_READ, MAP_SHARED, fd, 0);
  if (fd < 0 || truth == MAP_FAILED) die("cannot map the truth");
  int tids[64];
  const int n = threads(tids, 64);
  const unsigned long enough = strtoul(argv[3], NULL, 10);
  srandom((unsigned)time(NULL));
  for (unsigned long i = 0; compared < enough && i < 100 * enough; i++) {
    usleep((useconds_t)(random() % 1500));
    if (!sample(tids[i % (unsigned long)n])) die("a thread has ended");
  }
  printf(
      "%lu samples of %d threads, %lu compared, %lu wrong: %lu with labels (%lu with a request), "
      "%lu without, %lu outside of Lua; %d keys\n",
      samples, n, compared, wrong, labelled, requests, unlabelled, outside, nkeys);
  return wrong != 0 || compared < enough;
}
