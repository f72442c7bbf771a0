// SPDX-License-Identifier: MIT
#include "analyzer/collect/running_groups.h"

namespace luatrace::analyze {

void RunningGroups::move(Coroutine& co, RunningGroup now, bool may_move) {
  co.group = now.group;
  if (!may_move) return;
  co.epoch++;
  const uint32_t from = std::max(now.from, 1u);
  if (from == 1) co.frames[0].node = placement_.enter_group(co.frames[0].node, now.group);
  for (uint32_t i = from; i <= co.top; i++) {
    uint32_t above = co.frames[i - 1].node;
    if (i == from && i > 1) above = placement_.enter_group(above, now.group);
    const uint32_t old = co.frames[i].node;
    co.frames[i].node =
        placement_.enter(above, placement_.function_of(old), placement_.is_dropped(old));
  }
}

}  // namespace luatrace::analyze
