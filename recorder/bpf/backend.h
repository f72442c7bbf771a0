// SPDX-License-Identifier: MIT
// --via bpf: the kernel reports the events of the tracepoints.
#pragma once

#include <memory>

#include "recorder/backend/backend.h"
#include "recorder/backend/options.h"

namespace luatrace::record {

// If this program was built without BPF, its begin() says so. The options must outlive it.
std::unique_ptr<Backend> make_bpf_backend(const Options& options, BackendHost& host);

}  // namespace luatrace::record
