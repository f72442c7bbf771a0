// SPDX-License-Identifier: MIT OR GPL-2.0
/*
** The BPF program. At each hit of the probe `block` it copies the chunk into a ring buffer.
**
** Invariant: the events of a chunk are either in the ring buffer of its process or
** counted in `losses`; the numbers of the next chunk show them, too.
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

const volatile struct ltb_arg args[LTB_NARGS];
const volatile __u64 pidns_dev, pidns_ino; /* the recorder's, 0: the initial one */

/* -- Shared with the recorder ------------------------------------------------ */

__u32 loss_vms[LTB_SLOTS];     /* entries in `losses`: of a process up to LTB_VMS */
__u32 flushing_vms[LTB_SLOTS]; /* the same of `flushing` */
__u64 unattributed;            /* hits lost that could not even be counted by VM */

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 4096); /* the recorder's choice */
} ring SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, LTB_ALL_VMS);
  __type(key, struct ltb_vm);
  __type(value, __u64); /* events */
} losses SEC(".maps");

/* VMs that flush blocks: where their struct lt_ring is. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, LTB_ALL_VMS);
  __type(key, struct ltb_vm);
  __type(value, __u64);
} flushing SEC(".maps");

/* Processes by pid. */
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

/* As site_args.cc numbers them. */
static __always_inline __u64 reg(void *ctx, __u32 n) {
  __u64 v = 0;
  switch (n) {
    LOAD(0) LOAD(1) LOAD(2) LOAD(3) LOAD(4) LOAD(5) LOAD(6) LOAD(7)
    LOAD(8) LOAD(9) LOAD(10) LOAD(11) LOAD(12) LOAD(13) LOAD(14)
#ifdef __TARGET_ARCH_arm64
    LOAD(15) LOAD(16) LOAD(17) LOAD(18) LOAD(19) LOAD(20) LOAD(21) LOAD(22)
    LOAD(23) LOAD(24) LOAD(25) LOAD(26) LOAD(27) LOAD(28) LOAD(29) LOAD(30)
#endif
  }
  return v;
}

static __always_inline __u64 arg(void *ctx, __u32 i) {
  __u32 type = args[i].type;
  __s32 size = args[i].size;
  __u64 v;
  if (type == LTB_CONST) return (__u64)(__s64)args[i].value;
  if (type != LTB_REG) return 0;
  v = reg(ctx, args[i].reg);
  if (size == 4) return (__u32)v;
  if (size == -4) return (__u64)(__s64)(__s32)v;
  return v;
}

/* -- Records ------------------------------------------------------------------- */

static __always_inline __u64 current_ids(void) {
  struct bpf_pidns_info info = {};
  if (!pidns_ino) return bpf_get_current_pid_tgid();
  bpf_get_ns_current_pid_tgid(pidns_dev, pidns_ino, &info, sizeof(info));
  return (__u64)info.tgid << 32 | info.pid;
}

/* The slot of the process, for tracepoints: they have no cookie. */
static __always_inline __u32 *slot_of_current(void) {
  __u32 pid = (__u32)(current_ids() >> 32);
  return bpf_map_lookup_elem(&slots, &pid);
}

static __always_inline void fill(struct ltb_hit *h, __u32 slot, __u32 kind, __u64 state) {
  h->time = bpf_ktime_get_ns();
  h->state = state;
  h->slot = slot;
  h->kind = kind;
}

/* The place where the losses of a VM are counted; beyond the limit that of all others of the
** process, whose state is 0. */
static __always_inline __u64 *losses_of(__u64 state, __u32 slot) {
  struct ltb_vm key = {.state = state, .slot = slot};
  __u64 none = 0, *c = bpf_map_lookup_elem(&losses, &key);
  if (c || slot >= LTB_SLOTS) return c;
  if (loss_vms[slot] >= LTB_VMS) key.state = 0;
  if (!bpf_map_update_elem(&losses, &key, &none, BPF_NOEXIST))
    __sync_fetch_and_add(&loss_vms[slot], 1);
  return bpf_map_lookup_elem(&losses, &key);
}

/* Counts events of a chunk that did not fit. */
static __noinline int count_lost(__u64 state, __u32 slot, __u32 n) {
  __u64 *c = losses_of(state, slot);
  if (c)
    __sync_fetch_and_add(c, n);
  else
    __sync_fetch_and_add(&unattributed, n);
  return 0;
}

/* -- Chunks of event words ------------------------------------------------------------ */

struct chunk {
  __u64 address, state, number;
  __u32 size, kind, count;
};

