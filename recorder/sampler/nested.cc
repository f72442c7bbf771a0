// SPDX-License-Identifier: MIT
#include "recorder/sampler/nested.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "recorder/sample/frames.h"

namespace luatrace::record::sampler {
namespace {

// The frames that one call of Lua by C has below itself.
struct Part {
  uint64_t c_frame = 0;
  std::vector<LuaFrame> frames;
};

// Appends those of one VM. False: its C frames are not on one C stack.
bool append_parts(std::vector<LuaFrame>::const_iterator from,
                  std::vector<LuaFrame>::const_iterator to, bool innermost,
                  std::vector<Part>& parts) {
  const size_t first = parts.size();
  uint64_t last = 0;
  Part part;
  for (; from != to; ++from) {
    if (from->kind == WALK_COROUTINE && part.frames.empty() && parts.size() > first) {
      if (innermost) parts.back().frames.push_back(*from);
      continue;
    }
    if (from->kind != WALK_COROUTINE || innermost) part.frames.push_back(*from);
    if (from->kind != WALK_ENTRY) continue;
    if (from->what <= last) return false;
    part.c_frame = last = from->what;
    parts.push_back(std::move(part));
    part = {};
  }
  part.c_frame = last;  // its own one is not known
  if (!part.frames.empty()) parts.push_back(std::move(part));
  return true;
}

void drop_last_coroutine(std::vector<LuaFrame>& frames) {
  const auto last = std::find_if(frames.rbegin(), frames.rend(),
                                 [](const LuaFrame& f) { return f.kind == WALK_COROUTINE; });
  if (last != frames.rend()) frames.erase(std::next(last).base());
}

}  // namespace

void merge_vms(std::vector<LuaFrame>& frames) {
  const auto is_vm = [](const LuaFrame& f) { return f.kind == WALK_VM; };
  auto end = std::find_if(frames.begin(), frames.end(), is_vm);
  if (end == frames.end()) return;
  std::vector<LuaFrame> inner(frames.begin(), end);
  std::vector<Part> parts;
  drop_last_coroutine(inner);
  bool on_one_stack = append_parts(inner.begin(), inner.end(), true, parts);
  while (end != frames.end()) {
    const auto from = std::next(end);
    end = std::find_if(from, frames.end(), is_vm);
    on_one_stack = on_one_stack && append_parts(from, end, false, parts);
  }
  if (!on_one_stack) {
    inner.push_back({WALK_UNKNOWN, 0, 0, 0});
    frames = std::move(inner);
    return;
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.c_frame < b.c_frame; });
  frames.clear();
  for (const Part& p : parts) frames.insert(frames.end(), p.frames.begin(), p.frames.end());
}

}  // namespace luatrace::record::sampler
