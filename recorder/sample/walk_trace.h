/* SPDX-License-Identifier: MIT */
/* Part of walk.h: compiled code. A trace runs with one base; the calls that it has inlined are in
** its snapshots. Invariant: the frames of a snapshot are used only where the base to which they
** belong is certain. */

/* The GCtrace with that number; 0: there is none. */
WALK_FN uint64_t walk_trace_object(struct walk* w, uint64_t number) {
  const uint64_t J = w->g + WALK_OFFSET(w->abi.g_J);
  if (number == 0 || number >= walk_u32(w, J + WALK_OFFSET(w->abi.J_sizetrace))) return 0;
  const uint64_t array = walk_word(w, J + WALK_OFFSET(w->abi.J_trace));
  const uint64_t trace = walk_word(w, array + number * 8);
  return (uint8_t)WALK_TRACE(trace, gc_type, 1) == (uint32_t)w->abi.type_trace ? trace : 0;
}

/* Is that address in its machine code? Then w->place is the offset. */
WALK_INLINE int walk_in_code(struct walk* w, uint64_t trace, uint64_t address) {
  const uint64_t code = WALK_TRACE(trace, T_mcode, 8);
  w->place = address - code;
  return trace != 0 && w->place < (uint32_t)WALK_TRACE(trace, T_szmcode, 4);
}

