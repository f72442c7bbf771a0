// SPDX-License-Identifier: MIT
// The result of attaching to a process, and the exit status for it.
#pragma once

#include <string>

#include "recorder/os/remote.h"

namespace luatrace::record {

// Why a process is not recorded. The numbers are exit statuses, see docs/recording.md.
enum class Refusal {
  kNone = 0,
  kNoProcess = 120,
  kNoPermission = 121,
  kNoLuaJIT = 122,  // none with tracepoints
  kBusy = 123,      // another recorder has it
  kNoEvents = 124,  // attached, but no event came (reported at the end, not by attach())
  kOther = 125,
  kNotExecuted = 126,  // the command
  kNotFound = 127      // the command
};

struct Attached {
  Refusal refusal = Refusal::kNone;
  std::string why;         // the rest of a sentence about the process
  bool other_way = false;  // another method of attaching may work
  explicit operator bool() const { return refusal == Refusal::kNone; }
};

// Of a process that no user may trace, see set_id_reason().
inline Attached check_set_id(pid_t pid) {
  const std::string reason = set_id_reason(pid);
  if (reason.empty()) return {};
  return {Refusal::kNoPermission, "is not traced, not even for root: " + reason};
}

}  // namespace luatrace::record
