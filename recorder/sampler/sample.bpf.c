// SPDX-License-Identifier: MIT OR GPL-2.0
/*
** The BPF programs of --sample. At each sample of a thread of a process in `processes` they walk the
** Lua stack, and copy the kernel's stack and the thread's C stack, which the recorder unwinds. A
** sample is taken by the clock (on_cpu), or when a thread runs again after it was blocked (runs).
**
** Invariant: a sample is either in the ring buffer or counted in `lost`. Nothing of the process is
** trusted: addresses are only given to helpers that check them, all loops are bounded.
*/
#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "recorder/sampler/wire.h"

struct walk;
static __always_inline int walk_read(struct walk *w, void *to, __u32 size, __u64 from) {
  (void)w;
  return bpf_probe_read_user(to, size, (void *)from) == 0;
}
static __always_inline __u32 walk_rule(struct walk *w, __u64 offset);
#define WALK_FN static __noinline
#define WALK_GLOBAL __noinline
#define WALK_INLINE static __always_inline
#define WALK_HIDE(v) asm volatile("" : "+r"(v))
#include "recorder/sample/walk.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* -- The kernel's ------------------------------------------------------------ */

struct mm_struct {
  unsigned long start_stack;
} __attribute__((preserve_access_index));
struct thread_struct {
  unsigned long fsbase;
} __attribute__((preserve_access_index));
struct task_struct {
  struct mm_struct *mm;
  struct thread_struct thread;
  unsigned int __state;
} __attribute__((preserve_access_index));
struct vm_area_struct {
  unsigned long vm_start, vm_end;
} __attribute__((preserve_access_index));

/* struct pt_regs of x86-64; struct bpf_perf_event_data. */
enum { R15, R14, R13, R12, RBP, RBX, R11, R10, R9, R8, RAX, RCX, RDX, RSI, RDI, ORIG_RAX, RIP, CS, EFLAGS, RSP, SS, NREGS };
struct perf_context {
  __u64 regs[NREGS];
  __u64 period, address;
};

/* -- Constants ---------------------------------------------------------------- */

const volatile __u64 pidns_dev, pidns_ino; /* the recorder's, 0: the initial one */
const volatile __u32 threads[SMP_THREADS]; /* only these, if the first is not 0 */
const volatile __u32 nthreads;
const volatile bool with_lua = true, with_kernel = true, with_user = true;
const volatile __u64 period = 1000000000; /* ns of blocked time for one sample */

/* -- Shared with the recorder --------------------------------------------------- */

__u64 lost;

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 4096); /* the recorder's choice */
} ring SEC(".maps");

/* Serial numbers of processes that have executed another program: not behind their samples. */
struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, SMP_EXECS_BYTES);
} execs SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, SMP_IMAGES);
  __type(key, __u32);
  __type(value, struct smp_image);
} images SEC(".maps");

struct rule_table {
  __u8 rule[SMP_TEXT_MAX];
};
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, SMP_IMAGES);
  __type(key, __u32);
  __type(value, struct rule_table);
} rules SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(max_entries, SMP_PROCESSES);
  __type(key, __u32);
  __type(value, struct smp_process);
} processes SEC(".maps");

/* When a thread was blocked, by its id in the kernel. Preallocated: the scheduler holds its lock. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, SMP_BLOCKED);
  __type(key, __u32);
  __type(value, __u64);
} blocked SEC(".maps");

/* -- The work area of a processor --------------------------------------------------- */

#define FRAMES_MAX (WALK_FRAMES * sizeof(struct walk_frame))
#define KERNEL_MAX (SMP_KERNEL_MAX * 8)
#define LABELS_MAX (LT_ABI_LABELS * sizeof(struct lt_abi_label))

struct work {
  __u32 busy, copied; /* copied: number of the image in walk.abi + 1 */
  __u32 image; /* its place */
  __u32 unread; /* 1: one of the VMs could not be read */
  __u64 window, taken, raised; /* of blocked time: see my_period() */
  __u64 vms, vm, found, found_frame, outer, sp, end;
  __u64 innermost; /* the VM that is not looked for, 0: none */
  __u64 labels; /* address of those of the coroutine that runs, 0: none */
  __u64 regs[NREGS];
  struct walk walk;
  struct smp_record record;
  __u8 parts[FRAMES_MAX + KERNEL_MAX + LABELS_MAX + SMP_STACK_MAX];
};
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1); /* processors */
  __type(key, __u32);
  __type(value, struct work);
} works SEC(".maps");

