// SPDX-License-Identifier: MIT
// Why attaching is not permitted: every answer, from facts that no single machine has all of.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

#include "recorder/os/process.h"
#include "recorder/os/remote.h"

namespace {

using luatrace::record::AccessFacts;
using luatrace::record::explain_access;

bool has(const std::string& text, const char* part) {
  return text.find(part) != text.npos;
}

TEST(Explain, TheSettingThatForbidsIt) {
  AccessFacts f;
  f.our_uid = f.uid = 1000;
  EXPECT_TRUE(has(explain_access(f, ESRCH), "no longer exists"));
  EXPECT_TRUE(has(explain_access(f, EFAULT), "has executed another program"));
  EXPECT_TRUE(has(explain_access(f, EPERM), "CAP_SYS_PTRACE"));
  f.yama = 1;
  EXPECT_TRUE(has(explain_access(f, EPERM), "kernel.yama.ptrace_scope = 1"));
  EXPECT_TRUE(has(explain_access(f, EPERM), "sysctl kernel.yama.ptrace_scope=0"));
  f.more_capabilities = true;
  EXPECT_TRUE(has(explain_access(f, EPERM), "has capabilities"));
  f.dumpable = false;
  EXPECT_TRUE(has(explain_access(f, EPERM), "not dumpable"));
  f.yama = 2;
  EXPECT_TRUE(has(explain_access(f, EPERM), "kernel.yama.ptrace_scope = 2"));
  f.other_ids = true;
  EXPECT_TRUE(has(explain_access(f, EPERM), "other user or group ids"));
  f.uid = 0;
  EXPECT_TRUE(has(explain_access(f, EPERM), "belongs to user 0, we are user 1000"));
  f.yama = 3;
  EXPECT_TRUE(has(explain_access(f, EPERM), "kernel.yama.ptrace_scope = 3"));
}

TEST(Explain, Root) {
  AccessFacts f;
  f.have_ptrace = true;
  EXPECT_TRUE(has(explain_access(f, EPERM), "security module"));
  f.same_user_ns = false;
  EXPECT_TRUE(has(explain_access(f, EPERM), "another user namespace"));
}

TEST(Explain, OurselvesAreEasy) {
  const AccessFacts f = luatrace::record::access_facts(getpid());
  EXPECT_FALSE(f.other_ids);
  EXPECT_TRUE(f.same_user_ns);
  EXPECT_TRUE(f.dumpable);
  EXPECT_FALSE(f.more_capabilities);
  EXPECT_EQ("", luatrace::record::set_id_reason(getpid()));
}

TEST(FindProcess, Numbers) {
  std::string why;
  const std::string me = std::to_string(getpid());
  EXPECT_EQ(getpid(), luatrace::record::find_process(me, why));
  for (const char* bad : {"", "0", "-1", "1x", "@1", "1@", "1@x", "99999999999999"}) {
    why.clear();
    EXPECT_EQ(0, luatrace::record::find_process(bad, why)) << bad;
    EXPECT_FALSE(why.empty()) << bad;
  }
}

}  // namespace
