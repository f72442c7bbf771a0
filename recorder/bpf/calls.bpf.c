// SPDX-License-Identifier: MIT OR GPL-2.0
/*
** The BPF program: one small function per probe of LuaJIT. Each turns a hit
** into a record of a ring buffer.
**
** There are two ways to attach: each probe's own function to a perf event, or
** any_probe to all sites at once (Linux 6.6 and later: detaching waits once, not
** once for each site). The recorder loads what it uses. A site's cookie is
** ltb_cookie().
**
** Invariants: a hit is either in the ring buffer of its process or counted in
** `losses`; the count is written into the ring buffer before the next hit of
** that VM; a function's description precedes its first hit.
**
** The places of the arguments differ from build to build of LuaJIT: the recorder
** reads the notes and fills in `args` before loading. It is constant then, so
** the verifier removes all but one of the branches of reg().
*/
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>

#include "wire.h"

/* As in luatrace_format.h, which needs another <stdint.h>. */
#define LT_CHUNK_START 1
#define LT_CHUNK_FUNCS 2
#define LT_CHUNK_EVENTS 3
#define LT_CHUNK_END 4
#define LT_CHUNK_EXIT 255u

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* -- Constants of one loaded copy (one layout of probe arguments) ----------- */

const volatile struct ltb_arg args[LTB_NPROBES][LTB_NARGS];
const volatile __u32 glref_offset; /* of the pointer to the global_State in a lua_State */
const volatile __u32 glref_size;   /* 4 or 8 bytes */
const volatile __u32 nrings = 1;
const volatile __u64 pidns_dev, pidns_ino; /* the recorder's, 0: the initial one */

/* -- Shared with the recorder ------------------------------------------------ */

__u32 pending[LTB_SLOTS]; /* VMs of the process with an unreported loss */
__u32 epochs[LTB_SLOTS];  /* see struct ltb_known_key */
__u64 unattributed;            /* hits lost that could not even be counted by VM */

/* A cache for `known`, whose lookup costs as much as all the rest of a hit.
** Written concurrently without a lock: a is the VM's address, masked with a hash
** of b, so a pair with halves from two writers matches no function. */
struct ltb_cached cache[LTB_CACHE];

struct ring {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 4096);
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
  __uint(max_entries, LTB_RINGS);
  __type(key, __u32);
  __array(values, struct ring);
} rings SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, 1 << 20);
  __type(key, struct ltb_known_key);
  __type(value, __u8);
} known SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 4096);
  __type(key, struct ltb_loss_key);
  __type(value, struct ltb_loss_count);
} losses SEC(".maps");

/* VMs that flush blocks: where their struct lt_ring is. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 4096);
  __type(key, struct ltb_handing_key);
  __type(value, __u64);
} flushing SEC(".maps");

/* Processes by pid, for tracepoints: they have no cookie. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, LTB_SLOTS);
  __type(key, __u32);
  __type(value, __u32);
} slots SEC(".maps");

/* -- Arguments ---------------------------------------------------------------- */

/* One load each, in assembler: the verifier requires constant offsets, and the compiler would turn
** the switch into a table of offsets. */
#define LOAD(n) \
  case n: \
    asm volatile("%0 = *(u64 *)(%1 + %2)" : "=r"(v) : "r"(ctx), "i"(8 * n)); \
    break;

static __always_inline __u64 reg(void *ctx, __u32 n) {
  __u64 v = 0;
  switch (n) {
    LOAD(0) LOAD(1) LOAD(2) LOAD(3) LOAD(4) LOAD(5) LOAD(6) LOAD(7)
    LOAD(8) LOAD(9) LOAD(10) LOAD(11) LOAD(12) LOAD(13) LOAD(14) LOAD(19)
  }
  return v;
}

static __always_inline __u64 arg(void *ctx, __u32 probe, __u32 i) {
  __u32 type = args[probe][i].type;
  __s32 size = args[probe][i].size;
  __u64 v;
  if (type == LTB_CONST) return (__u64)(__s64)args[probe][i].value;
  if (type != LTB_REG) return 0;
  v = reg(ctx, args[probe][i].reg);
  if (size == 4) return (__u32)v;
  if (size == -4) return (__u64)(__s64)(__s32)v;
  return v;
}

