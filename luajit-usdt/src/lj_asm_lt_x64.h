/*
** Tracing of calls: x64 machine code of events and segments.
** Included by lj_asm_lt.h.
** SPDX-License-Identifier: MIT
**
** An event:
**   rdtsc; shl rdx, 32; or rax, rdx; shl rax, 24; or rax, word
**   mov p, [lt->wp]; mov [p], rax; add p, 8; mov [lt->wp], p
**   test p, blocksize-1; jnz >1; call lj_ltring_slow; 1:
**
** Invariant: clobbers rax, rdx, one more register and the flags, nothing else:
** lj_ltring_slow saves all registers (see lj_ltring.c). */

#define RSET_LTWORD	(RID2RSET(RID_EAX)|RID2RSET(RID_EDX)|RID2RSET(RID_ECX))

LJ_ASMF void lj_ltring_slow(void);

/* rax is stored at p, which moves on; then the flags tell whether it is in the block still. */
static void asm_ltstore(ASMState *as, Reg p, int32_t wp)
{
  emit_i32(as, LT_RING_BLOCK_SIZE-1);
  emit_rr(as, XO_GROUP3, XOg_TEST, p);
  emit_rmro(as, XO_MOVto, p|REX_64, RID_DISPATCH, wp);
  emit_gri(as, XG_ARITHi(XOg_ADD), p|REX_64, 8);
  emit_rmro(as, XO_MOVto, RID_EAX|REX_64, p, 0);
}

/* rax is the word with its time. */
static void asm_lttime(ASMState *as, int32_t word)
{
  emit_gri(as, XG_ARITHi(XOg_OR), RID_EAX|REX_64, word);
  emit_shifti(as, XOg_SHL|REX_64, RID_EAX, LT_TIME_SHIFT);
  emit_rr(as, XO_ARITH(XOg_OR), RID_EAX|REX_64, RID_EDX);
  emit_shifti(as, XOg_SHL|REX_64, RID_EDX, 32);
  *--as->mcp = 0x31;  /* rdtsc */
  *--as->mcp = 0x0f;
}

static void asm_ltword(ASMState *as, IRIns *ir)
{
  LTState *lt = &J2GG(as->J)->lt;
  int32_t wp = (int32_t)dispofs(as, &lt->wp);
  int32_t word = IR(ir->op1)->i;
  const Reg p = RID_ECX;
  MCLabel l_end;
  ra_evictset(as, RSET_LTWORD);
  checkmclim(as);
  l_end = emit_label(as);
  emit_call(as, lj_ltring_slow);
  emit_sjcc(as, CC_NZ, l_end);
  asm_ltstore(as, p, wp);
  emit_rmro(as, XO_MOV, p|REX_64, RID_DISPATCH, wp);
  asm_lttime(as, word);
}

#if LJ_LTSEGMENTS

/* An iteration of a trace that is described by segments begins. Clobbers only the flags: the call is
** indirect, because upstream makes one that is too far away with rax. */
static void asm_ltcount(ASMState *as)
{
  LTState *lt = &J2GG(as->J)->lt;
  MCLabel l_end;
  int level;
  if (!lt->segrec || !lj_ltseg_counts(as->J)) return;
  level = lj_ltseg_level(as->J);
  checkmclim(as);
  l_end = emit_label(as);
  emit_rmro(as, XO_GROUP5, XOg_CALL, RID_DISPATCH, (int32_t)dispofs(as, &lt->slow));
  emit_sjcc(as, CC_NZ, l_end);
  emit_gmroi(as, XG_ARITHi(XOg_SUB), RID_DISPATCH,
	     (int32_t)dispofs(as, &lt->count[level-1].left), 1);
  checkmclim(as);
}

/* The word of a place: mov p, [lt->wp]; mov eax, word; test p, 127; jnz >1; rdtsc ...; 1: as in
** asm_ltword. Only one word in 16 has a time, which takes most of what a word costs. */
static void asm_ltplace(ASMState *as, int32_t word, MCLabel l_end)
{
  LTState *lt = &J2GG(as->J)->lt;
  int32_t wp = (int32_t)dispofs(as, &lt->wp);
  const Reg p = RID_ECX;
  MCLabel l_store;
  emit_jmp(as, l_end);
  emit_call(as, lj_ltring_slow);
  emit_jcc(as, CC_NZ, l_end);
  asm_ltstore(as, p, wp);
  checkmclim(as);
  l_store = emit_label(as);
  asm_lttime(as, word);
  emit_sjcc(as, CC_NZ, l_store);
  emit_i32(as, LT_SEGMENT_UNTIMED*8-1);
  emit_rr(as, XO_GROUP3, XOg_TEST, p);
  emit_loadi(as, RID_EAX, word);
  emit_rmro(as, XO_MOV, p|REX_64, RID_DISPATCH, wp);
  checkmclim(as);
}

