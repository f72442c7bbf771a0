// SPDX-License-Identifier: MIT
// Backends that this build does not have.
#include "recorder/backend.h"

namespace luatrace {

std::unique_ptr<Backend> make_bpf_backend(const Options&, BackendHost&) {
  return nullptr;
}

}  // namespace luatrace
