/*
** Tracing of calls: the rules of the ABI note, made by buildvm with the interpreter's code.
** SPDX-License-Identifier: MIT
**
** Where is the innermost frame at each instruction of the interpreter (struct lt_abi_rules)?
** Found by what the instructions look like: DynASM's output differs little from LuaJIT to
** LuaJIT. Included by host/buildvm_asm.c. x86-64 with GC64.
**
** Invariant: a byte that is no instruction's first has no meaning, so a match in the middle of
** an instruction harms only if it reaches beyond that instruction: patterns are long, and
** limited. */

#if LJ_TARGET_X64 && LJ_GC64

#include "luatrace_abi.h"

struct rules {
  const uint8_t* text;
  uint32_t size;
  uint8_t* rule;   /* size bytes: LT_RULE_* */
  uint8_t* begins; /* size bytes: 1 where an instruction begins */
};

#define RULES_IS(s, at, bytes) \
  ((at) + sizeof(bytes) - 1 <= (s)->size && !memcmp((s)->text + (at), bytes, sizeof(bytes) - 1))

/* Where these bytes are, from..end; end: nowhere. */
static uint32_t rules_find(const struct rules* s, uint32_t from, uint32_t end,
                                  const char* bytes, uint32_t n) {
  if (end > s->size) end = s->size;
  for (; from + n <= end; from++)
    if (!memcmp(s->text + from, bytes, n)) return from;
  return end;
}
#define RULES_FIND(s, from, end, bytes) rules_find(s, from, end, bytes, sizeof(bytes) - 1)

static void rules_set(struct rules* s, uint32_t from, uint32_t end, uint32_t rule) {
  for (; from < end && from < s->size; from++) s->rule[from] = (uint8_t)rule;
}

/* Length of the operand at `at`: register or memory. */
static uint32_t rules_operand(const struct rules* s, uint32_t at) {
  const uint32_t mod = s->text[at] >> 6, rm = s->text[at] & 7;
  uint32_t length = 1, base = rm;
  if (mod == 3) return length;
  if (rm == 4) base = s->text[at + length++] & 7; /* with an index */
  if (mod == 0) return length + (base == 5 ? 4 : 0);
  return length + (mod == 1 ? 1 : 4);
}

/* Length of the instruction at `at`: of those that the interpreter uses; 0: not known. */
static uint32_t rules_length(const struct rules* s, uint32_t at) {
  const uint32_t begin = at;
  uint32_t wide = 0, immediate = 0, op;
  if (at + 16 > s->size) return 0;
  while (s->text[at] == 0x66 || s->text[at] == 0xf2 || s->text[at] == 0xf3) at++;
  if ((s->text[at] & 0xf0) == 0x40) wide = s->text[at++] & 8;
  op = s->text[at++];
  if (op == 0x0f) {
    op = s->text[at++];
    if ((op & 0xf0) == 0x80) return at + 4 - begin; /* jump, if */
    if (op == 0xa2 || (op & 0xf8) == 0xc8) return at - begin;
    if (op == 0x3a) at++, immediate = 1;
    else if (op == 0x38) at++;
    else if (op == 0xc6 || op == 0xc2 || (op & 0xfc) == 0x70 || op == 0xba) immediate = 1;
  } else if ((op & 0xf0) == 0x70 || op == 0xeb || op == 0xa8 || (op & 0xf8) == 0xb0 || op == 0x6a ||
             (op < 0x40 && (op & 7) == 4)) {
    return at + 1 - begin;
  } else if (op == 0xe8 || op == 0xe9 || op == 0xa9 || op == 0x68 || (op < 0x40 && (op & 7) == 5)) {
    return at + 4 - begin;
  } else if ((op & 0xf8) == 0xb8) {
    return at + (wide ? 8 : 4) - begin;
  } else if ((op & 0xf0) == 0x50 || (op & 0xf8) == 0x90 || op == 0x98 || op == 0x99 || op == 0xc3 || op == 0xcc) {
    return at - begin;
  } else if (op == 0x81 || op == 0x69 || op == 0xc7) {
    immediate = 4;
  } else if (op == 0x80 || op == 0x83 || op == 0x6b || op == 0xc6 || op == 0xc0 || op == 0xc1) {
    immediate = 1;
  } else if ((op == 0xf6 || op == 0xf7) && (s->text[at] & 0x30) == 0) {
    immediate = op == 0xf6 ? 1 : 4; /* test */
  } else if (!(op < 0x40 && (op & 7) < 4) && op != 0x63 && (op & 0xf0) != 0xd0 &&
             (op < 0x84 || op > 0x8f) && op < 0xf6) {
    return 0;
  }
  return at + rules_operand(s, at) + immediate - begin;
}

