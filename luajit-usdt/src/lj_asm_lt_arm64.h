/*
** Tracing of calls: arm64 machine code of events and segments.
** Included by lj_asm_lt.h.
** SPDX-License-Identifier: MIT
**
** An event:
**   mov w6, word; ldr x7, [lt->wp]; mrs lr, cntvct_el0; orr x6, x6, lr, lsl #24
**   stlr x6, [x7]; add x7, x7, #8; str x7, [lt->wp]
**   tst x7, #blocksize-1; b.ne >1; bl lj_ltring_slow; 1:
**
** Invariant: clobbers x6, x7, lr and the flags, nothing else: lj_ltring_slow saves all other
** registers (see lj_ltring.c). Upstream's emit_*() merge what they emit with the next instruction,
** at which a label of ours may be, and allocate registers: nothing of that may
** happen between a branch and its target. So words are encoded here.
**
** The word is stored with release: a reader that sees it sees all that was stored before, so also the
** description of its function. */

#define RID_LTWORD	RID_X6
#define RID_LTP		RID_X7
#define RSET_LTWORD	(RID2RSET(RID_LTWORD)|RID2RSET(RID_LTP))

LJ_ASMF void lj_ltring_slow(void);

enum {
  LTI_LDRx = 0xf9400000, LTI_STRx = 0xf9000000,  /* rt, [rn, #ofs] */
  LTI_LDRw = 0xb9400000, LTI_STRw = 0xb9000000,
  LTI_MOVZw = 0x52800000, LTI_MOVKw = 0x72a00000,  /* rd, #u16; rd, #u16, lsl #16 */
  LTI_MOVZx = 0xd2800000, LTI_MOVKx = 0xf2800000,
  LTI_CNTVCT = 0xd53be040,  /* mrs rt, cntvct_el0 */
  LTI_ORR_LSL = 0xaa000000, LTI_EOR_LSR = 0xca400000,  /* rd, rn, rm, #n */
  LTI_STLR = 0xc89ffc00,  /* rt, [rn] */
  LTI_ADDx = 0x91000000, LTI_SUBSw = 0x71000000,  /* rd, rn, #u12 */
  LTI_TST = 0xf240001f,  /* rn, #(1<<n)-1 */
  LTI_BL = 0x94000000, LTI_BLR = 0xd63f0000
};

/* An instruction before those that there are. */
static void ltemit(ASMState *as, uint32_t ins)
{
  *--as->mcp = ins;
}

#define LTI_D(r)	((uint32_t)(r))
#define LTI_N(r)	((uint32_t)(r) << 5)
#define LTI_M(r)	((uint32_t)(r) << 16)
#define LTI_SHIFT(n)	((uint32_t)(n) << 10)
#define LTI_U12(n)	((uint32_t)(n) << 10)

/* Load or store a member of LTState. */
static void ltemit_member(ASMState *as, uint32_t ins, Reg r, void *p)
{
  uint32_t scale = ins >> 30;
  ptrdiff_t ofs = (char *)p - (char *)J2G(as->J);
  lj_assertA(ofs >= 0 && ofs < (ptrdiff_t)4096 << scale && (ofs & ((1 << scale)-1)) == 0,
	     "LTState is out of reach");
  ltemit(as, ins | LTI_D(r) | LTI_N(RID_GL) | LTI_U12(ofs >> scale));
}

/* r = k */
static void ltemit_loadi(ASMState *as, Reg r, uint32_t k)
{
  if (k >> 16) ltemit(as, LTI_MOVKw | LTI_D(r) | (k >> 16) << 5);
  ltemit(as, LTI_MOVZw | LTI_D(r) | (k & 0xffff) << 5);
}

static void ltemit_loadptr(ASMState *as, Reg r, uint64_t k)
{
  uint32_t i;
  for (i = 3; i > 0; i--)
    if ((k >> 16*i) & 0xffff)
      ltemit(as, LTI_MOVKx | LTI_D(r) | i << 21 | (uint32_t)((k >> 16*i) & 0xffff) << 5);
  ltemit(as, LTI_MOVZx | LTI_D(r) | (uint32_t)(k & 0xffff) << 5);
}

