/*
** SPDX-License-Identifier: MIT
** A program that pretends to be a LuaJIT with tracepoints and lies to a recorder that attaches. It
** has our note and control structure, written from luatrace_format.h alone, followed by one of
**
**   loop          a list of Lua VMs that comes back to its beginning
**   many          65,536 Lua VMs, each with an invalid ring
**   big           a ring of 525 MB where 8 were requested, without contents
**   unsealed      a ring that can be shrunk
**   hugetlb       a ring in huge pages, of which there may be none at the first access
**   nowhere       a Lua VM at an address that is not mapped
**   node FILE     a ring whose descriptor is FILE, which may be of any kind
**   map FILE      the same, and FILE is mapped where the ring would be
**   swap FILE     the same number is a ring and FILE in turn
**   notes DIR     a Lua VM, and 1,000 mappings of an ELF file with 2,000 segments of notes
**   sections DIR  a Lua VM, and a sparse ELF file that claims 20,000,000 sections, mapped as code
**   vfork         a Lua VM; it has a seccomp filter and waits for a child that has its memory (vfork)
**
** It prints "ready", and "opened" if another process opens FILE (other than with O_PATH). It ends
** by itself after a minute. For the scripts:
**
**   trace PID         traces that process and keeps it stopped
**   peak COMMAND...   runs it, ends with its status, and prints "peak N cpu M" (kB, ms) on standard error
*/
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

#include "luatrace_format.h"

/* A Lua VM, as the note describes it. */
struct state {
  uint64_t next, seen, ring;
  uint32_t on, stop;
  int32_t fd;
  uint32_t rec, serial, token;
  uint64_t g[8], table[8];
};

struct lt_control control = {.magic = LUAJIT_USDT_MAGIC, .version = LT_CONTROL_VERSION,
                             .size = sizeof(struct lt_control), .cfuncs = LTC_DEFAULT,
                             .ring_size = 8u << 20};
void poll_code(void) {}

#define AT(member) "i"(offsetof(struct state, member))
#define LONGS(a, b, c) "  .long %c" #a ", %c" #b ", %c" #c "\n"
static __attribute__((used, noinline)) void note(void)
{
  __asm__ volatile(
      "  .pushsection .note.luatrace, \"a\", %%note\n  .balign 4\n"
      "  .long 9, 2f-1f, 1\n  .asciz \"luatrace\"\n  .balign 4\n"
      "1: .long %c0, %c1\n"
      "  .quad control-., poll_code-., poll_code-.\n"
      "  .long %c2, %c3, 2, 1\n" /* 64-bit references; the TSC */
      LONGS(4, 5, 6) LONGS(7, 8, 9) LONGS(10, 11, 12) LONGS(13, 14, 13)
      "  .long 8, 8\n  .zero %c1-104\n2:\n  .popsection\n" ::"i"(LT_NOTE_VERSION),
      "i"(sizeof(struct lt_note)), "i"(LT_CONTROL_VERSION), "i"(sizeof(struct lt_control)),
      AT(next), AT(on), AT(stop), AT(seen), AT(ring), AT(fd), AT(rec), AT(serial), AT(token), AT(g),
      AT(table));
}

static void die(const char *what)
{
  perror(what);
  exit(99);
}

static void say(const char *text)
{
  if (write(1, text, strlen(text)) < 0) _exit(99);
}

static struct state *states;
static int nstates;