/* The target of a jump or call with 32 bits at `at`; size: outside. */
static uint32_t rules_target(const struct rules* s, uint32_t at) {
  int32_t distance;
  memcpy(&distance, s->text + at + 1, sizeof distance);
  const int64_t to = (int64_t)at + 5 + distance;
  return to >= 0 && to < s->size ? (uint32_t)to : s->size;
}

/* Length of a call instruction at `at`, 0: it is none. */
static uint32_t rules_call(const struct rules* s, uint32_t at) {
  int32_t distance = 0;
  if (at + 16 > s->size) return 0;
  if (s->text[at] == 0xe8) {
    memcpy(&distance, s->text + at + 1, sizeof distance);
    return distance > -(32 << 20) && distance < 32 << 20 && distance != 0 ? 5 : 0;
  }
  if (RULES_IS(s, at, "\x41\xff\xd7")) return 3; /* r15 */
  if (RULES_IS(s, at, "\xff\xd1")) return 2;     /* rcx */
  if (RULES_IS(s, at, "\x41\xff\x96")) return 7; /* g->wrapf */
  if (RULES_IS(s, at, "\xff\x55\x28") || RULES_IS(s, at, "\xff\x50\x28")) return 3; /* fn->c.f */
  return 0;
}

/* Does the code go on elsewhere after the instruction at `at`, whatever happens? */
static int rules_leaves(const struct rules* s, uint32_t at) {
  return s->begins[at] && (s->text[at] == 0xeb || s->text[at] == 0xe9 || s->text[at] == 0xc3 ||
                           RULES_IS(s, at, "\x41\xff\x24"));
}

static void rules_find_instructions(struct rules* s) {
  uint32_t i, length;
  memset(s->begins, 0, s->size);
  for (i = 0; i < s->size; i += length != 0 ? length : 1) {
    length = rules_length(s, i);
    s->begins[i] = length != 0;
  }
}

/* The call at `at`: from where base is saved to where it is a register again. */
static void rules_around_call(struct rules* s, uint32_t at, uint32_t length) {
  const uint32_t after = at + length, low = at > 128 ? at - 128 : 0;
  uint32_t rule = 0, from = at, i;
  if (!s->begins[at]) return;
  for (i = at; i-- > low && rule == 0;) {
    if (rules_leaves(s, i)) break; /* what is before that is not on the way here */
    if (s->text[i] == 0x48 && s->text[i + 1] == 0x89 && (s->text[i + 2] & 0xf8) == 0x50 &&
        s->text[i + 3] == 0x20 && i + 4 <= at)
      rule = LT_RULE_BASE, from = i + 4;
    else if (RULES_IS(s, i, "\x48\x89\xd5\x48\x29"))
      break; /* rbp is the distance of two slots: coroutine.resume moves results */
    else if (RULES_IS(s, i, "\x48\x89\xd5") && i + 3 <= at)
      rule = LT_RULE_SAVED, from = i + 3;
  }
  if (rule == LT_RULE_SAVED) { /* L_base may have been stored before that. */
    for (i = from; i-- > low;) {
      if (rules_leaves(s, i)) break;
      if (s->text[i] == 0x48 && s->text[i + 1] == 0x89 && s->text[i + 2] == 0x57 &&
          s->text[i + 3] == 0x20)
        rule = LT_RULE_BASE;
    }
  }
  for (i = after; i < after + 48 && i < s->size; i++) {
    const int saved = RULES_IS(s, i, "\x48\x89\xea");
    if (saved || RULES_IS(s, i, "\x48\x8b\x55\x20") || RULES_IS(s, i, "\x48\x8b\x50\x20") ||
        RULES_IS(s, i, "\x48\x8b\x55\x28")) {
      rules_set(s, after, i + 1, rule != 0 ? rule : saved ? LT_RULE_SAVED : LT_RULE_BASE);
      break;
    }
    if (rules_leaves(s, i)) break;
  }
  if (rule == 0) return;
  rules_set(s, from, at + 1, rule);
  if (s->rule[after] == LT_RULE_REGISTERS) s->rule[after] = (uint8_t)rule;
  if (length == 3 && s->text[at] == 0xff) /* a builtin's second half in C */
    rules_set(s, after, RULES_FIND(s, after, after + 64, "\x0f\x8f"), LT_RULE_FALLBACK);
}

