// SPDX-License-Identifier: MIT
#include "analyzer/passes.h"

#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>

#include "analyzer/decode/escape.h"
#include "analyzer/decode/import.h"
#include "analyzer/decode/text_reader.h"
#include "analyzer/decode/trace_reader.h"
#include "analyzer/render/calls.h"
#include "analyzer/render/dump.h"
#include "analyzer/render/flame.h"
#include "analyzer/render/folded.h"
#include "analyzer/render/json.h"
#include "analyzer/symbols/symbolizer.h"

namespace luatrace {
namespace {

using SteadyClock = std::chrono::steady_clock;

// "37 %, 1.2 GB/s" on a terminal, ten times a second.
class ProgressLine {
 public:
  ProgressLine(const Input& input, bool quiet)
      : input_(input), active_(!quiet && isatty(STDERR_FILENO)), begin_(SteadyClock::now()) {}
  ~ProgressLine() {
    if (shown_) std::cerr << "\r\033[K" << std::flush;
  }
  void operator()(uint64_t offset) {
    if (!active_) return;
    auto now = SteadyClock::now();
    if (now - last_ < std::chrono::milliseconds(100)) return;
    last_ = now;
    shown_ = true;
    double seconds = std::chrono::duration<double>(now - begin_).count();
    double mega = static_cast<double>(offset) / 1e6;
    char text[80];
    if (input_.size())
      snprintf(text, sizeof text, "\r\033[K%3.0f %%, %.0f MB/s",
               100.0 * static_cast<double>(offset) / static_cast<double>(input_.size()),
               mega / std::max(seconds, 1e-3));
    else
      snprintf(text, sizeof text, "\r\033[K%.0f MB, %.0f MB/s", mega,
               mega / std::max(seconds, 1e-3));
    std::cerr << text << std::flush;
  }

 private:
  const Input& input_;
  bool active_;
  bool shown_ = false;
  SteadyClock::time_point begin_, last_;
};

// Runs `read` on each file with its diagnostics; an unreadable one is said, the others go on.
template <class F>
void each_file(Session& session, F read) {
  for (const std::string& path : session.options.files) {
    Diagnostics diag(path == "-" ? "standard input" : path, complain);
    try {
      Input input(path);
      read(path, input, diag);
    } catch (const Unreadable& e) {
      complain(e.what());
      session.unreadable = true;
    }
    session.trust += diag.trust;
  }
}

void dump_calls(Input& input, Diagnostics& diag, Symbolizer& symbols) {
  CallsSink sink(std::cout);
  Streams<CallsSink> streams(sink, diag);
  sink.set_namer([&](uint32_t index) {
    const Function& f = streams.functions()[index];
    bool search = f.type == LT_FUNC_C && f.name.empty();
    return call_name(f, search ? symbols.find(streams.maps(), f.process, f.addr).name : "");
  });
  read_trace(input, diag, streams);
  streams.finish();
}

std::string page_path(const std::string& trace) {
  if (trace == "-") return "trace.html";
  size_t slash = trace.rfind('/'), dot = trace.rfind('.');
  bool has = dot != std::string::npos && (slash == std::string::npos || dot > slash + 1) && dot > 0;
  return trace.substr(0, has ? dot : trace.size()) + ".html";
}

// Writes with `write` to a file, or to standard output for "-".
template <class F>
void write_to(Session& session, const std::string& path, F write) {
  if (path == "-") return write(std::cout);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (file) write(file);
  file.flush();
  if (file) return;
  complain(printable(path) + ": cannot write: " + strerror(errno));
  session.unreadable = true;
}

}  // namespace

void complain(const std::string& text) {
  std::cerr << "luatrace-analyze: " << text << '\n';
}

void dump_files(Session& session) {
  Symbolizer symbols(session.options.sysroot, complain);
  each_file(session, [&](const std::string&, Input& input, Diagnostics& diag) {
    if (session.options.dump == "calls") return dump_calls(input, diag, symbols);
    DumpSink sink(std::cout);
    read_trace(input, diag, sink);
  });
}

void convert_file(Session& session) {
  each_file(session, [&](const std::string& path, Input& input, Diagnostics& diag) {
    if (is_import(input)) {
      auto trace = import_trace(input, diag, {});
      return write_to(session, *session.options.convert, [&](std::ostream& out) {
        for (size_t n; (n = trace->need(1 << 16)) > 0; trace->consume(n))
          out.write(reinterpret_cast<const char*>(trace->data()), static_cast<std::streamsize>(n));
      });
    }
    if (!is_text_trace(input)) throw Unreadable(printable(path) + ": not the text form of a trace");
    std::vector<uint8_t> image = text_to_binary(input);
    write_to(session, *session.options.convert, [&](std::ostream& out) {
      out.write(reinterpret_cast<const char*>(image.data()),
                static_cast<std::streamsize>(image.size()));
    });
  });
}

Report analyze_files(Session& session) {
  Report report;
  Symbolizer symbols(session.options.sysroot, complain);
  each_file(session, [&](const std::string& path, Input& input, Diagnostics& diag) {
    Profile profile;
    Streams<Profile> streams(profile, diag);
    ProgressLine progress(input, session.options.quiet);
    uint64_t bytes = 0;
    read_trace(input, diag, streams, [&](uint64_t offset) { progress(bytes = offset); });
    streams.finish();
    add_to_report(report, path, streams, profile, diag.trust, bytes, [&](const Function& f) {
      auto found = symbols.find(streams.maps(), f.process, f.addr);
      return Symbol{found.name, found.file};
    });
  });
  return report;
}

void write_outputs(Session& session, const Report& report) {
  const Options& o = session.options;
  if (o.json) write_to(session, *o.json, [&](std::ostream& out) { write_json(out, report); });
  if (o.folded)
    write_to(session, *o.folded, [&](std::ostream& out) { write_folded(out, report, o.unit_ns); });
  bool busy = o.json == "-" || o.folded == "-" || o.flame == "-";
  if (!busy && !o.quiet) print_summary(std::cout, report, o.summary);
  if (!o.flame) return;
  std::string path = o.flame->empty() ? page_path(o.files[0]) : *o.flame;
  write_to(session, path, [&](std::ostream& out) { write_flame(out, report); });
  if (!busy && !o.quiet) std::cout << "flame graph: " << printable(path) << '\n';
}

}  // namespace luatrace
