// SPDX-License-Identifier: MIT
// The sections of a saved profile, and the order of what is in them (docs/profile-format.md): for
// the writer and the reader, so that both have the same.
#pragma once

#include <cstdint>

#include "analyzer/report/report.h"

namespace luatrace::analyze {

enum Section : uint64_t {
  kSums = 1,
  kTrust = 2,
  kFile = 3,
  kFunctions = 4,
  kNodes = 5,
  kHints = 6,
  kCpu = 7,
  kSamples = 8,
  kCompiled = 9,
  kTimeBuckets = 10,
  kSegments = 11
};
constexpr FunctionKind kKinds[] = {
    FunctionKind::kRoot,    FunctionKind::kGap,     FunctionKind::kLua,   FunctionKind::kC,
    FunctionKind::kBuiltin, FunctionKind::kUnknown, FunctionKind::kGroup, FunctionKind::kPruned,
    FunctionKind::kGroup,   FunctionKind::kKernel,  FunctionKind::kPhase};
constexpr uint64_t kCoroutineGroup = 8;  // Index of the second kGroup above.

// Members in the order of the file.
constexpr uint64_t Report::*kSumMembers[] = {
    &Report::duration_ns, &Report::traced_ns,   &Report::self_ns, &Report::idle_ns,
    &Report::gap_ns,      &Report::filtered_ns, &Report::threads, &Report::coroutines,
    &Report::bytes,       &Report::cost_ns};
// Of them those that time buckets have, too, in the same order.
constexpr uint64_t Report::*kSumsOfBuckets[] = {
    &Report::duration_ns, &Report::traced_ns, &Report::self_ns, &Report::idle_ns, &Report::gap_ns};
constexpr uint64_t Trust::*kTrustMembers[] = {
    &Trust::events,         &Trust::lost,        &Trust::unbalanced,
    &Trust::truncated,      &Trust::bad_blocks,  &Trust::bad_block_events,
    &Trust::missing_blocks, &Trust::bad_records, &Trust::clock_anomalies,
    &Trust::inferred,       &Trust::undescribed, &Trust::cut,
    &Trust::open_start,     &Trust::open_end,    &Trust::abandoned,
    &Trust::unwound,        &Trust::unknown};
constexpr uint64_t ReportCpu::*kCpuMembers[] = {&ReportCpu::vms, &ReportCpu::without,
                                                &ReportCpu::unknown_ns, &ReportCpu::preempted_ns};

// Writes or reads all but the signature. `stream`: a ByteWriter or ByteReader.
template <class Stream, class File>
void pass_file(Stream& stream, File& f) {
  stream.text(f.path);
  stream.text(f.notes);
  for (auto* n : {&f.bytes, &f.start_real_ns, &f.duration_ns}) stream.number(*n);
  stream.number(f.clock);
  stream.number(f.ended);
  stream.number(f.end.reason);
  stream.integer(f.end.exit_status);
  stream.list(f.processes, [&](auto& p) {
    stream.number(p.number);
    for (auto* n : {&p.pid, &p.ns_pid, &p.parent, &p.uid}) stream.integer(*n);
    stream.text(p.exe);
    stream.list(p.cmdline, [&](auto& word) { stream.text(word); });
  });
  stream.list(f.streams, [&](auto& s) {
    stream.number(s.number);
    stream.number(s.process);
    for (auto* n : {&s.flags, &s.recording}) stream.number(*n);
    stream.number(s.event_cost_ps);
    stream.integer(s.tid);
    stream.text(s.luajit);
  });
}

}  // namespace luatrace::analyze
