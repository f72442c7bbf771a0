// SPDX-License-Identifier: MIT
// The request by which a profile is pushed: what each form of server takes.
#pragma once

#include <string>
#include <vector>

#include "analyzer/push/target.h"
#include "analyzer/report/report.h"

namespace luatrace::analyze {

// A request without its server and its secret headers. It can be kept in a file (spool.h).
struct PushRequest {
  std::string form;      // push_form_name().
  std::string query;     // Of the URL, with its '?'; "": none.
  std::string type;      // Content-Type.
  std::string encoding;  // Content-Encoding; "": none.
  std::string id;        // 32 hexadecimal digits, of this push alone; also the Idempotency-Key.
  std::string body;
};

// `given` and, where they do not say otherwise, service_name, process and thread, as far as all of
// the report has the same. Keys in the order of the alphabet, each once: of equal ones the last.
std::vector<PushLabel> push_labels(const Report& report, const std::vector<PushLabel>& given);

PushRequest make_push_request(PushForm form, const Report& report,
                              const std::vector<PushLabel>& labels);

// Whether a 2xx answer is what a server of this form says after a push. If not, returns what is
// wrong with it.
std::string check_push_answer(const std::string& form, const std::string& type,
                              const std::string& body);

}  // namespace luatrace::analyze
