/* SPDX-License-Identifier: MIT */
/* Compares the ABI note of a library with the headers of the LuaJIT from which it was made.
** Invariant: each word of the note after its addresses is compared exactly once.
**
** The rules in it are for the code in the file, and for no other.
**
**   abi_note FILE VMS VM_BEGIN VM_END RULES BUILTINS   addresses from the symbol table, in hexadecimal */
#include <elf.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LUA_CORE
#include "lj_obj.h"
#include "lj_bc.h"
#include "lj_dispatch.h"
#include "lj_ff.h"
#include "lj_frame.h"
#include "lj_ir.h"
#include "lj_jit.h"
#include "luatrace_abi.h"
#include "recorder/sample/rules.h"

struct expected {
  const char *name;
  size_t offset;
  int64_t value;
};
#define E(member, value) {#member, offsetof(struct lt_abi, member), (int64_t)(value)}
#define OF(member, type, field) E(member, offsetof(type, field))
#define FROM_G(field) ((int64_t)offsetof(GG_State, field) - (int64_t)offsetof(GG_State, g))

#ifdef HAVE_LUA_EXDATA2
#define EXDATA offsetof(lua_State, exdata)
#define EXDATA_FLAG LTA_EXDATA
#else
#define EXDATA (-1)
#define EXDATA_FLAG 0
#endif
#if LJ_TARGET_ARM64
#define REGISTERS {19, 21, -1, 22, 23, -1, 22, 19}
#else
#define REGISTERS {1, 3, 14, -1, -1, 14, -1, 1}
#endif
static const int registers[] = REGISTERS;

