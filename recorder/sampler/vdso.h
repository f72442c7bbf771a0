// SPDX-License-Identifier: MIT
// Vdso: the functions of the code that the kernel maps into each process (clock_gettime and
// others). It is in no file, so that the analyzer cannot find their names. Invariant: the image is
// the process's memory, and may be hostile: what does not fit gives no name.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace luatrace::record::sampler {

constexpr size_t kMaxVdso = 64 << 10;  // bytes of an image

struct VdsoFunction {
  uint64_t begin = 0, end = 0;  // from the begin of the image
  std::string name;
};

// From the image as it is in memory; of several names of a function, the first.
std::vector<VdsoFunction> vdso_functions(const std::string& image);

}  // namespace luatrace::record::sampler
