// SPDX-License-Identifier: MIT
// Filter: --include, --exclude and --c-functions for hits of the probes. With the direct method the
// VM decides once for each function; here events of all functions arrive and are left out before
// they are written, by the same rules (lj_ltctl.c, lj_ltfunc.c), so that both give the same file.
// Invariant: a stack report names exactly those of its calls that are kept.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "trace/hits/hit.h"

namespace luatrace::record::bpf {

struct FilterRules {
  std::vector<std::string> include, exclude;  // globs on chunk names
  std::string c_functions;                    // none, user; otherwise all hits
  bool any() const {
    return !include.empty() || !exclude.empty() || c_functions == "none" || c_functions == "user";
  }
};

bool wants(const FilterRules& rules, const HitFunction& function);

// For one image of one process.
class Filter {
 public:
  using Give = std::function<void(const Hit&)>;

  explicit Filter(const FilterRules& rules) : rules_(&rules) {}

  void describe(uint64_t key, const HitFunction& function) {
    if (!wants(*rules_, function)) unwanted_.insert(key);
  }
  // Passes on what is kept of it, and reports that waited for it.
  void pass(const Hit& hit, const Give& give);
  // Passes on reports that wait for calls that will not come.
  void flush(const Give& give);

 private:
  struct Report {
    Hit head;
    uint32_t left;  // calls still to come
    std::vector<Hit> kept;
  };
  static void give_report(Report& report, const Give& give);
  bool pass_reported(const Hit& hit, const Give& give);

  const FilterRules* rules_;
  std::unordered_set<uint64_t> unwanted_;
  std::unordered_map<uint64_t, Report> reports_;  // by coroutine
};

}  // namespace luatrace::record::bpf
