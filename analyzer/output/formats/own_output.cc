// SPDX-License-Identifier: MIT
// Most kinds begin with a text of their own. Folded stacks have none, and tables only the names of
// their columns: of these the form of the lines decides.
#include "analyzer/output/formats/own_output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>

#include "analyzer/output/formats/formats.h"
#include "analyzer/output/formats/gzip.h"
#include "analyzer/report/saved_profile.h"
#include "luatrace_format.h"
#include "trace/descriptor.h"

namespace luatrace::analyze {
namespace {

bool has_magic(std::string_view bytes, uint64_t magic) {
  return bytes.size() >= sizeof magic && std::memcmp(bytes.data(), &magic, sizeof magic) == 0;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

// The same in all versions.
bool is_page(std::string_view bytes) {
  constexpr std::string_view kBegin =
      "<!DOCTYPE html>\n<!-- SPDX-License-Identifier: MIT -->\n<html lang=\"en\">\n<head>\n";
  return bytes.starts_with(kBegin) &&
         contains(bytes, "content=\"default-src 'none'; script-src 'sha256-");
}

// The first member is `trace`, or with --jit the first table.
bool is_json(std::string_view bytes) {
  return bytes.starts_with("{\n \"trace\": {\n   \"duration_ns\":") ||
         bytes.starts_with("{\n \"jit\": [");
}

// A line with the keys of a table's columns: nearly each table has a time.
bool is_csv(std::string_view bytes) {
  const std::string_view line = bytes.substr(0, bytes.find('\n'));
  if (line.empty() ||
      line.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_.,") != line.npos)
    return false;
  const std::string keys = ',' + std::string(line) + ',';
  return contains(keys, "_ns,") || keys.starts_with(",view,") || keys == ",file,what,value," ||
         keys.starts_with(",function,calls,") ||
         (contains(keys, ",calls,") && contains(keys, ",kind,"));
}

// "work (app.lua:3) 1234": a text and a number.
bool is_weighted(std::string_view line) {
  const size_t blank = line.rfind(' ');
  return blank != line.npos && blank > 0 && blank + 1 < line.size() &&
         line.find_first_not_of("0123456789", blank + 1) == line.npos;
}

// Whether that text is a stack: it has several functions, or one with its place. A comparison has
// a second number.
bool is_stack(std::string_view line) {
  const std::string_view stack = line.substr(0, line.rfind(' '));
  return contains(stack, ";") || contains(stack, ") ") || contains(stack, "] ") ||
         stack.ends_with(')') || stack.ends_with(']');
}

bool is_folded(std::string_view bytes, bool whole) {
  bool any = false;
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    if (end == bytes.npos && !whole) break;  // The last line is cut.
    const std::string_view line = bytes.substr(0, end);
    if (!is_weighted(line)) return false;
    any |= is_stack(line);
    bytes.remove_prefix(end == bytes.npos ? bytes.size() : end + 1);
  }
  return any;
}

// "  2.345,  12.34%,     123, work : app.lua: 12".
bool is_xmake(std::string_view bytes) {
  const std::string line(bytes.substr(0, bytes.find('\n')));
  double seconds = 0, percent = 0;
  unsigned long long calls = 0;
  int end = 0;
  return std::sscanf(line.c_str(), "%lf, %lf%%, %llu, %n", &seconds, &percent, &calls, &end) == 3 &&
         end > 0 && contains(line, " : ");
}

// The first packet, which is always the same: the interned names of the categories.
bool is_perfetto(std::string_view bytes) {
  const std::string_view first = bytes.substr(0, 64);
  return first.starts_with('\x0a') && contains(first, "call") && contains(first, "coroutine");
}

// "/dev/stdout" and the like: what the shell has opened, and emptied if it was to be.
bool is_behind_proc(const std::string& path) {
  char text[PATH_MAX];
  std::string name = path;
  for (int i = 0; i < 8; i++) {
    if (name.starts_with("/proc/") || name.starts_with("/dev/fd/")) return true;
    const ssize_t n = readlink(name.c_str(), text, sizeof text);
    if (n <= 0) return false;
    const std::string to(text, static_cast<size_t>(n));
    name = to[0] == '/' ? to : name.substr(0, name.rfind('/') + 1) + to;
  }
  return false;
}

std::string what_is(const std::string& kind) {
  if (kind == "trace" || kind == "page") return "a " + kind + " of luatrace";
  if (kind == "profile") return "a saved profile";
  return "an output of luatrace in this format (" + kind + ')';
}

}  // namespace

bool is_own_output(std::string_view kind, std::string_view bytes, bool whole) {
  if (kind == "trace") return has_magic(bytes, LT_FILE_MAGIC);
  if (kind == "profile") return has_magic(bytes, kProfileMagic);
  if (kind == "page") return is_page(bytes);
  if (kind == "json") return is_json(bytes);
  if (kind == "csv") return is_csv(bytes);
  if (kind == "folded") return is_folded(bytes, whole);
  if (kind == "xmake") return is_xmake(bytes);
  if (kind == "perfetto") return is_perfetto(bytes);
  if (kind == "pprof") return is_gzip_of_ours(bytes);
  if (kind == "speedscope")
    return bytes.starts_with("{\"$schema\":\"https://www.speedscope.app/") &&
           contains(bytes, "\"exporter\":\"luatrace\"");
  if (kind == "chrome") return bytes.starts_with("{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
  if (kind == "callgrind")
    return bytes.starts_with("# callgrind format\nversion: 1\ncreator: luatrace\n");
  if (kind == "luaprofiler") return bytes.starts_with("stack_level\tfile_defined\tfunction_name\t");
  if (kind == "luaprofile") return bytes.starts_with("File Name,Line,Function Name,Call Times,");
  return false;
}

namespace {

// Parquet says at its end who has written it: the last member of the metadata, whose end and
// length follow.
bool is_parquet_of_ours(int fd) {
  constexpr std::string_view kWriter("luatrace\0", 9), kMagic = "PAR1";
  char end[9 + 4 + 4];
  struct stat st {};
  if (fstat(fd, &st) != 0 ||
      pread(fd, end, sizeof end, st.st_size - off_t{sizeof end}) != ssize_t{sizeof end})
    return false;
  const std::string_view text(end, sizeof end);
  return text.starts_with(kWriter) && text.ends_with(kMagic);
}

// Whether the file is empty, or such an output; false and errno if it cannot be read.
bool is_own(int fd, const std::string& kind, bool empty) {
  char bytes[kOwnBytes];
  errno = 0;
  if (kind == kTables && is_parquet_of_ours(fd)) return true;
  errno = 0;
  const ssize_t n = pread(fd, bytes, sizeof bytes, 0);
  const auto size = static_cast<size_t>(std::max<ssize_t>(n, 0));
  return n == 0 ? empty : n > 0 && is_own_output(kind, {bytes, size}, size < sizeof bytes);
}

// -1 if it is no regular file, or cannot be read.
Descriptor open_regular(const std::string& path) {
  struct stat st {};
  if (path == "-" || stat(path.c_str(), &st) != 0 || !S_ISREG(st.st_mode)) return {};
  return Descriptor(open(path.c_str(), O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC));
}

std::string why_kept(int fd, const std::string& kind) {
  if (is_own(fd, kind, true)) return "";
  if (errno != 0) return std::strerror(errno);
  return "it exists and is not " + what_is(kind) +
         "; choose another name, or --force overwrites it";
}

}  // namespace

std::string why_kept(const std::string& path, const std::string& kind) {
  if (is_behind_proc(path)) return "";
  const Descriptor fd = open_regular(path);
  return fd < 0 ? "" : why_kept(fd, kind);
}

bool is_own_file(const std::string& path, const std::string& kind) {
  const Descriptor fd = open_regular(path);
  return fd >= 0 && is_own(fd, kind, false);
}

KeepReason keep_others(const std::string& kind, bool force) {
  if (force) return nullptr;
  return [kind](int fd) { return why_kept(fd, kind); };
}

}  // namespace luatrace::analyze
