// SPDX-License-Identifier: MIT
// Which values of the label of --group-by label:KEY have groups of their own: those with the most
// time; of equal ones the first by name.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_set>

#include "analyzer/collect/profile.h"
#include "analyzer/machine/functions.h"

namespace luatrace::analyze {

// tree: with a group for each value.
std::unordered_set<std::string> values_with_groups(const CallTree& tree,
                                                   const FunctionTable& functions, size_t most);

}  // namespace luatrace::analyze
