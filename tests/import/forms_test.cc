// SPDX-License-Identifier: MIT
// The two forms: their strings, versions and sizes; damage costs only the damaged parts.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "analyzer/read/import.h"
#include "import_support.h"

namespace luatrace::analyze::test {
namespace {

TEST(Import, StringsMayHoldAnything) {
  std::string hits = kCalls;
  hits +=
      "\n=F 7 63 beef 5\n=C 7 63 beef 0 100000000000:@x\n=E 100000000020 7 70 2 a0 1 4 beef\n"
      "=Z 1 2100000000000\n=N 7 63 beef 100000000000:evil\"\n=100000000000\n"
      "E @88 a0 63 4\n R @89 a0 63 4\n";
  hits.replace(hits.find("X @90 a0 90"), 11, "");
  const Analysed a = analysed(hits);
  EXPECT_EQ(a.trust().anomalies(), 0u) << testing::PrintToString(a.messages);
  EXPECT_EQ(a.function("evil\"\n").chunk, "@x\nE 100000000020 7 70 2 a0 1 4 beef\nZ 1 2");
}

TEST(Import, RecordsSayWhichNamesAreHints) {
  const auto records = stap_records(kCalls);
  const Analysed a = analyse(std::string(records.begin(), records.end()));
  EXPECT_TRUE(a.function("f1").hint);
  EXPECT_FALSE(a.function("f2").hint);
  EXPECT_TRUE(a.function("f3").hint);
}

TEST(Import, LongChunkNamesArePutTogether) {
  const std::string part(63, 'x');
  const Analysed a = analysed("=F 7 63 beef 5\n=C 7 63 beef 0 100000000000:" + part +
                              "100000000000\n=C 7 63 beef 1 100000000000:" + part +
                              "100000000000\n=C 7 63 beef 2 100000000000:end100000000000\n"
                              "=C 7 63 beef 3 100000000000:garbage100000000000\n"
                              "=N 7 63 beef 100000000000:long100000000000\n"
                              "S @10 a0 1 0 0 90\n E @20 a0 63 4\n");
  EXPECT_EQ(a.function("long").chunk, part + part + "end");
}

TEST(Import, BadLinesCostThemselves) {
  const Analysed a =
      analysed(std::string("=hello\n=E 1 2\n=E zz 7 70 1 a0 1 4 beef\n=C 7 1\n") + kCalls);
  EXPECT_EQ(a.trust().bad_records, 4u);
  EXPECT_EQ(a.function("f2").calls, 2u);
  ASSERT_GE(a.messages.size(), 4u);
  EXPECT_NE(a.messages[0].find("test.bin: offset "), std::string::npos) << a.messages[0];
  EXPECT_NE(a.messages[0].find("a line that lua-calls.bt does not write"), std::string::npos);
}

TEST(Import, CutTails) {
  const std::string text = bt_text(kCalls);
  for (size_t size = text.find("\nF 7 1"); size < text.size(); size += 3) {
    const Analysed a = analyse(text.substr(0, size));
    EXPECT_FALSE(a.unreadable) << a.reason;
    if (size < text.find("\n@beat")) {
      EXPECT_EQ(a.trust().cut, 1u) << size;
    }
  }
  const auto records = stap_records(kCalls);
  for (size_t size = 40; size < records.size(); size += 7) {
    const Analysed a = analyse(std::vector<uint8_t>(&records[0], &records[0] + size));
    EXPECT_FALSE(a.unreadable) << a.reason;
    EXPECT_EQ(a.trust().cut, 1u) << size;
    EXPECT_EQ(a.trust().bad_records, size % 40 != 0 ? 1u : 0u) << size;
  }
}

TEST(Import, ARecordThatIsBrokenCostsItself) {
  auto records = stap_records(kCalls);
  records.insert(records.begin() + 40 * 5, {1, 2, 3, 4, 5, 6, 7});
  const Analysed a = analyse(records);
  EXPECT_EQ(a.trust().bad_records, 1u);
  EXPECT_EQ(a.function("f2").calls, 2u);
}

std::string imported(std::vector<uint8_t> bytes, size_t memory) {
  Input input("test.bin", std::move(bytes));
  Diagnostics diag("test.bin", [](const std::string&) {});
  Spool spool(memory);
  (is_stap_records(input) ? read_stap : read_bpftrace)(input, diag, spool, {});
  Input trace("test.bin", std::move(spool));
  const size_t size = trace.need(1 << 20);
  EXPECT_EQ(trace.size(), size);
  return {reinterpret_cast<const char*>(trace.data()), size};
}

TEST(Import, InMemoryAndInAFileTheTraceIsTheSame) {
  const std::string text = bt_text(kCalls);
  for (const auto& bytes : {std::vector<uint8_t>(text.begin(), text.end()), stap_records(kCalls)}) {
    const std::string in_memory = imported(bytes, 1 << 20);
    EXPECT_TRUE(in_memory.starts_with("LUATRACE"));
    EXPECT_EQ(in_memory, imported(bytes, 0));
  }
}

TEST(Import, VersionsThatAreNotKnownAreRefused) {
  auto records = stap_records(kCalls);
  records[2] = 9;
  const Analysed a = analyse(records);
  EXPECT_TRUE(a.unreadable);
  EXPECT_NE(a.reason.find("test.bin"), std::string::npos);
  EXPECT_NE(a.reason.find("version 9"), std::string::npos) << a.reason;
}

}  // namespace
}  // namespace luatrace::analyze::test
