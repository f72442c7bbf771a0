/* SPDX-License-Identifier: MIT */
/* Prints the Lua stack of each Lua VM in a process: a reader of the ABI note (docs/abi-note.md),
** small enough to begin a profiler with. Invariant: it knows only what is in luatrace_abi.h, and
** each address from the process is read with limits, never trusted.
**
**   cc -I luajit-usdt/src lua-stacks.c -o lua-stacks && ./lua-stacks PID
**
** It stops the process's first thread for a moment. x86-64 with GC64. It does not show the calls
** that compiled code has inlined, nor look for instructions between two frames. */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include "luatrace_abi.h"
#include "luatrace_builtin.h"

enum { MAX_FRAMES = 200, MAX_VMS = 100, MAX_COROUTINES = 50 };

static int memory;
static struct lt_abi abi;
static uint64_t first_vm, vm_begin, vm_end, builtins; /* addresses in the process */
static struct user_regs_struct regs;

/* -- Memory of the process -- */

static int read_at(uint64_t address, void *to, size_t size) {
  return pread(memory, to, size, (off_t)address) == (ssize_t)size;
}
/* A text of so many bytes, which may be anything, or one that ends before that. */
static void print_text(uint64_t address, size_t size) {
  char text[256];
  if (size > sizeof text) size = sizeof text;
  if (!read_at(address, text, size)) return;
  for (size_t i = 0; i < size && text[i] != 0; i++)
    putchar((unsigned char)text[i] < ' ' || text[i] == 127 ? '?' : text[i]);
}
/* A number of so many bytes; 0: it cannot be read. */
static uint64_t get(uint64_t address, size_t size) {
  uint64_t value = 0;
  return read_at(address, &value, size) ? value : 0;
}
static uint64_t word(uint64_t address) { return get(address, 8); }
/* A member of an object, by the name of its offset in the note. */
#define AT(object, member) ((object) + (uint64_t)(int64_t)abi.member)
#define WORD(object, member) word(AT(object, member))
#define WORD32(object, member) ((uint32_t)get(AT(object, member), 4))
#define BYTE(object, member) ((uint8_t)get(AT(object, member), 1))

/* -- The note -- */

/* `note`: address of its contents. Returns 0 if this is another note, or a newer one. */
static int take_note(uint64_t note, uint32_t size) {
  const uint32_t needed = LTA_GC64 | LTA_FR2;
  if (size < LT_ABI_SIZE_1 || !read_at(note, &abi, size < sizeof abi ? size : sizeof abi)) return 0;
  if (abi.version != LT_ABI_VERSION || (abi.flags & needed) != needed) return 0;
  first_vm = note + offsetof(struct lt_abi, vms) + (uint64_t)abi.vms;
  vm_begin = note + offsetof(struct lt_abi, vm_begin) + (uint64_t)abi.vm_begin;
  vm_end = note + offsetof(struct lt_abi, vm_end) + (uint64_t)abi.vm_end;
  if (abi.builtins != 0) builtins = note + offsetof(struct lt_abi, builtins) + (uint64_t)abi.builtins;
  return 1;
}

/* In the notes of one segment. */
static int search_notes(uint64_t at, uint64_t end) {
  Elf64_Nhdr n;
  char owner[sizeof LT_ABI_NAME];
  while (at < end && read_at(at, &n, sizeof n)) {
    const uint64_t name = at + sizeof n, text = name + ((n.n_namesz + 3ull) & ~3ull);
    if (n.n_type == LT_ABI_TYPE && n.n_namesz == sizeof owner &&
        read_at(name, owner, sizeof owner) && memcmp(owner, LT_ABI_NAME, sizeof owner) == 0)
      return take_note(text, n.n_descsz);
    at = text + ((n.n_descsz + 3ull) & ~3ull);
  }
  return 0;
}

/* In the file that is mapped from its beginning at that address. */
static int search_file(uint64_t start) {
  Elf64_Ehdr e;
  Elf64_Phdr p;
  uint64_t bias = start;
  if (!read_at(start, &e, sizeof e) || memcmp(e.e_ident, ELFMAG, SELFMAG) != 0) return 0;
  for (int pass = 0; pass < 2; pass++)
    for (unsigned i = 0; i < e.e_phnum && read_at(start + e.e_phoff + i * sizeof p, &p, sizeof p); i++) {
      if (pass == 0 && p.p_type == PT_LOAD && p.p_offset == 0) bias = start - p.p_vaddr;
      if (pass == 1 && p.p_type == PT_NOTE && p.p_filesz < 65536 &&
          search_notes(bias + p.p_vaddr, bias + p.p_vaddr + p.p_filesz))
        return 1;
    }
  return 0;
}

