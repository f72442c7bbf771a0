// SPDX-License-Identifier: MIT
#include "recorder/drain/chunk_globs.h"

#include <fnmatch.h>

#include <cstring>

#include "luatrace_format.h"

namespace luatrace::record {

bool glob_matches(const std::string& glob, const std::string& chunk) {
  const size_t slash = chunk.rfind('/');
  const auto like = [&](size_t from) {
    return fnmatch(glob.c_str(), chunk.c_str() + from, 0) == 0;
  };
  return like(0) || (!chunk.empty() && like(1)) || (slash != chunk.npos && like(slash + 1));
}

void UnmatchedGlobs::see(std::span<const std::byte> records) {
  for (size_t at = 0; !left_.empty() && at < records.size();) {
    lt_func f;
    std::memcpy(&f, &records[at], sizeof f);
    const std::string chunk(reinterpret_cast<const char*>(&records[at]) + sizeof f, f.chunk_len);
    if (f.type == LT_FUNC_LUA)
      std::erase_if(left_, [&](const std::string& glob) { return glob_matches(glob, chunk); });
    at += f.size;
  }
}

}  // namespace luatrace::record