/* saveregs and restoreregs. Without unwinding r12 and r13 are saved, too. */
#if LJ_NO_UNWIND
#define RULES_PROLOGUE "\x55\x53\x41\x57\x41\x56\x41\x55\x41\x54\x48\x83\xec\x28"
#define RULES_EPILOGUE "\x48\x83\xc4\x28\x41\x5c\x41\x5d\x41\x5e\x41\x5f\x5b\x5d\xc3"
static const uint8_t rules_pops[] = {4, 6, 8, 10, 12, 13, 14}; /* offsets after add rsp, 5 slots */
#else
#define RULES_PROLOGUE "\x55\x53\x41\x57\x41\x56\x48\x83\xec\x28"
#define RULES_EPILOGUE "\x48\x83\xc4\x28\x41\x5e\x41\x5f\x5b\x5d\xc3"
static const uint8_t rules_pops[] = {4, 6, 8, 9, 10};
#endif

/* vm_resume, vm_pcall, vm_call, vm_cpcall. Returns where the first begins. */
static uint32_t rules_entries(struct rules* s) {
  const uint32_t resume = RULES_FIND(s, 0, s->size, RULES_PROLOGUE);
  const uint32_t pcall = RULES_FIND(s, resume + 1, s->size, RULES_PROLOGUE);
  const uint32_t call = RULES_FIND(s, pcall + 1, s->size, RULES_PROLOGUE);
  const uint32_t cpcall = RULES_FIND(s, call + 1, s->size, RULES_PROLOGUE);
  if (cpcall >= s->size) return s->size;
  rules_set(s, resume, RULES_FIND(s, call, cpcall, "\x48\x8b\x55\x20") + 1, LT_RULE_ENTER);
  rules_set(s, cpcall, RULES_FIND(s, cpcall, cpcall + 256, "\xbb\x05\x00\x00\x00") + 6,
            LT_RULE_ENTER);
  return resume;
}

/* vm_return and what leaves the C frame. */
static void rules_returns(struct rules* s) {
  const uint32_t begin = RULES_FIND(s, 0, s->size, "\x48\x83\xf3\x01");
  const uint32_t sub = RULES_FIND(s, begin, s->size, "\x48\x29\xd3");
  const uint32_t store = RULES_FIND(s, sub, s->size, "\x48\x89\x5d\x20");
  const uint32_t yield = RULES_FIND(s, store, s->size, "\xb0\x01");
  const uint32_t ff = RULES_FIND(s, yield, s->size, "\x48\x83\xe7\xfc\x48\x89\xfc");
  if (ff >= s->size) return;
  rules_set(s, begin, begin + 1, LT_RULE_POP);
  rules_set(s, begin + 1, sub + 1, LT_RULE_TO_C);
  rules_set(s, sub + 1, sub + 4, LT_RULE_TO_C_NEG);
  rules_set(s, sub + 4, store + 1, LT_RULE_TO_C_BASE);
  rules_set(s, store + 1, ff, LT_RULE_ENTER);
  rules_set(s, ff, RULES_FIND(s, ff, s->size, "\x48\x8b\x55\x20") + 1, LT_RULE_BASE);
  for (uint32_t i = store; i < ff; i++) {
    if (!RULES_IS(s, i, RULES_EPILOGUE)) continue;
    for (uint32_t k = 0; k < sizeof rules_pops; k++)
      rules_set(s, i + rules_pops[k], i + rules_pops[k] + 1, LT_RULE_LEAVE + 5 + k);
    rules_set(s, i, i + 1, LT_RULE_LEAVE);
  }
}

