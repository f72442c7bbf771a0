/*
** Tracing of calls: the interpreter's fast path, x64 and arm64.
** SPDX-License-Identifier: MIT
**
** Two targets for the dispatch table, used while event words go to a ring and nothing
** else (no hook, no trace recording, no probe) wants calls and returns: lj_ltvm_func
** for FUNCF, lj_ltvm_ret for RET*. Each stores one word and continues at the static
** instruction. A third one, lj_ltvm_hook, is lj_vm_callhook for calls that only tracing
** wants. lj_vm_callhook clears SAVE_PC, with which line hooks compare the next
** instruction, so it is saved here and restored by lj_ltvm_back, which lj_ltrace_call
** gives lj_vm_callhook as the target.
**
** Invariant: whatever is not the plain case goes to lj_ltvm_hook or lj_vm_record with
** all registers unchanged, before anything is stored.
** x64: registers as in vm_x64.dasc: BASE rdx, PC rbx, DISPATCH r14, RA rcx, RD rax,
** OP rbp; rdi, rsi, r8-r11 are free between two instructions.
** arm64: as in vm_arm64.dasc: BASE x19, PC x21, GL x22, L x23, INS x16, RA x27, RC x28, CARG3 x2,
** TMP1 x9; x10-x12 and lr are free between two instructions. */

#define lj_ltvm_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include "lj_bc.h"
#include "lj_frame.h"
#include "lj_dispatch.h"
#include "lj_ltrace.h"

#if LJ_LTVMFAST

#define PTOFS(f)	((int)offsetof(GCproto, f) - (int)sizeof(GCproto))

#if LJ_TARGET_X64

#define LTOFS(f) \
  ((int)(GG_OFS(lt) + (int)offsetof(LTState, f) - GG_OFS(dispatch)))

/* Not the plain case: another coroutine, something has changed, a handler. */
#define CHECKS \
  "  movq %%rax, %%r8\n" \
  "  movq %%rdx, %%r9\n" \
  "  movq %c[ofsL](%%rsp), %%rdi\n" \
  "  cmpq %c[ltL](%%r14), %%rdi\n  jne 9f\n" \
  "  movq lj_ltcontrol(%%rip), %%rsi\n" \
  "  cmpq %c[seen](%%r14), %%rsi\n  jne 9f\n" \
  "  cmpl $0, %c[stop](%%r14)\n  jne 9f\n" \
  "  testb %[vmev], %c[hookmask](%%r14)\n  jnz 9f\n"

/* r10: lt_rec of the prototype. Excluded: 1f, not known: 9f. */
#define CHECKREC \
  "  subl %c[rec2](%%r14), %%r10d\n  jz 2f\n" \
  "  cmpl $1, %%r10d\n  je 1f\n  jmp 9f\n2:\n"

/* r11: function id. */
#define STORE(kind) \
  "  cmpl %[big], %%r11d\n  jae 9f\n" \
  "  rdtsc\n  shlq $32, %%rdx\n  orq %%rdx, %%rax\n" \
  "  cmpq %c[deadline](%%r14), %%rax\n  jae 9f\n" \
  "  shlq $24, %%rax\n" \
  "  leaq " kind "(,%%r11,8), %%r11\n" \
  "  orq %%r11, %%rax\n" \
  "  movq %c[wp](%%r14), %%rsi\n" \
  "  movq %%rax, (%%rsi)\n" \
  "  addq $8, %%rsi\n" \
  "  movq %%rsi, %c[wp](%%r14)\n" \
  "  testw %%si, %%si\n  jnz 1f\n" \
  "  call lj_ltring_slow\n"