/* -- Records ------------------------------------------------------------------- */

/* The VM that a coroutine belongs to. */
static __always_inline __u64 state_of(__u64 L) {
  __u64 state = 0;
  if (!L) return 0;
  if (glref_size == 4)
    bpf_probe_read_user(&state, 4, (void *)(L + glref_offset));
  else
    bpf_probe_read_user(&state, 8, (void *)(L + glref_offset));
  return state;
}

static __always_inline __u64 current_ids(void) {
  struct bpf_pidns_info info = {};
  if (!pidns_ino) return bpf_get_current_pid_tgid();
  bpf_get_ns_current_pid_tgid(pidns_dev, pidns_ino, &info, sizeof(info));
  return (__u64)info.tgid << 32 | info.pid;
}

static __always_inline void fill(struct ltb_hit *h, __u32 slot, __u32 kind, __u64 state) {
  h->time = bpf_ktime_get_ns();
  h->state = state;
  h->L = 0;
  h->id = 0;
  h->extra = 0;
  h->tid = (__u32)current_ids();
  h->where = ltb_where(slot, kind, 0);
}

/* Counts hits (or events of a chunk) that did not fit. */
static __noinline int count_lost(__u64 state, __u32 slot, __u32 n) {
  struct ltb_loss_key key = {.state = state, .slot = slot};
  struct ltb_loss_count none = {}, *c;
  c = bpf_map_lookup_elem(&losses, &key);
  if (!c) {
    bpf_map_update_elem(&losses, &key, &none, BPF_NOEXIST);
    c = bpf_map_lookup_elem(&losses, &key);
  }
  if (!c || slot >= LTB_SLOTS) {
    __sync_fetch_and_add(&unattributed, n);
    return 0;
  }
  __sync_val_compare_and_swap(&c->since, 0, bpf_ktime_get_ns());
  if (__sync_fetch_and_add(&c->count, n) == 0) __sync_fetch_and_add(&pending[slot], 1);
  return 0;
}

static __always_inline int lose(__u64 state, __u32 slot) {
  return count_lost(state, slot, 1);
}

/* Before a hit: writes the VM's loss. False: still no space. */
static __always_inline bool write_loss(void *ring, __u64 state, __u32 slot) {
  struct ltb_loss_key key = {.state = state, .slot = slot};
  struct ltb_loss_count *c = bpf_map_lookup_elem(&losses, &key);
  struct ltb_loss *r;
  if (!c || !c->count) return true;
  r = bpf_ringbuf_reserve(ring, sizeof(*r), 0);
  if (!r) return false;
  fill(&r->hit, slot, LTB_LOSS, state);
  r->count = __sync_lock_test_and_set(&c->count, 0);
  r->since = __sync_lock_test_and_set(&c->since, 0);
  if (r->count && slot < LTB_SLOTS) __sync_fetch_and_add(&pending[slot], -1);
  bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
  return true;
}

static __always_inline void *ring_of(__u32 slot) {
  __u32 i = slot % nrings;
  return bpf_map_lookup_elem(&rings, &i);
}

/* The ring buffer for one hit, after what must come before it. */
static __always_inline void *ready(__u64 state, __u32 slot) {
  void *ring = ring_of(slot);
  if (!ring) return 0;
  if (slot < LTB_SLOTS && pending[slot] && !write_loss(ring, state, slot)) return 0;
  return ring;
}

/* -- Functions -------------------------------------------------------------------- */

struct called {
  __u64 chunk, name, addr, L;
  __s32 line;
  __u32 id;
};