/* Call our code. Upstream's emit_call() may allocate a register. */
static void ltemit_call(ASMState *as, ASMFunction target)
{
  ptrdiff_t delta = (char *)target - (char *)(as->mcp-1);
  if (A64F_S_OK(delta >> 2, 26)) {
    ltemit(as, LTI_BL | ((uint32_t)(delta >> 2) & 0x03ffffffu));
  } else {
    ltemit(as, LTI_BLR | LTI_N(RID_LR));
    ltemit_loadptr(as, RID_LR, (uint64_t)(uintptr_t)target);
  }
}

/* Are the lowest n bits of p 0? Sets the flags. */
static void ltemit_test(ASMState *as, Reg p, uint32_t n)
{
  ltemit(as, LTI_TST | LTI_N(p) | (n-1) << 10);
}

LJ_STATIC_ASSERT(LT_RING_BLOCK_SIZE == 1 << 16 && LT_SEGMENT_UNTIMED*8 == 1 << 7);

/* The word is stored at p, which moves on; then the flags tell whether it is in the block still. */
static void asm_ltstore(ASMState *as)
{
  ltemit_test(as, RID_LTP, 16);
  ltemit_member(as, LTI_STRx, RID_LTP, &J2GG(as->J)->lt.wp);
  ltemit(as, LTI_ADDx | LTI_D(RID_LTP) | LTI_N(RID_LTP) | LTI_U12(8));
  ltemit(as, LTI_STLR | LTI_D(RID_LTWORD) | LTI_N(RID_LTP));
}

/* The word gets its time. */
static void asm_lttime(ASMState *as)
{
  ltemit(as, LTI_ORR_LSL | LTI_D(RID_LTWORD) | LTI_N(RID_LTWORD) | LTI_M(RID_LR) |
	     LTI_SHIFT(LT_TIME_SHIFT));
  ltemit(as, LTI_CNTVCT | LTI_D(RID_LR));
}

/* p and the word without its time. */
static void asm_ltbegin(ASMState *as, uint32_t word)
{
  ltemit_member(as, LTI_LDRx, RID_LTP, &J2GG(as->J)->lt.wp);
  ltemit_loadi(as, RID_LTWORD, word);
}

/* Until September 2023 upstream does not check that a TBZ reaches its exit, 32 KB from it: only with
** our words is a trace so long. (Then emit_loada was removed, and the check added.) */
#ifdef emit_loada
#define asm_ltlimit(as) \
  if ((as)->mctop - (as)->mcp > (24 << 10)/(int)sizeof(MCode)) \
    lj_trace_err((as)->J, LJ_TRERR_TRACEOV);
#else
#define asm_ltlimit(as)
#endif

static void asm_ltword(ASMState *as, IRIns *ir)
{
  uint32_t word = (uint32_t)IR(ir->op1)->i;
  MCLabel l_end;
  asm_ltlimit(as)
  ra_evictset(as, RSET_LTWORD);
  checkmclim(as);
  l_end = emit_label(as);
  ltemit_call(as, lj_ltring_slow);
  emit_cond_branch(as, CC_NE, l_end);
  asm_ltstore(as);
  asm_lttime(as);
  asm_ltbegin(as, word);
  checkmclim(as);
}

#if LJ_LTSEGMENTS

/* The number of the trace is stored at its head, if there may be one with a description. */
static void asm_lttrace(ASMState *as)
{
  LTState *lt = &J2GG(as->J)->lt;
  if (!lt->segments) return;
  checkmclim(as);
  ltemit_member(as, LTI_STRw, RID_LR, &lt->segtrace);
  ltemit_loadi(as, RID_LR, as->T->traceno);
}
#undef emit_setvmstate
#define emit_setvmstate(as, i)	{ UNUSED(i); asm_lttrace((as)); }

