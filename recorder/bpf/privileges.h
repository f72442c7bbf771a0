// SPDX-License-Identifier: MIT
// Explains what is missing when something of `--via bpf` is refused.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "recorder/bpf/mapped.h"
#include "recorder/bpf/program.h"
#include "recorder/vm/attached.h"

namespace luatrace::record::bpf {

// The failure, then what this process or this kernel lacks, as far as can be seen.
Attached explain(const Failure& failure);

// What is certainly missing, before anything is tried: capabilities, kernel features, settings.
// Each one line.
std::vector<std::string> missing_for_bpf();

// Why there is nothing to attach in a process.
Attached nothing_to_attach(pid_t pid, const MappedLua& lua);

}  // namespace luatrace::record::bpf