static __always_inline bool describe(void *ring, const struct called *f, __u64 state,
                                     __u32 slot) {
  struct ltb_known_key key = {.state = state, .id = f->id};
  struct ltb_func *r;
  struct ltb_cached *c;
  __u64 a, b;
  __u8 one = 1;
  if (slot < LTB_SLOTS) key.epoch = epochs[slot] << 9 | slot;
  b = (__u64)key.epoch << 32 | f->id;
  a = state ^ b * 0x9e3779b97f4a7c15ull;
  c = &cache[(f->id ^ (__u32)(state >> 12) ^ slot << 6) & (LTB_CACHE - 1)];
  if (c->a == a && c->b == b) return true;
  if (bpf_map_lookup_elem(&known, &key)) {
    c->a = a;
    c->b = b;
    return true;
  }
  r = bpf_ringbuf_reserve(ring, sizeof(*r), 0);
  if (!r) return false;
  fill(&r->hit, slot, LTB_FUNC, state);
  r->hit.L = f->L;
  r->hit.id = f->id;
  r->chunk = f->chunk;
  r->name = f->name;
  r->addr = f->addr;
  r->line = f->line;
  r->reserved = 0;
  r->chunk_len = bpf_probe_read_user_str(r->chunk_text, LTB_TEXT, (void *)f->chunk);
  r->name_len = bpf_probe_read_user_str(r->name_text, LTB_TEXT, (void *)f->name);
  bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
  bpf_map_update_elem(&known, &key, &one, BPF_ANY);
  return true;
}

static __always_inline int call_hit(__u32 slot, __u32 probe, const struct called *f, __u32 frame,
                                    __s32 callline) {
  __u64 state = state_of(f->L);
  void *ring = ready(state, slot);
  struct ltb_hit *h;
  if (!ring || !describe(ring, f, state, slot)) return lose(state, slot);
  h = bpf_ringbuf_reserve(ring, sizeof(*h), 0);
  if (!h) return lose(state, slot);
  fill(h, slot, probe, state);
  h->L = f->L;
  h->id = f->id;
  h->extra = callline;
  if (frame > LTB_FRAME_MAX) frame = LTB_FRAME_MAX;
  h->where |= frame;
  bpf_ringbuf_submit(h, BPF_RB_NO_WAKEUP);
  return 0;
}

static __always_inline int lua_hit(void *ctx, __u32 probe, __u32 slot) {
  struct called f = {.chunk = arg(ctx, probe, 0),
                     .name = arg(ctx, probe, 1),
                     .line = (__s32)arg(ctx, probe, 2),
                     .L = arg(ctx, probe, 3),
                     .id = (__u32)arg(ctx, probe, 4)};
  return call_hit(slot, probe, &f, (__u32)arg(ctx, probe, 5), (__s32)arg(ctx, probe, 6));
}

static __always_inline int c_hit(void *ctx, __u32 probe, __u32 slot) {
  struct called f = {.name = arg(ctx, probe, 0),
                     .addr = arg(ctx, probe, 1),
                     .line = (__s32)arg(ctx, probe, 2),
                     .L = arg(ctx, probe, 3),
                     .id = (__u32)arg(ctx, probe, 4)};
  return call_hit(slot, probe, &f, (__u32)arg(ctx, probe, 5), (__s32)arg(ctx, probe, 6));
}

/* -- Everything else ----------------------------------------------------------------- */

static __always_inline int plain_hit(__u32 slot, __u32 kind, __u64 state, __u64 L, __u32 id,
                                     __s32 extra, __u32 frame) {
  void *ring = ready(state, slot);
  struct ltb_hit *h = ring ? bpf_ringbuf_reserve(ring, sizeof(*h), 0) : 0;
  if (!h) return lose(state, slot);
  fill(h, slot, kind, state);
  h->L = L;
  h->id = id;
  h->extra = extra;
  h->where |= frame < LTB_FRAME_MAX ? frame : LTB_FRAME_MAX;
  bpf_ringbuf_submit(h, BPF_RB_NO_WAKEUP);
  return 0;
}

static __always_inline int unwind_hit(void *ctx, __u32 slot) {
  __u64 L = arg(ctx, LTB_UNWIND, 0);
  return plain_hit(slot, LTB_UNWIND, state_of(L), L, 0, 0, (__u32)arg(ctx, LTB_UNWIND, 1));
}

