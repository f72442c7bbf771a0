/* SPDX-License-Identifier: MIT */
/* Walks the Lua stack at machine instructions of a Lua program that keeps a stack of its own, and
** compares: at each one of many stretches that begin at random calls (the same in each run). The processor traps after each instruction; the walker (recorder/sample/walk.h) runs
** in the signal handler and knows only the ABI note, the registers and memory.
** Invariant: a stack that is not the program's own counts as wrong, unless the walk has marked it.
** Each call that reads memory takes a sampler 40 ns, whatever its size: they are counted, too.
**
**   step PROGRAM.lua MAX_STEPS [jit|nojit] */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <lauxlib.h>
#include <luajit.h>
#include <lualib.h>

struct walk;
static int walk_read(struct walk *w, void *to, uint32_t size, uint64_t from);
static uint32_t walk_rule(struct walk *w, uint64_t offset);
#define WALK_FN static
#define WALK_GLOBAL static
#define WALK_INLINE static inline
#include "recorder/sample/rules.h"
#include "recorder/sample/walk.h"

/* -- What the program writes (the same in step.lua) -- */

enum { MAX_DEPTH = 500, MAX_CHAIN = 64 };
struct shadow {
  int32_t n, id[MAX_DEPTH]; /* lines of definitions, the outermost first */
};
static struct truth {
  int32_t depth;     /* index of the current coroutine in the chain */
  int32_t moving;    /* a coroutine begins or stops: `other` */
  int32_t unwinding; /* an error removes frames */
  int32_t unused;
  struct shadow *other;
  struct shadow *chain[MAX_CHAIN];
} truth;

/* -- The walker's view -- */

static struct lt_abi abi;
static uint64_t first_vm;
static const uint32_t *rules_at;
static uint8_t *rule_table;
static struct walk w;
static uint64_t reads, listed; /* what the walks have cost, and found */
static volatile sig_atomic_t reading;
static sigjmp_buf unreadable;

static int walk_read(struct walk *walk, void *to, uint32_t size, uint64_t from) {
  (void)walk;
  reads++;
  if (from < 4096 || from >= 1ull << 47) return 0;
  if (sigsetjmp(unreadable, 0) != 0) {
    reading = 0;
    return 0;
  }
  reading = 1;
  memcpy(to, (const void *)from, size);
  reading = 0;
  return 1;
}

static uint32_t walk_rule(struct walk *walk, uint64_t offset) {
  return offset < walk->text_end - walk->text ? rule_table[offset] : LT_RULE_UNKNOWN;
}

static int take_note(struct dl_phdr_info *info, size_t size, void *unused) {
  (void)size, (void)unused;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *p = &info->dlpi_phdr[i];
    const char *at = (const char *)info->dlpi_addr + p->p_vaddr, *end = at + p->p_filesz;
    while (p->p_type == PT_NOTE && at + sizeof(ElfW(Nhdr)) < end) {
      const ElfW(Nhdr) *n = (const void *)at;
      const char *text = at + sizeof *n + ((n->n_namesz + 3) & ~3u);
      if (n->n_type == LT_ABI_TYPE && !strcmp(at + sizeof *n, LT_ABI_NAME)) {
        memcpy(&abi, text, sizeof abi);
        rules_at = (const uint32_t *)(text + offsetof(struct lt_abi, rules) + abi.rules);
        first_vm = (uint64_t)text + offsetof(struct lt_abi, vms) + (uint64_t)abi.vms;
        w.text = (uint64_t)text + offsetof(struct lt_abi, vm_begin) + (uint64_t)abi.vm_begin;
        w.text_end = (uint64_t)text + offsetof(struct lt_abi, vm_end) + (uint64_t)abi.vm_end;
        return 1;
      }
      at = text + ((n->n_descsz + 3) & ~3u);
    }
  }
  return 0;
}

static int take_rules(void) {
  const uint32_t size = (uint32_t)(w.text_end - w.text);
  uint8_t *copy = malloc(size);
  memcpy(copy, (const void *)w.text, size);
  rule_table = malloc(size);
  const int taken = rules_take((const uint32_t *)rules_at, rules_at[0], copy, size, rule_table) == RULES_TAKEN;
  /* Another code is refused. */
  copy[size / 2] ^= 1;
  const int refused = rules_take((const uint32_t *)rules_at, rules_at[0], copy, size, rule_table) == RULES_OF_OTHER;
  free(copy);
  return taken && refused;
}