/* Are places in lt->segpack, or is it closed? The last one of its items is not LT_PACK_NONE, so half of
** it tells. */
static void asm_ltpacked(ASMState *as)
{
  emit_gmroi(as, XG_ARITHi(XOg_CMP), RID_DISPATCH,
	     (int32_t)dispofs(as, &J2GG(as->J)->lt.segpack), LT_PACK_NONE);
}

/* Call the VM if there are iterations on the first levels. */
static void asm_ltlook(ASMState *as, int levels, MCLabel l_call)
{
  LTState *lt = &J2GG(as->J)->lt;
  int i;
  for (i = levels; i-- > 0; ) {
    emit_jcc(as, CC_NE, l_call);
    emit_rmro(as, XO_CMP, RID_EAX, RID_DISPATCH, (int32_t)dispofs(as, &lt->count[i].start));
    emit_rmro(as, XO_MOV, RID_EAX, RID_DISPATCH, (int32_t)dispofs(as, &lt->count[i].left));
    checkmclim(as);
  }
}

/* Call the VM if the trace that follows tells by times how long it runs, and one is due soon. */
static void asm_ltopen(ASMState *as, MCLabel l_call)
{
  LTState *lt = &J2GG(as->J)->lt;
  if (!lj_ltseg_opens(as->J)) return;
  emit_jcc(as, CC_BE, l_call);
  emit_rmro(as, XO_CMP, RID_EAX, RID_DISPATCH, (int32_t)dispofs(as, &lt->segsoon));
  emit_rmro(as, XO_MOV, RID_EAX, RID_DISPATCH, (int32_t)dispofs(as, &lt->segdue));
  checkmclim(as);
}

/* The VM stores the place. Returns where that begins. */
static MCLabel asm_ltvmlink(ASMState *as, uint32_t id)
{
  MCLabel l_call;
  emit_call(as, lj_ltseg_link);
  emit_loadi(as, RID_EDX, as->T->snap[as->T->nsnap-1].nev);
  emit_loadi(as, RID_ESI, (int32_t)id);
  emit_loadu64(as, RID_EDI, (uint64_t)(uintptr_t)&J2GG(as->J)->lt);
  l_call = emit_label(as);
  checkmclim(as);
  return l_call;
}

/* The trace has nothing to tell, but what follows it is not described. */
static void asm_ltflush(ASMState *as)
{
  MCLabel l_end;
  checkmclim(as);
  ra_evictset(as, RSET_SCRATCH);
  checkmclim(as);
  l_end = emit_label(as);
  emit_call(as, lj_ltseg_flush);
  emit_loadu64(as, RID_EDI, (uint64_t)(uintptr_t)&J2GG(as->J)->lt);
  emit_jcc(as, CC_E, l_end);
  asm_ltpacked(as);
  checkmclim(as);
  ra_allocref(as, REF_BASE, RID2RSET(RID_BASE));
}

/* The trace has nothing to tell, but leaves a loop that does: if lt->segpack is closed, the VM stores where
** it ends. */
static void asm_ltclose(ASMState *as, uint32_t id)
{
  MCLabel l_end;
  checkmclim(as);
  ra_evictset(as, RSET_SCRATCH);
  checkmclim(as);
  l_end = emit_label(as);
  asm_ltvmlink(as, id);
  emit_jcc(as, CC_NE, l_end);
  emit_gmroi(as, XG_ARITHi(XOg_CMP), RID_DISPATCH,
	     (int32_t)dispofs(as, &J2GG(as->J)->lt.segpack), 0);
  checkmclim(as);
  ra_allocref(as, REF_BASE, RID2RSET(RID_BASE));
}