/* coroutine__stack(L, coroutine id, number of calls, reason, state). */
static __always_inline int stack_hit(void *ctx, __u32 slot) {
  return plain_hit(slot, LTB_STACK, arg(ctx, LTB_STACK, 4), arg(ctx, LTB_STACK, 0),
                   (__u32)arg(ctx, LTB_STACK, 1), (__s32)arg(ctx, LTB_STACK, 3),
                   (__u32)arg(ctx, LTB_STACK, 2));
}

/* A VM that is opened may be at the address of an earlier one: its ids mean something else, so
** everything is described again. */
static __always_inline int open_hit(void *ctx, __u32 slot) {
  __sync_fetch_and_add(&epochs[slot], 1);
  return plain_hit(slot, LTB_OPEN, arg(ctx, LTB_OPEN, 0), arg(ctx, LTB_OPEN, 1), 0, 0, 0);
}

static __always_inline int close_hit(void *ctx, __u32 slot) {
  return plain_hit(slot, LTB_CLOSE, arg(ctx, LTB_CLOSE, 0), arg(ctx, LTB_CLOSE, 1), 0, 0, 0);
}

static __always_inline int co_hit(void *ctx, __u32 probe, __u32 slot) {
  __u64 co = arg(ctx, probe, 1);
  __u64 state = state_of(co);
  void *ring = ready(state, slot);
  struct ltb_co *r = ring ? bpf_ringbuf_reserve(ring, sizeof(*r), 0) : 0;
  if (!r) return lose(state, slot);
  fill(&r->hit, slot, probe, state);
  r->hit.L = arg(ctx, probe, 0);
  r->hit.id = (__u32)arg(ctx, probe, 2);
  r->hit.extra = (__s32)arg(ctx, probe, 3);
  r->co = co;
  bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
  return 0;
}

/* -- Chunks of event words ------------------------------------------------------------ */

struct chunk {
  __u64 address, state, number;
  __u32 size, kind, count, recording;
};

/* Into a record of up to `max_size` bytes. False: no space, or not readable. */
static __always_inline bool put_chunk(void *ring, __u32 slot, const struct chunk *p,
                                      const __u32 max_size) {
  struct ltb_block *r = bpf_ringbuf_reserve(ring, sizeof(*r) + max_size, 0);
  __u32 size = p->size;
  if (!r) return false;
  fill(&r->hit, slot, LTB_BLOCK, p->state);
  r->address = p->address;
  r->number = p->number;
  r->chunk_kind = p->kind;
  r->count = p->count;
  r->recording = p->recording;
  asm volatile("" : "+r"(size)); /* or the compiler removes the next line */
  if (size > max_size) size = max_size;
  r->size = size;
  if (size && bpf_probe_read_user(r->bytes, size, (void *)p->address)) {
    bpf_ringbuf_discard(r, BPF_RB_NO_WAKEUP);
    return false;
  }
  bpf_ringbuf_submit(r, BPF_RB_NO_WAKEUP);
  return true;
}

/* Into a record of about its size. Returns 1 if it is there. */
static __noinline int put_sized(void *ring, __u32 slot, const struct chunk *p) {
  if (p->size <= 1024) return put_chunk(ring, slot, p, 1024);
  if (p->size <= 8192) return put_chunk(ring, slot, p, 8192);
  return p->size <= LTB_BLOCK_MAX && put_chunk(ring, slot, p, LTB_BLOCK_MAX);
}

static __always_inline void note_state(__u32 slot, const struct chunk *p) {
  struct ltb_handing_key key = {.state = p->state, .slot = slot};
  if (p->kind == LT_CHUNK_START) bpf_map_update_elem(&flushing, &key, &p->address, BPF_ANY);
  if (p->kind == LT_CHUNK_END) bpf_map_delete_elem(&flushing, &key);
}

