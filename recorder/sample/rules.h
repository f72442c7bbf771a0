/* SPDX-License-Identifier: MIT */
/* The rules of the ABI note for the interpreter's machine code (struct lt_abi_rules), from the
 *table of
 ** a process into one byte for each byte of the code, as walk_rule() needs them. Plain C.
 **
 ** Invariant: nothing of the table is trusted: it is used only if the code is the one for which it
 ** was made. */
#ifndef LUATRACE_SAMPLE_RULES_H
#define LUATRACE_SAMPLE_RULES_H

#include <stdint.h>
#include <string.h>

#include "luajit-usdt/src/luatrace_abi.h"

#define RULES_TEXT_MAX (1u << 20) /* bytes of an interpreter's code */
#define RULES_SIZE_MAX (1u << 18) /* bytes of a table */

enum rules_result {
  RULES_TAKEN,
  RULES_NONE,     /* there are no rules for this interpreter */
  RULES_DAMAGED,  /* the table contradicts itself */
  RULES_OF_OTHER, /* the code is not the one for which the table was made */
};

/* Is `table`, of which `size` bytes could be read, whole? */
static inline enum rules_result rules_check(const uint32_t* table, uint32_t size) {
  struct lt_abi_rules r;
  if (size < sizeof r) return RULES_DAMAGED;
  memcpy(&r, table, sizeof r);
  if (r.size > size || r.text_size == 0 || r.text_size > RULES_TEXT_MAX ||
      r.size != sizeof r + 4 * ((uint64_t)r.nrules + r.nfields))
    return RULES_DAMAGED;
  const uint32_t* at = table + sizeof r / 4;
  for (uint32_t i = 0; i < r.nrules; i++) {
    const uint32_t offset = at[i] & 0xffffff, last = i == 0 ? 0 : at[i - 1] & 0xffffff;
    if (offset >= r.text_size || (i == 0 ? offset != 0 : offset <= last)) return RULES_DAMAGED;
  }
  for (uint32_t i = r.nrules; i < r.nrules + r.nfields; i++)
    if (at[i] + 4ull > r.text_size) return RULES_DAMAGED;
  return r.nrules != 0 ? RULES_TAKEN : RULES_NONE;
}

/* CRC-32C. */
static inline uint32_t rules_crc(const uint8_t* bytes, uint32_t size) {
  uint32_t crc = ~0u;
  for (uint32_t i = 0; i < size; i++) {
    crc ^= bytes[i];
    for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
  }
  return ~crc;
}

/* Sets rule[0..text_size): LT_RULE_*. Overwrites fields in `text`, a copy of the code of the
** interpreter that runs (vm_begin .. vm_end). */
static inline enum rules_result rules_take(const uint32_t* table, uint32_t size, uint8_t* text,
                                           uint32_t text_size, uint8_t* rule) {
  struct lt_abi_rules r;
  const enum rules_result result = rules_check(table, size);
  if (result != RULES_TAKEN) return result;
  memcpy(&r, table, sizeof r);
  const uint32_t *rules = table + sizeof r / 4, *fields = rules + r.nrules;
  if (r.text_size != text_size) return RULES_OF_OTHER;
  for (uint32_t i = 0; i < r.nfields; i++) memset(text + fields[i], 0, 4);
  if (rules_crc(text, text_size) != r.text_crc) return RULES_OF_OTHER;
  for (uint32_t i = 0; i < r.nrules; i++) {
    const uint32_t end = i + 1 < r.nrules ? rules[i + 1] & 0xffffff : text_size;
    for (uint32_t k = rules[i] & 0xffffff; k < end; k++)
      rule[k] = (uint8_t)(rules[i] >> LT_RULE_SHIFT);
  }
  return RULES_TAKEN;
}

#endif
