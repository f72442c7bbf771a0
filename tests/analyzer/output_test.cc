// SPDX-License-Identifier: MIT
// Names with every byte that can hurt, in every output.
#include <gtest/gtest.h>

#include <sstream>

#include "analyzer/output/flame.h"
#include "analyzer/output/folded.h"
#include "analyzer/output/format.h"
#include "analyzer/output/json.h"
#include "analyzer/output/summary.h"
#include "base/escape.h"
#include "base/utf8.h"
#include "support.h"

namespace luatrace::analyze {
namespace {

const std::string kEvil = "a;b\n\x1b[31m</script>\"\\\xff\xe2\x80\xae\x7f\t$(x) 9";

std::string evil_trace() {
  return trace_text("func 1:20 lua line=3 chunk=" + quote("@" + kEvil) + " name=" + quote(kEvil) +
                    "\nfunc 1:21 ff name=" + quote(kEvil) + "\nnote " + quote("k=" + kEvil) +
                    "\n0 start\n0 entry 20\n5 entry 21\n10 return 21\n20 return 20\n20 stop close");
}

bool harmless(const std::string& text) {
  for (size_t i = 0; i < text.size(); i++) {
    const auto [code, length] = read_utf8(std::string_view(text).substr(i));
    if ((code < 0x20 && code != '\n') || code == 0x7f || length == 0) return false;
    i += length - 1;
  }
  return text.find("\xe2\x80\xae") == std::string::npos;  // Right-to-left override.
}

TEST(Output, SummaryIsHarmlessOnATerminal) {
  std::ostringstream out;
  print_summary(out, analyse(evil_trace()).report, {});
  EXPECT_TRUE(harmless(out.str())) << out.str();
  EXPECT_NE(out.str().find("a;b\\n\\x1b[31m"), std::string::npos);
}

TEST(Output, FoldedHasOneLinePerCallPath) {
  std::ostringstream out;
  write_folded(out, analyse(evil_trace()).report, 1);
  EXPECT_TRUE(harmless(out.str()));
  std::istringstream in(out.str());
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_TRUE(lines[0].ends_with(" 15"));
  EXPECT_TRUE(lines[1].ends_with(" 5"));
  EXPECT_EQ(std::count(lines[0].begin(), lines[0].end(), ';'), 0);
  EXPECT_EQ(std::count(lines[1].begin(), lines[1].end(), ';'), 1);
}

TEST(Output, FoldedUnits) {
  std::ostringstream out;
  auto a = analyse(trace_text(
      "0 start\n0 entry 1\n1500 entry 2\n1900 return 2\n5000 return 1\n5000 stop close"));
  write_folded(out, a.report, 1000);
  EXPECT_EQ(out.str(), "f1 (dir/x.lua:10) 4\n");
}

// Plain characters are copied eight at a time; where in the text another one is makes no
// difference.
TEST(Output, CharactersAreTheSameAtEachPosition) {
  for (int c = 0; c < 256; c++) {
    const std::string one(1, static_cast<char>(c));
    const std::string quoted = json_string(one), shown = printable(one);
    for (size_t before = 0; before < 18; before++)
      for (const size_t after : {0, 1, 7, 8, 20}) {
        const std::string a(before, 'x'), b(after, '~');
        EXPECT_EQ(json_string(a + one + b), '"' + a + quoted.substr(1, quoted.size() - 2) + b + '"')
            << c << ' ' << before;
        EXPECT_EQ(printable(a + one + b), a + shown + b) << c << ' ' << before;
      }
  }
}

TEST(Output, JsonStringsAreValid) {
  EXPECT_EQ(json_string("a\"b\\c\n\x01\xff\xc3\xa9"),
            "\"a\\\"b\\\\c\\u000a\\u0001\\\\xff\xc3\xa9\"");
  std::ostringstream out;
  write_json(out, analyse(evil_trace()).report);
  EXPECT_TRUE(harmless(out.str())) << out.str();
}

TEST(Output, PageHasNoMarkupFromNames) {
  std::ostringstream out;
  write_flame(out, analyse(evil_trace()).report);
  EXPECT_EQ(out.str().find("a;b\n"), std::string::npos);
  EXPECT_EQ(out.str().find("[31m</script>"), std::string::npos);
}

TEST(Output, TextIsStable) {
  std::string once = dump(to_binary(evil_trace()));
  EXPECT_EQ(once, dump(to_binary(once)));
  EXPECT_NE(once.find(quote(kEvil)), std::string::npos);
  std::vector<uint8_t> first = to_binary(once);
  EXPECT_EQ(first, to_binary(dump(first)));
}

TEST(Output, EveryEventSurvivesTheText) {
  std::string text = trace_text(R"(
    map 1 0x7f0000001000 0x7f0000002000 0x1000 00ff "/usr/lib/lib x.so"
    process 2 pid=8 ns_pid=3 parent=1 uid=1000 start=5 exe="" cmd="a b" "" "c"
    func 1:30 c addr=0x7f0000001010 hint=1 name="x"
    func 1:31 ff ffid=77 name="string.gsub"
    block 1 seq=0 base=0 co=3 depth=7 flags=0
    0 start rec=2 flags=0x45
    0 ringblock co=1 tid=7 rec=2
    1 stack 1 activate n=1
    1 frame 1
    2 entry 3000000
    3 tail 3000000
    4 unwind 5 top=-
    4 unwind 5 top=0
    5 create 2
    6 resume 4000000
    7 suspend error
    8 switch 4
    9 thread 99
    10 collect 2
    4000000000000 time
    4000000000009 loss 17 since=4000000000001 kind=1
    4000000000009 pad
    4000000000010 ext 13 arg=1 0x5 0x6
    4000000000010 gc end state=3 bytes=99 full=1
    4000000000010 trace start 65535 a=65535 b=7 x=4 y=5 flag=1
    4000000000010 trace exit 1 a=0 b=4294967295
    4000000000010 ext 14 arg=7 0x1 0x2
    4000000000010 ext 14 arg=0 0x1
    4000000000011 stop orphan
    sync 7 mono=8 real=9)");
  std::string once = dump(to_binary(text));
  for (const char* part :
       {"cmd=\"a b\" \"\" \"c\"", "stop orphan", "loss 17 since=4000000000001 kind=1",
        "ext 13 arg=1 0x5 0x6", "gc end state=3 bytes=99 full=1", "ext 14 arg=7 0x1 0x2",
        "trace start 65535 a=65535 b=7 x=4 y=5 flag=1", "unwind 5 top=0", "entry 3000000",
        "resume 4000000", "co=3 depth=7", "sync 7 mono=8 real=9",
        "0x1000 00ff \"/usr/lib/lib x.so\"", "start rec=2 flags=0x45"})
    EXPECT_NE(once.find(part), std::string::npos) << part << " not in\n" << once;
  EXPECT_EQ(once, dump(to_binary(once)));
}

TEST(Output, TimesAndCounts) {
  EXPECT_EQ(format_time(0), "0 ns");
  EXPECT_EQ(format_time(999), "999 ns");
  EXPECT_EQ(format_time(1500), "1.50 us");
  EXPECT_EQ(format_time(12345678), "12.3 ms");
  EXPECT_EQ(format_time(99960000), "100 ms");  // Three digits, also where rounding makes one more.
  EXPECT_EQ(format_time(9996), "10.0 us");
  EXPECT_EQ(format_time(999600), "1.00 ms");
  EXPECT_EQ(format_time(999400), "999 us");
  EXPECT_EQ(format_time(123456789012), "123 s");
  EXPECT_EQ(format_count(1), "1");
  EXPECT_EQ(format_count(1234567), "1,234,567");
}

// What is recorded runs while the recorder begins its file.
TEST(Output, EventsBeforeTheFileHaveTheirTime) {
  const std::string events = "990 start\n990 entry 1\n2000 return 1\n2000 stop close";
  std::string text = trace_text(events);
  text.insert(text.find("shift=0") + 7, " start=1000 mono=50000 real=1700000000000000000");
  const ReportFile file = analyse(text).report.files[0];
  EXPECT_EQ(file.start_real_ns, 1699999999999999990u);
  EXPECT_EQ(file.start_mono_ns, 49990u);
  EXPECT_EQ(file.duration_ns, 1010u);
}

}  // namespace
}  // namespace luatrace::analyze