/* An iteration of a trace that is described by segments begins. Clobbers lr and the flags. */
static void asm_ltcount(ASMState *as)
{
  LTState *lt = &J2GG(as->J)->lt;
  uint32_t *left;
  MCLabel l_end;
  if (!lt->segrec || !lj_ltseg_counts(as->J)) return;
  left = &lt->count[lj_ltseg_level(as->J)-1].left;
  checkmclim(as);
  l_end = emit_label(as);
  ltemit_call(as, lj_ltseg_slow);
  emit_cond_branch(as, CC_NE, l_end);
  ltemit_member(as, LTI_STRw, RID_LR, left);
  ltemit(as, LTI_SUBSw | LTI_D(RID_LR) | LTI_N(RID_LR) | LTI_U12(1));
  ltemit_member(as, LTI_LDRw, RID_LR, left);
  checkmclim(as);
}

/* The word of a place, which has a time only if it is one of 16 in the block. */
static void asm_ltplace(ASMState *as, uint32_t word, MCLabel l_end)
{
  MCLabel l_store;
  emit_branch(as, A64I_B, l_end);
  ltemit_call(as, lj_ltring_slow);
  emit_cond_branch(as, CC_NE, l_end);
  checkmclim(as);
  asm_ltstore(as);
  l_store = emit_label(as);
  asm_lttime(as);
  emit_cond_branch(as, CC_NE, l_store);
  ltemit_test(as, RID_LTP, 7);
  asm_ltbegin(as, word);
  checkmclim(as);
}

/* Has an iteration been counted since the last word? */
static void asm_ltcounted(ASMState *as, MCLabel l_call)
{
  LTState *lt = &J2GG(as->J)->lt;
  int i;
  for (i = lj_ltseg_level(as->J); i-- > 0; ) {
    emit_cnb(as, A64I_CBNZ, RID_LTP, l_call);
    ltemit(as, LTI_EOR_LSR | LTI_D(RID_LTP) | LTI_N(RID_LTP) | LTI_M(RID_LTP) | LTI_SHIFT(32));
    ltemit_member(as, LTI_LDRx, RID_LTP, &lt->count[i]);  /* left and start */
    checkmclim(as);
  }
}

/* The VM stores the place. Returns where that begins. */
static MCLabel asm_ltvmlink(ASMState *as, uint32_t id)
{
  MCLabel l_call;
  ltemit_call(as, (ASMFunction)(void *)lj_ltseg_link);
  ltemit_loadi(as, RID_X2, as->T->snap[as->T->nsnap-1].nev);
  ltemit_loadi(as, RID_X1, id);
  checkmclim(as);
  ltemit_loadptr(as, RID_X0, (uint64_t)(uintptr_t)&J2GG(as->J)->lt);
  l_call = emit_label(as);
  checkmclim(as);
  return l_call;
}

/* Such a trace ends in a link, at the place id; 0: it has nothing to tell, unless it leaves a loop after
** which there must be a word. The VM stores what is more than a word, and what must have a time. */
static void asm_ltend(ASMState *as, uint32_t id)
{
  LTState *lt = &J2GG(as->J)->lt;
  uint32_t after = id ? 0 : lj_ltseg_closes(as->J);
  MCLabel l_end, l_call;
  if (!id && !after) return;
  checkmclim(as);
  ra_evictset(as, RSET_SCRATCH);
  checkmclim(as);
  l_end = emit_label(as);
  l_call = asm_ltvmlink(as, id ? id : after);
  if (after) {
    emit_cnb(as, A64I_CBZ, RID_LTP, l_end);
    ltemit_member(as, LTI_LDRw, RID_LTP, &lt->seggo);
    return;
  }
  if (lj_ltseg_opens(as->J)) return;  /* Always the VM. */
  asm_ltplace(as, (LT_SEGMENT_FIRST+id) << LT_KIND_BITS | LT_SUSPEND, l_end);
  emit_cnb(as, A64I_CBNZ, RID_LTP, l_call);
  ltemit_member(as, LTI_LDRw, RID_LTP, &lt->seggo);
  asm_ltcounted(as, l_call);
}

#endif