/* Never called: carries the targets, whose offsets only the compiler knows. */
static __attribute__((used, noinline LT_NOCLONE)) void lj_ltvm_code(void)
{
  __asm__ volatile(
    "  jmp 8f\n"
    "  .p2align 4\n"
    "  .hidden lj_ltvm_func\n  .globl lj_ltvm_func\n"
    "lj_ltvm_func:\n"
    CHECKS
    "  movl %c[ptrec]-4(%%rbx), %%r10d\n"
    CHECKREC
    "  leaq (%%rdx,%%rcx,8), %%rsi\n"
    "  cmpq %c[maxstack](%%rdi), %%rsi\n  ja 9f\n"
    "  movl %c[ptid]-4(%%rbx), %%r11d\n"
    STORE("1")
    "1:\n  movq %%r8, %%rax\n  movq %%r9, %%rdx\n"
    "  movzbl -4(%%rbx), %%ebp\n"
    "  jmp *%c[target](%%r14,%%rbp,8)\n"
    "9:\n  movq %%r8, %%rax\n  movq %%r9, %%rdx\n"
    "  .hidden lj_ltvm_hook\n  .globl lj_ltvm_hook\n"
    "lj_ltvm_hook:\n"
    "  movq %c[ofsPC](%%rsp), %%rdi\n"
    "  movq %%rdi, %c[oldpc](%%r14)\n"
    "  jmp lj_vm_callhook\n"
    "  .p2align 4\n"
    "  .hidden lj_ltvm_back\n  .globl lj_ltvm_back\n"
    "lj_ltvm_back:\n"
    "  movq %c[oldpc](%%r14), %%rdi\n"
    "  movq $-1, %c[oldpc](%%r14)\n"
    "  movq %%rdi, %c[ofsPC](%%rsp)\n"
    "  jmp *%c[onward](%%r14)\n"
    "  .p2align 4\n"
    "  .hidden lj_ltvm_ret\n  .globl lj_ltvm_ret\n"
    "lj_ltvm_ret:\n"
    CHECKS
    "  movq -16(%%rdx), %%rsi\n"
    "  shlq $17, %%rsi\n  shrq $17, %%rsi\n"
    "  movq %c[funcpc](%%rsi), %%rsi\n"
    "  movl %c[ptrec](%%rsi), %%r10d\n"
    CHECKREC
    "  movl %c[ptid](%%rsi), %%r11d\n"
    STORE("2")
    "1:\n  movq %%r8, %%rax\n  movq %%r9, %%rdx\n"
    "  movzbl -4(%%rbx), %%ebp\n"
    "  jmp *%c[disp2static](%%r14,%%rbp,8)\n"
    "9:\n  movq %%r8, %%rax\n  movq %%r9, %%rdx\n"
    "  jmp lj_vm_record\n"
    "8:\n"
    : : [ofsL] "i" (CFRAME_OFS_L), [ofsPC] "i" (CFRAME_OFS_PC),
	[oldpc] "i" (LTOFS(oldpc)), [onward] "i" (LTOFS(onward)), [ltL] "i" (LTOFS(L)),
	[seen] "i" (LTOFS(seen)), [stop] "i" (LTOFS(stop)),
	[rec2] "i" (LTOFS(rec2)), [deadline] "i" (LTOFS(deadline)),
	[wp] "i" (LTOFS(wp)), [vmev] "i" (HOOK_VMEVENT), [big] "i" (LT_PAYLOAD_BIG),
	[hookmask] "i" (GG_DISP2G + (int)offsetof(global_State, hookmask)),
	[ptrec] "i" (PTOFS(lt_rec)), [ptid] "i" (PTOFS(lt_id)),
	[maxstack] "i" ((int)offsetof(lua_State, maxstack)),
	[funcpc] "i" ((int)offsetof(GCfuncL, pc)),
	[target] "i" (LTOFS(target) - 8*(int)BC_FUNCF),
	[disp2static] "i" (GG_DISP2STATIC)
    : "memory");
}

#else

#define LTOFS(f)	((int)(GG_OFS(lt) + (int)offsetof(LTState, f) - GG_OFS(g)))

#if LJ_ABI_BRANCH_TRACK
#define LANDING		"  hint #38\n"	/* bti jc */
#else
#define LANDING		""
#endif

/* Not the plain case: another coroutine, something has changed, a handler. */
#define CHECKS \
  "  ldr x10, [x22, #%c[ltL]]\n" \
  "  cmp x10, x23\n  b.ne 9f\n" \
  "  adrp x10, lj_ltcontrol\n  ldr x10, [x10, :lo12:lj_ltcontrol]\n" \
  "  ldr x11, [x22, #%c[seen]]\n" \
  "  cmp x10, x11\n  b.ne 9f\n" \
  "  ldr w10, [x22, #%c[stop]]\n  cbnz w10, 9f\n" \
  "  ldrb w10, [x22, #%c[hookmask]]\n" \
  "  tst w10, #%c[vmev]\n  b.ne 9f\n"

/* w10: lt_rec of the prototype. Excluded: 1f, not known: 9f. */
#define CHECKREC \
  "  ldr w11, [x22, #%c[rec2]]\n" \
  "  subs w10, w10, w11\n  b.eq 2f\n" \
  "  cmp w10, #1\n  b.eq 1f\n  b 9f\n2:\n"