static int find_note(const char *pid) {
  char path[64], line[512];
  snprintf(path, sizeof path, "/proc/%s/maps", pid);
  FILE *maps = fopen(path, "r");
  int found = 0;
  while (maps != NULL && !found && fgets(line, sizeof line, maps) != NULL) {
    uint64_t start, offset;
    if (sscanf(line, "%" SCNx64 "-%*x %*s %" SCNx64, &start, &offset) == 2 && offset == 0)
      found = search_file(start);
  }
  if (maps != NULL) fclose(maps);
  return found;
}

/* -- Frames -- */

/* The function of the frame with that base; 0: there is none. */
static uint64_t function_at(uint64_t base) {
  const uint64_t slot = word(base - 16), address = slot & ((1ull << abi.tag_shift) - 1);
  if (slot >> abi.tag_shift != (~(uint64_t)abi.type_func & (~0ull >> abi.tag_shift))) return 0;
  return BYTE(address, gc_type) == abi.type_func ? address : 0;
}

/* The number of the instruction before pc in a Lua function; 0: pc is not in it. */
static uint32_t position(uint64_t fn, uint64_t pc) {
  const uint64_t code = WORD(fn, fn_pc);
  const uint64_t n = (pc - code) / (uint64_t)abi.bc_size;
  const uint64_t proto = code - (uint64_t)abi.pt_size;
  return pc > code && n <= WORD32(proto, pt_sizebc) ? (uint32_t)n - 1 : 0;
}

static uint32_t line_of(uint64_t proto, uint32_t pos) {
  const uint32_t first = WORD32(proto, pt_firstline);
  const uint32_t lines = WORD32(proto, pt_numline);
  const uint64_t info = WORD(proto, pt_lineinfo);
  if (pos == 0 || info == 0) return first;
  const unsigned size = lines < 256 ? 1 : lines < 65536 ? 2 : 4;
  return first + (uint32_t)get(info + (uint64_t)size * (pos - 1), size);
}

/* Library functions that LuaJIT implements itself. */
static void print_builtin(uint8_t number) {
  char all[8192] = "", name[64];
  const char *text = all, *const end = all + sizeof all - 1;
  for (size_t i = 0; builtins != 0 && i + 64 < sizeof all && read_at(builtins + i, all + i, 64);) i += 64;
  for (int i = 0; i < number && i < abi.nbuiltins && text < end; i++) text += strlen(text) + 1;
  const char *const shown = text < end && *text != 0 ? lt_builtin_name(text, name, sizeof name) : NULL;
  if (shown != NULL)
    printf("  %s\n", shown);
  else
    printf("  builtin#%u\n", number);
}

static void print_frame(uint64_t fn, uint64_t pc) {
  const uint8_t ffid = BYTE(fn, fn_ffid);
  if (ffid == 1) printf("  C:%#" PRIx64 "\n", WORD(fn, fn_f));
  if (ffid > 1) print_builtin(ffid);
  if (ffid != 0) return;
  const uint64_t proto = WORD(fn, fn_pc) - (uint64_t)abi.pt_size;
  const uint64_t name = WORD(proto, pt_chunkname);
  printf("  L:");
  print_text(name + (uint64_t)abi.str_size, WORD32(name, str_len));
  printf(":%u\n", line_of(proto, position(fn, pc)));
}

/* From that base down to the bottom of the coroutine's stack. */
static void walk(uint64_t L, uint64_t base, uint64_t pc) {
  const uint64_t bottom = WORD(L, L_stack) + 16;
  for (int i = 0; base > bottom && i < MAX_FRAMES; i++) {
    const uint64_t fn = function_at(base);
    if (fn == 0) {
      if (i > 0) printf("  (unknown)\n");
      return;
    }
    print_frame(fn, pc);
    uint64_t link = word(base - 8);
    if ((link & 7) == (uint64_t)abi.frame_vararg) { /* The frame below is the same call's. */
      base -= link & ~7ull;
      link = word(base - 8);
    }
    const int type = (int)(link & (uint64_t)abi.frame_mask);
    pc = 0;
    if (type == abi.frame_lua) {
      const uint32_t call = (uint32_t)get(link - 4, 4);
      base -= 8 * (2 + (call >> abi.bc_a_shift & 0xff));
      pc = link;
    } else {
      if (type == abi.frame_cont && WORD(base, cont_fn) > (uint64_t)abi.cont_callback)
        pc = WORD(base, cont_pc);
      if (link >> 3 == 0) return;
      base -= link & ~7ull;
    }
  }
}