static __always_inline __u32 walk_rule(struct walk *w, __u64 offset) {
  struct work *work = (struct work *)((char *)w - offsetof(struct work, walk));
  __u32 image = work->image;
  struct rule_table *table = bpf_map_lookup_elem(&rules, &image);
  WALK_HIDE(offset);
  return table && offset < SMP_TEXT_MAX ? table->rule[offset] : LT_RULE_UNKNOWN;
}

/* -- Which Lua VM ---------------------------------------------------------------------- */

/* The current coroutine has stopped, but its resumer is not yet the current one. A C frame of one of
** them; 0: no Lua runs. */
static __always_inline __u64 stopped_frame(struct work *k, __u64 g, __u64 L) {
  struct walk *w = &k->walk;
  __u64 resumer = WALK_STATE(L, resumer, 8);
  if (resumer != 0) return walk_plain(w, WALK_STATE(resumer, cframe, 8));
  w->g = g;
  w->L = L;
  return walk_stopped(w);
}

/* Is there a Lua VM? Then its C frame is in k->found_frame. What cannot be read (the kernel may move its page)
** is not tried again. */
static __noinline bool is_vm(struct work *k, __u64 g) {
  struct walk *w = &k->walk;
  if (!walk_use_global(w, g)) return k->unread = 1, false;
  __u64 L = walk_global(w, g, w->abi.g_cur_L);
  if (L == 0) return false;
  if (!walk_fetch(w, WALK_THE_STATE, L, w->abi.L_size)) return k->unread = 1, false;
  if (WALK_STATE(L, glref, 8) != g) return false;
  k->found_frame = walk_plain(w, WALK_STATE(L, cframe, 8));
  if (k->found_frame == 0) k->found_frame = stopped_frame(k, g, L);
  return true;
}

static __always_inline bool on_stack(const struct work *k) {
  return k->found_frame >= k->sp && k->found_frame < k->end;
}

/*
** May the value that was in the register of a Lua VM be one? A page fault costs more than looking, so C
** code's values are not tried if there is only one VM, and it is another one.
*/
static __always_inline bool may_be_vm(struct work *k, __u64 g, __u64 vms) {
  struct walk *w = &k->walk;
  __u64 first = walk_word(w, vms);
  return first + WALK_OFFSET(w->abi.vm_g) == g ||
         walk_word(w, first + WALK_OFFSET(w->abi.vm_next)) != 0;
}

/* The VM of this thread is the one with the innermost C frame. */
__noinline int vm_step(struct work *k) {
  if (!k || k->vm == 0) return 1;
  struct walk *w = &k->walk;
  __u64 g = k->vm + WALK_OFFSET(w->abi.vm_g);
  if (g != k->innermost && is_vm(k, g) && on_stack(k)) {
    k->found = g;
    k->end = k->found_frame;
  }
  if (!walk_read(w, &k->vm, sizeof k->vm, k->vm + WALK_OFFSET(w->abi.vm_next))) {
    k->unread = 1;
    k->vm = 0;
  }
  return 0;
}

static __noinline __u64 find_vm(struct work *k, __u64 vms) {
  struct walk *w = &k->walk;
  __u64 end = k->end, candidate = w->r.dispatch - WALK_OFFSET(w->abi.g_dispatch);
  /* Where C code enters the interpreter, the register is still that of a VM which has called C. */
  bool in_text = w->r.ip >= w->text && w->r.ip < w->text_end && walk_rule(w, w->r.ip - w->text) != LT_RULE_ENTER;
  if ((in_text || may_be_vm(k, candidate, vms)) && is_vm(k, candidate) &&
      (in_text || on_stack(k))) return candidate;
  k->unread = 0; /* that was no VM */
  k->found = k->innermost = 0;
  k->vm = walk_word(w, vms);
  for (int i = 0; i < SMP_VMS && !vm_step(k); i++) continue;
  k->end = end;
  return k->found;
}

