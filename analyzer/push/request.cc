// SPDX-License-Identifier: MIT
#include "analyzer/push/request.h"

#include <sys/random.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>

#include "analyzer/output/formats/gzip.h"
#include "analyzer/output/formats/pprof.h"
#include "base/escape.h"

namespace luatrace::analyze {
namespace {

constexpr const char* kProfileName = "luatrace";  // __name__ of all series.

std::string base64(const std::string& bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t n = std::min<size_t>(3, bytes.size() - i);
    uint32_t three = 0;
    for (size_t k = 0; k < 3; k++)
      three = three << 8 | (k < n ? static_cast<unsigned char>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; k++) out += k <= n ? kDigits[three >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

std::string percent_encoded(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_' || c == '.' || c == '~')
      out += c;
    else
      out += '%' + hex_bytes(std::string_view(&c, 1));
  }
  return out;
}

std::string random_id() {
  std::string bytes(16, '\0');
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    throw std::runtime_error("the system has no random numbers");
  return hex_bytes(bytes);
}

// Unix time in ns of the first event of all files, and the end of the last one.
std::pair<uint64_t, uint64_t> time_of(const Report& report) {
  uint64_t from = UINT64_MAX, until = 0;
  for (const ReportFile& f : report.files) {
    if (!f.start_real_ns) continue;
    from = std::min(from, f.start_real_ns);
    until = std::max(until, f.start_real_ns + f.duration_ns);
  }
  if (from != UINT64_MAX) return {from, until};
  const uint64_t now = static_cast<uint64_t>(std::time(nullptr)) * 1'000'000'000;
  return {now - std::min(now, report.duration_ns), now};
}

std::string whole_pprof(const Report& report) {
  std::ostringstream out;
  write_whole_pprof(out, report);
  return out.str();
}

// [{"name":"a","value":"b"},...], with the name of the series.
std::string json_labels(const std::vector<PushLabel>& labels) {
  std::string out = std::string("[{\"name\":\"__name__\",\"value\":\"") + kProfileName + "\"}";
  for (const PushLabel& l : labels)
    out += ",{\"name\":" + json_string(l.key) + ",\"value\":" + json_string(l.value) + '}';
  return out + ']';
}

// -- The forms --

// name=service{key=value,...}: a value must not contain what separates them.
std::string ingest_name(const std::vector<PushLabel>& labels) {
  std::string service, rest;
  for (PushLabel l : labels) {
    for (char& c : l.value)
      if (c == ',' || c == '{' || c == '}' || c == '=' || c == '"') c = '_';
    if (l.key == "service_name")
      service = l.value;
    else
      rest += (rest.empty() ? "" : ",") + l.key + '=' + l.value;
  }
  return service + '{' + rest + '}';
}

void fill_ingest(PushRequest& r, const Report& report, const std::vector<PushLabel>& labels) {
  constexpr uint64_t kSecond = 1'000'000'000;
  const auto [from, until] = time_of(report);
  r.query = "?name=" + percent_encoded(ingest_name(labels)) +
            "&from=" + std::to_string(from / kSecond) +
            "&until=" + std::to_string((until + kSecond - 1) / kSecond) +
            "&format=pprof&spyName=luatrace";
  const std::string boundary = "luatrace-" + r.id;
  std::string config;
  for (const SampleValue& v : sample_values(report, true))
    config += (config.empty() ? "{\"" : ",\"") + std::string(v.type) + "\":{\"units\":\"" + v.unit +
              "\",\"aggregation\":\"sum\",\"display-name\":\"" + v.type + "\",\"sampled\":false}";
  r.type = "multipart/form-data; boundary=" + boundary;
  const auto part = [&](const char* name, const char* type, const std::string& bytes) {
    r.body += "--" + boundary + "\r\nContent-Disposition: form-data; name=\"" + name +
              "\"; filename=\"" + name + "\"\r\nContent-Type: " + type + "\r\n\r\n" + bytes +
              "\r\n";
  };
  part("profile", "application/octet-stream", whole_pprof(report));
  part("sample_type_config", "application/json", config + '}');
  r.body += "--" + boundary + "--\r\n";
}

void fill_connect(PushRequest& r, const Report& report, const std::vector<PushLabel>& labels) {
  r.type = "application/json";
  r.body = "{\"series\":[{\"labels\":" + json_labels(labels) + ",\"samples\":[{\"ID\":\"" + r.id +
           "\",\"rawProfile\":\"" + base64(whole_pprof(report)) + "\"}]}]}";
}

void fill_parca(PushRequest& r, const Report& report, const std::vector<PushLabel>& labels) {
  r.type = "application/json";
  r.body = "{\"series\":[{\"labels\":{\"labels\":" + json_labels(labels) +
           "},\"samples\":[{\"raw_profile\":\"" + base64(whole_pprof(report)) +
           "\"}]}],\"normalized\":true}";
}

// Labels that the semantic conventions of OpenTelemetry call otherwise.
std::string convention(const std::string& key) {
  static const std::pair<const char*, const char*> kNames[] = {{"service_name", "service.name"},
                                                               {"version", "service.version"},
                                                               {"host", "host.name"},
                                                               {"process", "process.pid"},
                                                               {"thread", "thread.id"}};
  for (const auto& [ours, theirs] : kNames)
    if (key == ours) return theirs;
  return key;
}

void fill_otlp(PushRequest& r, const Report& report, const std::vector<PushLabel>& labels) {
  std::vector<std::pair<std::string, std::string>> resource;
  for (const PushLabel& l : labels) resource.emplace_back(convention(l.key), l.value);
  std::ostringstream plain, packed;
  write_otlp(plain, report, resource);
  GzipWriter gzip(packed);
  gzip.write(plain.str());
  gzip.finish();
  r.type = "application/x-protobuf";
  r.encoding = "gzip";
  r.body = packed.str();
}

// -- Labels --

// The one value, or "" if there are several or none.
std::string only_one(const std::set<std::string>& values) {
  return values.size() == 1 ? *values.begin() : "";
}

std::string program_of(const ProcessInfo& p) {
  const std::string& path = p.cmdline.empty() ? p.exe : p.cmdline[0];
  return printable(cut_bytes(path.substr(path.rfind('/') + 1), 100));
}

// -- Answers --

// Reads the next field of a message. False at its end, or, with `at` after it, if it is malformed.
bool next_field(const std::string& bytes, size_t& at, uint64_t& key, uint64_t& number,
                std::string& text) {
  const auto varint = [&](uint64_t& to) {
    to = 0;
    for (int shift = 0; at < bytes.size() && shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(bytes[at++]);
      to |= uint64_t{byte & 0x7fu} << shift;
      if (!(byte & 0x80)) return true;
    }
    return false;
  };
  if (at >= bytes.size()) return false;
  const bool known = varint(key) && varint(number) && ((key & 7) == 0 || (key & 7) == 2);
  const bool has_text = known && (key & 7) == 2;
  if (!known || (has_text && number > bytes.size() - at)) return at = bytes.size() + 1, false;
  if (!has_text) return true;
  text = bytes.substr(at, number);
  at += number;
  return true;
}

// ExportProfilesServiceResponse: partial_success with the number of rejected profiles and why.
std::string check_otlp_answer(const std::string& body) {
  uint64_t key = 0, number = 0, rejected = 0;
  std::string partial, text, why;
  size_t at = 0;
  while (next_field(body, at, key, number, text))
    if (key == (1 << 3 | 2)) partial = text;
  if (at != body.size()) return "not an OTLP answer";
  at = 0;
  while (next_field(partial, at, key, number, text)) {
    if (key == 1 << 3) rejected = number;
    if (key == (2 << 3 | 2)) why = text;
  }
  if (!rejected) return "";
  return "the server rejected " + std::to_string(rejected) +
         " of 4 profiles: " + printable(cut_bytes(why, 300));
}

}  // namespace

std::vector<PushLabel> push_labels(const Report& report, const std::vector<PushLabel>& given) {
  std::set<std::string> programs, pids, tids;
  for (const ReportFile& f : report.files) {
    for (const ProcessInfo& p : f.processes) {
      programs.insert(program_of(p));
      pids.insert(std::to_string(p.pid));
    }
    for (const StreamInfo& s : f.streams) tids.insert(std::to_string(s.tid));
  }
  std::map<std::string, std::string> all = {{"service_name", only_one(programs)},
                                            {"process", only_one(pids)},
                                            {"thread", only_one(tids)}};
  if (all["service_name"].empty()) all["service_name"] = kProfileName;
  for (const PushLabel& l : given) all[l.key] = printable(l.value);
  std::vector<PushLabel> labels;
  for (const auto& [key, value] : all)
    if (!value.empty()) labels.push_back({key, value});
  return labels;
}

PushRequest make_push_request(PushForm form, const Report& report,
                              const std::vector<PushLabel>& labels) {
  PushRequest r;
  r.form = push_form_name(form);
  r.id = random_id();
  switch (form) {
    case PushForm::kPyroscope:
      fill_ingest(r, report, labels);
      break;
    case PushForm::kPyroscopeConnect:
      fill_connect(r, report, labels);
      break;
    case PushForm::kParca:
      fill_parca(r, report, labels);
      break;
    case PushForm::kOtlp:
      fill_otlp(r, report, labels);
      break;
  }
  return r;
}

std::string check_push_answer(const std::string& form, const std::string& type,
                              const std::string& body) {
  if (type.starts_with("text/html")) return "the answer is a page: is the URL that of the server?";
  if (form == push_form_name(PushForm::kPyroscope)) return "";
  if (form == push_form_name(PushForm::kOtlp)) return check_otlp_answer(body);
  const size_t begin = body.find_first_not_of(" \t\r\n");
  const bool is_object = begin != body.npos && body[begin] == '{';
  return is_object ? "" : "the answer is not a JSON object";
}

}  // namespace luatrace::analyze
