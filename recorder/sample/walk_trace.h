/* SPDX-License-Identifier: MIT */
/* Part of walk.h: compiled code. A trace runs with one base; the calls that it has inlined are in
** its snapshots. Invariant: the frames of a snapshot are used only where the base to which they
** belong is certain. */

/* The GCtrace with that number; 0: there is none. */
WALK_FN uint64_t walk_trace_object(struct walk* w, uint64_t number) {
  const uint64_t J = w->g + WALK_OFFSET(w->abi->g_J);
  if (number == 0 || number >= walk_u32(w, J + WALK_OFFSET(w->abi->J_sizetrace))) return 0;
  const uint64_t array = walk_word(w, J + WALK_OFFSET(w->abi->J_trace));
  const uint64_t trace = walk_word(w, array + number * 8);
  return walk_u8(w, trace + WALK_OFFSET(w->abi->gc_type)) == (uint32_t)w->abi->type_trace ? trace
                                                                                          : 0;
}

/* Is that address in its machine code? Then w->place is the offset. */
WALK_FN int walk_in_code(struct walk* w, uint64_t trace, uint64_t address) {
  const uint64_t code = walk_word(w, trace + WALK_OFFSET(w->abi->T_mcode));
  w->place = address - code;
  return trace != 0 && w->place < walk_u32(w, trace + WALK_OFFSET(w->abi->T_szmcode));
}

/* The head of a trace stores the trace's number where w->vmstate was read: at the first
 *instructions
 ** it is still another one's. Returns the number that the instruction at `ip`, or the one after an
 ** adjustment of the stack pointer, stores; 0: none. */
WALK_FN uint64_t walk_head(struct walk* w, uint64_t ip) {
  uint8_t b[24] = {0};
  const int32_t distance = w->abi->g_vmstate - w->abi->g_dispatch;
  if (!walk_read(w, b, sizeof b, ip)) return 0;
  int at = 0;
  if (b[0] == 0x48 && b[1] == 0x83 && b[2] == 0xec) at = 4; /* sub rsp, imm8 */
  if (b[0] == 0x48 && b[1] == 0x83 && b[2] == 0xc4) at = 4; /* add rsp, imm8 */
  if (b[0] == 0x48 && b[1] == 0x81 && (b[2] == 0xec || b[2] == 0xc4)) at = 7;
  if (b[0] == 0x48 && b[1] == 0x8d && b[2] == 0x64 && b[3] == 0x24) at = 5; /* lea rsp, imm8 */
  if (b[0] == 0x48 && b[1] == 0x8d && b[2] == 0xa4 && b[3] == 0x24) at = 8;
  int32_t disp = 0, number = 0;
  if (b[at] != 0x41 || b[at + 1] != 0xc7 || b[at + 2] != 0x86) return 0;
  for (int i = 3; i >= 0; i--) {
    disp = (int32_t)((uint32_t)disp << 8 | b[at + 3 + i]);
    number = (int32_t)((uint32_t)number << 8 | b[at + 7 + i]);
  }
  return disp == distance && number > 0 ? (uint64_t)number : 0;
}