/*
** Adds the stacks of the VMs that wait outside of the innermost one on this C stack. The frames of several VMs
** may alternate: the recorder sorts them.
*/
__noinline int outer_step(struct work *k) {
  if (!k) return 1;
  struct walk *w = &k->walk;
  __u64 end = k->end;
  k->sp = k->outer + 1;
  k->found = 0;
  k->vm = walk_word(w, k->vms);
  for (int i = 0; i < SMP_VMS && !vm_step(k); i++) continue;
  k->outer = k->end;
  k->end = end;
  w->g = k->found;
  return k->found == 0 || !walk_outer(w) || w->truncated;
}

static __always_inline void walk_outer_vms(struct work *k, __u64 vms) {
  __u64 sp = k->sp;
  k->vms = vms;
  k->innermost = k->record.g;
  k->outer = sp - 1; /* not its C frame: while it leaves Lua, that is the one before, and others may be below it */
  for (int i = 0; i < SMP_NESTED && !outer_step(k); i++) continue;
  k->sp = sp;
}

/* -- One sample ---------------------------------------------------------------------------- */

static long take_end(struct task_struct *task, struct vm_area_struct *vma, void *context) {
  *(__u64 *)context = vma->vm_end;
  (void)task;
  return 0;
}

/* The kernel maps nothing else so close to main()'s stack: it leaves 128 MB or more. */
#define MAIN_STACK (64u << 20)
#define BUSY (-16) /* -EBUSY */

/*
** The end of the C stack: of what main() has been given; where the C library keeps the thread's own data,
** above its stack (stacks may be side by side in one mapping); or of the mapping. 0: not known.
*/
static __always_inline __u64 stack_end(struct work *k, struct task_struct *task, __u64 sp) {
  __u64 end = 0, start = BPF_CORE_READ(task, mm, start_stack);
  __u64 own = BPF_CORE_READ(task, thread.fsbase);
  if (start > sp && start - sp < MAIN_STACK) return start;
  __u64 ids = bpf_get_current_pid_tgid();
  /* Those of the first thread are not above its stack. */
  if (own <= sp || own - sp >= MAIN_STACK || ids >> 32 == (__u32)ids) own = 0;
  if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_find_vma) || /* before Linux 5.17 */
      bpf_find_vma(task, sp, take_end, &end, 0) == BUSY)                   /* another thread changes the mappings */
    end = own;
  if (own != 0 && own <= end) return own;
  k->record.flags |= SMP_MADE_STACK;
  return start > sp && start < end ? start : end;
}

static __always_inline bool use_image(struct work *k, const struct smp_mapped *m) {
  __u32 image = m->image, place = image % SMP_IMAGES;
  k->walk.text = m->text;
  k->walk.text_end = m->text_end;
  k->image = place;
  if (k->copied == image + 1) return true;
  struct smp_image *from = bpf_map_lookup_elem(&images, &place);
  if (!from) return false;
  bpf_probe_read_kernel(&k->walk.abi, sizeof(k->walk.abi), &from->abi);
  k->copied = image + 1;
  return true;
}

/*
** The host is about to enter a VM, or is back from a coroutine: no VM knows of it, but the C functions are found by
** the C frame that the interpreter's code makes or leaves.
*/
static __noinline bool at_the_edge(struct work *k, __u64 vms) {
  struct walk *w = &k->walk;
  if (w->r.ip < w->text || w->r.ip >= w->text_end) return false;
  __u32 rule = walk_rule(w, w->r.ip - w->text);
  if (rule != LT_RULE_ENTER && rule < LT_RULE_LEAVE) return false;
  w->n = w->truncated = 0;
  w->state = WALK_OUTSIDE;
  w->L = w->runs = 0;
  k->found = walk_word(w, vms) + WALK_OFFSET(w->abi.vm_g); /* whichever: it is not shown */
  walk_add(w, WALK_ENTRY, w->r.sp - 8ull * (rule == LT_RULE_ENTER ? walk_unsaved(w) : rule - LT_RULE_LEAVE), 0);
  return true;
}