/* Results that overwrite the frame of the function that returns them. */
static void rules_results(struct rules* s, uint32_t i) {
  static const char* const stores[] = {"\x48\x89\x42\xf0", "\x48\x89\x4a\xf0", "\x48\x89\x6a\xf0",
                                       "\x49\x89\x6f\xf0", "\x4c\x89\x5a\xf0", "\x4c\x89\x52\xf0",
                                       "\x48\xc7\x42\xf0", "\x4c\x89\x5a\xf8", "\x48\x89\x6a\xf8",
                                       "\x48\x89\x42\xf8", "\x48\x89\x4a\xf8", "\x48\xc7\x42\xf8"};
  int found = RULES_IS(s, i, "\xf2\x0f\x11\x42\xf0") || RULES_IS(s, i, "\xf2\x0f\x11\x42\xf8");
  for (uint32_t k = 0; k < sizeof stores / sizeof *stores && !found; k++)
    found = i + 4 < s->size && !memcmp(s->text + i, stores[k], 4);
  if (found) {
    const uint32_t from = i + rules_length(s, i), limit = i + 96;
    uint32_t length = from - i;
    for (uint32_t j = from; length != 0 && j < limit; j += length) {
      length = rules_length(s, j);
      if (RULES_IS(s, j, "\x48\x8d\x54\xca\xf0") || s->text[j] == 0xeb || s->text[j] == 0xe9) {
        rules_set(s, from, j + 1, LT_RULE_POP);
        break;
      }
      if (RULES_IS(s, j, "\x41\xff\x24")) break;
    }
  }
  /* test PC, FRAME_TYPE ... lea BASE, [BASE+RA*8-16] */
  if (RULES_IS(s, i, "\x48\x8d\x54\xca\xf0")) {
    for (uint32_t j = i, low = i > 64 ? i - 64 : 0; j-- > low;) {
      if (RULES_IS(s, j, "\x41\xff\x24")) break;
      if (!RULES_IS(s, j, "\xf7\xc3\x03\x00\x00\x00") && !RULES_IS(s, j, "\xf6\xc3\x03")) continue;
      if (j > 8 && RULES_IS(s, j - 8, "\xb8\x02\x00\x00\x00\x89\x04\x24"))
        j -= 8;
      else if (j > 3 && RULES_IS(s, j - 3, "\x89\x04\x24"))
        j -= 3;
      rules_set(s, j, i + 1, LT_RULE_POP);
      break;
    }
  }
  if (RULES_IS(s, i, "\x48\xc7\x44\xc2\xe8")) rules_set(s, i, i + 14, LT_RULE_POP);
  if (RULES_IS(s, i, "\x48\xc7\xc1\xf0\xff\xff\xff\xe9")) rules_set(s, i, i + 8, LT_RULE_POP);
}

static void rules_coroutines(struct rules* s, uint32_t call) {
  const uint32_t after = call + 5, limit = after + 320;
  rules_set(s, after, RULES_FIND(s, after, limit, "\x49\x89\xae") + 1, LT_RULE_RESUMED);
  /* coroutine.resume stores its first result over its link; it reloads that later. */
  for (uint32_t i = after; i < limit; i++)
    if (RULES_IS(s, i, "\x4c\x89\x5a\xf8"))
      rules_set(s, i + 4, RULES_FIND(s, i, limit, "\x48\x8b\x5c\x24\x18") + 1, LT_RULE_SAVED_LINK);
}

/* vm_ffi_callback, up to where it is linked, and cont_ffi_callback from where it no longer is. Generated
** code has already saved rbp for it. */
static void rules_callbacks(struct rules* s, uint32_t i) {
  const uint32_t n = sizeof(RULES_PROLOGUE) - 2;
  if (i > 0 && i + n <= s->size && s->text[i - 1] != 0x55 &&
      !memcmp(s->text + i, RULES_PROLOGUE + 1, n)) {
    const uint32_t call = RULES_FIND(s, i, i + 256, "\xe8");
    if (call < i + 256) rules_set(s, i, call + 1, LT_RULE_ENTER);
  }
  if (s->text[i] == 0xe8 && RULES_IS(s, i + 5, "\x48\x8b\x83") &&
      RULES_IS(s, i + 12, "\xf2\x0f\x10\x43"))
    rules_set(s, i + 5, i + 18, LT_RULE_ENTER);
}