/* Into a record of up to `max_size` bytes. False: no space, or not readable. */
static __always_inline bool put_chunk(__u32 slot, const struct chunk *p,
                                      const __u32 max_size) {
  struct ltb_block *r = bpf_ringbuf_reserve(&ring, sizeof(*r) + max_size, 0);
  __u32 size = p->size;
  if (!r) return false;
  fill(&r->hit, slot, LTB_BLOCK, p->state);
  r->address = p->address;
  r->number = p->number;
  r->chunk_kind = p->kind;
  r->count = p->count;
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
static __noinline int put_sized(__u32 slot, const struct chunk *p) {
  if (p->size <= 1024) return put_chunk(slot, p, 1024);
  if (p->size <= 8192) return put_chunk(slot, p, 8192);
  return p->size <= LTB_BLOCK_MAX && put_chunk(slot, p, LTB_BLOCK_MAX);
}

static __always_inline void note_state(__u32 slot, const struct chunk *p) {
  struct ltb_vm key = {.state = p->state, .slot = slot};
  bool is_new;
  if (slot >= LTB_SLOTS) return;
  if (p->kind == LT_CHUNK_END && !bpf_map_delete_elem(&flushing, &key))
    __sync_fetch_and_add(&flushing_vms[slot], -1);
  if (p->kind != LT_CHUNK_START) return;
  is_new = !bpf_map_lookup_elem(&flushing, &key);
  if (is_new && flushing_vms[slot] >= LTB_VMS) return;
  if (!bpf_map_update_elem(&flushing, &key, &p->address, is_new ? BPF_NOEXIST : BPF_ANY) && is_new)
    __sync_fetch_and_add(&flushing_vms[slot], 1);
}

/* Losses of chunks are not written as records: the numbers of the next chunk show them. */
static __always_inline int block_hit(void *ctx, __u32 slot) {
  struct chunk p = {.address = arg(ctx, 0),
                    .size = (__u32)arg(ctx, 1),
                    .state = arg(ctx, 2),
                    .kind = (__u32)arg(ctx, 3),
                    .number = arg(ctx, 4),
                    .count = (__u32)arg(ctx, 5)};
  bool taken = put_sized(slot, &p);
  note_state(slot, &p);
  if (!taken && p.kind == LT_CHUNK_EVENTS) count_lost(p.state, slot, p.count);
  return 0;
}

/* The unflushed events of a VM when its process ends or executes another program:
** its memory still exists. Another thread of it may still run, so the data read is
** valid only if nothing was flushed meanwhile. */
static long take_unflushed(void *map, struct ltb_vm *key, __u64 *header,
                           __u32 *slot) {
  struct chunk p = {.state = key->state};
  struct ltb_ring_changing r;
  __u64 state = 0, end = 0, ofs = 0;
  (void)map;
  if (key->slot != *slot) return 0;
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
  if (p.size) put_sized(*slot, &p);
  p.kind = LT_CHUNK_EVENTS;
  p.address = r.flushed;
  p.size = (__u32)(end - r.flushed);
  p.number = r.flushed_events;
  p.count = LTB_UNCOUNTED;
  if (p.size && !put_sized(*slot, &p)) count_lost(p.state, *slot, 1);
  p.kind = LT_CHUNK_END;
  p.address = 0;
  p.size = 0;
  p.count = LT_CHUNK_EXIT;
  put_sized(*slot, &p);
  return 0;
}

static __always_inline int flush_process(void) {
  __u32 *found = slot_of_current(), slot = found ? *found : 0;
  if (found) bpf_for_each_map_elem(&flushing, take_unflushed, &slot, 0);
  return 0;
}

/* A record without more; of no VM. */
static __always_inline int plain_hit(__u32 slot, __u32 kind) {
  struct ltb_hit *h = bpf_ringbuf_reserve(&ring, sizeof(*h), 0);
  if (!h) return count_lost(0, slot, 1);
  fill(h, slot, kind, 0);
  bpf_ringbuf_submit(h, BPF_RB_NO_WAKEUP);
  return 0;
}

/* -- Programs --------------------------------------------------------------------------- */

#define slot_of(ctx) ((__u32)bpf_get_attach_cookie(ctx) & (LTB_SLOTS - 1))

/* clang-format off */
SEC("uprobe") int block(void *ctx) { return block_hit(ctx, slot_of(ctx)); }
SEC("uprobe") int self_test(void *ctx) { return plain_hit(slot_of(ctx), LTB_TEST); } /* a site of the recorder's own: do hits arrive? */
SEC("raw_tracepoint/sched_process_exit") int process_exit(__u64 *ctx) { return ctx[1] ? flush_process() : 0; } /* group_dead, since 6.16 */
SEC("raw_tracepoint/sched_prepare_exec") int before_exec(void *ctx) { (void)ctx; return flush_process(); }
/* clang-format on */

/* The addresses have another meaning in a new program. */
SEC("raw_tracepoint/sched_process_exec") int process_exec(void *ctx) {
  __u32 *slot = slot_of_current();
  (void)ctx;
  return slot && *slot < LTB_SLOTS ? plain_hit(*slot, LTB_EXEC) : 0;
}