/* Walks the Lua stack, if the thread runs one. */
static __noinline bool try_image(struct work *k, const struct smp_mapped *m, __u32 number) {
  struct walk *w = &k->walk;
  if (m->text == 0 || !use_image(k, m)) return false;
  __u64 g = find_vm(k, m->vms);
  if (g != 0) {
    w->g = g;
    walk_stack(w);
  }
  if (g == 0 || (w->state == WALK_OUTSIDE && w->n < 2)) {
    if (!at_the_edge(k, m->vms)) return false;
    g = k->found;
  }
  k->record.g = g;
  k->record.mapped = number;
  k->record.state = w->state;
  if (w->trace != 0 && (w->state == WALK_COMPILED || w->state == WALK_COMPILED_C)) {
    k->record.trace = w->number;
    k->record.code_bytes = w->size;
    k->record.code_offset = (__u32)w->place;
  }
  if (w->runs == 0) return true;
  __u64 L = walk_global(w, g, w->abi.g_cur_L);
  k->record.lua_frame = walk_plain(w, WALK_STATE(L, cframe, 8));
  L = w->runs;
  if (k->record.lua_frame == 0) /* cur_L is a coroutine that C code has resumed, and that runs no more */
    k->record.lua_frame = walk_plain(w, WALK_STATE(L, cframe, 8));
  k->record.coroutine = walk_number(w, L);
  if (w->abi.flags & LTA_EXDATA) k->record.request = WALK_STATE(L, exdata, 8);
  if (w->abi.L_labels > 0) k->labels = WALK_STATE(L, labels, 8);
  return true;
}

static __always_inline void walk_lua(struct work *k, const struct smp_process *p) {
  struct walk *w = &k->walk;
  k->record.g = k->record.request = k->record.lua_frame = k->labels = 0;
  k->record.coroutine = k->record.state = k->record.trace = 0;
  k->unread = 0;
  w->n = 0;
  walk_forget(w);
  w->r.ip = k->regs[RIP];
  w->r.sp = k->regs[RSP];
  w->r.fp = k->regs[RBP];
  w->r.base = k->regs[RDX];
  w->r.pc = k->regs[RBX];
  w->r.dispatch = k->regs[R14];
  w->r.a = k->regs[RAX];
  w->r.c = k->regs[RCX];
  if (!with_lua) return;
  const struct smp_mapped *m = &p->mapped[0];
  if (!try_image(k, m, 0)) {
    m = &p->mapped[1];
    if (!try_image(k, m, 1)) {
      w->n = 0;
      return;
    }
  }
  if (p->nested) walk_outer_vms(k, m->vms);
  if (k->unread) walk_add(w, WALK_UNKNOWN, 0, 0);
  if (w->truncated) k->record.flags |= SMP_TRUNCATED;
}

/* The labels. Returns their bytes. */
static __always_inline __u32 copy_labels(struct work *k, __u32 at) {
  __u64 from = k->labels + offsetof(struct lt_abi_labels, label);
  __u32 n = 0, size;
  if (k->labels == 0) return 0;
  n = walk_u32(&k->walk, k->labels + offsetof(struct lt_abi_labels, n));
  WALK_HIDE(n);
  if (n == 0 || n > LT_ABI_LABELS || at > FRAMES_MAX + KERNEL_MAX) return 0;
  size = n * sizeof(struct lt_abi_label);
  if (bpf_probe_read_user(k->parts + at, size, (void *)from)) return 0;
  k->record.nlabels = n;
  return size;
}

/* The C stack, from the red zone on. */
static __always_inline __u32 copy_stack(struct work *k, __u32 at) {
  __u64 from = k->sp - SMP_RED_ZONE, size = k->end > from ? k->end - from : 0;
  if (!with_user) return 0;
  if (size > SMP_STACK_MAX) {
    size = SMP_STACK_MAX;
    k->record.flags |= SMP_STACK_CUT;
  }
  WALK_HIDE(size);
  if (size > SMP_STACK_MAX || at > FRAMES_MAX + KERNEL_MAX + LABELS_MAX) return 0;
  k->record.stack_at = from;
  if (bpf_probe_read_user(k->parts + at, size, (void *)from) == 0) return size;
  size = 4096 - (from & 4095); /* one page is in memory */
  k->record.flags |= SMP_STACK_CUT;
  return bpf_probe_read_user(k->parts + at, size, (void *)from) == 0 ? size : 0;
}

