// SPDX-License-Identifier: MIT
#include "recorder/sampler/c_stack.h"

namespace luatrace::record::sampler {
namespace {

constexpr size_t kMaxCFrames = 1024;

}  // namespace

PartEnd unwind(Modules& modules, Registers& r, bool exact, const StackCopy& stack,
               const PartLimits& limits, std::vector<NativeFrame>& out) {
  while (out.size() < kMaxCFrames) {
    const uint64_t pc = r.value[kRip], sp = r.value[kRsp], place = exact ? pc : pc - 1;
    if (pc == 0) return PartEnd::kOutermost;
    if (place >= limits.text && place < limits.text_end) return PartEnd::kInterpreter;
    if (limits.limit != 0 && sp > limits.limit) return PartEnd::kBeyond;
    const Modules::Place found = modules.find(place);
    if (!found.in_file) return PartEnd::kNoFile;
    out.push_back({pc, !exact, found.row != nullptr ? found.row->begin : 0});
    if (found.row == nullptr) return PartEnd::kUnknown;
    if (found.row->is_outermost()) return PartEnd::kOutermost;
    exact = found.row->signal;
    if (!found.row->step(r, stack)) return PartEnd::kUnknown;
    if (r.value[kRsp] <= sp && !exact) return PartEnd::kUnknown;
  }
  return PartEnd::kUnknown;
}

}  // namespace luatrace::record::sampler
