// SPDX-License-Identifier: MIT
// Untrusted bytes become text that is safe in HTML and JSON (page_text.h).
#include <gtest/gtest.h>

#include <numeric>

#include "analyzer/output/page/page_text.h"
#include "base/escape.h"

using namespace luatrace;
using namespace luatrace::analyze::page;
using namespace std::string_literals;

TEST(Printable, KeepsWhatPeopleCanRead) {
  EXPECT_EQ(printable(""), "");
  EXPECT_EQ(printable("a b\"'<>&\\n"), "a b\"'<>&\\n");
  EXPECT_EQ(printable("größe 函数 🚀"), "größe 函数 🚀");
}

TEST(Printable, ShowsControlCharacters) {
  EXPECT_EQ(printable("a\nb\tc\rd\x1b[31m\x7f"), "a\\nb\\tc\\x0dd\\x1b[31m\\x7f");
  EXPECT_EQ(printable("a\0b"s), "a\\x00b");
  EXPECT_EQ(printable("\u0085"), "\\xc2\\x85");
}

TEST(Printable, ShowsCharactersThatHideOrTurnText) {
  EXPECT_EQ(printable("a\u2028b\u2029c"), "a\\xe2\\x80\\xa8b\\xe2\\x80\\xa9c");
  EXPECT_EQ(printable("x\u202ey\u200bz\ufeff"), "x\\xe2\\x80\\xaey\\xe2\\x80\\x8bz\\xef\\xbb\\xbf");
}

TEST(Printable, ShowsBytesThatAreNotUtf8) {
  EXPECT_EQ(printable("a\xff"), "a\\xff");
  EXPECT_EQ(printable("\x80\xc3"), "\\x80\\xc3");
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf") << "overlong /";
  EXPECT_EQ(printable("\xe0\x80\xaf"), "\\xe0\\x80\\xaf") << "overlong / in three";
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "a surrogate";
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80") << "above U+10FFFF";
  EXPECT_EQ(printable("\xe2\x82"), "\\xe2\\x82") << "cut off";
  EXPECT_EQ(printable("\xe2\x82z"), "\\xe2\\x82z") << "the byte after is kept";
}

TEST(CutBytes, CutsBetweenCharacters) {
  EXPECT_EQ(cut_bytes("abcdef", 6), "abcdef");
  EXPECT_EQ(cut_bytes("abcdefg", 6), "abcdef...");
  EXPECT_EQ(cut_bytes("abcd€xyz", 6), "abcd...");
  EXPECT_EQ(cut_bytes(std::string(8, '\x80'), 4), "\x80...") << "no character";
}

TEST(ScriptString, HasNoMarkupAndIsAscii) {
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