static void make_states(int n)
{
  states = mmap(NULL, (size_t)n * sizeof *states, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (states == MAP_FAILED) die("mmap");
  nstates = n;
  for (int i = 0; i < n; i++) {
    states[i].next = i + 1 < n ? (uint64_t)&states[i + 1] : 0;
    states[i].serial = (uint32_t)i + 1;
    states[i].rec = 1;
    states[i].fd = -1;
  }
  control.states = (uint64_t)states;
}

/* A ring for the first Lua VM, whose header says that all of it is full. */
static int make_ring(uint32_t nblocks, int seals, unsigned flags)
{
  const uint64_t data = (uint64_t)nblocks * LT_RING_BLOCK_SIZE, page = flags & MFD_HUGETLB ? 2u << 20 : 4096;
  const uint64_t size = (LT_RING_BLOCK_SIZE + data + (1u << 20) + page - 1) / page * page;
  struct lt_ring r = {.magic = LT_RING_MAGIC, .version = LT_RING_VERSION,
                      .data_ofs = LT_RING_BLOCK_SIZE, .block_size = LT_RING_BLOCK_SIZE,
                      .nblocks = nblocks, .meta_size = 1u << 20,
                      .meta_ofs = LT_RING_BLOCK_SIZE + data, .pid = getpid(), .tid = getpid(),
                      .state_addr = (uint64_t)states[0].g, .recording = 1, .clock = LT_CLOCK_TSC,
                      .start_tick = __rdtsc(), .state = LT_RING_OPEN, .head = nblocks};
  const int fd = (int)syscall(SYS_memfd_create, LT_RING_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING | flags);
  if (fd < 0 || ftruncate(fd, (off_t)size) != 0 || fcntl(fd, F_ADD_SEALS, seals) != 0) die("memfd");
  void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (p == MAP_FAILED) die("mmap");
  memcpy(p, &r, sizeof r);
  states[0].ring = (uint64_t)p;
  states[0].fd = fd;
  return fd;
}

/* Answers the recorder as a VM would that has made its ring. */
static void answer(void)
{
  const uint8_t ring = __atomic_load_n(&control.ring, __ATOMIC_ACQUIRE);
  for (int i = 0; i < nstates; i++) {
    states[i].token = ring;
    states[i].seen = (uint64_t)ring << 16;
  }
}

static int live(int watch)
{
  char event[4096];
  say("ready\n");
  for (int i = 0; i < 60000; i++) {
    struct pollfd p = {watch, POLLIN, 0};
    answer();
    if (watch >= 0 && poll(&p, 1, 0) == 1) {
      say("opened\n");
      if (read(watch, event, sizeof event) < 0) die("inotify");
    }
    usleep(1000);
  }
  return 0;
}

static int node_fd, ring_fd;
enum { RING_NUMBER = 50 };

static void *take_turns(void *unused)
{
  for (;;)
    if (dup2(node_fd, RING_NUMBER) < 0 || dup2(ring_fd, RING_NUMBER) < 0) die("dup2");
  return unused;
}

enum special { NODE, MAP, SWAP };

static int special(const char *file, enum special how)
{
  pthread_t thread;
  const int watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  node_fd = open(file, O_RDWR | O_NONBLOCK | O_CLOEXEC);
  make_states(1);
  ring_fd = make_ring(4, F_SEAL_SHRINK | F_SEAL_GROW, 0);
  if (node_fd < 0 || dup2(node_fd, RING_NUMBER) < 0) die(file);
  if (watch < 0 || inotify_add_watch(watch, file, IN_OPEN) < 0) die("inotify");
  states[0].fd = RING_NUMBER;
  if (how == MAP) {
    void *p = mmap(NULL, 1u << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE, node_fd, 0);
    if (p == MAP_FAILED) die("mmap");
    states[0].ring = (uint64_t)p;
  }
  if (how == SWAP && pthread_create(&thread, NULL, take_turns, NULL) != 0) die("thread");
  return live(watch);
}

/* An ELF file with a segment of code. */
static int make_file(const char *dir, Elf64_Ehdr *h)
{
  char path[4096];
  snprintf(path, sizeof path, "%s/file.so", dir);
  const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
  if (fd < 0) die(path);
  memset(h, 0, sizeof *h);
  memcpy(h->e_ident, ELFMAG, SELFMAG);
  h->e_ident[EI_CLASS] = ELFCLASS64;
  h->e_ident[EI_DATA] = ELFDATA2LSB;
  h->e_ident[EI_VERSION] = h->e_version = EV_CURRENT;
  h->e_type = ET_DYN;
  h->e_machine = EM_X86_64;
  h->e_ehsize = h->e_phoff = sizeof *h;
  h->e_phentsize = sizeof(Elf64_Phdr);
  h->e_shentsize = sizeof(Elf64_Shdr);
  return fd;
}

static void put(int fd, const void *p, size_t size, uint64_t at)
{
  if (pwrite(fd, p, size, (off_t)at) != (ssize_t)size) die("pwrite");
}

static int many_notes(const char *dir)
{
  enum { SEGMENTS = 2000, BYTES = 256 << 10 };
  static char bytes[BYTES];
  Elf64_Ehdr h;
  const int fd = make_file(dir, &h);
  h.e_phnum = SEGMENTS + 1;
  const uint64_t at = sizeof h + (SEGMENTS + 1) * sizeof(Elf64_Phdr);
  const Elf64_Nhdr n = {4, 0, 7};
  for (size_t i = at; i + 16 <= BYTES; i += 16) memcpy(bytes + i, &n, sizeof n);
  put(fd, bytes, BYTES, 0);
  put(fd, &h, sizeof h, 0);
  for (int i = 0; i <= SEGMENTS; i++) {
    Elf64_Phdr p = {.p_type = PT_NOTE, .p_flags = PF_R, .p_offset = at, .p_vaddr = at,
                    .p_filesz = BYTES - at, .p_memsz = BYTES - at, .p_align = 4};
    if (i == 0) p = (Elf64_Phdr){.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = BYTES, .p_memsz = BYTES};
    put(fd, &p, sizeof p, sizeof h + (size_t)i * sizeof p);
  }
  for (int i = 0; i < 1000; i++)
    if (mmap(NULL, BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED) die("mmap");
  return live(-1);
}

static int many_sections(const char *dir)
{
  const uint64_t count = 20000000, at = 4096;
  const Elf64_Shdr first = {.sh_size = count};
  const Elf64_Phdr code = {.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = 4096, .p_memsz = 4096};
  Elf64_Ehdr h;
  const int fd = make_file(dir, &h);
  h.e_phnum = 1;
  h.e_shoff = at;
  put(fd, &h, sizeof h, 0);
  put(fd, &code, sizeof code, sizeof h);
  put(fd, &first, sizeof first, at);
  if (ftruncate(fd, (off_t)(at + count * sizeof first)) != 0) die("ftruncate");
  if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED) die("mmap");
  return live(-1);
}

static int peak(char **command)
{
  int status = 0;
  struct rusage used;
  const pid_t pid = fork();
  if (pid == 0) {
    execvp(command[0], command);
    die(command[0]);
  }
  if (pid < 0 || wait4(pid, &status, 0, &used) != pid) die("wait");
  fprintf(stderr, "peak %ld cpu %ld\n", used.ru_maxrss,
          (used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000 +
              (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1000);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int wait_for_child(void)
{
  struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  struct sock_fprog program = {1, &all};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    die("seccomp");
  say("ready\n");
  if (vfork() == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sleep(60);
    _exit(0);
  }
  return 0;
}

static int keep(pid_t pid)
{
  if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) != 0 || ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) != 0 ||
      waitpid(pid, NULL, __WALL) != pid)
    die("ptrace");
  say("ready\n");
  return sleep(60) != 0;
}

int main(int argc, char **argv)
{
  const char *const what = argc > 1 ? argv[1] : "", *const with = argc > 2 ? argv[2] : "";
  const int kept = F_SEAL_SHRINK | F_SEAL_GROW;
  if (strcmp(what, "peak") == 0 && argc > 2) return peak(argv + 2);
  if (strcmp(what, "trace") == 0) return keep(atoi(with));
  if (strcmp(what, "node") == 0) return special(with, NODE);
  if (strcmp(what, "map") == 0) return special(with, MAP);
  if (strcmp(what, "swap") == 0) return special(with, SWAP);
  make_states(strcmp(what, "loop") == 0 ? 2 : strcmp(what, "many") == 0 ? 65536 : 1);
  if (strcmp(what, "notes") == 0) return many_notes(with);
  if (strcmp(what, "sections") == 0) return many_sections(with);
  if (strcmp(what, "vfork") == 0) return wait_for_child();
  if (strcmp(what, "loop") == 0) states[1].next = (uint64_t)states;
  if (strcmp(what, "nowhere") == 0) states[0].next = 4096;
  if (strcmp(what, "big") == 0) make_ring(8000, kept, 0);
  if (strcmp(what, "unsealed") == 0) make_ring(4, F_SEAL_GROW, 0);
  if (strcmp(what, "hugetlb") == 0) make_ring(4, kept, MFD_HUGETLB);
  if (strcmp(what, "loop") == 0 || strcmp(what, "many") == 0) make_ring(4, kept, 0);
  for (int i = 0; i < nstates && nstates > 1; i++) { /* the ring is of none of these Lua VMs */
    states[i].fd = states[0].fd;
    states[i].ring = states[0].ring;
    states[i].rec = 2;
  }
  return live(-1);
}
