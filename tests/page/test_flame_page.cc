// SPDX-License-Identifier: MIT
// The page as text: the shell is complete, and hostile data stays data (flame_page.h). The tests in
// browser/ cover the page in a browser.
#include "analyzer/output/page/flame_page.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "tests/page/page_input.h"

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

PageInput hostile(const std::string& text) {
  PageInput input;
  input.page.title = input.page.trust = input.page.no_chart = text;
  input.page.subtitle = {text, text};
  input.add_function(FunctionKind::kLua, 1, text, text);
  input.add_node(0, 0, 1, 5);
  input.page.chart.note = text;
  input.page.chart.tracks = {{text, text, 0, 9, 0, 0, 0, 0, 0, 0, {{}}}};
  input.page.chart.tracks[0].slices[0].length_ns = 9;
  return input;
}

std::string hostile_page(const std::string& text) {
  const PageInput input = hostile(text);
  return page_of(input.input());
}

}  // namespace

TEST(FlamePage, RefersToNoNetwork) {
  const std::string page = hostile_page("x");
  for (const char* word : {"http:", "https:", "//cdn", " src=", " href=", "@import", "url("}) {
    EXPECT_EQ(count(page, word), 0u) << word;
  }
}

TEST(FlamePage, HostileTextAddsNoMarkup) {
  const std::string plain = hostile_page("x");
  for (const char* text :
       {"</script><script>alert(1)</script>", "<!--<script>", "<img onerror='x'>", "\"></title>",
        "]]>", "@@NODES@@ @@META@@ @@TITLE@@ @@", "\xff<\xc0</style>"}) {
    const std::string page = hostile_page(text);
    for (const char* mark : {"<", ">", "<script", "</script", "<!--", "</title"}) {
      EXPECT_EQ(count(page, mark), count(plain, mark)) << mark << " from " << text;
    }
  }
}

TEST(FlamePage, PlaceholdersInTheDataStay) {
  const std::string page = hostile_page("@@NODES@@");
  EXPECT_EQ(count(page, "<title>@@NODES@@</title>"), 1u);
  EXPECT_EQ(count(page, "@@"), 2 * 11u)
      << "title twice, two subtitles, trust, name, chunk, no_chart, note, thread, track";
}

TEST(FlamePage, AnEmptyInputMakesAPage) {
  const std::string page = page_of({});
  EXPECT_EQ(count(page, "</html>"), 1u);
  EXPECT_EQ(count(page, "\"nodes\":0"), 1u);
}

TEST(FlamePage, AFunctionOfManyNodesIsNamedOnce) {
  PageInput input = hostile("x");
  input.functions[1].name = "a_name_to_count";
  for (uint32_t i = 1; i < 1000; i++) input.add_node(i, 0, 1, 5);
  EXPECT_EQ(count(page_of(input.input()), "a_name_to_count"), 1u);
}
