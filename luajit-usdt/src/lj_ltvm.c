/*
** Tracing of calls: the interpreter's fast path, x64.
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
** Registers as in vm_x64.dasc: BASE rdx, PC rbx, DISPATCH r14, RA rcx, RD rax,
** OP rbp; rdi, rsi, r8-r11 are free between two instructions. */

#define lj_ltvm_c
#define LUA_CORE

#include "lj_obj.h"

#if defined(LUAJIT_USE_SDT) && LJ_TARGET_X64 && LJ_GC64 && !LJ_ABI_WIN

#include "lj_bc.h"
#include "lj_frame.h"
#include "lj_dispatch.h"
#include "lj_ltrace.h"

#define LTOFS(f) \
  ((int)(GG_OFS(lt) + (int)offsetof(LTState, f) - GG_OFS(dispatch)))
#define PTOFS(f)	((int)offsetof(GCproto, f) - (int)sizeof(GCproto))

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

LJ_STATIC_ASSERT(LT_ENTRY == 1 && LT_RETURN == 2 && LT_KIND_BITS == 3);
LJ_STATIC_ASSERT(LT_TIME_SHIFT == 24 && LT_RING_BLOCK_SIZE == 65536);

#endif
