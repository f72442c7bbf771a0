// SPDX-License-Identifier: MIT
#include "analyzer/push/http.h"

#include <curl/curl.h>
#include <dlfcn.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

namespace luatrace::analyze {
namespace {

constexpr size_t kMaxAnswer = 64 << 10;
constexpr long kConnectTimeoutMs = 10'000;

size_t take_body(char* data, size_t size, size_t count, void* to) {
  auto& body = *static_cast<std::string*>(to);
  body.append(data, std::min(size * count, kMaxAnswer - std::min(kMaxAnswer, body.size())));
  return size * count;
}

void* open_libcurl() {
  for (const char* name : {"libcurl.so.4", "libcurl-gnutls.so.4"})
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  throw std::runtime_error(
      "--push needs libcurl, which is not installed (Debian: libcurl4), or this program is static");
}

}  // namespace

// Its functions are those of <curl/curl.h>; the header's macros that check types are not for
// pointers.
struct HttpClient::Library {
  void* const file = open_libcurl();
  template <class F>
  F* find(F*, const char* name) {
    if (void* function = dlsym(file, name)) return reinterpret_cast<F*>(function);
    throw std::runtime_error(std::string("libcurl has no function ") + name);
  }
#define LUATRACE_CURL(name) \
  decltype(&::name) name = find(static_cast<decltype(&::name)>(nullptr), #name)
#undef curl_easy_setopt
#undef curl_easy_getinfo
  LUATRACE_CURL(curl_global_init);
  LUATRACE_CURL(curl_easy_init);
  LUATRACE_CURL(curl_easy_setopt);
  LUATRACE_CURL(curl_easy_perform);
  LUATRACE_CURL(curl_easy_getinfo);
  LUATRACE_CURL(curl_easy_cleanup);
  LUATRACE_CURL(curl_slist_append);
  LUATRACE_CURL(curl_slist_free_all);
#undef LUATRACE_CURL
  CURL* easy = nullptr;  // Keeps its connection for the next request.
};

HttpClient::HttpClient(std::string ca_file) : ca_file_(std::move(ca_file)), library_(new Library) {
  library_->curl_global_init(CURL_GLOBAL_DEFAULT);
  library_->easy = library_->curl_easy_init();
}

HttpClient::~HttpClient() {
  if (library_->easy) library_->curl_easy_cleanup(library_->easy);
  delete library_;  // The library stays loaded: others of its own may have threads.
}

HttpAnswer HttpClient::post(const std::string& url, const std::vector<std::string>& headers,
                            const std::string& body, long timeout_ms) {
  HttpAnswer answer;
  CURL* const easy = library_->easy;
  if (!easy) return answer.error = "libcurl cannot start", answer;
  curl_slist* list = library_->curl_slist_append(nullptr, "Expect:");
  for (const std::string& h : headers) list = library_->curl_slist_append(list, h.c_str());
  const auto set = [&](CURLoption option, auto value) {
    library_->curl_easy_setopt(easy, option, value);
  };
  char error[CURL_ERROR_SIZE] = "";
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_SSL_VERIFYPEER, 1L);
  set(CURLOPT_SSL_VERIFYHOST, 2L);
  if (!ca_file_.empty()) set(CURLOPT_CAINFO, ca_file_.c_str());
  set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  set(CURLOPT_POSTFIELDS, body.data());
  set(CURLOPT_HTTPHEADER, list);
  set(CURLOPT_USERAGENT, "luatrace");
  set(CURLOPT_CONNECTTIMEOUT_MS, std::min(kConnectTimeoutMs, timeout_ms));
  set(CURLOPT_TIMEOUT_MS, timeout_ms);
  set(CURLOPT_WRITEFUNCTION, take_body);
  set(CURLOPT_WRITEDATA, &answer.body);
  set(CURLOPT_ERRORBUFFER, error);
  const CURLcode code = library_->curl_easy_perform(easy);
  const auto get = [&](CURLINFO info, auto* to) { library_->curl_easy_getinfo(easy, info, to); };
  curl_off_t uploaded = 0, retry_after = 0;
  const char* type = nullptr;
  get(CURLINFO_SIZE_UPLOAD_T, &uploaded);
  get(CURLINFO_CONTENT_TYPE, &type);
  get(CURLINFO_RETRY_AFTER, &retry_after);
  get(CURLINFO_RESPONSE_CODE, &answer.status);
  library_->curl_slist_free_all(list);
  if (type) answer.type = type;
  answer.retry_after = static_cast<uint64_t>(std::max<curl_off_t>(retry_after, 0));
  answer.sent = uploaded >= static_cast<curl_off_t>(body.size());
  if (code == CURLE_OK) return answer;
  answer.status = 0;  // Also of an answer that ends in its middle.
  answer.error = *error ? error : "no answer (libcurl error " + std::to_string(code) + ')';
  answer.trust_error = code == CURLE_PEER_FAILED_VERIFICATION || code == CURLE_SSL_CACERT_BADFILE;
  return answer;
}

}  // namespace luatrace::analyze
