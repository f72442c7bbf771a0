// SPDX-License-Identifier: MIT
// May the VM of that process make a ring, or publish thread contexts? A seccomp filter can forbid
// the system calls that this takes, and many kill the process for an unknown call. Invariant: the
// process makes no call for this check: its filters are read (ptrace) and evaluated here.
#pragma once

#include <linux/filter.h>
#include <sys/types.h>

#include <span>
#include <string>
#include <vector>

namespace luatrace::record::direct {

struct RingCalls {
  enum Verdict { kAllowed, kForbidden, kUnknown } verdict = kAllowed;
  std::string why;  // the rest of a sentence about the process, unless allowed
};

// Threads that have filters are stopped for about 20 us, if the filters can be read at all (that
// takes CAP_SYS_ADMIN, and no filter on this process).
RingCalls may_make_ring(pid_t pid);

// The same for the mapping that publishes thread contexts.
RingCalls may_publish_context(pid_t pid);

// Separate so that it can be tested. The result of these filters, as the kernel has them (newest
// first), for a ring; each is a program of classic BPF over struct seccomp_data.
RingCalls judge_filters(std::span<const std::vector<sock_filter>> filters);

}  // namespace luatrace::record::direct
