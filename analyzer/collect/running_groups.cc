// SPDX-License-Identifier: MIT
#include "analyzer/collect/running_groups.h"

namespace luatrace::analyze {

void RunningGroups::move(Coroutine& co) {
  co.epoch++;
  const uint32_t from = co.group_from;
  if (from == 1) co.frames[0].node = placement_.enter_group(co.frames[0].node, co.group);
  for (uint32_t i = from; i <= co.top; i++) {
    uint32_t above = co.frames[i - 1].node;
    if (i == from && i > 1) above = placement_.enter_group(above, co.group);
    const uint32_t old = co.frames[i].node;
    co.frames[i].node =
        placement_.enter(above, placement_.function_of(old), placement_.is_dropped(old));
  }
}

}  // namespace luatrace::analyze
