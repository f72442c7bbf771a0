/*
** The ABI note: what a stack walker outside the process needs to know of this LuaJIT.
** SPDX-License-Identifier: MIT
**
** An ELF note of the library or program (owner LT_ABI_NAME, type LT_ABI_TYPE) in an
** allocated section of its own: strip keeps it, and a process has it in memory. All of it
** is computed when LuaJIT is compiled. docs/abi-note.md explains how it is used.
**
** Invariant: a member never changes its place or its meaning. New members are appended and
** `size` grows; anything else makes a new version. Plain C99 with <stdint.h> only. */

#ifndef _LUATRACE_ABI_H
#define _LUATRACE_ABI_H

#include <stdint.h>

#define LT_ABI_NAME		"luatrace"
#define LT_ABI_TYPE		2u
#define LT_ABI_VERSION		1u

/* lt_abi.flags */
#define LTA_JIT			0x01u	/* Built with the compiler. */
#define LTA_GC64		0x02u	/* 64-bit references; without it this note describes
					** objects, but no walker is known to work. */
#define LTA_FR2			0x04u	/* Two slots per frame. */
#define LTA_DUALNUM		0x08u	/* Integers besides doubles. */
#define LTA_FFI			0x10u
#define LTA_52COMPAT		0x20u
#define LTA_EXDATA		0x40u	/* lua_setexdata() exists: L_exdata. */

/* "here" is the address of that member itself, so that no relocation is needed. Offsets
** and sizes are in bytes, registers in DWARF's numbers; -1: does not exist, or is not
** known for this processor. Prefixes: g_ global_State, L_ lua_State, J_ jit_State, T_
** GCtrace, fn_ GCfunc, pt_ GCproto, str_ GCstr, cf_ a C frame of the VM. */
struct lt_abi {
  uint32_t version;		/* LT_ABI_VERSION */
  uint32_t size;		/* sizeof(struct lt_abi); larger if newer. */
  int64_t vms;			/* Address of the first VM's record (u64, 0: none) - here */
  int64_t vm_begin;		/* Machine code of the interpreter: begin - here, */
  int64_t vm_end;		/* end - here. C frames of this code have cf_size bytes. */
  uint32_t flags;		/* LTA_* */
  uint32_t gc_slots;		/* Slots below a frame's base that belong to it: 1, 2. */

  /* From the record of a VM. */
  int32_t vm_next;		/* Address of the next record, 0: none. */
  int32_t vm_g;			/* Distance to its global_State. */
  int32_t vm_gctrace;		/* int32_t: g_vmstate before the last step of the collector:
				** the trace that has called it, if g_jit_base is not 0. */

  int32_t g_cur_L;		/* Address of the coroutine that runs. */
  int32_t g_mainthref;		/* Address of the main coroutine. */
  int32_t g_jit_base;		/* Base in compiled code, 0: none runs. */
  int32_t g_vmstate;		/* int32_t: number of the trace, or st_*. */
  int32_t g_dispatch;		/* Distance to where reg_dispatch points. */
  int32_t g_J;			/* Distance to the jit_State. */
  int32_t g_size;
  int32_t st_interp, st_c, st_gc, st_exit, st_record, st_opt, st_asm;

  int32_t L_glref;		/* Address of the global_State. */
  int32_t L_status;		/* uint8_t: 0, 1 suspended, else dead by an error. */
  int32_t L_base, L_top, L_maxstack, L_stack;  /* Addresses of slots. */
  int32_t L_cframe;		/* Address of the innermost C frame | cf_flags; 0: none, the
				** coroutine does not run. */
  int32_t L_resumer;		/* Address of the coroutine that has called lua_resume() for
				** this one and waits for it, 0: none, or not through C. */
  int32_t L_id;			/* uint32_t: coroutine id of traces, 0: none yet. */
  int32_t L_exdata;		/* Address of the host's request. */
  int32_t L_size;

  int32_t J_trace, J_sizetrace;	/* Address of the array of GCtrace addresses; uint32_t. */
  int32_t J_state;		/* uint32_t: 0 if nothing is recorded. */
  int32_t J_parent, J_exitno;	/* uint32_t: in state st_exit: the trace that is left, and
				** the number of the snapshot. */