static __noinline int emit(struct work *k, void *context) {
  __u32 n = k->walk.n, at = 0, size;
  long kernel = 0;
  WALK_HIDE(n);
  if (n > WALK_FRAMES) n = WALK_FRAMES;
  at = n * sizeof(struct walk_frame);
  if (n) bpf_probe_read_kernel(k->parts, at, k->walk.frames);
  if (with_kernel && !(k->record.flags & SMP_USER_MODE))
    kernel = bpf_get_stack(context, k->parts + at, KERNEL_MAX, 0);
  if (kernel < 0) kernel = 0;
  if (kernel > KERNEL_MAX) kernel = KERNEL_MAX;
  at += kernel;
  k->record.nframes = n;
  k->record.nkernel = kernel / 8;
  k->record.nlabels = 0;
  at += copy_labels(k, at);
  size = copy_stack(k, at);
  k->record.stack_size = size;
  WALK_HIDE(at);
  WALK_HIDE(size);
  if (at > FRAMES_MAX + KERNEL_MAX + LABELS_MAX || size > SMP_STACK_MAX) return 0;
  size += at + sizeof(k->record);
  if (bpf_ringbuf_output(&ring, &k->record, size, BPF_RB_NO_WAKEUP))
    __sync_fetch_and_add(&lost, 1);
  return 0;
}

static __always_inline __u64 current_ids(void) {
  struct bpf_pidns_info info = {};
  if (!pidns_ino) return bpf_get_current_pid_tgid();
  bpf_get_ns_current_pid_tgid(pidns_dev, pidns_ino, &info, sizeof(info));
  return (__u64)info.tgid << 32 | info.pid;
}

static __always_inline bool is_wanted(__u32 tid) {
  if (nthreads == 0) return true;
  for (int i = 0; i < SMP_THREADS; i++)
    if (threads[i] == tid) return true;
  return false;
}

static __always_inline struct work *my_work(void) {
  __u32 cpu = bpf_get_smp_processor_id();
  return bpf_map_lookup_elem(&works, &cpu);
}

/* A sample of the current thread that begins; null: it was counted as lost. */
static __always_inline struct work *begin_sample(const struct smp_process *p, __u64 ids) {
  struct work *k = my_work();
  if (!k || __sync_lock_test_and_set(&k->busy, 1)) return __sync_fetch_and_add(&lost, 1), NULL;
  k->record.flags = 0;
  k->record.pid = ids >> 32;
  k->record.tid = (__u32)ids;
  k->record.serial = p->serial;
  return k;
}

/* From the registers in k->regs. */
static __always_inline void take_sample(struct work *k, const struct smp_process *p,
                                        struct task_struct *task, void *context) {
  k->record.r.ip = k->regs[RIP];
  k->record.r.sp = k->sp = k->regs[RSP];
  k->record.r.bp = k->regs[RBP];
  k->record.r.bx = k->regs[RBX];
  k->record.r.r12 = k->regs[R12];
  k->record.r.r13 = k->regs[R13];
  k->record.r.r14 = k->regs[R14];
  k->record.r.r15 = k->regs[R15];
  k->end = stack_end(k, task, k->sp);
  walk_lua(k, p);
  emit(k, context);
  k->busy = 0;
}

#define COPY(r) k->regs[r] = c->regs[r]
SEC("perf_event")
int on_cpu(struct perf_context *c) {
  __u64 ids = current_ids();
  __u32 pid = ids >> 32;
  struct smp_process *p = bpf_map_lookup_elem(&processes, &pid);
  struct task_struct *task;
  struct work *k;
  if (!p || !is_wanted((__u32)ids)) return 0;
  k = begin_sample(p, ids);
  if (!k) return 0;
  task = bpf_get_current_task_btf();
  k->record.time = bpf_ktime_get_ns();
  k->record.weight = c->period;
  if (c->regs[CS] & 3) {
    k->record.flags = SMP_USER_MODE;
    COPY(R15); COPY(R14); COPY(R13); COPY(R12); COPY(RBP); COPY(RBX); COPY(RAX); COPY(RCX);
    COPY(RDX); COPY(RIP); COPY(RSP);
  } else {
    bpf_probe_read_kernel(k->regs, sizeof(k->regs), (void *)bpf_task_pt_regs(task));
  }
  take_sample(k, p, task, c);
  return 0;
}

/* -- Blocked time ---------------------------------------------------------------------------- */

