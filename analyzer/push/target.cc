// SPDX-License-Identifier: MIT
#include "analyzer/push/target.h"

#include <algorithm>
#include <string_view>

#include "cli/usage_error.h"

namespace luatrace::analyze {
namespace {

struct KnownForm {
  PushForm form;
  const char *name, *path;
};
constexpr KnownForm kForms[] = {
    {PushForm::kPyroscope, "pyroscope", "/ingest"},
    {PushForm::kPyroscopeConnect, "pyroscope-connect", "/push.v1.PusherService/Push"},
    {PushForm::kParca, "parca", "/profiles/writeraw"},
    {PushForm::kOtlp, "otlp-1.11", "/v1development/profiles"}};

struct SplitUrl {
  std::string_view authority, path;
};

SplitUrl split(std::string_view url) {
  const size_t begin = url.starts_with("https://")  ? 8
                       : url.starts_with("http://") ? 7
                                                    : std::string_view::npos;
  if (begin == std::string_view::npos || begin == url.size() || url[begin] == '/')
    throw UsageError("--push: the URL must be http://HOST[:PORT][/PATH] or https://...");
  const size_t end = std::min(url.find('/', begin), url.size());
  return {url.substr(begin, end - begin), url.substr(end)};
}

void check_url(std::string_view url, const SplitUrl& parts) {
  // The URL is not printed: it may contain a password.
  if (parts.authority.find('@') != std::string_view::npos)
    throw UsageError(
        "--push: a user or password in the URL can be seen by every user of this machine: use "
        "--push-headers FILE or LUATRACE_PUSH_HEADERS");
  if (url.find_first_of("?#") != std::string_view::npos)
    throw UsageError("--push: the URL must end with its path (no '?' and no '#')");
  if (std::any_of(url.begin(), url.end(),
                  [](char c) { return static_cast<unsigned char>(c) <= ' ' || c == 0x7f; }))
    throw UsageError("--push: the URL contains a blank or a control character");
}

const KnownForm& find_form(std::string_view path, const std::string& name) {
  for (const KnownForm& f : kForms)
    if (name.empty() ? path.ends_with(f.path) : name == f.name) return f;
  throw UsageError("--push: it is not known what the server takes at " +
                   (path.empty() ? "a URL without a path" : '\'' + std::string(path) + '\'') +
                   ": say it with --push-as");
}

}  // namespace

void set_push_target(PushOptions& options, const std::string& url, const std::string& form) {
  SplitUrl parts = split(url);
  check_url(url, parts);
  if (parts.path == "/") parts.path = "";
  const KnownForm& known = find_form(parts.path, form);
  if (known.form == PushForm::kOtlp && form.empty())
    throw UsageError(
        "--push: OTLP profiles differ from release to release: say which one the server takes "
        "(--push-as otlp-1.11)");
  options.form = known.form;
  options.url = url;
  if (parts.path.empty()) {
    if (options.url.ends_with('/')) options.url.pop_back();
    options.url += known.path;
  }
}

PushLabel parse_push_label(const std::string& text) {
  const size_t at = text.find('=');
  const std::string key = text.substr(0, at);
  const auto valid = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (at == text.npos || key.empty() || (key[0] >= '0' && key[0] <= '9') || key.starts_with("__") ||
      !std::all_of(key.begin(), key.end(), valid))
    throw UsageError("--label: invalid value '" + text +
                     "'; write KEY=VALUE, where KEY is made of letters, digits and single '_'");
  if (at + 1 == text.size())
    throw UsageError("--label: the label '" + key + "' has no value: leave it out");
  return {key, text.substr(at + 1)};
}

const char* push_form_name(PushForm form) {
  for (const KnownForm& f : kForms)
    if (f.form == form) return f.name;
  return "";
}

}  // namespace luatrace::analyze