  int32_t T_nsnap;		/* uint16_t */
  int32_t T_nsnapmap;		/* uint32_t */
  int32_t T_snap, T_snapmap;	/* Addresses of arrays. */
  int32_t T_ir;			/* Address of IR instruction 0, were there one. */
  int32_t T_nk, T_nins;		/* uint32_t: lowest constant; after the last instruction. */
  int32_t T_startpt, T_startpc;	/* Addresses of a GCproto, an instruction. */
  int32_t T_startins;		/* uint32_t: the instruction that JLOOP, JFUNCF replaced. */
  int32_t T_mcode, T_szmcode;	/* Address; uint32_t. */
  int32_t T_mcloop;		/* uint32_t: offset of the loop in the machine code. */
  int32_t T_spadjust;		/* uint16_t: C stack beyond cf_size_jit. */
  int32_t T_traceno, T_link, T_root;  /* uint16_t */
  int32_t T_linktype;		/* uint8_t */

  /* A snapshot (of T_snap), its entries (of T_snapmap, uint32_t), the IR. */
  int32_t snap_size;
  int32_t snap_mapofs;		/* uint32_t: index of its first entry. After its entries are
				** two that hold pc << 8 and the base's offset. */
  int32_t snap_ref, snap_mcofs;	/* uint16_t: IR; machine code from which it holds. */
  int32_t snap_nslots, snap_topslot, snap_nent;  /* uint8_t */
  int32_t snap_slot_shift;	/* The slot is in the bits of an entry from here on, */
  int32_t snap_frame, snap_cont;  /* these bits mark a frame's link and a continuation, */
  int32_t snap_ref_mask;	/* and these are the IR reference. */
  int32_t ir_size, ir_op;	/* ir_op: uint8_t. A 64-bit constant is one entry further. */
  int32_t ir_bias;		/* References below are constants. */
  int32_t irop_kgc, irop_knum, irop_kint64, irop_retf;

  /* Objects of the collector. */
  int32_t gc_type;		/* uint8_t: type_*. */
  int32_t type_str, type_thread, type_proto, type_func, type_trace;
  int32_t tag_shift;		/* A slot is ~type << tag_shift | address. */
  int32_t fn_ffid;		/* uint8_t: 0 Lua, 1 C function, else builtin. */
  int32_t fn_pc, fn_f;		/* Addresses of code: first instruction; C function. */
  int32_t pt_size;		/* The first instruction is that far from the GCproto. */
  int32_t pt_sizebc;		/* uint32_t: number of instructions. */
  int32_t pt_chunkname;		/* Address of a GCstr. */
  int32_t pt_firstline, pt_numline;  /* uint32_t */
  int32_t pt_lineinfo;		/* Address of lines - firstline, by instruction from the second
				** on: uint8_t if numline < 256, uint16_t if < 65536, else
				** uint32_t; 0: none. */
  int32_t pt_id;		/* uint32_t: function id of traces, never reused; 0: none yet. */
  int32_t str_len;		/* uint32_t */
  int32_t str_size;		/* The text is that far from the GCstr. */

  /* Instructions of the interpreter. */
  int32_t bc_size, bc_a_shift;	/* Operand A: 8 bits from here on; the lowest 8: opcode. */
  int32_t op_funcf, op_jfuncv;	/* First and last opcode of Lua functions' headers. */
  int32_t op_call, op_callt;
  int32_t op_jloop;		/* Enters the trace whose number is in its upper 16 bits. */

  /* Links, in the slot below a frame's base. */
  int32_t frame_mask, frame_maskp;  /* Of the type: 2 bits, 3 bits. */
  int32_t frame_lua, frame_c, frame_cont, frame_vararg, frame_cp, frame_pcall;
  int32_t cont_pc, cont_fn;	/* Offsets from the base of a continuation's frame. */
  int32_t cont_callback;	/* cont_fn of FFI callbacks; smaller: a tail call. */

  /* C stack. */
  int32_t cf_size, cf_size_jit;	/* From the address in L_cframe to the caller's stack pointer
				** (less cf_size_jit - cf_size in compiled code). */
  int32_t cf_L, cf_pc, cf_prev;	/* Addresses: coroutine; pc at the last call of C; C frame
				** before, as in L_cframe. */
  int32_t cf_nres, cf_errf, cf_multres;  /* int32_t */
  int32_t cf_flags, cf_resume;	/* Bits in such an address; that of a resumed coroutine. */
  int32_t cf_fp, cf_ret;	/* The caller's frame pointer; return address. */
  int32_t reg_base, reg_pc, reg_dispatch, reg_g, reg_L;  /* In the interpreter. */
  int32_t reg_dispatch_jit, reg_g_jit, reg_base_jit;  /* In compiled code. base: at its head. */