/* Losses of chunks are not written as records: the numbers of the next chunk show them. */
static __always_inline int block_hit(void *ctx, __u32 slot) {
  struct chunk p = {.address = arg(ctx, LTB_BLOCK, 0),
                    .size = (__u32)arg(ctx, LTB_BLOCK, 1),
                    .state = arg(ctx, LTB_BLOCK, 2),
                    .kind = (__u32)arg(ctx, LTB_BLOCK, 3),
                    .number = arg(ctx, LTB_BLOCK, 4),
                    .count = (__u32)arg(ctx, LTB_BLOCK, 5),
                    .recording = (__u32)arg(ctx, LTB_BLOCK, 6)};
  void *ring = ring_of(slot);
  bool taken = ring && put_sized(ring, slot, &p);
  note_state(slot, &p);
  if (!taken && p.kind == LT_CHUNK_EVENTS) count_lost(p.state, slot, p.count);
  return 0;
}

/* The unflushed events of a VM when its process ends or executes another program:
** its memory still exists. Another thread of it may still run, so the data read is
** valid only if nothing was flushed meanwhile. */
struct ending {
  void *ring;
  __u32 slot;
};

static long take_unflushed(void *map, struct ltb_handing_key *key, __u64 *header, struct ending *e) {
  struct chunk p = {.state = key->state};
  struct ltb_ring_changing r;
  __u64 state = 0, end = 0, ofs = 0;
  (void)map;
  if (key->slot != e->slot) return 0;
  bpf_probe_read_user(&state, 8, (void *)(*header + LTB_RING_STATE));
  if (state != key->state) return 0;
  if (bpf_probe_read_user(&r, sizeof(r), (void *)(*header + LTB_RING_CHANGING)) ||
      bpf_probe_read_user(&ofs, 8, (void *)(*header + LTB_RING_META_OFS)) ||
      bpf_probe_read_user(&end, 8, (void *)r.wp))
    return 0;
  if (end < r.flushed || end - r.flushed > LTB_BLOCK_MAX || r.meta_head > LTB_BLOCK_MAX) return 0;
  p.kind = LT_CHUNK_FUNCS;
  p.address = *header + ofs;
  p.size = (__u32)r.meta_head;
  p.number = r.flushed_funcs;
  p.count = (__u32)r.meta_count;
  if (p.size) put_sized(e->ring, e->slot, &p);
  p.kind = LT_CHUNK_EVENTS;
  p.address = r.flushed;
  p.size = (__u32)(end - r.flushed);
  p.number = r.flushed_events;
  p.count = LTB_UNCOUNTED;
  if (p.size && !put_sized(e->ring, e->slot, &p)) count_lost(p.state, e->slot, 1);
  p.kind = LT_CHUNK_END;
  p.address = 0;
  p.size = 0;
  p.count = LT_CHUNK_EXIT;
  put_sized(e->ring, e->slot, &p);
  return 0;
}

static __always_inline int flush_process(void) {
  struct ending e = {};
  __u32 pid = (__u32)(current_ids() >> 32);
  __u32 *slot = bpf_map_lookup_elem(&slots, &pid);
  if (!slot) return 0;
  e.slot = *slot;
  e.ring = ring_of(e.slot);
  if (e.ring) bpf_for_each_map_elem(&flushing, take_unflushed, &e, 0);
  return 0;
}

/* The recorder hits a site of its own: do events arrive? */
static __always_inline int test_hit(void *ctx, __u32 slot) {
  (void)ctx;
  return plain_hit(slot, LTB_TEST, 0, 0, 0, 0, 0);
}

/* -- Programs --------------------------------------------------------------------------- */

#define slot_of(ctx) ((__u32)bpf_get_attach_cookie(ctx) & (LTB_SLOTS - 1))

