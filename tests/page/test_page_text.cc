// SPDX-License-Identifier: MIT
// Untrusted bytes become text that is safe where it goes (page_text.h).
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "analyzer/output/page/page_text.h"

using namespace luatrace::analyze::page;
using namespace std::string_literals;

TEST(VisibleText, KeepsWhatPeopleCanRead) {
  EXPECT_EQ(visible_text(""), "");
  EXPECT_EQ(visible_text("a b\"'<>&\\n"), "a b\"'<>&\\n");
  EXPECT_EQ(visible_text("größe 函数 🚀"), "größe 函数 🚀");
}

TEST(VisibleText, ShowsControlCharacters) {
  EXPECT_EQ(visible_text("a\nb\tc\rd\x1b[31m\x7f"), "a\\nb\\tc\\x0dd\\x1b[31m\\x7f");
  EXPECT_EQ(visible_text("a\0b"s), "a\\x00b");
  EXPECT_EQ(visible_text("\u0085"), "\\u{85}");
}

TEST(VisibleText, ShowsCharactersThatHideOrTurnText) {
  EXPECT_EQ(visible_text("a\u2028b\u2029c"), "a\\u{2028}b\\u{2029}c");
  EXPECT_EQ(visible_text("x\u202ey\u200bz\ufeff"), "x\\u{202e}y\\u{200b}z\\u{feff}");
}

TEST(VisibleText, ShowsBytesThatAreNotUtf8) {
  EXPECT_EQ(visible_text("a\xff"), "a\\xff");
  EXPECT_EQ(visible_text("\x80\xc3"), "\\x80\\xc3");
  EXPECT_EQ(visible_text("\xc0\xaf"), "\\xc0\\xaf") << "overlong /";
  EXPECT_EQ(visible_text("\xe0\x80\xaf"), "\\xe0\\x80\\xaf") << "overlong / in three";
  EXPECT_EQ(visible_text("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(visible_text("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "above U+10FFFF";
  EXPECT_EQ(visible_text("\xe2\x82"), "\\xe2\\x82") << "cut off";
  EXPECT_EQ(visible_text("\xe2\x82z"), "\\xe2\\x82z") << "the byte after is kept";
}

TEST(VisibleText, CutsLongTextBetweenCharacters) {
  EXPECT_EQ(visible_text("abcdef", 6), "abcdef");
  EXPECT_EQ(visible_text("abcdefg", 6), "abcdef… (7 bytes)");
  EXPECT_EQ(visible_text("abcd€xyz", 6), "abcd… (10 bytes)");
  EXPECT_EQ(visible_text(std::string(8, '\x80'), 4).substr(0, 4), "\\x80");
}

TEST(JsonString, HasNothingThatHtmlOrJsonReadsOtherwise) {
  EXPECT_EQ(script_string("</script><!--"), "\"\\u003c/script\\u003e\\u003c!--\"");
  EXPECT_EQ(script_string("a\"b\\c&"), "\"a\\\"b\\\\c\\u0026\"");
  EXPECT_EQ(script_string("\n"), "\"\\\\n\"") << "the two characters \\ and n";
  std::string all(256, '\0');
  std::iota(all.begin(), all.end(), '\0');
  const std::string text = script_string(all);
  EXPECT_EQ(text.find_first_of("<>&"), std::string::npos);
  for (unsigned char c : text) EXPECT_TRUE(c >= 0x20 && c < 0x7f) << int(c);
}

TEST(HtmlText, QuotesMarkup) {
  EXPECT_EQ(html_text("<b a=\"x\" c='y'>&</b>"),
            "&lt;b a=&quot;x&quot; c=&#39;y&#39;&gt;&amp;&lt;/b&gt;");
}

TEST(Base64, IsThatOfRfc4648) {
  auto encode = [](std::string_view s) {
    return base64({reinterpret_cast<const uint8_t*>(s.data()), s.size()});
  };
  EXPECT_EQ(encode(""), "");
  EXPECT_EQ(encode("f"), "Zg==");
  EXPECT_EQ(encode("fo"), "Zm8=");
  EXPECT_EQ(encode("foo"), "Zm9v");
  EXPECT_EQ(encode("foobar"), "Zm9vYmFy");
  EXPECT_EQ(encode("\xff\xff\xff"), "////");
}
