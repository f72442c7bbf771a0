// SPDX-License-Identifier: MIT
// hostile-traces: writes traces that are valid but shaped to cost a reader more than their length.
//
//   hostile-traces                     the names of all shapes
//   hostile-traces SHAPE N FILE        one of them, about N events (or descriptions) long;
//                                      compressed if HOSTILE_COMPRESS is set in the environment
//
// Each shape is one function below that emits words; the same SHAPE and N give the same bytes.
// Invariant: the file's size is proportional to N, so whatever grows faster than N in a reader of
// two sizes of one shape grows faster than its input.
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "hostile_stream.h"
#include "trace/trace_writer.h"

namespace luatrace {
namespace {

using Shape = std::function<void(TraceWriter&, uint32_t n)>;

// -- Depth --

void deep(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(10);
  for (uint32_t i = 0; i < n; i++) s.entry(1 + i % 10);
}
void deep_recursion(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(1);
  for (uint32_t i = 0; i < n / 2; i++) s.entry(1);
  for (uint32_t i = 0; i < n / 2; i++) s.ret(1);
}
void deep_distinct(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(n);
  for (uint32_t i = 1; i <= n; i++) s.entry(i);
}
void calls_at_depth(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(10);
  for (uint32_t i = 0; i < n / 2; i++) s.entry(1 + i % 9);
  for (uint32_t i = 0; i < n / 4; i++) s.entry(10), s.ret(10);
}
// Each call on the way up makes another call: as many leaves as levels.
void comb(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(3);
  for (uint32_t i = 0; i < n / 4; i++) s.entry(1), s.entry(2), s.ret(2);
  for (uint32_t i = 0; i < n / 4; i++) s.ret(1);
}
// Half of the stack returns, and is called again as other functions.
void see_saw(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(64);
  const uint32_t half = n / 16;
  for (uint32_t i = 0; i < half; i++) s.entry(1);
  for (uint32_t round = 0; round < 7; round++) {
    for (uint32_t i = 0; i < half; i++) s.entry(2 + (round + i) % 60);
    for (uint32_t i = half; i-- > 0;) s.ret(2 + (round + i) % 60);
  }
}
void unwinds_at_depth(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(3);
  for (uint32_t i = 0; i < n / 4; i++) s.entry(1);
  for (uint32_t i = 0; i < n / 4; i++) s.entry(2), s.unwind(1, 1);
  s.unwind(0xfffffffe, LT_ID_NONE);
}
void unmatched_returns(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(3);
  for (uint32_t i = 0; i < n / 2; i++) s.entry(1);
  for (uint32_t i = 0; i < n / 2; i++) s.ret(2);
}
void threads_at_depth(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(3);
  for (uint32_t i = 0; i < n / 2; i++) s.entry(1);
  for (uint32_t i = 0; i < n / 4; i++) s.thread(i + 1);
}
void losses_at_depth(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(3);
  const uint32_t depth = 100;
  for (uint32_t i = 0; i < n / depth; i++) {
    s.loss();
    s.stack(1, depth);
    for (uint32_t j = 0; j < depth; j++) s.frame(1 + i % 3);
  }
}

// -- Coroutines --

void chain(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(2);
  s.entry(1);
  for (uint32_t i = 1; i <= n / 3; i++) s.create(i), s.resume(i), s.entry(2);
}
void chain_without_calls(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(2);
  s.entry(1);
  for (uint32_t i = 1; i <= n / 2; i++) s.resume(i);
  for (uint32_t i = 0; i < n / 4; i++) s.entry(2), s.ret(2);
}
void chain_ends(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(2);
  s.entry(1);
  for (uint32_t i = 1; i <= n / 5; i++) s.create(i), s.resume(i), s.entry(2);
  for (uint32_t i = 1; i <= n / 5; i++) s.ret(2), s.suspend(LTS_DONE);
}
// A call waits in the innermost of a long chain, again and again.
void chain_and_waits(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  const uint32_t length = s.chain(n / 2);
  for (uint32_t i = 0; i < n / 2; i++) s.suspend(LTS_YIELD), s.resume(length);
}

// The innermost of a long chain resumes one more, again and again.
void chain_and_resumes(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  const uint32_t length = s.chain(n / 8);
  for (uint32_t i = 0; i < n / 4; i++)
    s.resume(length + 1), s.entry(3), s.ret(3), s.suspend(LTS_YIELD);
}
void chain_and_switches(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  const uint32_t length = s.chain(n / 4);
  for (uint32_t i = 0; i < n / 4; i++) s.switch_to(i % 2 ? length : length + 1);
}
void chain_and_threads(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.chain(n / 4);
  for (uint32_t i = 0; i < n / 4; i++) s.thread(1 + i % 2);
}
// A chain of 100 coroutines is resumed from its outermost and suspended from its innermost, again
// and again.
void chains_again(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(3);
  s.entry(1);
  for (uint32_t round = 0; round < n / 400; round++) {
    for (uint32_t i = 1; i <= 100; i++) s.resume(i), s.entry(2);
    for (uint32_t i = 1; i <= 100; i++) s.ret(2), s.suspend(LTS_YIELD);
  }
}
void deep_and_resumed(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(10);
  s.entry(1);
  s.resume(1);
  for (uint32_t i = 0; i < n / 2; i++) s.entry(1 + i % 9);
  for (uint32_t i = 0; i < n / 4; i++) s.suspend(LTS_YIELD), s.resume(1);
}
void deep_and_moved(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(10);
  s.entry(1);
  s.resume(1);
  for (uint32_t i = 0; i < n / 2; i++) s.entry(1 + i % 9);
  s.suspend(LTS_YIELD);
  for (uint32_t i = 0; i < n / 8; i++) {
    s.entry(9 + i % 2), s.resume(1), s.suspend(LTS_YIELD), s.ret(9 + i % 2);
  }
}
void coroutines_created(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(2);
  s.entry(1);
  for (uint32_t i = 1; i <= n; i++) s.create(i);
}
// Each in a function of its own.
void coroutines_created_apart(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(n + 1);
  for (uint32_t i = 1; i <= n; i++) s.entry(i), s.create(i), s.ret(i);
}
void coroutines_suspended(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(2);
  s.entry(1);
  for (uint32_t i = 1; i <= n / 4; i++) s.create(i), s.resume(i), s.entry(2), s.suspend(LTS_YIELD);
}
// Many requests, one after the other; many at a time that wait, with losses and resumes; and one
// with many coroutines.
void requests_short(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(40);
  s.resume(1);
  for (uint32_t i = 1; i <= n / 3; i++) s.request(1, i), s.entry(1 + i % 40), s.ret(1 + i % 40);
}
void requests_waiting(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(40);
  for (uint32_t i = 2; i <= n / 10; i++)
    s.create(i), s.request(i, i), s.resume(i), s.entry(1 + i % 40), s.suspend(LTS_YIELD);
  for (uint32_t i = 2; i <= n / 10; i++) s.resume(i), s.suspend(LTS_YIELD);
  for (uint32_t i = 2; i <= n / 10; i++) s.loss();
}
void requests_wide(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(40);
  for (uint32_t i = 2; i <= n / 8; i++)
    s.create(i), s.request(i, 1), s.resume(i), s.entry(1 + i % 40), s.suspend(LTS_YIELD);
  for (uint32_t i = 2; i <= n / 8; i++) s.resume(i), s.suspend(LTS_YIELD);
}
// A deep stack, which works for one request after the other; also of a coroutine that waits.
void requests_deep(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(40);
  s.resume(1);
  for (uint32_t i = 1; i <= n / 4; i++) s.entry(1 + i % 40);
  for (uint32_t i = 1; i <= n / 24; i++) s.request(1, i), s.entry(1), s.ret(1);
  for (uint32_t i = n; i <= n + n / 24; i++)
    s.suspend(LTS_YIELD), s.request(1, i), s.resume(1), s.entry(1), s.ret(1);
}
void coroutines_done(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(2);
  s.entry(1);
  for (uint32_t i = 1; i <= n / 5; i++)
    s.create(i), s.resume(i), s.entry(2), s.ret(2), s.suspend(LTS_DONE);
}
void coroutines_in_turns(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(2);
  s.entry(1);
  for (uint32_t i = 0; i < n / 4; i++)
    s.resume(1 + i % 1000), s.entry(2), s.ret(2), s.suspend(LTS_YIELD);
}
void coroutines_switched(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(2);
  s.entry(1);
  for (uint32_t i = 1; i <= n / 2; i++) s.switch_to(i), s.entry(2);
}
void coroutines_collected(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(2);
  s.entry(1);
  for (uint32_t i = 1; i <= n / 5; i++)
    s.create(i), s.resume(i), s.entry(2), s.suspend(LTS_YIELD), s.collect(i);
}

// -- Functions --

void undescribed(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  for (uint32_t i = 1; i <= n / 2; i++) s.entry(i), s.ret(i);
}
void undescribed_far(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  for (uint32_t i = 1; i <= n / 2; i++) s.entry(i * 104729u), s.ret(i * 104729u);
}
void described_late(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  for (uint32_t i = 1; i <= n / 3; i++) s.entry(i), s.ret(i);
  s.flush();
  s.functions(n / 3);
  for (uint32_t i = 1; i <= n / 3; i++) s.entry(i);
}
void many_functions(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(n);
  s.entry(1);
  for (uint32_t i = 1; i <= n; i++) s.entry(i), s.ret(i);
}
void equal_names(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  for (uint32_t i = 1; i <= n; i++) s.lua(i, "same", i);
  s.described();
  for (uint32_t i = 1; i <= n; i++) s.entry(i), s.ret(i);
}
void equal_functions(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  for (uint32_t i = 1; i <= n; i++) s.lua(i, "same", 7);
  s.described();
  for (uint32_t i = 1; i <= n; i++) s.entry(i), s.ret(i);
}
void many_chunks(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  for (uint32_t i = 1; i <= n; i++) s.lua(i, "f", 1, "@dir/" + std::to_string(i) + ".lua");
  s.described();
  for (uint32_t i = 1; i <= n; i++) s.entry(i), s.ret(i);
}
void long_names(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  const uint32_t count = n / 1000 + 1;
  for (uint32_t i = 1; i <= count; i++)
    s.lua(i, std::string(32000, 'n') + std::to_string(i), i,
          "@" + std::string(32000, 'c') + std::to_string(i));
  s.described();
  for (uint32_t i = 1; i <= n / 2; i++) s.entry(1 + i % count), s.ret(1 + i % count);
}
// One long name at every level: outputs that repeat names for each node.
void long_names_deep(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.lua(1, std::string(n, 'n'), 1);
  s.lua(2, std::string(n, 'm'), 2, "@" + std::string(n, 'c'));
  s.described();
  for (uint32_t i = 0; i < n / 2; i++) s.entry(1 + i % 2);
  for (uint32_t i = 0; i < n / 2; i++) s.ret(1 + (n / 2 - 1 - i) % 2);
}
// Function i is called once; its address is in the map i.
void call_c_functions(TraceWriter& w, uint32_t n, uint64_t first, uint64_t distance) {
  Stream s(w, 1);
  for (uint32_t i = 0; i < n; i++) s.c(i + 1, first + i * distance);
  s.described();
  for (uint32_t i = 1; i <= n; i++) s.entry(i), s.ret(i);
}
void maps(TraceWriter& w, uint32_t n) {
  {
    Maps maps(w);
    for (uint64_t i = 0; i < n / 2; i++)
      maps.add(0x10000 + i * 0x2000, 0x11000 + i * 0x2000, "[anon" + std::to_string(i) + ']');
  }
  call_c_functions(w, n / 2, 0x10100, 0x2000);
}
// All overlap: the newest counts.
void maps_nested(TraceWriter& w, uint32_t n) {
  constexpr uint64_t kMiddle = uint64_t{1} << 40;
  {
    Maps maps(w);
    for (uint64_t i = n / 2; i > 0; i--)
      maps.add(kMiddle - i * 0x1000, kMiddle + i * 0x1000, "[anon" + std::to_string(i) + ']');
  }
  call_c_functions(w, n / 2, kMiddle - n / 2 * 0x1000, 0x2000);
}
// The oldest contains all others, and half of the addresses are in it alone.
void maps_of_holes(TraceWriter& w, uint32_t n) {
  {
    Maps maps(w);
    maps.add(0x10000, uint64_t{1} << 40, "[all]");
    for (uint64_t i = 0; i < n / 2; i++)
      maps.add(0x11000 + i * 0x2000, 0x12000 + i * 0x2000, "[anon" + std::to_string(i) + ']');
  }
  call_c_functions(w, n / 2, 0x10100, 0x2000);
}
void map_files(TraceWriter& w, uint32_t n) {
  {
    Maps maps(w);
    for (uint64_t i = 0; i < n / 4; i++)
      maps.add(0x10000 + i * 0x2000, 0x11000 + i * 0x2000,
               "/nonexistent/" + std::to_string(i) + ".so");
  }
  call_c_functions(w, n / 4, 0x10100, 0x2000);
}
// A node with many children, which are called in turns.
void wide_in_turns(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  const uint32_t width = n / 4;
  s.functions(width);
  for (int round = 0; round < 2; round++)
    for (uint32_t i = 1; i <= width; i++) s.entry(i), s.ret(i);
}
void all_pairs(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  uint32_t side = 1;
  while ((side + 1) * (side + 1) * 2 <= n) side++;
  s.functions(side);
  for (uint32_t i = 1; i <= side; i++) {
    s.entry(i);
    for (uint32_t j = 1; j <= side; j++) s.entry(j), s.ret(j);
    s.ret(i);
  }
}

// -- Everything around the events --

void streams(TraceWriter& w, uint32_t n) {
  for (uint32_t i = 1; i <= n / 4; i++) {
    Stream s(w, i);
    s.lua(1, "f", 1);
    s.entry(1), s.ret(1);
  }
}
void streams_undescribed(TraceWriter& w, uint32_t n) {
  for (uint32_t i = 1; i <= n / 4; i++) {
    Stream s(w, i);
    s.entry(1 + i % 1000), s.ret(1 + i % 1000);
  }
}
void processes(TraceWriter& w, uint32_t n) {
  for (uint32_t i = 1; i <= n / 4; i++) {
    lt_process_info process{};
    process.pid = process.ns_pid = static_cast<int32_t>(i);
    w.write_process(i, process, "/usr/bin/hostile", "hostile");
    Stream s(w, i, i);
    s.c(1, 0x1000);
    s.entry(1), s.ret(1);
  }
}
void threads(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(3);
  for (uint32_t i = 1; i <= n / 3; i++) s.thread(i), s.entry(1 + i % 3), s.ret(1 + i % 3);
}
void small_blocks(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(3);
  for (uint32_t i = 0; i < n / 8; i++) s.entry(1), s.flush();
}
void losses(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(3);
  for (uint32_t i = 0; i < n / 4; i++)
    s.loss(), s.stack(1 + i % 7, 1), s.frame(1 + i % 3), s.entry(2);
}
void losses_of_chains(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(3);
  for (uint32_t i = 0; i < n / 40; i++) {
    s.loss();
    for (uint32_t j = 1; j <= 10; j++) s.stack(j, 1), s.frame(1), s.resume(j + 1);
  }
}
void recordings(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(3);
  for (uint32_t i = 0; i < n / 4; i++) {
    s.ext(LTX_STOP, LTE_DETACH, {});
    s.ext(LTX_TIME, 0, {});
    s.entry(1);
    s.ret(1);
  }
}
void marks(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(3);
  for (uint32_t i = 0; i < n; i++) s.ext(LTX_MARK, i % 2048, {});
}
void notes(TraceWriter& w, uint32_t n) {
  for (uint32_t i = 0; i < n / 8; i++) w.write_note("key" + std::to_string(i) + "=value\n");
  Stream s(w, 1);
  s.functions(3);
  s.entry(1), s.ret(1);
}
void long_times(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(3);
  s.step = uint64_t{1} << 38;
  for (uint32_t i = 0; i < n / 4; i++) s.entry(1), s.entry(2), s.ret(2), s.ret(1);
}
void no_time(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(3);
  s.step = 0;
  for (uint32_t i = 0; i < n / 4; i++) s.entry(1), s.entry(2), s.ret(2), s.ret(1);
}
void broken_returns(TraceWriter& w, uint32_t n) {
  Stream s(w, 1);
  s.functions(3);
  for (uint32_t i = 0; i < n; i++) s.ret(1);
}

#define SHAPE(name) \
  { #name, name }
const std::map<std::string, Shape> kShapes = {SHAPE(deep),
                                              SHAPE(deep_recursion),
                                              SHAPE(deep_distinct),
                                              SHAPE(calls_at_depth),
                                              SHAPE(comb),
                                              SHAPE(see_saw),
                                              SHAPE(unwinds_at_depth),
                                              SHAPE(unmatched_returns),
                                              SHAPE(threads_at_depth),
                                              SHAPE(losses_at_depth),
                                              SHAPE(chain),
                                              SHAPE(chain_without_calls),
                                              SHAPE(chain_ends),
                                              SHAPE(chain_and_resumes),
                                              SHAPE(chain_and_waits),
                                              SHAPE(chain_and_switches),
                                              SHAPE(chain_and_threads),
                                              SHAPE(chains_again),
                                              SHAPE(deep_and_resumed),
                                              SHAPE(deep_and_moved),
                                              SHAPE(coroutines_created),
                                              SHAPE(coroutines_created_apart),
                                              SHAPE(coroutines_suspended),
                                              SHAPE(requests_short),
                                              SHAPE(requests_waiting),
                                              SHAPE(requests_wide),
                                              SHAPE(requests_deep),
                                              SHAPE(coroutines_done),
                                              SHAPE(coroutines_in_turns),
                                              SHAPE(coroutines_switched),
                                              SHAPE(coroutines_collected),
                                              SHAPE(undescribed),
                                              SHAPE(undescribed_far),
                                              SHAPE(described_late),
                                              SHAPE(many_functions),
                                              SHAPE(equal_names),
                                              SHAPE(equal_functions),
                                              SHAPE(many_chunks),
                                              SHAPE(long_names),
                                              SHAPE(long_names_deep),
                                              SHAPE(maps),
                                              SHAPE(maps_nested),
                                              SHAPE(maps_of_holes),
                                              SHAPE(map_files),
                                              SHAPE(wide_in_turns),
                                              SHAPE(all_pairs),
                                              SHAPE(streams),
                                              SHAPE(streams_undescribed),
                                              SHAPE(processes),
                                              SHAPE(threads),
                                              SHAPE(small_blocks),
                                              SHAPE(losses),
                                              SHAPE(losses_of_chains),
                                              SHAPE(recordings),
                                              SHAPE(marks),
                                              SHAPE(notes),
                                              SHAPE(long_times),
                                              SHAPE(no_time),
                                              SHAPE(broken_returns)};
#undef SHAPE

int run(int argc, char** argv) {
  if (argc == 1) {
    for (const auto& [name, shape] : kShapes) std::cout << name << '\n';
    return 0;
  }
  const auto shape = kShapes.find(argv[1]);
  if (argc != 4 || shape == kShapes.end())
    return std::cerr << "usage: hostile-traces [SHAPE N FILE]\n", 2;
  std::string error;
  const int fd = open_trace(argv[3], &error);
  if (fd < 0) return std::cerr << "hostile-traces: " << error << '\n', 2;
  lt_file_header header = make_file_header();
  const bool compress = getenv("HOSTILE_COMPRESS");
  if (compress) header.required |= LT_FEATURE_ZSTD;
  TraceWriter writer(fd, argv[3], header);
  if (compress) writer.compress(kMaxCompression);
  lt_process_info process{};
  process.pid = process.ns_pid = 1;
  writer.write_process(1, process, "/usr/bin/hostile", "hostile");
  shape->second(writer, static_cast<uint32_t>(std::strtoul(argv[2], nullptr, 10)));
  writer.write_end({});
  if (!writer.close()) return std::cerr << "hostile-traces: " << writer.error() << '\n', 2;
  return 0;
}

}  // namespace
}  // namespace luatrace

int main(int argc, char** argv) {
  return luatrace::run(argc, argv);
}