/* clang-format off */
SEC("uprobe") int function_entry(void *ctx) { return lua_hit(ctx, LTB_ENTRY, slot_of(ctx)); }
SEC("uprobe") int function_return(void *ctx) { return lua_hit(ctx, LTB_RETURN, slot_of(ctx)); }
SEC("uprobe") int function_tailcall(void *ctx) { return lua_hit(ctx, LTB_TAIL, slot_of(ctx)); }
SEC("uprobe") int cfunction_entry(void *ctx) { return c_hit(ctx, LTB_CENTRY, slot_of(ctx)); }
SEC("uprobe") int cfunction_return(void *ctx) { return c_hit(ctx, LTB_CRETURN, slot_of(ctx)); }
SEC("uprobe") int function_unwind(void *ctx) { return unwind_hit(ctx, slot_of(ctx)); }
SEC("uprobe") int coroutine_create(void *ctx) { return co_hit(ctx, LTB_CREATE, slot_of(ctx)); }
SEC("uprobe") int coroutine_resume(void *ctx) { return co_hit(ctx, LTB_RESUME, slot_of(ctx)); }
SEC("uprobe") int coroutine_yield(void *ctx) { return co_hit(ctx, LTB_YIELD, slot_of(ctx)); }
SEC("uprobe") int coroutine_end(void *ctx) { return co_hit(ctx, LTB_END, slot_of(ctx)); }
SEC("uprobe") int state_open(void *ctx) { return open_hit(ctx, slot_of(ctx)); }
SEC("uprobe") int state_close(void *ctx) { return close_hit(ctx, slot_of(ctx)); }
SEC("uprobe") int coroutine_stack(void *ctx) { return stack_hit(ctx, slot_of(ctx)); }
SEC("uprobe") int block(void *ctx) { return block_hit(ctx, slot_of(ctx)); }
SEC("uprobe") int self_test(void *ctx) { return test_hit(ctx, slot_of(ctx)); }
/* clang-format on */

SEC("uprobe") int any_probe(void *ctx) {
  __u64 cookie = bpf_get_attach_cookie(ctx);
  __u32 slot = (__u32)cookie & (LTB_SLOTS - 1);
  switch (ltb_cookie_kind(cookie)) {
    case LTB_ENTRY: return lua_hit(ctx, LTB_ENTRY, slot);
    case LTB_RETURN: return lua_hit(ctx, LTB_RETURN, slot);
    case LTB_TAIL: return lua_hit(ctx, LTB_TAIL, slot);
    case LTB_CENTRY: return c_hit(ctx, LTB_CENTRY, slot);
    case LTB_CRETURN: return c_hit(ctx, LTB_CRETURN, slot);
    case LTB_UNWIND: return unwind_hit(ctx, slot);
    case LTB_CREATE: return co_hit(ctx, LTB_CREATE, slot);
    case LTB_RESUME: return co_hit(ctx, LTB_RESUME, slot);
    case LTB_YIELD: return co_hit(ctx, LTB_YIELD, slot);
    case LTB_END: return co_hit(ctx, LTB_END, slot);
    case LTB_OPEN: return open_hit(ctx, slot);
    case LTB_CLOSE: return close_hit(ctx, slot);
    case LTB_STACK: return stack_hit(ctx, slot);
    case LTB_BLOCK: return block_hit(ctx, slot);
    case LTB_TEST: return test_hit(ctx, slot);
  }
  return 0;
}

/* clang-format off */
SEC("raw_tracepoint/sched_process_exit") int process_exit(__u64 *ctx) { return ctx[1] ? flush_process() : 0; } /* group_dead, since 6.16 */
SEC("raw_tracepoint/sched_prepare_exec") int before_exec(void *ctx) { (void)ctx; return flush_process(); }
/* clang-format on */

/* The addresses have another meaning in a new program. */
SEC("raw_tracepoint/sched_process_exec") int process_exec(void *ctx) {
  __u32 pid = (__u32)(current_ids() >> 32);
  __u32 *slot = bpf_map_lookup_elem(&slots, &pid);
  struct ltb_hit *h;
  void *ring;
  (void)ctx;
  if (!slot || *slot >= LTB_SLOTS) return 0;
  __sync_fetch_and_add(&epochs[*slot & (LTB_SLOTS - 1)], 1);
  ring = ring_of(*slot);
  h = ring ? bpf_ringbuf_reserve(ring, sizeof(*h), 0) : 0;
  if (!h) return lose(0, *slot);
  fill(h, *slot, LTB_EXEC, 0);
  bpf_ringbuf_submit(h, BPF_RB_NO_WAKEUP);
  return 0;
}
