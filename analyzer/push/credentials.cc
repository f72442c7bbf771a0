// SPDX-License-Identifier: MIT
#include "analyzer/push/credentials.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <istream>
#include <sstream>

#include "cli/usage_error.h"

namespace luatrace::analyze {
namespace {

constexpr const char* kHeaderVariable = "LUATRACE_PUSH_HEADERS";

bool is_header(const std::string& line) {
  const size_t colon = line.find(':');
  if (colon == 0 || colon == line.npos) return false;
  for (const char c : line.substr(0, colon))
    if (!isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_') return false;
  for (const char c : line)
    if (static_cast<unsigned char>(c) < ' ' && c != '\t') return false;
  return true;
}

void add_headers(std::vector<std::string>& headers, std::istream& in, const std::string& from) {
  size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    number++;
    if (line.ends_with('\r')) line.pop_back();
    if (line.empty() || line[0] == '#') continue;
    if (!is_header(line))
      throw UsageError(from + ": line " + std::to_string(number) + " is not 'Name: value'");
    headers.push_back(line);
  }
}

}  // namespace

std::vector<std::string> push_headers(const std::string& file) {
  std::vector<std::string> headers;
  if (!file.empty()) {
    std::ifstream in(file);
    if (!in)
      throw UsageError("--push-headers: '" + file + "': cannot read: " + std::strerror(errno));
    add_headers(headers, in, "--push-headers: '" + file + '\'');
  }
  if (const char* text = getenv(kHeaderVariable)) {
    std::istringstream in(text);
    add_headers(headers, in, kHeaderVariable);
  }
  return headers;
}

}  // namespace luatrace::analyze
