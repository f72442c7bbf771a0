// SPDX-License-Identifier: MIT
#include "support.h"

#include <gtest/gtest.h>

#include <sstream>

#include "analyzer/output/calls.h"
#include "analyzer/output/dump.h"
#include "analyzer/read/text_reader.h"
#include "analyzer/read/trace_reader.h"
#include "analyzer/report/cpu_times.h"
#include "analyzer/report/saved_profile.h"

namespace luatrace::analyze {

const ReportFunction& Analysed::function(const std::string& name) const {
  static const ReportFunction none{};
  for (const auto& f : report.functions)
    if (f.name == name) return f;
  ADD_FAILURE() << "no function " << name;
  return none;
}

std::ostream& operator<<(std::ostream& out, const FunctionTimes& t) {
  return out << "calls " << t.calls << " wall " << t.wall << " running " << t.running << " self "
             << t.self;
}

FunctionTimes times_of(const Analysed& a, const std::string& name) {
  const ReportFunction& f = a.function(name);
  return {f.calls, f.wall_ns, f.inclusive_ns, f.self_ns};
}

Analysed analyse(const std::vector<uint8_t>& bytes) {
  Analysed out;
  Diagnostics diag("test.bin", [&](const std::string& m) { out.messages.push_back(m); });
  try {
    Input input("test.bin", bytes);
    Profile profile;
    TraceFacts facts;
    Streams<Profile> streams(facts, profile, diag);
    read_trace(input, diag, streams);
    streams.finish();
    add_to_report(out.report,
                  {"test.bin", facts, profile, nullptr, nullptr, diag.trust, bytes.size()},
                  [](const Function&) { return Symbol{}; });
    add_cpu_times(out.report);
    add_apportioned_times(out.report);
  } catch (const Unreadable& e) {
    out.unreadable = true;
    out.reason = e.what();
  }
  return out;
}

Analysed analyse(const std::string& text) {
  return analyse(std::vector<uint8_t>(text.begin(), text.end()));
}

FileBytes file_bytes(const std::string& name, const std::string& bytes) {
  return {name, std::vector<uint8_t>(bytes.begin(), bytes.end())};
}

Report report_of(const std::vector<FileBytes>& files, PipelineOptions options) {
  Pipeline pipeline(std::move(options), [](const std::string&) {});
  for (const FileBytes& f : files) {
    Input input(f.name, f.bytes);
    Diagnostics diag(f.name, [](const std::string&) {});
    pipeline.read(input, diag);
  }
  return pipeline.finish();
}

std::string saved(const Report& report) {
  std::ostringstream out;
  write_profile(out, report);
  return out.str();
}

std::string trace_text(const std::string& events) {
  std::ostringstream out;
  out << "#luatrace-text 1\nclock monotonic mult=1 shift=0\n"
         "process 1 pid=7 exe=\"/usr/bin/luajit\" cmd=\"luajit\" \"x.lua\"\n"
         "stream 1 process=1 tid=7 recording=1 luajit=\"LuaJIT 2.1\"\n";
  for (int i = 1; i <= 9; i++)
    out << "func 1:" << i << " lua line=" << 10 * i << " chunk=\"@dir/x.lua\" name=\"f" << i
        << "\"\n";
  std::istringstream in(events);
  for (std::string line; std::getline(in, line);) {
    size_t from = line.find_first_not_of(' ');
    if (from == std::string::npos) continue;
    line.erase(0, from);
    size_t blank = line.find(' ');
    bool is_event = isdigit(static_cast<unsigned char>(line[0]));
    if (is_event) line.insert(blank, " 1");
    out << line << '\n';
  }
  out << "end exit=0\n";
  return out.str();
}

std::vector<uint8_t> to_binary(const std::string& text) {
  Input input("test.txt", std::vector<uint8_t>(text.begin(), text.end()));
  return text_to_binary(input);
}

std::string dump(const std::vector<uint8_t>& bytes) {
  std::ostringstream out;
  Diagnostics diag("test.bin", [](const std::string&) {});
  Input input("test.bin", bytes);
  DumpSink sink(out);
  read_trace(input, diag, sink);
  return out.str();
}

std::string dump_calls(const std::string& text) {
  std::ostringstream out;
  Diagnostics diag("test.txt", [](const std::string&) {});
  Input input("test.txt", std::vector<uint8_t>(text.begin(), text.end()));
  CallsSink sink(out);
  TraceFacts facts;
  Streams<CallsSink> streams(facts, sink, diag);
  sink.set_namer([&](FunctionId i) { return call_name(facts.functions[i], ""); });
  read_trace(input, diag, streams);
  streams.finish();
  return out.str();
}

}  // namespace luatrace::analyze