/* -- Comparing -- */

enum { RIGHT, ONE_MORE, ONE_LESS, CHECKPOINT, MOVING, UNWINDING, UNKNOWN, WRONG, RESULTS };
static const char *const state_names[] = {"outside",    "interpreter", "C function", "helper",   "compiled",
                                          "compiled, in C", "leaving code", "collector",  "compiler"};
static uint64_t counts[9][RESULTS], steps, max_steps;
static int64_t seen[1024], expected[1024], other[1024];
static int seen_n, expected_n, other_n;
static uint64_t chunk_name;

/* The line of the definition, or -1 if it is not a function of the program. */
static int64_t line_of(const struct walk_frame *f) {
  uint64_t proto = f->what;
  if (f->kind == WALK_LUA_CODE)
    for (uint64_t pc = f->pc - 4;; pc -= 4) {
      const uint32_t op = walk_u32(&w, pc) & 0xff;
      if (op >= (uint32_t)abi.op_funcf && op <= (uint32_t)abi.op_jfuncv) {
        proto = pc - (uint64_t)abi.pt_size;
        break;
      }
    }
  if (walk_word(&w, proto + (uint64_t)abi.pt_chunkname) != chunk_name) return -1;
  return walk_u32(&w, proto + (uint64_t)abi.pt_firstline);
}

static int append(int64_t *to, int n, const struct shadow *s) {
  for (int i = s->n; i-- > 0;) to[n++] = s->id[i];
  return n;
}

static int same(const int64_t *a, int an, const int64_t *b, int bn) {
  return an == bn && memcmp(a, b, sizeof *a * (size_t)an) == 0;
}
/* Is b the outer part of a? */
static int ends_with(const int64_t *a, int an, const int64_t *b, int bn) {
  return an >= bn && same(a + (an - bn), bn, b, bn);
}

/* Compiled code has snapshots only where it may be left: until the next one, what it has inlined is
** as it was at the last one, where the walk was right. */
static int64_t checkpoint[1024];
static int checkpoint_n;
static uint64_t checkpoint_trace;
static uint32_t checkpoint_number;
static int new_window; /* what was at the last snapshot is not known */

static int is_checkpoint(int result) {
  if (w.trace == 0) {
    new_window = 0;
    return 0;
  }
  const int passed = w.trace != checkpoint_trace || w.snapshot != checkpoint_number;
  if (passed) checkpoint_n = 0;
  if (passed || result == RIGHT) {
    memcpy(checkpoint, seen, sizeof *seen * (size_t)seen_n);
    checkpoint_n = result == RIGHT || result == ONE_MORE || result == ONE_LESS || new_window ? seen_n : 0;
    new_window = 0;
  }
  checkpoint_trace = w.trace;
  checkpoint_number = w.snapshot;
  return checkpoint_n > 0 && same(seen, seen_n, checkpoint, checkpoint_n);
}

static int compare(int unknown) {
  if (unknown) return ends_with(expected, expected_n, seen, seen_n) || (seen_n > 0 && ends_with(expected, expected_n, seen + 1, seen_n - 1)) || truth.moving ? UNKNOWN : WRONG;
  if (same(seen, seen_n, expected, expected_n)) return RIGHT;
  if (seen_n > 0 && same(seen + 1, seen_n - 1, expected, expected_n)) return ONE_MORE;
  if (expected_n > 0 && same(seen, seen_n, expected + 1, expected_n - 1)) return ONE_LESS;
  if (truth.moving && ends_with(seen, seen_n, expected, expected_n)) {
    const int n = seen_n - expected_n;
    if (same(seen, n, other, other_n) || same(seen + 1, n - 1, other, other_n) ||
        (other_n > 0 && same(seen, n, other + 1, other_n - 1)))
      return MOVING;
  }
  if (truth.unwinding && ends_with(expected, expected_n, seen, seen_n)) return UNWINDING;
  return WRONG;
}

static void print_list(const char *name, const int64_t *list, int n) {
  printf("    %s:", name);
  for (int i = 0; i < n; i++) printf(" %lld", (long long)list[i]);
  printf("\n");
}

static uint64_t wrong_at[64];
static int wrong_n;