/* Sets s->rule. Returns 0 if this does not look like the code of a known interpreter. */
static int rules_make(struct rules* s) {
  memset(s->rule, LT_RULE_REGISTERS, s->size);
  rules_find_instructions(s);
  for (uint32_t i = 0; i + 16 < s->size; i++) {
    const uint32_t length = rules_call(s, i);
    rules_results(s, i);
    if (length != 0) rules_around_call(s, i, length);
    if (RULES_IS(s, i, "\x48\x89\x5a\xf8")) s->rule[i] = LT_RULE_LINK;
  }
  for (uint32_t i = 0; i + 18 < s->size; i++) rules_callbacks(s, i);
  const uint32_t resume = rules_entries(s);
  rules_returns(s);
  for (uint32_t i = 0; i + 16 < s->size; i++)
    if (s->text[i] == 0xe8 && rules_target(s, i) == resume) rules_coroutines(s, i);
  return resume < s->size;
}

/* -- The table -------------------------------------------------------------- */

static uint32_t rules_crc(const uint8_t *text, uint32_t size)
{
  uint32_t crc = ~0u, i;
  for (i = 0; i < size; i++) {
    int k;
    crc ^= text[i];
    for (k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
  }
  return ~crc;
}

static uint32_t rules_text_size(const BuildCtx *ctx)
{
  int i;
  for (i = 0; i < ctx->nsym; i++)
    if (!strcmp(ctx->sym[i].name, "lj_vm_ffi_call")) return (uint32_t)ctx->sym[i].ofs;
  return (uint32_t)ctx->codesz;
}

/* Sets what the linker will set to `value`; returns how many places that are. */
static uint32_t rules_fields(const BuildCtx *ctx, uint8_t *text, uint32_t size, uint32_t value)
{
  uint32_t n = 0;
  int i;
  for (i = 0; i < ctx->nreloc; i++)
    if ((uint32_t)ctx->reloc[i].ofs + 4 <= size) {
      memcpy(text + ctx->reloc[i].ofs, &value, 4);
      n++;
    }
  return n;
}

static void rules_emit(BuildCtx *ctx)
{
  struct rules s = { NULL, rules_text_size(ctx), NULL, NULL };
  uint8_t *text = (uint8_t *)malloc(s.size);
  uint32_t i, nrules, nfields, crc;
  if (ctx->mode != BUILD_elfasm) return;
  s.text = text;
  s.rule = (uint8_t *)malloc(s.size);
  s.begins = (uint8_t *)malloc(s.size);
  memcpy(text, ctx->code, s.size);
  nfields = rules_fields(ctx, text, s.size, 0);
  crc = rules_crc(text, s.size);
  rules_fields(ctx, text, s.size, 1u << 20);  /* The target of a call is outside. */
  nrules = rules_make(&s) != 0;
  for (i = 1; nrules && i < s.size; i++) nrules += s.rule[i] != s.rule[i-1];
  fprintf(ctx->fp, "\n\t.section .rodata\n\t.p2align 3\n");
  emit_asm_label(ctx, "lj_vm_rules", (int)(20 + 4*(nrules + nfields)), 0);
  fprintf(ctx->fp, "\t.long %u, %u, 0x%x, %u, %u\n", 20 + 4*(nrules + nfields), s.size, crc,
	  nrules, nfields);
  for (i = 0; nrules && i < s.size; i++)
    if (i == 0 || s.rule[i] != s.rule[i-1])
      fprintf(ctx->fp, "\t.long 0x%x\n", (uint32_t)s.rule[i] << LT_RULE_SHIFT | i);
  for (i = 0; i < nfields; i++) fprintf(ctx->fp, "\t.long %d\n", (int)ctx->reloc[i].ofs);
  free(s.begins);
  free(s.rule);
  free(text);
}

#else
static void rules_emit(BuildCtx *ctx)
{
  (void)ctx;
}
#endif