static const struct expected members[] = {
  E(flags, LTA_JIT | LTA_GC64 | LTA_FR2 | LTA_FFI | EXDATA_FLAG | (LJ_DUALNUM ? LTA_DUALNUM : 0) |
	     (LJ_52 ? LTA_52COMPAT : 0)),
  E(gc_slots, 2),
  OF(vm_next, LTState, next),
  E(vm_g, -(int64_t)(offsetof(GG_State, lt) - offsetof(GG_State, g))),
  OF(vm_gctrace, LTState, gcfrom),
  OF(g_cur_L, global_State, cur_L), OF(g_mainthref, global_State, mainthref),
  OF(g_jit_base, global_State, jit_base), OF(g_vmstate, global_State, vmstate),
  E(g_dispatch, FROM_G(dispatch)), E(g_J, FROM_G(J)), E(g_size, sizeof(global_State)),
  E(st_interp, -1), E(st_c, -2), E(st_gc, -3), E(st_exit, -4), E(st_record, -5),
  E(st_opt, -6), E(st_asm, -7),
  OF(L_glref, lua_State, glref), OF(L_status, lua_State, status), OF(L_base, lua_State, base),
  OF(L_top, lua_State, top), OF(L_maxstack, lua_State, maxstack), OF(L_stack, lua_State, stack),
  OF(L_cframe, lua_State, cframe), OF(L_resumer, lua_State, lt_resumer),
  OF(L_id, lua_State, lt_id), E(L_exdata, EXDATA), E(L_size, sizeof(lua_State)),
  OF(J_trace, jit_State, trace), OF(J_sizetrace, jit_State, sizetrace),
  OF(J_state, jit_State, state), OF(J_parent, jit_State, parent), OF(J_exitno, jit_State, exitno),
  OF(T_nsnap, GCtrace, nsnap), OF(T_nsnapmap, GCtrace, nsnapmap), OF(T_snap, GCtrace, snap),
  OF(T_snapmap, GCtrace, snapmap), OF(T_ir, GCtrace, ir), OF(T_nk, GCtrace, nk),
  OF(T_nins, GCtrace, nins), OF(T_startpt, GCtrace, startpt), OF(T_startpc, GCtrace, startpc),
  OF(T_startins, GCtrace, startins), OF(T_mcode, GCtrace, mcode),
  OF(T_szmcode, GCtrace, szmcode), OF(T_mcloop, GCtrace, mcloop),
  OF(T_spadjust, GCtrace, spadjust), OF(T_traceno, GCtrace, traceno), OF(T_link, GCtrace, link),
  OF(T_root, GCtrace, root), OF(T_linktype, GCtrace, linktype),
  E(snap_size, sizeof(SnapShot)), OF(snap_mapofs, SnapShot, mapofs), OF(snap_ref, SnapShot, ref),
  OF(snap_mcofs, SnapShot, mcofs), OF(snap_nslots, SnapShot, nslots),
  OF(snap_topslot, SnapShot, topslot), OF(snap_nent, SnapShot, nent),
  E(snap_slot_shift, 24), E(snap_frame, SNAP_FRAME), E(snap_cont, SNAP_CONT),
  E(snap_ref_mask, 0xffff), E(ir_size, sizeof(IRIns)), OF(ir_op, IRIns, o), E(ir_bias, REF_BIAS),
  E(irop_kgc, IR_KGC), E(irop_knum, IR_KNUM), E(irop_kint64, IR_KINT64), E(irop_retf, IR_RETF),
  OF(gc_type, GCstr, gct), E(type_str, 4), E(type_thread, 6), E(type_proto, 7), E(type_func, 8),
  E(type_trace, 9), E(tag_shift, 47),
  OF(fn_ffid, GCfuncL, ffid), OF(fn_pc, GCfuncL, pc), OF(fn_f, GCfuncC, f),
  E(pt_size, sizeof(GCproto)), OF(pt_sizebc, GCproto, sizebc), OF(pt_chunkname, GCproto, chunkname),
  OF(pt_firstline, GCproto, firstline), OF(pt_numline, GCproto, numline),
  OF(pt_lineinfo, GCproto, lineinfo), OF(pt_id, GCproto, lt_id),
  OF(str_len, GCstr, len), E(str_size, sizeof(GCstr)),
  E(bc_size, 4), E(bc_a_shift, 8), E(op_funcf, BC_FUNCF), E(op_jfuncv, BC_JFUNCV),
  E(op_call, BC_CALL), E(op_callt, BC_CALLT), E(op_jloop, BC_JLOOP),
  E(frame_mask, 3), E(frame_maskp, 7), E(frame_lua, FRAME_LUA), E(frame_c, FRAME_C),
  E(frame_cont, FRAME_CONT), E(frame_vararg, FRAME_VARG), E(frame_cp, FRAME_CP),
  E(frame_pcall, FRAME_PCALL), E(cont_pc, -3 * (int)sizeof(TValue)),
  E(cont_fn, -4 * (int)sizeof(TValue)), E(cont_callback, LJ_CONT_FFI_CALLBACK),
  E(cf_size, CFRAME_SIZE),
#ifdef CFRAME_SIZE_JIT
  E(cf_size_jit, CFRAME_SIZE_JIT),
#else
  E(cf_size_jit, CFRAME_SIZE),
#endif
  E(cf_L, CFRAME_OFS_L), E(cf_pc, CFRAME_OFS_PC), E(cf_prev, CFRAME_OFS_PREV),
  E(cf_nres, CFRAME_OFS_NRES), E(cf_errf, CFRAME_OFS_ERRF), E(cf_multres, CFRAME_OFS_MULTRES),
  E(cf_flags, 3), E(cf_resume, CFRAME_RESUME), E(cf_fp, CFRAME_SIZE - 16), E(cf_ret, CFRAME_SIZE - 8),
  E(reg_base, registers[0]), E(reg_pc, registers[1]), E(reg_dispatch, registers[2]),
  E(reg_g, registers[3]), E(reg_L, registers[4]), E(reg_dispatch_jit, registers[5]),
  E(reg_g_jit, registers[6]), E(reg_base_jit, registers[7]),
  E(nbuiltins, FF__MAX), OF(vm_serial, LTState, serial), OF(L_serial, lua_State, lt_serial),
  OF(L_labels, lua_State, lt_labels), OF(str_hash, GCstr, hash), E(reserved, 0),
};
#define COUNT (sizeof members / sizeof *members)

static int bad;

static void check(const char *name, int64_t note, int64_t expected)
{
  if (note == expected) return;
  printf("%s: %lld in the note, %lld in LuaJIT\n", name, (long long)note, (long long)expected);
  bad = 1;
}

/* The note in a segment of the file, and the address of its contents. */
static const char *find_note(const char *file, uint64_t *address)
{
  const Elf64_Ehdr *e = (const Elf64_Ehdr *)file;
  const Elf64_Phdr *p = (const Elf64_Phdr *)(file + e->e_phoff);
  for (int i = 0; i < e->e_phnum; i++) {
    if (p[i].p_type != PT_NOTE) continue;
    for (uint64_t at = 0; at + sizeof(Elf64_Nhdr) < p[i].p_filesz;) {
      const Elf64_Nhdr *n = (const Elf64_Nhdr *)(file + p[i].p_offset + at);
      const char *owner = (const char *)(n + 1);
      uint64_t text = at + sizeof *n + ((n->n_namesz + 3) & ~3u);
      if (n->n_type == LT_ABI_TYPE && !strcmp(owner, LT_ABI_NAME)) {
	check("size of the note's contents", n->n_descsz, sizeof(struct lt_abi));
	*address = p[i].p_vaddr + text;
	return file + p[i].p_offset + text;
      }
      at = text + ((n->n_descsz + 3) & ~3u);
    }
  }
  printf("there is no note\n");
  exit(1);
}