/* Such a trace ends in a link, at the place id; 0: it has nothing to tell. The VM stores what is more
** than a word, and what must have a time. */
static void asm_ltend(ASMState *as, uint32_t id)
{
  MCLabel l_end, l_call;
  if (!id) {
    uint32_t after = lj_ltseg_closes(as->J);
    if (after) asm_ltclose(as, after);
    else if (!lj_ltseg_linked(as->J)) asm_ltflush(as);
    return;
  }
  if (lj_ltseg_packs(as->J, id)) return;  /* asm_lttail() */
  checkmclim(as);
  ra_evictset(as, RSET_SCRATCH);
  checkmclim(as);
  l_end = emit_label(as);
  l_call = asm_ltvmlink(as, id);
  asm_ltplace(as, (int32_t)((LT_SEGMENT_FIRST+id) << LT_KIND_BITS | LT_SUSPEND), l_end);
  emit_jcc(as, CC_NE, l_call);
  asm_ltpacked(as);
  asm_ltlook(as, lj_ltseg_level(as->J), l_call);
  asm_ltopen(as, l_call);
  /* asm_stack_check() takes BASE from its register, which was just evicted. */
  ra_allocref(as, REF_BASE, RID2RSET(RID_BASE));
}

/* Before the place that joins others goes an item of the iterations on the level, if there are any, and
** if there is space for both.
**   mov ecx, [start]; sub ecx, [left]; je >l_place; cmp ecx, 255; ja ->l_call; shl rax, 20; js ->l_call
**   or rax, rcx; mov ecx, [left]; mov [start], ecx */
static void asm_ltiterations(ASMState *as, int level, MCLabel l_call)
{
  LTCount *c = &J2GG(as->J)->lt.count[level];
  int32_t left = (int32_t)dispofs(as, &c->left), start = (int32_t)dispofs(as, &c->start);
  MCLabel l_place = emit_label(as);
  emit_rmro(as, XO_MOVto, RID_ECX, RID_DISPATCH, start);
  emit_rmro(as, XO_MOV, RID_ECX, RID_DISPATCH, left);
  emit_rr(as, XO_ARITH(XOg_OR), RID_EAX|REX_64, RID_ECX);
  if (level) emit_gri(as, XG_ARITHi(XOg_OR), RID_ECX, (int32_t)(level*LT_PACKED_COUNTS));
  emit_jcc(as, CC_S, l_call);
  emit_shifti(as, XOg_SHL|REX_64, RID_EAX, LT_PACKED_BITS);
  checkmclim(as);
  emit_jcc(as, CC_A, l_call);
  emit_gri(as, XG_ARITHi(XOg_CMP), RID_ECX, (int32_t)LT_PACKED_COUNTS-1);
  emit_sjcc(as, CC_E, l_place);
  emit_rmro(as, XO_ARITH(XOg_SUB), RID_ECX, RID_DISPATCH, left);
  emit_rmro(as, XO_MOV, RID_ECX, RID_DISPATCH, start);
  checkmclim(as);
}

/* Such a trace links to another one that is described: the place joins others in one word. This is
** the last that the trace does, so nothing but BASE is in a register.
**   mov rax, [lt->segpack]; shl rax, 20; or rax, item; mov [lt->segpack], rax; jns >end
**   call lj_ltseg_full; mov BASE, [g->jit_base]; end: */
static void asm_lttail(ASMState *as)
{
  LTState *lt = &J2GG(as->J)->lt;
  int32_t pack = (int32_t)dispofs(as, &lt->segpack);
  uint32_t id;
  int level, inner;
  MCLabel l_end, l_base, l_call;
  if (!lt->segrec || as->T->link == as->T->traceno) return;
  id = lj_ltseg_endid(as->J);
  if (!id || !lj_ltseg_packs(as->J, id)) return;
  level = lj_ltseg_level(as->J);
  inner = level > 0 && level <= (int)LT_PACKED_LEVELS;
  l_end = emit_label(as);
  emit_getgl(as, RID_BASE, jit_base);
  l_base = emit_label(as);
  l_call = asm_ltvmlink(as, id);
  emit_jmp(as, l_base);
  emit_call(as, lj_ltseg_full);
  emit_loadu64(as, RID_EDI, (uint64_t)(uintptr_t)lt);
  emit_jcc(as, CC_NS, l_end);
  checkmclim(as);
  emit_rmro(as, XO_MOVto, RID_EAX|REX_64, RID_DISPATCH, pack);
  emit_gri(as, XG_ARITHi(XOg_OR), RID_EAX|REX_64, (int32_t)(LT_PACKED_PLACE+id));
  emit_shifti(as, XOg_SHL|REX_64, RID_EAX, LT_PACKED_BITS);
  checkmclim(as);
  if (inner) asm_ltiterations(as, level-1, l_call);
  emit_rmro(as, XO_MOV, RID_EAX|REX_64, RID_DISPATCH, pack);
  asm_ltlook(as, level-inner, l_call);
  asm_ltopen(as, l_call);
  checkmclim(as);
}

#endif