static void report_wrong(void) {
  const uint64_t at = w.r.ip - w.text < w.text_end - w.text ? w.r.ip - w.text : w.r.ip;
  for (int i = 0; i < wrong_n; i++)
    if (wrong_at[i] == at) return;
  if (wrong_n >= 30) return;
  wrong_at[wrong_n++] = at;
  Dl_info info = {0};
  dladdr((void *)w.r.ip, &info);
  printf("  step %llu at %#llx (%s, rule %u), vmstate %d, %s\n", (unsigned long long)steps, (unsigned long long)at,
         info.dli_sname ? info.dli_sname : "?", walk_rule(&w, w.r.ip - w.text), w.vmstate, state_names[w.state]);
  print_list("walk", seen, seen_n);
  print_list("true", expected, expected_n);
  if (truth.moving) print_list("other", other, other_n);
}

static void look(const ucontext_t *context) {
  const greg_t *r = context->uc_mcontext.gregs;
  w.abi = abi;
  w.r = (struct walk_registers){.ip = (uint64_t)r[REG_RIP], .sp = (uint64_t)r[REG_RSP], .fp = (uint64_t)r[REG_RBP],
    .base = (uint64_t)r[REG_RDX], .pc = (uint64_t)r[REG_RBX], .dispatch = (uint64_t)r[REG_R14],
    .a = (uint64_t)r[REG_RAX], .c = (uint64_t)r[REG_RCX]};
  w.g = walk_word(&w, first_vm) + (uint64_t)(int64_t)abi.vm_g;
  walk_forget(&w);
  walk_stack(&w);
  listed += w.n;
  int unknown = 0;
  seen_n = expected_n = 0;
  for (uint32_t i = 0; i < w.n; i++) {
    if (w.frames[i].kind == WALK_UNKNOWN) unknown = 1, seen_n = 0;
    if (w.frames[i].kind != WALK_LUA && w.frames[i].kind != WALK_LUA_CODE) continue;
    const int64_t line = line_of(&w.frames[i]);
    if (line >= 0) seen[seen_n++] = line;
  }
  for (int i = truth.depth; i >= 0; i--) expected_n = append(expected, expected_n, truth.chain[i]);
  other_n = truth.other != NULL ? append(other, 0, truth.other) : 0;
  int result = compare(unknown);
  if (is_checkpoint(result) && result == WRONG) result = CHECKPOINT;
  counts[w.state][result]++;
  if (result == WRONG) report_wrong();
}

/* -- Stepping -- */

#define TRAP_FLAG 0x100
static volatile sig_atomic_t stepping;
static uint64_t window_end;
static int rarity = 60; /* of the calls, one in so many begins a stretch */
static unsigned length = 6000; /* of a stretch, at most: interpreted stores by FFI are long */

static void trapped(int number, siginfo_t *info, void *context) {
  ucontext_t *u = context;
  (void)number, (void)info;
  if (stepping && steps < window_end) {
    steps++;
    look(u);
    u->uc_mcontext.gregs[REG_EFL] |= TRAP_FLAG;
  } else {
    u->uc_mcontext.gregs[REG_EFL] &= ~TRAP_FLAG;
  }
}

static void segv(int number) {
  if (reading) siglongjmp(unreadable, 1);
  signal(number, SIG_DFL);
}

static int lua_step(lua_State *L) {
  stepping = lua_toboolean(L, 1);
  window_end = steps;
  return 0;
}

/* At some of the program's calls and returns the next instructions begin to be looked at. */
static void begin_window(void) {
  if (!stepping || steps < window_end || steps >= max_steps || rand() % rarity != 0) return;
  new_window = 1;
  window_end = steps + 100 + (unsigned)rand() % length;
  raise(SIGTRAP);
}

/* -- C functions of the program -- */

static int c_call(lua_State *L) {
  lua_pushvalue(L, 1);
  lua_pushvalue(L, 2);
  lua_call(L, 1, 1);
  return 1;
}

static int c_pcall(lua_State *L) {
  lua_pushvalue(L, 1);
  lua_pushboolean(L, lua_pcall(L, 0, 0, 0) == 0);
  return 1;
}

static int protected_call(lua_State *L) {
  lua_rawgeti(L, LUA_REGISTRYINDEX, (int)(intptr_t)lua_touserdata(L, 1));
  lua_call(L, 0, 0);
  return 0;
}