/* w11: function id; LT_PAYLOAD_BIG is 21 bits of 1. */
#define STORE(kind) \
  "  add w10, w11, #1\n  lsr w10, w10, #21\n  cbnz w10, 9f\n" \
  "  mrs x10, cntvct_el0\n" \
  "  ldr x12, [x22, #%c[deadline]]\n" \
  "  cmp x10, x12\n  b.hs 9f\n" \
  "  ldr x12, [x22, #%c[wp]]\n" \
  "  lsl w11, w11, #3\n  orr w11, w11, #" kind "\n" \
  "  orr x11, x11, x10, lsl #24\n" \
  "  stlr x11, [x12]\n" \
  "  add x12, x12, #8\n" \
  "  str x12, [x22, #%c[wp]]\n" \
  "  tst x12, #0xffff\n  b.ne 1f\n" \
  "  bl lj_ltring_slow\n"

/* x10: the opcode; targets: offset of their table. */
#define DISPATCH(targets) \
  "1:\n  ldrb w10, [x21, #-4]\n" \
  "  add x10, x22, x10, lsl #3\n" \
  "  ldr x10, [x10, #%c[" targets "]]\n  br x10\n"

/* Never called: carries the targets, whose offsets only the compiler knows. */
static __attribute__((used, noinline LT_NOCLONE)) void lj_ltvm_code(void)
{
  __asm__ volatile(
    "  b 8f\n"
    "  .p2align 4\n"
    "  .hidden lj_ltvm_func\n  .globl lj_ltvm_func\n"
    "lj_ltvm_func:\n" LANDING
    CHECKS
    "  ldr w10, [x21, #%c[ptrec]-4]\n"
    CHECKREC
    "  ldr x10, [x23, #%c[maxstack]]\n"
    "  cmp x27, x10\n  b.hi 9f\n"
    "  ldr w11, [x21, #%c[ptid]-4]\n"
    STORE("1")
    DISPATCH("target")
    "9:\n"
    "  .hidden lj_ltvm_hook\n  .globl lj_ltvm_hook\n"
    "lj_ltvm_hook:\n" LANDING
    "  ldr x10, [sp, #%c[ofsPC]]\n"
    "  str x10, [x22, #%c[oldpc]]\n"
    "  b lj_vm_callhook\n"
    "  .p2align 4\n"
    "  .hidden lj_ltvm_back\n  .globl lj_ltvm_back\n"
    "lj_ltvm_back:\n" LANDING
    "  ldr x10, [x22, #%c[oldpc]]\n"
    "  mov x11, #-1\n  str x11, [x22, #%c[oldpc]]\n"
    "  str x10, [sp, #%c[ofsPC]]\n"
    "  ldr x10, [x22, #%c[onward]]\n  br x10\n"
    "  .p2align 4\n"
    "  .hidden lj_ltvm_ret\n  .globl lj_ltvm_ret\n"
    "lj_ltvm_ret:\n" LANDING
    CHECKS
    "  ldr x12, [x19, #-16]\n"
    "  and x12, x12, #0x7fffffffffff\n"
    "  ldr x12, [x12, #%c[funcpc]]\n"
    "  ldr w10, [x12, #%c[ptrec]]\n"
    CHECKREC
    "  ldr w11, [x12, #%c[ptid]]\n"
    STORE("2")
    DISPATCH("fixed")
    "9:\n  b lj_vm_record\n"
    "8:\n"
    : : [ofsPC] "i" (CFRAME_OFS_PC),
	[oldpc] "i" (LTOFS(oldpc)), [onward] "i" (LTOFS(onward)), [ltL] "i" (LTOFS(L)),
	[seen] "i" (LTOFS(seen)), [stop] "i" (LTOFS(stop)),
	[rec2] "i" (LTOFS(rec2)), [deadline] "i" (LTOFS(deadline)),
	[wp] "i" (LTOFS(wp)), [vmev] "i" (HOOK_VMEVENT),
	[hookmask] "i" ((int)offsetof(global_State, hookmask)),
	[ptrec] "i" (PTOFS(lt_rec)), [ptid] "i" (PTOFS(lt_id)),
	[maxstack] "i" ((int)offsetof(lua_State, maxstack)),
	[funcpc] "i" ((int)offsetof(GCfuncL, pc)),
	[target] "i" (LTOFS(target) - 8*(int)BC_FUNCF),
	[fixed] "i" (GG_G2DISP + GG_DISP2STATIC)
    : "memory");
}

LJ_STATIC_ASSERT(LT_PAYLOAD_BIG == (1u << 21)-1 && LJ_GCVMASK == (((uint64_t)1 << 47)-1));

#endif

LJ_STATIC_ASSERT(LT_ENTRY == 1 && LT_RETURN == 2 && LT_KIND_BITS == 3);
LJ_STATIC_ASSERT(LT_TIME_SHIFT == 24 && LT_RING_BLOCK_SIZE == 65536);

#endif

#endif
