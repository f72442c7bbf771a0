// SPDX-License-Identifier: MIT
// Text that is fitted to a terminal, and messages beside the line of progress.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <sstream>
#include <thread>

#include "analyzer/output/cut_names.h"
#include "analyzer/output/format.h"
#include "analyzer/output/table.h"
#include "analyzer/progress.h"
#include "analyzer/report/suggestions.h"
#include "analyzer/terminal_line.h"
#include "base/escape.h"

namespace luatrace::analyze {
namespace {

constexpr const char* kErase = "\r\033[K";

TEST(TerminalLine, AMessageStandsAboveTheProgress) {
  std::ostringstream out;
  TerminalLine line(out);
  line.print("first");
  line.show("10 %");
  line.show("20 %");
  line.print("warning");
  line.show("");
  line.print("last");
  const std::string e = kErase;
  EXPECT_EQ(out.str(), "first\n10 %" + e + "20 %" + e + "warning\n20 %" + e + "last\n");
}

// What a terminal shows at the end of `text`: its lines, each as it was left.
std::vector<std::string> screen(const std::string& text) {
  std::vector<std::string> lines(1);
  for (size_t i = 0; i < text.size(); i++) {
    if (text.compare(i, 4, kErase) == 0)
      lines.back().clear(), i += 3;
    else if (text[i] == '\n')
      lines.emplace_back();
    else
      lines.back() += text[i];
  }
  return lines;
}

TEST(TerminalLine, ThreadsDoNotMixTheirMessages) {
  std::ostringstream out;
  TerminalLine line(out);
  constexpr int kMessages = 2000;
  auto talk = [&](const std::string& what) {
    for (int i = 0; i < kMessages; i++) line.print(what);
  };
  std::thread a(talk, "aaaaaaaaaaaaaaaaaaaaaaaa"), b(talk, "bbbbbbbbbbbbbbbbbbbb");
  for (int i = 0; i < kMessages; i++) line.show("progress " + std::to_string(i));
  a.join();
  b.join();
  line.show("");
  const auto lines = screen(out.str());
  ASSERT_EQ(lines.size(), 2u * kMessages + 1);
  EXPECT_EQ(lines.back(), "");
  for (size_t i = 0; i + 1 < lines.size(); i++)
    ASSERT_TRUE(lines[i] == std::string(24, 'a') || lines[i] == std::string(20, 'b')) << lines[i];
}

TEST(Progress, IsOneLineOfTheTerminal) {
  const std::string text = "3.2 of 20.0 GB, 16 %, 850 MB/s, 0:20 left";
  EXPECT_EQ(progress_line("trace.bin", text, 0), "trace.bin: " + text);
  EXPECT_EQ(progress_line("trace.bin", text, 80), "trace.bin: " + text);
  EXPECT_EQ(progress_line("/a/long/way/to/the/trace.bin", text, 60), "/a/l...trace.bin: " + text);
  for (size_t columns = 20; columns < 90; columns++)
    EXPECT_LT(text_width(progress_line("/a/long/way/to/the/trace.bin", text, columns)), columns);
}

TEST(Names, LoseTheirPlaceFirst) {
  const std::string name = "  check  (examples/server.lua:21)";
  EXPECT_EQ(cut_name(name, 40), name);
  EXPECT_EQ(cut_name(name, 28), "  check  (.../server.lua:21)");
  EXPECT_EQ(cut_name(name, 24), "  check  (...ver.lua:21)");
  EXPECT_EQ(cut_name(name, 20), "  check");
  EXPECT_EQ(cut_name("a_rather_long_name  (x.lua:1)", 12), "a_rather_...");
  EXPECT_EQ(cut_name(std::string(60, ' ') + "check  (x.lua:1)", 20),
            std::string(10, ' ') + "check");
  EXPECT_EQ(cut_name("µµµµµµµµµµµµµµµ", 12), "µµµµµµµµµ...");
  for (size_t width = 3; width < 40; width++) EXPECT_LE(text_width(cut_name(name, width)), width);
}

TEST(Names, CountTheColumnsOfATerminal) {
  EXPECT_EQ(text_width("check"), 5u);
  EXPECT_EQ(text_width("prüfe"), 5u);
  EXPECT_EQ(text_width("検査"), 4u);
  EXPECT_EQ(text_width("e\u0301"), 1u);
  EXPECT_EQ(text_width("█▁"), 2u);
  EXPECT_EQ(text_width("\U0001f600"), 2u);
  EXPECT_EQ(cut_text("検査検査検査検査", 10), "検査検...");
  EXPECT_EQ(cut_text("検査検査検査検査検査検査", 20), "検査...検査検査検査");
  for (size_t width = 3; width < 30; width++)
    EXPECT_LE(text_width(cut_name("  検査検査e\u0301検査  (サーバー/検査.lua:1)", width)), width);
}

TEST(Wrapped, BreaksWordsThatAreLongerThanALine) {
  EXPECT_EQ(wrapped("one two three", 9, 0, 2), "one two\n  three");
  EXPECT_EQ(wrapped("/usr/local/bin/luajit", 14, 0, 2), "/usr/local/\n  bin/luajit");
  EXPECT_EQ(wrapped("aaaaaaaaaaaaaaaaaaaaaaaaa", 12, 0, 2), "aaaaaaaaaa\n  aaaaaaaaaa\n  aaaaa");
  for (size_t width = 20; width < 60; width++) {
    std::istringstream lines(wrapped("a " + std::string(50, 'b') + " /" + std::string(99, 'c') +
                                         " µµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµµ d",
                                     width, 0, 8));
    for (std::string line; std::getline(lines, line);) EXPECT_LE(text_width(line), width) << line;
  }
}

std::vector<std::string> lines_of(const Table& table, size_t width) {
  std::ostringstream out;
  write_text(out, table, {false, width});
  std::istringstream in(out.str());
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(TextTable, BarsAreShorterInProportion) {
  Table t;
  t.columns = {{"n", "n"}, {"bar", "", true, Column::kTextOnly, true}};
  for (const char* bar : {"########", "####", "", "#"})
    t.rows.push_back({Cell::of_count(1), Cell::of_text(bar)});
  t.rows.push_back({Cell::of_count(1), Cell::of_text(std::string(16, '#'))});
  const std::vector<std::string> want = {"n", "1  ####", "1  ##", "1", "1  #", "1  ########"};
  EXPECT_EQ(lines_of(t, 11), want);
}

TEST(TextTable, DeepTreesAreIndentedLess) {
  Table t;
  t.columns = {{"n", "n"}, {"function", "function", true}};
  for (size_t depth = 0; depth < 8; depth++)
    t.rows.push_back({Cell::of_count(depth), Cell::of_text(std::string(2 * depth, ' ') + "work")});
  const auto lines = lines_of(t, 20);
  for (size_t depth = 0; depth < 8; depth++)
    EXPECT_EQ(lines[depth + 1], std::to_string(depth) + "  " + std::string(depth, ' ') + "work");
  EXPECT_EQ(lines_of(t, 0)[8], "7  " + std::string(14, ' ') + "work");
}

// Optimal string alignment, as textbooks have it.
size_t textbook_distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); i++) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); j++) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); i++)
    for (size_t j = 1; j <= b.size(); j++) {
      d[i][j] =
          std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

TEST(Suggestions, StoppingEarlyMissesNothing) {
  std::mt19937 random(7);
  auto word = [&](size_t limit) {
    std::string out;
    for (size_t n = random() % limit + 1; n > 0; n--) out += static_cast<char>('a' + random() % 3);
    return out;
  };
  int close = 0;
  for (int i = 0; i < 100000; i++) {
    const std::string wanted = word(12), name = word(12);
    // A word that contains the other is close by another rule.
    if (wanted.find(name) != wanted.npos || name.find(wanted) != name.npos) continue;
    Suggestions names(wanted);
    names.offer(name);
    const bool is_close = textbook_distance(wanted, name) <= std::max<size_t>(1, wanted.size() / 3);
    ASSERT_EQ(!names.question().empty(), is_close) << wanted << ' ' << name;
    close += is_close;
  }
  EXPECT_GT(close, 2000);
}

// A hundred thousand names are searched quickly: nearly none needs its table of distances.
TEST(Suggestions, ManyNamesAreLittleWork) {
  std::mt19937 random(7);
  const char* const words[] = {"get",   "set",    "handle", "request",
                               "parse", "render", "socket", "auth"};
  Suggestions names("handle_reqest_parse17");
  constexpr size_t kNames = 100000;
  for (size_t i = 0; i < kNames; i++)
    names.offer(std::string(words[random() % 8]) + '_' + words[random() % 8] + '_' +
                words[random() % 8] + std::to_string(i % 100));
  EXPECT_EQ(names.question().substr(0, 40), "; did you mean 'handle_request_parse17',");
  EXPECT_LT(names.cells() / kNames, 10u);
}

// -- Names that are cut --

std::vector<std::string> cut_all(const std::vector<std::string>& names, size_t width) {
  CutNames cut;
  for (const auto& name : names) cut.add(name, width);
  cut.settle();
  std::vector<std::string> out;
  for (const auto& name : names) out.push_back(cut.of(name, width));
  return out;
}

TEST(CutNames, ThoseThatDifferLookDifferent) {
  const std::vector<std::string> names = {
      "parse_headers_of_the_request  (app/lib/http/parse.lua:10)",
      "parse_headers_of_the_request  (app/lib/http/parse.lua:110)",
      "parse_headers_of_the_request  (app/lib/json/parse.lua:10)",
      "job  (app.lua:30)",
      "job  (lib.lua:30)",
      "job  (lib.lua:31)",
      "job",
      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaXaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
      "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaYaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
      "ünïcödé_ünïcödé_ünïcödé_ünïcödé_ä_ünïcödé_ünïcödé_ünïcödé_ünïcödé",
      "ünïcödé_ünïcödé_ünïcödé_ünïcödé_ö_ünïcödé_ünïcödé_ünïcödé_ünïcödé"};
  for (size_t width = 12; width < 80; width++) {
    const auto cut = cut_all(names, width);
    EXPECT_EQ(names.size(), std::set<std::string>(cut.begin(), cut.end()).size()) << width;
    for (const auto& text : cut) {
      EXPECT_LE(text_width(text), width) << text;
      EXPECT_EQ(text, printable(text));
    }
  }
}

// The location is cut, not the name, as long as there is space for some of it.
TEST(CutNames, TheNameIsTheLastThatIsCut) {
  const std::vector<std::string> names = {"work  (pa/lib/x.lua:1)", "work  (pb/lib/x.lua:1)"};
  for (size_t width = 14; width < 30; width++)
    for (const auto& text : cut_all(names, width)) EXPECT_EQ("work  (", text.substr(0, 7)) << text;
  EXPECT_EQ("work  (pb/...a:1)", cut_all(names, 17)[1]);
}

TEST(CutNames, EqualOnesStayEqualAndIndentationIsNoDifference) {
  const std::string name = "a_name_that_is_too_long_for_its_column";
  const auto cut = cut_all({name, name, "  " + name}, 20);
  EXPECT_EQ(cut_name(name, 20), cut[0]);
  EXPECT_EQ(cut[0], cut[1]);
  EXPECT_EQ(cut_name("  " + name, 20), cut[2]);
}

TEST(CutNames, NumbersAndItemsStayWhole) {
  EXPECT_EQ("ngx.my_... 28.1 ms", cut_amount("ngx.my_sleep_eep 28.1 ms", 18));
  EXPECT_EQ("my_sleep 28.1 ms", cut_amount("my_sleep 28.1 ms", 16));
  EXPECT_EQ("a 1 ms, ...", cut_list("a 1 ms, b 2 ms, c 3 ms", 12));
  EXPECT_EQ("a 1 ms, b 2 ms, ...", cut_list("a 1 ms, b 2 ms, c 3 ms", 20));
  EXPECT_EQ("...", cut_list("access 1 ms, b 2 ms", 6));
}

}  // namespace
}  // namespace luatrace::analyze
