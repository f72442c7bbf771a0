// SPDX-License-Identifier: MIT
// Several Lua VMs on one C stack, which have called each other through C functions: the frames of
// each, as struct walk lists them, become one stack. Invariant: frames are sorted by the C frames
// of the VMs, which say where each part of a Lua stack is on the C stack, or left out.
#pragma once

#include <vector>

#include "recorder/sampler/functions.h"

namespace luatrace::record::sampler {

// frames: the innermost first, WALK_VM before those of each other VM. Afterwards there is no
// WALK_VM, and coroutines are those of the innermost VM, without its outermost one: what is outside
// of that is in no coroutine of this VM.
void merge_vms(std::vector<LuaFrame>& frames);

}  // namespace luatrace::record::sampler
