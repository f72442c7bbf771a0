// SPDX-License-Identifier: MIT
#include "request_traces.h"

#include <random>
#include <sstream>

#include "analyzer/pipeline.h"
#include "support.h"
#include "wishes.h"

namespace luatrace::analyze {

std::string with_requests(const std::string& text, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::istringstream in(text);
  std::ostringstream out;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string tick, stream, what, coroutine;
    words >> tick >> stream >> what >> coroutine;
    const bool has_request = (what == "create" || what == "resume") && random() % 2;
    if (what == "stack" && random() % 2)
      out << tick << ' ' << stream << " request " << coroutine << ' ' << random() % 4 << '\n';
    out << line << '\n';
    if (has_request)
      out << tick << ' ' << stream << " request " << coroutine << ' ' << random() % 4 << '\n';
  }
  return out.str();
}

std::string with_phases(std::string text) {
  size_t n = 0;
  for (size_t at = 0; (at = text.find("lua line=", at)) != text.npos; at++) {
    static const char* const kBlocks[] = {"access", "content", "log"};
    const size_t end = text.find('\n', at);
    if (n++ % 3 == 0)
      text.replace(at, end - at,
                   std::string("lua chunk=\"=") + kBlocks[n / 3 % 3] +
                       "_by_lua(nginx.conf:" + std::to_string(n) + ")\"");
  }
  return text;
}

std::string random_requests(uint64_t seed, const std::string& clock) {
  std::string text = with_requests(random_trace(seed, clock), seed);
  return seed % 2 ? with_phases(std::move(text)) : text;
}

std::vector<uint8_t> maybe_damaged(const std::string& text, uint64_t seed) {
  std::vector<uint8_t> bytes = to_binary(text);
  std::mt19937_64 random(seed);
  if (seed % 4 >= 2)
    for (int i = 0; i < 3; i++) bytes[bytes.size() / 3 + random() % (bytes.size() / 2)] ^= 4;
  return bytes;
}

std::vector<std::string> random_request_by(uint64_t seed) {
  if (seed % 5 == 0) return {"/[123]$/"};
  if (seed % 5 == 1) return {kByCoroutines};
  return {};
}

}  // namespace luatrace::analyze