  int64_t rules;		/* struct lt_abi_rules - here; 0: none for this processor. */

  /* What follows is only in notes of more than LT_ABI_SIZE_1 bytes. */
  int64_t builtins;		/* Names - here, by number: nbuiltins texts with a NUL each, those of
				** 0 and 1 empty. Of "string_gsub" (string.gsub) the library ends
				** at the first '_', of "ipairs_aux" it does not: lt_builtin_name()
				** in luatrace_builtin.h. */
  int32_t nbuiltins;
  int32_t vm_serial;		/* uint32_t: number of the VM in its process, never reused. */
  int32_t L_serial;		/* uint32_t: number of the coroutine in its VM, from its creation
				** on. Never reused there, nor by a later VM with that address. */
  int32_t L_labels;		/* Address of struct lt_abi_labels, 0: it has no labels. */
  int32_t str_hash;		/* uint32_t: differs, nearly always, between texts. */
  int32_t reserved;
};

#define LT_ABI_SIZE_1		552u
typedef char lt_abi_size[sizeof(struct lt_abi) == 584 ? 1 : -1];

/* The labels that the program has given to a coroutine: n of them. They stay as they are while the
** coroutine has them. Key and value are text in words: the lowest byte is the number of bytes
** that follow above it, 1 to 7, the first one lowest; the last word may have fewer than 7. */
#define LT_ABI_LABEL_WORDS	14u
#define LT_ABI_LABELS		8u
struct lt_abi_label {
  uint32_t nkey, n;		/* Words: of the key; of the key and the value, which follows it. */
  uint64_t w[LT_ABI_LABEL_WORDS];
};
struct lt_abi_labels {
  uint32_t refs;		/* For the VM. */
  uint32_t n;			/* 1 to LT_ABI_LABELS. */
  struct lt_abi_label label[1];
};

/* Where the innermost frame is at each instruction of the interpreter, from vm_begin on.
** The checksum is that of the code from which the rules were made: if it differs, do not use
** them. Of the code, the linker sets the fields: 4 bytes each, which count as 0. */
struct lt_abi_rules {
  uint32_t size;		/* Bytes, all of the table. */
  uint32_t text_size;		/* Bytes of the interpreter's code: vm_end - vm_begin. */
  uint32_t text_crc;		/* CRC-32C of them. */
  uint32_t nrules;		/* 0: this interpreter's code was not understood. */
  uint32_t nfields;
  /* uint32_t rules[nrules], by offset: offset in the code | LT_RULE_* << 24. It holds up to
  **   the next one's offset.
  ** uint32_t fields[nfields]: offsets of the linker's fields, ascending. */
};
#define LT_RULE_SHIFT		24

/* "base" and "pc" are the registers reg_base and reg_pc. */
enum {
  LT_RULE_REGISTERS,		/* base and pc. */
  LT_RULE_BASE,			/* L_base; pc is at cf_pc. */
  LT_RULE_SAVED,		/* base is in rbp, and L_base may be old. */
  LT_RULE_LINK,			/* pc is the link of the frame at base. */
  LT_RULE_POP,			/* Results overwrite the frame at base; pc is its link. */
  LT_RULE_TO_C,			/* Returns to C: pc is the link, less its type. */
  LT_RULE_TO_C_NEG,		/* pc is -(base of the frame below). */
  LT_RULE_TO_C_BASE,		/* pc is the base of the frame below. */
  LT_RULE_SAVED_LINK,		/* The word at cf_pc is the link of the frame at base. */
  LT_RULE_FALLBACK,		/* Results may overwrite the frame at L_base; the word at
				** cf_pc is its link. */
  LT_RULE_ENTER,		/* L_base; the C frame at the stack pointer has no frame of
				** Lua yet, or no longer. */
  LT_RULE_RESUMED,		/* Back from a coroutine: cf_L, from the stack pointer on, is
				** the one that runs. */
  LT_RULE_UNKNOWN,
  LT_RULE_LEAVE = 16		/* The C frame is left: it was that many slots (- 16) below
				** the stack pointer. */
};

#endif