/* A thread that ends does not run again. */
#define IS_DEAD(state) ((state) & 0x80)

/* The current thread leaves the processor. */
SEC("tp_btf/sched_switch")
int blocks(__u64 *arguments) { /* preempt, prev, next */
  struct task_struct *prev = (void *)arguments[1];
  __u64 ids = current_ids(), now;
  __u32 pid = ids >> 32, tid = (__u32)bpf_get_current_pid_tgid();
  if (arguments[0] || prev->__state == 0 || IS_DEAD(prev->__state)) return 0;
  if (!bpf_map_lookup_elem(&processes, &pid) || !is_wanted((__u32)ids)) return 0;
  now = bpf_ktime_get_ns();
  if (bpf_map_update_elem(&blocked, &tid, &now, BPF_ANY)) __sync_fetch_and_add(&lost, 1);
  return 0;
}

/*
** The period of this processor: it is doubled while there are more than SMP_WINDOW_SAMPLES samples in a
** window, and becomes shorter again later. As it does not depend on the wait that is looked at, the
** expected sum of the weights remains the blocked time.
*/
static __always_inline __u64 my_period(struct work *k, __u64 now) {
  if (now - k->window >= SMP_WINDOW_NS) {
    if (k->raised > 0 && k->taken < SMP_WINDOW_SAMPLES / 4) k->raised--;
    k->window = now;
    k->taken = 0;
  } else if (k->taken >= SMP_WINDOW_SAMPLES) {
    if (k->raised < SMP_RAISED_MAX) k->raised++;
    k->taken = 0;
  }
  return period << (k->raised & 31);
}

/*
** What the sample of a wait weighs, 0: it is not taken. A wait of a period or more is taken as it
** is; a shorter one with a probability of its part of the period, and weighs a whole one.
*/
static __always_inline __u64 weight_of(struct work *k, __u64 wait, __u64 now) {
  __u64 whole = my_period(k, now);
  if (wait < whole) {
    /* A random point of the period; 22 + 10 bits, so that the product has room. */
    __u64 point = ((__u64)bpf_get_prandom_u32() * (whole >> 10)) >> 22;
    if (point >= wait) return 0;
    wait = whole;
  }
  k->taken++;
  return wait;
}

/* The current thread runs again. */
static __always_inline int runs(void *context) {
  __u32 thread = (__u32)bpf_get_current_pid_tgid(), pid;
  __u64 *since = bpf_map_lookup_elem(&blocked, &thread), now, weight, ids;
  struct smp_process *p;
  struct work *k;
  if (!since) return 0;
  now = bpf_ktime_get_ns();
  weight = now - *since;
  bpf_map_delete_elem(&blocked, &thread);
  ids = current_ids();
  pid = ids >> 32;
  p = bpf_map_lookup_elem(&processes, &pid);
  k = my_work();
  if (!p || !k) return 0;
  weight = weight_of(k, weight, now);
  if (weight == 0) return 0;
  k = begin_sample(p, ids);
  if (!k) return 0;
  k->record.time = now;
  k->record.weight = weight;
  k->record.flags = SMP_OFF_CPU;
  struct task_struct *task = bpf_get_current_task_btf();
  bpf_probe_read_kernel(k->regs, sizeof(k->regs), (void *)bpf_task_pt_regs(task));
  take_sample(k, p, task, context);
  return 0;
}

/* At the end of the scheduler's work, in the thread that it has chosen: a tracepoint of Linux 6.16. */
SEC("tp_btf/sched_exit_tp")
int runs_traced(void *context) {
  return runs(context);
}

/* The same before Linux 6.16. */
SEC("fexit/schedule")
int runs_returned(void *context) {
  return runs(context);
}

/* The addresses have another meaning in a new program. */
SEC("raw_tracepoint/sched_process_exec")
int on_exec(void *context) {
  __u32 pid = current_ids() >> 32;
  struct smp_process *p = bpf_map_lookup_elem(&processes, &pid);
  __u32 serial;
  (void)context;
  if (!p) return 0;
  serial = p->serial;
  bpf_map_delete_elem(&processes, &pid);
  bpf_ringbuf_output(&execs, &serial, sizeof(serial), BPF_RB_NO_WAKEUP);
  return 0;
}
