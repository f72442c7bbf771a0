// SPDX-License-Identifier: MIT
// POST by libcurl, which is loaded when the first request is made: a program that links it maps 28
// libraries and 6 MB in every run.
//
// Invariants: certificates and host names are verified; redirects are not followed, because they
// would carry the credentials elsewhere; an answer takes up to 64 KB of memory.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace luatrace::analyze {

struct HttpAnswer {
  long status = 0;           // 0: there was no answer.
  uint64_t retry_after = 0;  // In s, as the server asks; 0: it does not.
  std::string type, body;    // Content-Type; the beginning of the body.
  std::string error;         // Why there was no answer.
  bool trust_error = false;  // The server's certificate is not trusted, or not its own.
  bool sent = false;         // The whole request was sent, so the server may have taken it.
};

class HttpClient {
 public:
  // ca_file: "" for the certificate authorities of the system. Throws std::runtime_error if there
  // is no libcurl.
  explicit HttpClient(std::string ca_file);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  // headers: "Name: value". timeout_ms: for the whole request, more than 0.
  HttpAnswer post(const std::string& url, const std::vector<std::string>& headers,
                  const std::string& body, long timeout_ms);

 private:
  struct Library;
  const std::string ca_file_;
  Library* const library_;
};

}  // namespace luatrace::analyze
