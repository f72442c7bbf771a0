// SPDX-License-Identifier: MIT
#include "analyzer/filter/phase.h"

#include <string_view>

namespace luatrace::analyze {
namespace {

// Directives whose phase ngx.get_phase() calls otherwise.
constexpr const char* kRenamed[][2] = {{"ssl_certificate", "ssl_cert"},
                                       {"proxy_ssl_certificate", "proxy_ssl_cert"}};

}  // namespace

std::string nginx_phase(const FunctionName& function) {
  constexpr std::string_view kSuffix = "_by_lua";
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz_";
  if (!is_main_chunk(function) || !function.chunk.starts_with('=')) return "";
  const std::string_view chunk = std::string_view(function.chunk).substr(1);
  const std::string_view directive = chunk.substr(0, chunk.find('('));
  if (!directive.ends_with(kSuffix) || directive.size() == kSuffix.size()) return "";
  const std::string_view phase = directive.substr(0, directive.size() - kSuffix.size());
  if (phase.find_first_not_of(kLetters) != phase.npos) return "";
  for (const auto& [from, to] : kRenamed)
    if (phase == from) return to;
  return std::string(phase);
}

bool creates_timers(const FunctionName& function) {
  return function.kind == FunctionKind::kC &&
         (function.name == "ngx.timer.at" || function.name == "ngx.timer.every");
}

}  // namespace luatrace::analyze
