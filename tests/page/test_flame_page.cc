// SPDX-License-Identifier: MIT
// The page as text: what surrounds the data is whole, and hostile data stays data (flame_page.h).
// How a browser takes it is the matter of browser/.
#include "analyzer/output/page/flame_page.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

using namespace luatrace::analyze;

namespace {

std::string page_of(const FlameInput& input) {
  std::ostringstream out;
  write_flame_page(out, input);
  return out.str();
}

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) n++;
  return n;
}

FlameInput hostile(const std::string& text) {
  FlameInput input;
  input.title = input.trust = input.no_chart = text;
  input.subtitle = {text, text};
  input.functions = {{text, text, 1, text, {}}};
  input.nodes = {{0, 0, 0, 5, 0}, {0, 0, 1, 5, 5}};
  input.chart.note = text;
  input.chart.tracks = {{text, text, 0, 9, 0, 0, 0, 0, {{}}}};
  input.chart.tracks[0].slices[0].length_ns = 9;
  return input;
}

}  // namespace

TEST(FlamePage, NamesNoPlaceInTheNetwork) {
  const std::string page = page_of(hostile("x"));
  for (const char* word : {"http:", "https:", "//cdn", " src=", " href=", "@import", "url("}) {
    EXPECT_EQ(count(page, word), 0u) << word;
  }
}

TEST(FlamePage, HostileTextAddsNoMarkup) {
  const std::string plain = page_of(hostile("x"));
  for (const char* text :
       {"</script><script>alert(1)</script>", "<!--<script>", "<img onerror='x'>", "\"></title>",
        "]]>", "@@NODES@@ @@META@@ @@TITLE@@ @@", "\xff<\xc0</style>"}) {
    const std::string page = page_of(hostile(text));
    for (const char* mark : {"<", ">", "<script", "</script", "<!--", "</title"}) {
      EXPECT_EQ(count(page, mark), count(plain, mark)) << mark << " from " << text;
    }
  }
}

TEST(FlamePage, MarksInTheDataAreNotFilled) {
  const std::string page = page_of(hostile("@@NODES@@"));
  EXPECT_EQ(count(page, "<title>@@NODES@@</title>"), 1u);
  EXPECT_EQ(count(page, "@@"), 2 * 12u)
      << "title twice, two subtitles, trust, name, chunk, kind; no chart, note, thread, track";
}

TEST(FlamePage, AnEmptyInputIsAPage) {
  const std::string page = page_of({});
  EXPECT_EQ(count(page, "</html>"), 1u);
  EXPECT_EQ(count(page, "\"nodes\":0"), 1u);
}

TEST(FlamePage, ALeafOfAMillionNamesIsNamedOnce) {
  FlameInput input = hostile("x");
  input.functions[0].name = "a_name_to_count";
  for (int i = 0; i < 1000; i++) input.nodes.push_back({0, 0, 1, 5, 5});
  EXPECT_EQ(count(page_of(input), "a_name_to_count"), 1u);
}