static int c_cpcall(lua_State *L) {
  lua_pushvalue(L, 1);
  const int reference = luaL_ref(L, LUA_REGISTRYINDEX);
  lua_pushboolean(L, lua_cpcall(L, protected_call, (void *)(intptr_t)reference) == 0);
  luaL_unref(L, LUA_REGISTRYINDEX, reference);
  return 1;
}

void stepenter(int line);
void stepleave(void);

void stepenter(int line) {
  struct shadow *s = truth.chain[truth.depth];
  s->id[s->n] = line;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  s->n++;
  begin_window();
}

void stepleave(void) {
  truth.chain[truth.depth]->n--;
  begin_window();
}

static int enter(lua_State *L) {
  stepenter((int)lua_tointeger(L, 1));
  return 0;
}

static int leave(lua_State *L) {
  (void)L;
  stepleave();
  return 0;
}

/* resume(co, ...): by lua_resume(). */
static int c_resume(lua_State *L) {
  lua_State *co = lua_tothread(L, 1);
  const int n = lua_gettop(L) - 1;
  lua_xmove(L, co, n);
  const int status = lua_resume(co, n);
  lua_pushboolean(L, status <= LUA_YIELD);
  return 1;
}

static int c_yield(lua_State *L) {
  return lua_yield(L, lua_gettop(L));
}

static void print_counts(void) {
  static const char *const names[] = {"right", "one more", "one less", "snapshot", "switch", "error", "unknown", "wrong"};
  printf("%-15s", "");
  for (int k = 0; k < RESULTS; k++) printf("%10s", names[k]);
  printf("\n");
  for (int i = 0; i < 9; i++) {
    printf("%-15s", state_names[i]);
    for (int k = 0; k < RESULTS; k++) printf("%10llu", (unsigned long long)counts[i][k]);
    printf("\n");
  }
}

int main(int argc, char **argv) {
  static char stack[1 << 16];
  if (argc < 3) return 2;
  setvbuf(stdout, NULL, _IOLBF, 0);
  dl_iterate_phdr(take_note, NULL);
  if (abi.version != LT_ABI_VERSION) return printf("no ABI note\n"), 1;
  if (!take_rules()) return printf("the rules of the note do not fit the interpreter\n"), 1;
  max_steps = strtoull(argv[2], NULL, 10);
  sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
  sigaction(SIGTRAP, &(struct sigaction){.sa_sigaction = trapped, .sa_flags = SA_SIGINFO | SA_ONSTACK}, NULL);
  sigaction(SIGSEGV, &(struct sigaction){.sa_handler = segv, .sa_flags = SA_ONSTACK | SA_NODEFER}, NULL);

  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  const luaL_Reg functions[] = {{"step", lua_step}, {"c_call", c_call}, {"c_pcall", c_pcall}, {"c_cpcall", c_cpcall},
                                {"c_resume", c_resume}, {"c_yield", c_yield}, {"enter", enter}, {"leave", leave}, {NULL, NULL}};
  lua_newtable(L);
  luaL_register(L, NULL, functions);
  lua_setglobal(L, "host");
  lua_pushlightuserdata(L, &truth);
  lua_setglobal(L, "truth_address");
  if (argc > 3 && !strcmp(argv[3], "jit")) rarity = 8, length = 800;
  if (argc > 3 && !strcmp(argv[3], "nojit")) luaJIT_setmode(L, 0, LUAJIT_MODE_ENGINE | LUAJIT_MODE_OFF);
  lua_pushliteral(L, "=steps");
  chunk_name = (uint64_t)lua_tostring(L, -1) - (uint64_t)abi.str_size;
  lua_setglobal(L, "chunk_name"); /* keeps it alive */
  if (luaL_dofile(L, argv[1])) return printf("%s\n", lua_tostring(L, -1)), 1;
  stepping = 0;
  print_counts();
  uint64_t wrong = 0, known = 0;
  for (int i = 0; i < 9; i++) wrong += counts[i][WRONG], known += counts[i][RIGHT] + counts[i][ONE_MORE];
  const uint64_t most = 12 * steps + 3 * listed;
  printf("%llu steps, %llu wrong; %.1f frames and %.1f reads each, at most %.1f\n", (unsigned long long)steps,
         (unsigned long long)wrong, (double)listed / (double)steps, (double)reads / (double)steps, (double)most / (double)steps);
  return wrong != 0 || reads > most || known < steps * 2 / 3;
}