/* Index of the snapshot for w->place; the last one that begins there or before. */
WALK_FN uint32_t walk_snapshot_at(struct walk* w, uint64_t trace) {
  const uint32_t count = walk_u16(w, trace + WALK_OFFSET(w->abi->T_nsnap));
  const uint64_t snaps = walk_word(w, trace + WALK_OFFSET(w->abi->T_snap));
  uint32_t low = 0, high = count < WALK_SNAPSHOTS ? count : WALK_SNAPSHOTS;
  for (int i = 0; i < 11 && high - low > 1; i++) {
    const uint32_t middle = low + (high - low) / 2;
    const uint64_t at = snaps + middle * WALK_OFFSET(w->abi->snap_size);
    if (walk_u16(w, at + WALK_OFFSET(w->abi->snap_mcofs)) <= w->place)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* May the base change in the code of that snapshot? */
WALK_FN int walk_base_moves(struct walk* w, uint64_t trace, uint32_t index) {
  const uint32_t count = walk_u16(w, trace + WALK_OFFSET(w->abi->T_nsnap));
  const uint64_t snap =
      walk_word(w, trace + WALK_OFFSET(w->abi->T_snap)) + index * WALK_OFFSET(w->abi->snap_size);
  const uint64_t ir = walk_word(w, trace + WALK_OFFSET(w->abi->T_ir));
  const uint32_t from = walk_u16(w, snap + WALK_OFFSET(w->abi->snap_ref));
  uint32_t to = walk_u32(w, trace + WALK_OFFSET(w->abi->T_nins));
  if (index + 1 < count)
    to = walk_u16(w, snap + WALK_OFFSET(w->abi->snap_size) + WALK_OFFSET(w->abi->snap_ref));
  if (to < from || to - from > WALK_BETWEEN) return 1;
  for (uint32_t i = 0; i < WALK_BETWEEN && from + i < to; i++) {
    const uint64_t ins = ir + (from + i) * WALK_OFFSET(w->abi->ir_size);
    if (walk_u8(w, ins + WALK_OFFSET(w->abi->ir_op)) == (uint32_t)w->abi->irop_retf) return 1;
  }
  return 0;
}

/* Adds the calls that the trace has inlined at that snapshot, and leaves the frame at w->jit_base
 *for
 ** walk_coroutine(). Returns 0 if they are not known. */
WALK_FN int walk_snapshot(struct walk* w, uint64_t trace, uint32_t index, int may_move) {
  const uint64_t snap =
      walk_word(w, trace + WALK_OFFSET(w->abi->T_snap)) + index * WALK_OFFSET(w->abi->snap_size);
  const uint64_t ir = walk_word(w, trace + WALK_OFFSET(w->abi->T_ir));
  const uint32_t entries = walk_u8(w, snap + WALK_OFFSET(w->abi->snap_nent));
  const uint64_t map = walk_word(w, trace + WALK_OFFSET(w->abi->T_snapmap)) +
                       4ull * walk_u32(w, snap + WALK_OFFSET(w->abi->snap_mapofs));
  uint64_t pc = (walk_word(w, map + 4ull * entries) >> 8) + 4, below = 0, own = 0,
           links[WALK_INLINED], functions[WALK_INLINED];
  uint32_t last = 0, depth = 0;
  for (uint32_t i = 0; i < entries && i < 256; i++) {
    const uint32_t entry = walk_u32(w, map + 4ull * i), slot = entry >> w->abi->snap_slot_shift;
    const uint32_t ref = entry & (uint32_t)w->abi->snap_ref_mask;
    const uint64_t value = ref < (uint32_t)w->abi->ir_bias
                               ? walk_word(w, ir + (ref + 1ull) * WALK_OFFSET(w->abi->ir_size))
                               : 0;
    if (slot == 0) own = value;
    if ((entry & (uint32_t)w->abi->snap_frame) != 0 && slot > 1) {
      if (depth >= WALK_INLINED) return 0;
      links[depth] = value;
      functions[depth] = slot == last + 1 ? below : 0;
      depth++;
    }
    below = value;
    last = slot;
  }
  if (may_move && (depth > 0 || own != 0)) return 0;
  for (uint32_t i = 0; i < WALK_INLINED && depth > 0; i++) {
    const uint64_t link = links[--depth];
    if (!w->listed) {
      if (functions[depth] == 0)
        walk_add(w, WALK_LUA_CODE, 0, pc);
      else if (!walk_add_function(w, functions[depth], pc))
        return 0;
    }
    w->listed = (link & (uint64_t)w->abi->frame_maskp) == (uint64_t)w->abi->frame_vararg;
    if ((link & (uint64_t)w->abi->frame_mask) == (uint64_t)w->abi->frame_lua)
      pc = link;
    else if (!w->listed)
      pc = 0;
  }
  w->pc = pc;
  /* A tail call has replaced the function of the frame where the trace began. */
  if (own != 0 && !w->listed && walk_proto(w, own) != 0) {
    walk_add_function(w, own, pc);
    w->listed = 1;
  }
  return 1;
}

/* Compiled code at w->place of that trace. */
WALK_FN void walk_trace(struct walk* w, uint64_t trace) {
  const uint32_t size = walk_u32(w, trace + WALK_OFFSET(w->abi->T_szmcode));
  const uint32_t adjust = walk_u16(w, trace + WALK_OFFSET(w->abi->T_spadjust));
  const uint32_t tail = 5 + (adjust == 0 ? 0 : adjust < 128 ? 4 : 7);
  const uint32_t index = walk_snapshot_at(w, trace), n = w->n;
  w->base = w->jit_base;
  w->pc = 0;
  w->trace = trace;
  w->snapshot = index;
  /* The last instructions jump to another trace, and the base is that one's already. */
  if (walk_u16(w, trace + WALK_OFFSET(w->abi->T_link)) != 0 && w->place + tail >= size) return;
  if (walk_snapshot(w, trace, index, walk_base_moves(w, trace, index))) return;
  w->n = n;
  w->listed = 0;
  walk_add(w, WALK_UNKNOWN, 0, 0);
}
