// SPDX-License-Identifier: MIT
// Globs on chunk names (--include, --exclude), as the VM matches them (lj_ltctl.c).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace luatrace::record {

// Does it match the chunk's name, the same without its first character, or the file's name alone?
bool glob_matches(const std::string& glob, const std::string& chunk);

// The globs that have matched no Lua function so far.
class UnmatchedGlobs {
 public:
  explicit UnmatchedGlobs(std::vector<std::string> globs = {}) : left_(std::move(globs)) {}
  // Valid records (struct lt_func), one after the other.
  void see(std::span<const std::byte> records);
  const std::vector<std::string>& left() const { return left_; }

 private:
  std::vector<std::string> left_;
};

}  // namespace luatrace::record
