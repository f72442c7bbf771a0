// SPDX-License-Identifier: MIT
// Backend of --sample: threads are sampled by the kernel, with a BPF program that walks their Lua
// stacks.
#pragma once

#include <memory>

#include "recorder/backend/backend.h"
#include "recorder/backend/options.h"

namespace luatrace::record {

// Both must outlive it.
std::unique_ptr<Backend> make_sampling_backend(const Options& options, BackendHost& host);

}  // namespace luatrace::record
