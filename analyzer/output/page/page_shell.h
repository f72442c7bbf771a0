// SPDX-License-Identifier: MIT
// The page without its data, generated at build time from src/ by inline_page.cmake. It contains
// the placeholders @@TITLE@@, @@META@@, @@NODES@@, @@SLICES@@ and @@REQUESTS@@, each once, and no
// other "@@".
#pragma once

#include <string_view>

namespace luatrace::analyze::page {

std::string_view page_shell();

}  // namespace luatrace::analyze::page