static void check_address(const struct lt_abi *abi, uint64_t note, const char *name, size_t offset,
			  const char *symbol)
{
  int64_t distance;
  memcpy(&distance, (const char *)abi + offset, sizeof distance);
  check(name, (int64_t)(note + offset) + distance, (int64_t)strtoull(symbol, NULL, 16));
}

/* What is at that address in the file. */
static const char *at_address(const char *file, uint64_t address)
{
  const Elf64_Ehdr *e = (const Elf64_Ehdr *)file;
  const Elf64_Phdr *p = (const Elf64_Phdr *)(file + e->e_phoff);
  for (int i = 0; i < e->e_phnum; i++)
    if (p[i].p_type == PT_LOAD && address - p[i].p_vaddr < p[i].p_filesz)
      return file + p[i].p_offset + (address - p[i].p_vaddr);
  printf("there is nothing at %#llx\n", (unsigned long long)address);
  exit(1);
}

/* "string_byte" is builtin number FF_string_byte. */
static void check_builtins(const char *text)
{
  static const char *const names[] = {"", "",
#define FFDEF(name) #name,
#include "lj_ffdef.h"
#undef FFDEF
  };
  for (int i = 0; i < FF__MAX; i++) {
    if (strcmp(text, names[i])) check(names[i], i, -1);
    text += strlen(text) + 1;
  }
}

static void check_rules(const char *file, uint64_t rules, uint64_t begin, uint64_t end)
{
  static uint8_t text[RULES_TEXT_MAX], rule[RULES_TEXT_MAX];
  static uint32_t table[RULES_SIZE_MAX / 4];
  const uint32_t size = (uint32_t)(end - begin);
  memcpy(table, at_address(file, rules), *(const uint32_t *)at_address(file, rules));
  memcpy(text, at_address(file, begin), size);
  check("rules for the code", rules_take(table, table[0], text, size, rule), RULES_TAKEN);
  text[size / 2] ^= 1;
  check("rules for other code", rules_take(table, table[0], text, size, rule), RULES_OF_OTHER);
  check("rules of a table that is cut", rules_take(table, table[0] - 4, text, size, rule),
	RULES_DAMAGED);
  table[6] = table[5];
  check("rules that do not ascend", rules_take(table, table[0], text, size, rule), RULES_DAMAGED);
}

int main(int argc, char **argv)
{
  static char file[64 << 20];
  static char seen[sizeof(struct lt_abi)];
  struct lt_abi abi;
  uint64_t address;
  FILE *f = argc == 7 ? fopen(argv[1], "rb") : NULL;
  if (!f || fread(file, 1, sizeof file, f) < sizeof(Elf64_Ehdr)) return 2;
  memcpy(&abi, find_note(file, &address), sizeof abi);
  check("version", abi.version, LT_ABI_VERSION);
  check("size", abi.size, sizeof abi);
  check_address(&abi, address, "vms", offsetof(struct lt_abi, vms), argv[2]);
  check_address(&abi, address, "vm_begin", offsetof(struct lt_abi, vm_begin), argv[3]);
  check_address(&abi, address, "vm_end", offsetof(struct lt_abi, vm_end), argv[4]);
  check_address(&abi, address, "rules", offsetof(struct lt_abi, rules), argv[5]);
  check_rules(file, strtoull(argv[5], NULL, 16), strtoull(argv[3], NULL, 16),
	      strtoull(argv[4], NULL, 16));
  check_address(&abi, address, "builtins", offsetof(struct lt_abi, builtins), argv[6]);
  check_builtins(at_address(file, strtoull(argv[6], NULL, 16)));
  for (size_t i = 0; i < COUNT; i++) {
    int32_t value;
    memcpy(&value, (char *)&abi + members[i].offset, sizeof value);
    check(members[i].name, value, members[i].value);
    if (seen[members[i].offset]++) check(members[i].name, 2, 1);
  }
  for (size_t at = offsetof(struct lt_abi, flags); at < sizeof abi; at += 4)
    if (!seen[at] && (at < offsetof(struct lt_abi, rules) || at >= offsetof(struct lt_abi, nbuiltins))) printf("word %zu of the note is not compared\n", at / 4), bad = 1;
  printf("%zu members compared\n", COUNT + 7);
  return bad;
}
