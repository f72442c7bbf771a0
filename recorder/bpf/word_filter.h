// SPDX-License-Identifier: MIT
// WordFilter: --include, --exclude and --c-functions for event words. The VM reports all its
// functions, because others may be attached, too; unwanted events are left out before they are
// written. Invariants: a stack report names exactly those of its calls that are kept, an unwind
// counts exactly those that it ends; whatever the words are (they come from an untrusted process),
// they cost only time and memory in proportion to the open calls.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace luatrace::record::bpf {

struct FilterRules {
  std::vector<std::string> include, exclude;  // globs on chunk names
  std::string c_functions;                    // none, user; otherwise all that the VM reports
  bool any() const {
    return !include.empty() || !exclude.empty() || c_functions == "none" || c_functions == "user";
  }
};

// Is a function of that type (LT_FUNC_*) and chunk wanted?
bool wants(const FilterRules& rules, uint16_t type, const std::string& chunk);

class WordFilter {
 public:
  void unwanted(uint32_t function) { unwanted_.insert(function); }
  // Appends what is kept of one whole record.
  void pass(std::span<const uint64_t> record, std::vector<uint64_t>& out);
  // Events are missing here: no stack is known any more.
  void lost();

 private:
  struct Coroutine {
    bool known = false;  // its stack, down to the bottom
    uint32_t resumer = 0;
    std::vector<uint32_t> calls;
  };
  static constexpr size_t kMaxEntries = 1u << 20;  // coroutines; calls of each, and of a report

  bool wanted(uint32_t function) const { return !unwanted_.contains(function); }
  Coroutine& here();
  void extension(std::span<const uint64_t> record, std::vector<uint64_t>& out);
  void report(std::span<const uint64_t> record);
  void frame(std::span<const uint64_t> record, std::vector<uint64_t>& out);
  void end_report(std::vector<uint64_t>& out);
  static uint64_t kept_calls(const Coroutine& co, uint64_t depth, uint32_t top);
  void unwind(std::span<const uint64_t> record, std::vector<uint64_t>& out);
  void suspend(uint32_t status);

  std::unordered_set<uint32_t> unwanted_;
  std::unordered_map<uint32_t, Coroutine> coroutines_;
  uint32_t current_ = 0;
  bool whole_ = true;  // nothing was lost: a new coroutine has no calls
  // A report whose frames are still to come, and what is kept of it.
  uint64_t left_ = 0;
  std::vector<uint64_t> report_;
  uint64_t kept_ = 0;
};

}  // namespace luatrace::record::bpf
