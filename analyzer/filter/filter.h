// SPDX-License-Identifier: MIT
// Which part of a trace is analyzed, and how calls are grouped. docs/analyzing.md defines the
// filters; FilteredProfile applies them.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/read/model.h"
#include "analyzer/symbols/function_name.h"

namespace luatrace::analyze {

// One end of a time range.
struct TimePoint {
  enum Kind { kOpen, kRelative, kPercent, kAbsolute, kTimeOfDay };
  Kind kind = kOpen;
  uint64_t ns = 0;     // Since the first event; kAbsolute: since 1970; kTimeOfDay: since midnight.
  double percent = 0;  // Of the time from the first event to the last.
};

// A value of --coroutine.
struct CoroutineFilter {
  StreamId vm;  // kNoStream: any.
  CoroutineId id;
  uint64_t address = 0;  // Of the Lua VM in its process, all of its recordings; 0: any.
};

// "2", "1:2" or "@7f0012345678:2", as the option has it.
std::string coroutine_text(const CoroutineFilter& filter);

enum class CoroutineMode { kLinked, kSeparate, kMerged };
// Up to kPhase a node above the calls for each group, from kFile on groups instead of functions.
enum class GroupBy {
  kNone,
  kThread,
  kCoroutine,
  kVm,
  kProcess,
  kRequest,
  kLabel,
  kPhase,
  kFile,
  kPlugin,
  kPattern
};
// As users write them; kPattern has no name.
constexpr const char* kGroupNames[] = {"none",    "thread",    "coroutine", "vm",   "process",
                                       "request", "label:KEY", "phase",     "file", "plugin"};
// Groups by label that are no values.
constexpr const char* kNoLabel = "[no label]";
constexpr const char* kOtherValues = "[other values]";

// The options that produced a profile, as text. Options of different meaning never have equal
// signatures, so signatures distinguish profiles, including saved ones. The order and repetition of
// options and the unit of a time make no difference; other spellings of the same meaning (0~1s and
// ~1s, '(x)' and '/(x)/') do.
struct FilterSignature {
  std::string groups;   // WHAT of --group-by; empty: no groups.
  std::string filters;  // The others: "-F handle -t 1ms --coroutines=separate"; empty: none.
  auto operator<=>(const FilterSignature&) const = default;
};

struct FilterOptions {
  // The patterns are in the syntax of FunctionPattern.
  std::vector<std::string> only;     // -F
  std::vector<std::string> without;  // -N
  std::vector<std::string> callers;  // -C
  std::vector<std::string> hide;     // -H
  std::vector<std::string> functions;
  std::vector<FunctionKind> kinds;
  uint32_t depth = 0;   // 0: any.
  uint64_t min_ns = 0;  // -t
  TimePoint from, to;
  std::vector<ThreadId> threads;
  std::vector<StreamId> vms;
  std::vector<CoroutineFilter> coroutines;
  CoroutineMode mode = CoroutineMode::kLinked;
  GroupBy group = GroupBy::kNone;
  std::string group_pattern;  // kPattern and kLabel: WHAT of --group-by. kRequest: all that defines
                              // the groups.
  std::string label;          // kLabel: its key.
  size_t label_groups = 100;  // Values with groups of their own.
  size_t request_groups = 100;       // Requests with groups of their own; 0: all.
  std::vector<std::string> plugins;  // Patterns of --plugin; empty: kPluginPatterns.

  bool has_range() const { return from.kind != TimePoint::kOpen || to.kind != TimePoint::kOpen; }
  // Whether any filter is set, and whether any but the range.
  bool filters() const { return has_range() || filters_calls(); }
  bool filters_calls() const;
  // Whether the result depends on the names, locations or kinds of functions.
  bool looks_at_functions() const {
    return !only.empty() || !without.empty() || !callers.empty() || !hide.empty() ||
           !functions.empty() || !kinds.empty() || group >= GroupBy::kRequest;
  }
  // Whether some calls can be judged only when they have ended (verdicts.h).
  bool needs_verdicts() const { return min_ns || !callers.empty(); }
  // Whether groups replace functions.
  bool groups_files() const { return group >= GroupBy::kFile; }
  // Whether coroutines inherit the group of the call that creates them.
  bool inherits_groups() const { return group == GroupBy::kPhase || group == GroupBy::kPlugin; }
  // The patterns by which files have groups; a file is in the group of the first that matches.
  std::vector<std::string> group_patterns() const;
  // Whether calls are shown elsewhere than below their callers.
  bool regroups() const { return mode != CoroutineMode::kLinked || group != GroupBy::kNone; }
};

// Where Kong and APISIX have their plugins.
inline const std::vector<std::string> kPluginPatterns = {"kong/plugins/*/*", "apisix/plugins/*/*",
                                                         "apisix/plugins/*.lua"};

FilterSignature signature_of(const FilterOptions& options);
// The option -r, as signatures have it.
std::string range_text(const FilterOptions& options);

// Parses "5ms", "1.5s", "200us", "10" (ns), "2m", "1h"; returns ns. Throws a UsageError that names
// `option`.
uint64_t parse_time(const std::string& text, const std::string& option);
// Parses "1s~2s", "20%~", "~@1700000000.5", "2026-11-21T10:00:00~2026-11-21T10:00:01",
// "14:00~15:30". Throws UsageError.
void parse_time_range(const std::string& text, TimePoint& from, TimePoint& to);

}  // namespace luatrace::analyze