/* The coroutine that has resumed L and waits for it; 0: the host has called L. */
static uint64_t resumer(uint64_t L) {
  const uint64_t flags = (uint64_t)abi.cf_flags;
  uint64_t frame = WORD(L, L_cframe);
  for (int i = 0; i < MAX_FRAMES && (frame & (uint64_t)abi.cf_resume) == 0; i++) {
    frame = WORD(frame & ~flags, cf_prev);
    if (frame == 0) return 0;
  }
  frame &= ~flags;
  const uint64_t ret = WORD(frame, cf_ret);
  if (ret >= vm_begin && ret < vm_end) /* By coroutine.resume: its C frame is the next one. */
    return word(frame + (uint64_t)(abi.cf_size + abi.cf_L));
  return WORD(L, L_resumer);
}

/* By its number in DWARF; 0: not one of these. */
static uint64_t reg(int32_t number) {
  const uint64_t all[16] = {regs.rax, regs.rdx, regs.rcx, regs.rbx, regs.rsi, regs.rdi, regs.rbp, regs.rsp,
                            regs.r8,  regs.r9,  regs.r10, regs.r11, regs.r12, regs.r13, regs.r14, regs.r15};
  return number >= 0 && number < 16 ? all[number] : 0;
}

/* Does the thread run the interpreter of this VM? Several may be open on it. */
static int interprets(uint64_t g) {
  return regs.rip >= vm_begin && regs.rip < vm_end && reg(abi.reg_dispatch) == AT(g, g_dispatch);
}

static void print_vm(uint64_t g) {
  uint64_t L = WORD(g, g_cur_L);
  const uint64_t jit_base = WORD(g, g_jit_base);
  printf("Lua VM %#" PRIx64 "%s\n", g, jit_base != 0 ? " (compiled code; what it has inlined is not shown)" : "");
  if (L == 0 || WORD(L, L_cframe) == 0) {
    printf("  (not in Lua)\n");
    return;
  }
  const uint64_t frame = WORD(L, L_cframe) & ~(uint64_t)abi.cf_flags;
  uint64_t base = WORD(L, L_base), pc = WORD(frame, cf_pc);
  if (jit_base != 0) base = jit_base, pc = 0;
  if (jit_base == 0 && interprets(g)) base = reg(abi.reg_base), pc = reg(abi.reg_pc);
  for (int i = 0; i < MAX_COROUTINES && L != 0; i++) {
    printf(" coroutine %#" PRIx64 "\n", L);
    walk(L, base, pc);
    L = resumer(L);
    if (L != 0) base = WORD(L, L_base), pc = 0;
  }
}

int main(int argc, char **argv) {
  char path[64];
  const pid_t pid = argc == 2 ? (pid_t)strtol(argv[1], NULL, 10) : 0;
  if (pid <= 0) return fprintf(stderr, "usage: lua-stacks PID\n"), 2;
  snprintf(path, sizeof path, "/proc/%d/mem", pid);
  memory = open(path, O_RDONLY | O_CLOEXEC);
  if (memory < 0) return perror(path), 1;
  if (!find_note(argv[1])) return fprintf(stderr, "no LuaJIT with an ABI note in process %d\n", pid), 1;
  if (ptrace(PTRACE_SEIZE, pid, 0, 0) != 0 || ptrace(PTRACE_INTERRUPT, pid, 0, 0) != 0 ||
      waitpid(pid, NULL, __WALL) != pid || ptrace(PTRACE_GETREGS, pid, 0, &regs) != 0)
    return perror("ptrace"), 1;
  uint64_t vm = word(first_vm);
  for (int i = 0; i < MAX_VMS && vm != 0; i++, vm = WORD(vm, vm_next))
    print_vm(vm + (uint64_t)(int64_t)abi.vm_g);
  return 0; /* The kernel detaches. */
}
