// SPDX-License-Identifier: MIT
// Which files of a user luatrace-analyze may overwrite unasked: only those that it could have
// written itself, as the same kind of output. `-o prog.lua` is a mistake that cannot be undone.
#pragma once

#include <string>
#include <string_view>

#include "trace/open_output.h"

namespace luatrace::analyze {

// Bytes that is_own_output() looks at.
constexpr size_t kOwnBytes = 4096;

// Whether a file that begins with those bytes is an output of that kind, of this version or an
// earlier one. kind: trace, profile, page, json, csv, folded, or another format of --format.
// `whole`: the bytes are the whole file.
bool is_own_output(std::string_view kind, std::string_view bytes, bool whole);

// Why the file must not be overwritten; empty if it may, or if there is no regular file.
std::string why_kept(const std::string& path, const std::string& kind);

// Whether the file exists and is such an output.
bool is_own_file(const std::string& path, const std::string& kind);

// For open_replacement(): why an existing file is kept. force: any file is overwritten.
KeepReason keep_others(const std::string& kind, bool force);

}  // namespace luatrace::analyze
