// SPDX-License-Identifier: MIT
// --via direct: the VM writes into a ring of its own, which we open.
#pragma once

#include <memory>

#include "recorder/backend/backend.h"
#include "recorder/backend/options.h"

namespace luatrace::record {

std::unique_ptr<Backend> make_direct_backend(const Options& options, BackendHost& host);

}  // namespace luatrace::record
