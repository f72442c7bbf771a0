// SPDX-License-Identifier: MIT
#include "analyzer/machine/code_weights.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace luatrace::analyze {
namespace {

constexpr double kPrior = 1;  // Samples.
constexpr double kLeastFactor = 1.0 / 16, kMostFactor = 64;

struct Sampled {
  double bytes = 0, samples = 0;
  void add(const Sampled& other) { bytes += other.bytes, samples += other.samples; }
  Sampled without(const Sampled& part) const {
    return {std::max(0.0, bytes - part.bytes), std::max(0.0, samples - part.samples)};
  }
  // Of code that, as far as is known, did not run, the samples say nothing.
  double factor(double samples_per_byte) const {
    return bytes > 0 ? (samples + kPrior) / (bytes * samples_per_byte + kPrior) : 1;
  }
};

// Descriptions of a VM that look alike: of one trace, or of the same code that was compiled again.
struct Alike {
  std::vector<SegmentRuns::Piece> pieces;
  std::vector<Sampled> sampled;
  std::vector<std::pair<StreamId, uint32_t>> descriptions;

  double bytes() const {
    double sum = 0;
    for (const Sampled& s : sampled) sum += s.bytes;
    return sum;
  }
};
// Those of a trace's number and size, by the pieces.
using Layout = std::vector<std::pair<uint32_t, uint64_t>>;
using Variants = std::map<Layout, Alike>;

class VmWeights {
 public:
  void add(StreamId stream, uint32_t id, const SegmentRuns::Code& code);
  void add(const CodeSamples::Offsets& samples);
  // Returns the number of samples that were used.
  double weigh(std::map<StreamId, StreamWeights>& out) const;

 private:
  static void count(Alike& alike, const std::vector<uint32_t>& offsets, double part);
  CodeScale scale(const Alike& alike, double per_byte,
                  const std::map<uint64_t, Sampled>& kinds) const;

  std::map<CompiledTrace, Variants> traces_;
};

void VmWeights::add(StreamId stream, uint32_t id, const SegmentRuns::Code& code) {
  Layout layout;
  for (const SegmentRuns::Piece& p : code.pieces) layout.emplace_back(p.end, p.kind);
  Alike& alike = traces_[{code.trace, code.bytes}][layout];
  alike.pieces = code.pieces;
  alike.sampled.resize(code.pieces.size());
  for (size_t i = 0; i < code.pieces.size(); i++)
    alike.sampled[i].bytes += code.pieces[i].bytes * code.pieces[i].cost;
  alike.descriptions.emplace_back(stream, id);
}

// Gives the pieces their part of the samples.
void VmWeights::count(Alike& alike, const std::vector<uint32_t>& offsets, double part) {
  for (const uint32_t offset : offsets) {
    const auto piece = std::partition_point(alike.pieces.begin(), alike.pieces.end(),
                                            [&](const auto& p) { return p.end <= offset; });
    if (piece == alike.pieces.end()) continue;
    Sampled& s = alike.sampled[static_cast<size_t>(piece - alike.pieces.begin())];
    if (s.bytes > 0) s.samples += part;
  }
}

// Number and size do not show of which one of several traces a sample is: they share it by the
// bytes that ran.
void VmWeights::add(const CodeSamples::Offsets& samples) {
  for (const auto& [trace, offsets] : samples) {
    const auto found = traces_.find(trace);
    if (found == traces_.end()) continue;
    double bytes = 0;
    for (const auto& [layout, alike] : found->second) bytes += alike.bytes();
    for (auto& [layout, alike] : found->second)
      if (bytes > 0) count(alike, offsets, alike.bytes() / bytes);
  }
}

CodeScale VmWeights::scale(const Alike& alike, double per_byte,
                           const std::map<uint64_t, Sampled>& kinds) const {
  CodeScale scale;
  for (size_t i = 0; i < alike.pieces.size(); i++) {
    const Sampled& own = alike.sampled[i];
    const Sampled others = kinds.at(alike.pieces[i].kind).without(own);
    const double kind = others.factor(per_byte);
    const double factor = kind * own.factor(per_byte * kind);
    scale.add(alike.pieces[i].end,
              alike.pieces[i].cost * std::clamp(factor, kLeastFactor, kMostFactor));
  }
  return scale;
}

double VmWeights::weigh(std::map<StreamId, StreamWeights>& out) const {
  Sampled all;
  std::map<uint64_t, Sampled> kinds;
  for (const auto& [trace, variants] : traces_)
    for (const auto& [layout, alike] : variants)
      for (size_t i = 0; i < alike.pieces.size(); i++) {
        kinds[alike.pieces[i].kind].add(alike.sampled[i]);
        all.add(alike.sampled[i]);
      }
  if (all.samples <= 0) return 0;
  for (const auto& [trace, variants] : traces_)
    for (const auto& [layout, alike] : variants) {
      const CodeScale weights = scale(alike, all.samples / all.bytes, kinds);
      for (const auto& [stream, id] : alike.descriptions) out[stream].emplace(id, weights);
    }
  return all.samples;
}

}  // namespace

CodeWeights::CodeWeights(const SegmentRuns& runs, const CodeSamples& samples) {
  std::map<SampledVm, VmWeights> vms;
  for (const auto& [number, info] : runs.streams()) {
    const auto process = runs.processes().find(info.process);
    if (process == runs.processes().end()) continue;
    const SampledVm vm{process->second.pid, info.state_addr};
    if (!samples.find(vm)) continue;
    for (const auto& [id, code] : runs.codes(number))
      if (!code.loops) vms[vm].add(number, id, code);
  }
  double used = 0;
  for (auto& [vm, weights] : vms) {
    weights.add(*samples.find(vm));
    used += weights.weigh(streams_);
  }
  samples_ = static_cast<uint64_t>(used + 0.5);
}

const StreamWeights* CodeWeights::find(StreamId stream) const {
  const auto it = streams_.find(stream);
  return it == streams_.end() ? nullptr : &it->second;
}

}  // namespace luatrace::analyze
