// SPDX-License-Identifier: MIT
// Where profiles are pushed to, as --push and the options beside it say it.
//
// Invariant: neither credentials nor anything else that is secret is in a target: they are read
// from a file or the environment when a request is made (credentials.h).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace luatrace::analyze {

// What a server takes.
enum class PushForm { kPyroscope, kPyroscopeConnect, kParca, kOtlp };

struct PushLabel {
  std::string key, value;
};

struct PushOptions {
  std::string url;  // With its path; "": nothing is pushed.
  PushForm form = PushForm::kPyroscope;
  std::vector<PushLabel> labels;               // --label, in the order given.
  std::string headers_file;                    // "": none.
  std::string ca_file;                         // "": the certificate authorities of the system.
  std::string spool;                           // A directory; "": none.
  uint64_t spool_bytes = uint64_t{256} << 20;  // Limit of what is in it.
  uint64_t wait_ns = 30'000'000'000;           // For how long a push is tried.
};

// Takes the values of --push and --push-as ("": by the path of the URL); a URL without a path gets
// that of the form. Throws UsageError.
void set_push_target(PushOptions& options, const std::string& url, const std::string& form);
// Takes "key=value". Throws UsageError.
PushLabel parse_push_label(const std::string& text);
// The name of the form, as --push-as takes it.
const char* push_form_name(PushForm form);

}  // namespace luatrace::analyze