/* The head of a trace stores the trace's number where w->vmstate was read: at the first
** instructions it is still another one's. Returns the number that the instruction at `ip`, or the
*one after an
** adjustment of the stack pointer, stores; 0: none. */
WALK_FN uint64_t walk_head(struct walk* w, uint64_t ip) {
  uint8_t b[24] = {0};
  const int32_t distance = w->abi.g_vmstate - w->abi.g_dispatch;
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

WALK_GLOBAL int walk_search_step(struct walk* w, uint32_t i) {
  if (!w) return 1;
  const uint32_t low = w->loop.low, high = w->loop.high, middle = low + (high - low) / 2;
  WALK_HIDE(i); /* the verifier needs its value */
  if (high - low <= 1) return 1;
  const uint64_t at = w->loop.array + middle * WALK_OFFSET(w->abi.snap_size);
  const uint64_t from = walk_get(w, WALK_SNAPS, at + WALK_OFFSET(w->abi.snap_mcofs), 2);
  if ((uint16_t)from <= w->place)
    w->loop.low = middle;
  else
    w->loop.high = middle;
  return 0;
}

/* Index of the snapshot for w->place; the last one that begins there or before. */
WALK_FN uint32_t walk_snapshot_at(struct walk* w, uint64_t trace) {
  const uint32_t count = (uint16_t)WALK_TRACE(trace, T_nsnap, 2);
  w->loop.array = WALK_TRACE(trace, T_snap, 8);
  w->loop.low = 0;
  w->loop.high = count < WALK_SNAPSHOTS ? count : WALK_SNAPSHOTS;
  walk_fetch(w, WALK_SNAPS, w->loop.array, w->loop.high * WALK_OFFSET(w->abi.snap_size));
  WALK_LOOP(w, 11, walk_search_step) continue;
  return w->loop.low;
}

WALK_GLOBAL int walk_moves_step(struct walk* w, uint32_t i) {
  if (!w) return 1;
  const uint32_t ref = w->loop.from + i;
  if (ref >= w->loop.to) return 1;
  const uint64_t ins = w->loop.array + ref * WALK_OFFSET(w->abi.ir_size);
  const uint64_t op = walk_take(w, WALK_CODE, ins + WALK_OFFSET(w->abi.ir_op), 1);
  w->loop.found = (uint8_t)op == (uint32_t)w->abi.irop_retf;
  return w->loop.found != 0;
}

/* May the base change in the code of that snapshot? */
WALK_FN int walk_base_moves(struct walk* w, uint64_t trace, uint32_t index) {
  const uint32_t count = (uint16_t)WALK_TRACE(trace, T_nsnap, 2);
  const uint64_t snap = WALK_TRACE(trace, T_snap, 8) + index * WALK_OFFSET(w->abi.snap_size);
  const uint64_t both = 2 * WALK_OFFSET(w->abi.snap_size);
  walk_near(w, WALK_SNAPS, snap, both);
  const uint32_t from = (uint16_t)walk_get(w, WALK_SNAPS, snap + WALK_OFFSET(w->abi.snap_ref), 2);
  uint32_t to = (uint32_t)WALK_TRACE(trace, T_nins, 4);
  if (index + 1 < count)
    to = (uint16_t)walk_get(w, WALK_SNAPS,
                            snap + WALK_OFFSET(w->abi.snap_size) + WALK_OFFSET(w->abi.snap_ref), 2);
  if (to < from || to - from > WALK_BETWEEN) return 1;
  w->loop.array = WALK_TRACE(trace, T_ir, 8);
  w->loop.from = from;
  w->loop.to = to;
  w->loop.found = 0;
  const uint64_t size = WALK_OFFSET(w->abi.ir_size);
  walk_fetch(w, WALK_CODE, w->loop.array + from * size, (to - from) * size);
  WALK_LOOP(w, WALK_BETWEEN, walk_moves_step) continue;
  return w->loop.found != 0;
}

/* The value of a constant; 0: it is none. */
WALK_GLOBAL uint64_t walk_constant(struct walk* w, uint32_t ref) {
  if (!w || ref >= (uint32_t)w->abi.ir_bias) return 0;
  const uint64_t at = w->loop.array + (ref + 1ull) * WALK_OFFSET(w->abi.ir_size);
  /* Others are beside it. */
  if (at - w->blocks[WALK_CODE].from >= w->blocks[WALK_CODE].size)
    walk_fetch(w, WALK_CODE, at - 8ull * 32, 8 * 64);
  return walk_get(w, WALK_CODE, at, 8);
}

/* One entry of a snapshot: inlined calls go to w->loop.links and functions. */
WALK_GLOBAL int walk_entries_step(struct walk* w, uint32_t i) {
  if (!w) return 1;
  if (i >= w->loop.entries) return 1;
  const uint32_t entry = (uint32_t)walk_get(w, WALK_ENTRIES_OF, w->loop.map + 4ull * i, 4);
  const uint32_t slot = entry >> (w->abi.snap_slot_shift & 31);
  const uint32_t ref = entry & (uint32_t)w->abi.snap_ref_mask;
  if (slot == 0) w->loop.own = walk_constant(w, ref);
  if ((entry & (uint32_t)w->abi.snap_frame) != 0 && slot > 1) {
    uint32_t depth = w->loop.depth;
    WALK_HIDE(depth);
    if (depth >= WALK_INLINED) {
      w->loop.found = 0;
      return 1;
    }
    w->loop.slot = slot;
    w->loop.links[depth] = walk_constant(w, ref);
    w->loop.functions[depth] = slot == w->loop.last + 1 ? walk_constant(w, w->loop.below) : 0;
    w->loop.depth = depth + 1;
  }
  w->loop.below = ref;
  w->loop.last = slot;
  return 0;
}

/* Adds an inlined call, of those found the innermost. */
WALK_GLOBAL int walk_inlined_step(struct walk* w, uint32_t i) {
  if (!w) return 1;
  uint32_t depth = w->loop.depth - 1;
  WALK_HIDE(i); /* the verifier needs its value */
  WALK_HIDE(depth);
  if (depth >= WALK_INLINED) return 1;
  w->loop.depth = depth;
  const uint64_t link = w->loop.links[depth], function = w->loop.functions[depth];
  if (!w->listed) {
    if (function == 0)
      walk_add(w, WALK_LUA_CODE, 0, w->loop.pc);
    else if (!walk_add_function(w, function, w->loop.pc))
      w->loop.found = 0;
  }
  w->listed = (link & (uint64_t)w->abi.frame_maskp) == (uint64_t)w->abi.frame_vararg;
  if ((link & (uint64_t)w->abi.frame_mask) == (uint64_t)w->abi.frame_lua)
    w->loop.pc = link;
  else if (!w->listed)
    w->loop.pc = 0;
  return w->loop.found == 0;
}

/* Takes the calls that the trace has inlined at that snapshot into w->loop. Returns 0 if they are
** not known. */
WALK_FN int walk_take_snapshot(struct walk* w, uint64_t trace, uint32_t index) {
  const uint64_t snap = WALK_TRACE(trace, T_snap, 8) + index * WALK_OFFSET(w->abi.snap_size);
  struct walk_loop* loop = &w->loop;
  loop->array = WALK_TRACE(trace, T_ir, 8);
  walk_near(w, WALK_SNAPS, snap, WALK_OFFSET(w->abi.snap_size));
  loop->entries = (uint8_t)walk_get(w, WALK_SNAPS, snap + WALK_OFFSET(w->abi.snap_nent), 1);
  loop->map = WALK_TRACE(trace, T_snapmap, 8) +
              4ull * (uint32_t)walk_get(w, WALK_SNAPS, snap + WALK_OFFSET(w->abi.snap_mapofs), 4);
  walk_fetch(w, WALK_ENTRIES_OF, loop->map, 4ull * loop->entries + 8);
  const uint64_t end = loop->map + 4ull * loop->entries;
  const uint64_t low = (uint32_t)walk_get(w, WALK_ENTRIES_OF, end, 4);
  loop->pc = ((low | walk_get(w, WALK_ENTRIES_OF, end + 4, 4) << 32) >> 8) + 4;
  loop->own = 0;
  loop->below = UINT32_MAX; /* no constant */
  loop->last = loop->depth = loop->slot = 0;
  loop->found = 1;
  WALK_LOOP(w, 256, walk_entries_step) continue;
  return loop->found != 0;
}

/* Adds the calls that were taken, and leaves the frame at w->base for walk_step(). Returns 0 if
** they are not known. */
WALK_FN int walk_add_inlined(struct walk* w) {
  struct walk_loop* loop = &w->loop;
  WALK_LOOP(w, WALK_INLINED, walk_inlined_step) continue;
  if (loop->found == 0) return 0;
  w->pc = loop->pc;
  /* A tail call has replaced the function of the frame where the trace began. */
  if (loop->own != 0 && !w->listed && walk_proto(w, loop->own) != 0) {
    walk_add_function(w, loop->own, w->pc);
    w->listed = 1;
  }
  return 1;
}

/* Both. */
WALK_INLINE int walk_snapshot(struct walk* w, uint64_t trace, uint32_t index, int may_move) {
  if (!walk_take_snapshot(w, trace, index)) return 0;
  if (may_move && (w->loop.depth > 0 || w->loop.own != 0)) return 0;
  return walk_add_inlined(w);
}

/* Compiled code at w->place of that trace. */
WALK_FN void walk_trace(struct walk* w, uint64_t trace) {
  const uint32_t size = (uint32_t)WALK_TRACE(trace, T_szmcode, 4);
  const uint32_t adjust = (uint16_t)WALK_TRACE(trace, T_spadjust, 2);
  const uint32_t tail = 5 + (adjust == 0 ? 0 : adjust < 128 ? 4 : 7);
  const uint32_t index = walk_snapshot_at(w, trace), n = w->n;
  w->base = w->jit_base;
  w->pc = 0;
  w->trace = trace;
  w->snapshot = index;
  w->size = size;
  /* The last instructions jump to another trace, and the base is that one's already. */
  if ((uint16_t)WALK_TRACE(trace, T_link, 2) != 0 && w->place + tail >= size) return;
  if (walk_snapshot(w, trace, index, walk_base_moves(w, trace, index))) return;
  w->n = n;
  w->listed = 0;
  walk_add(w, WALK_UNKNOWN, 0, 0);
}
