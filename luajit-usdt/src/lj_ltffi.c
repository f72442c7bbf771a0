/*
** Tracing of calls: C functions that are called by FFI.
** SPDX-License-Identifier: MIT
**
** Invariant: such a function is known by the type of the object that is called, since that
** is all that compiled code knows. A declared function has a type of its own; those that are
** called through pointers of one type count as one function, which has no address. */

#define lj_ltffi_c
#define LUA_CORE

#include "lj_obj.h"

#if defined(LUAJIT_USE_SDT) && LJ_HASFFI

#include "lj_bc.h"
#include "lj_debug.h"
#include "lj_ff.h"
#include "lj_frame.h"
#include "lj_ctype.h"
#include "lj_cdata.h"
#include "lj_dispatch.h"
#include "lj_ltrace.h"
#include "lj_ltlocal.h"

/* Odd, so it is no address. */
#define ffikey(ctype)	((void *)(((uintptr_t)(ctype) << 1) | 1))

/* The entry of what objects of this type call, or NULL. */
LTFunc *lj_ltffi_find(LTState *lt, uint32_t ctype)
{
  return lj_ltfunc_find(lt, ffikey(ctype));
}

/* A new entry for what cd calls. If that is declared, it has the address of its first call.
** hint: name of an undeclared function. */
static LTFunc *newffi(lua_State *L, GCcdata *cd, const char *hint)
{
  LTState *lt = L2LT(L);
  GCobj *declared = gcref(ctype_get(ctype_ctsG(G(L)), cd->ctypeid)->name);
  LTFunc *f = declared ?
    lj_ltfunc_new(lt, ffikey(cd->ctypeid), strdata(gco2str(declared)), LT_NAME_DEFINED) :
    lj_ltfunc_new(lt, ffikey(cd->ctypeid), hint ? hint : "ffi", LT_NAME_HINT);
  if (f) f->code = declared ? cdata_getptr(cdataptr(cd), CTSIZE_PTR) : NULL;
  return f;
}

/* The id of an entry, which this recording knows then. */
static uint32_t knownid(LTState *lt, LTFunc *f)
{
  if (f->rec != lt->rec) lj_ltfunc_describe(lt, f, f->code, 0);
  return f->id;
}

/* Id of the C function that cd calls, LT_ID_UNKNOWN without memory. frame belongs to a call
** of it. */
uint32_t lj_ltffi_id(lua_State *L, GCcdata *cd, cTValue *frame)
{
  LTState *lt = L2LT(L);
  LTFunc *f = lj_ltffi_find(lt, cd->ctypeid);
  if (!f) f = newffi(L, cd, lj_ltfunc_callname(L, frame));
  return f && f->name ? knownid(lt, f) : LT_ID_UNKNOWN;
}

/* The same for a call that has been reported. */
uint32_t lj_ltffi_callid(LTState *lt, uint32_t ctype)
{
  return knownid(lt, lj_ltffi_find(lt, ctype));
}

/* Type of the object at o, if a call of fn with it as the first argument calls a C function
** by FFI; else 0. */
uint32_t lj_ltffi_type(lua_State *L, GCfunc *fn, cTValue *o)
{
  if (lt_iscdatacall(fn) && o < L->top && tviscdata(o)) {
    CTState *cts = ctype_ctsG(G(L));
    CType *ct = ctype_raw(cts, cdataV(o)->ctypeid);
    if (ctype_isptr(ct->info)) ct = ctype_rawchild(cts, ct);
    if (ctype_isfunc(ct->info)) return cdataV(o)->ctypeid;
  }
  return 0;
}

/* As lj_ltfunc_tailcall. */
void lj_ltffi_tailcall(lua_State *L, GCfunc *fn, const BCIns *ins)
{
  cTValue *o = L->base + bc_a(*ins);
  uint32_t ctype = lt_wantffi(G(L)) ? lj_ltffi_type(L, fn, o) : 0;
  const char *name = NULL;
  if (!ctype || lj_ltffi_find(L2LT(L), ctype)) return;
  lj_debug_slotname(funcproto(curr_func(L)), ins, bc_a(*ins), &name);
  newffi(L, cdataV(o), name);
}

#endif
