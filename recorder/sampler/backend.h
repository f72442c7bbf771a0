// SPDX-License-Identifier: MIT
// Backend of --sample: threads are sampled by the kernel, with a BPF program that walks their Lua
// stacks.
#pragma once

#include <cstddef>
#include <memory>

#include "recorder/backend/backend.h"
#include "recorder/backend/options.h"

namespace luatrace::record {

namespace sampler {
constexpr size_t kKnownMax = 256'000'000;  // bytes: functions, code, and how to unwind it
}

// Both must outlive it.
std::unique_ptr<Backend> make_sampling_backend(const Options& options, BackendHost& host);

}  // namespace luatrace::record
