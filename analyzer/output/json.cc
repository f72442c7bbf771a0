// SPDX-License-Identifier: MIT
#include "analyzer/output/json.h"

#include <algorithm>
#include <ostream>

#include "analyzer/output/format.h"
#include "analyzer/report/canonical_order.h"
#include "analyzer/report/compensate.h"
#include "analyzer/report/native_times.h"
#include "analyzer/report/vm_work_time.h"
#include "analyzer/symbols/vm_work.h"
#include "base/escape.h"

namespace luatrace::analyze {
namespace {

// Writes the members of an object, with commas.
class Object {
 public:
  Object(std::ostream& out, const char* indent) : out_(out), indent_(indent) { out_ << '{'; }
  void text(const char* key, std::string_view value) { begin(key) << json_string(value); }
  void number(const char* key, uint64_t value) { begin(key) << value; }
  void null(const char* key) { begin(key) << "null"; }
  void integer(const char* key, int64_t value) { begin(key) << value; }
  void boolean(const char* key, bool value) { begin(key) << (value ? "true" : "false"); }
  std::ostream& begin(const char* key) {
    out_ << (first_ ? "" : ",") << indent_ << '"' << key << "\": ";
    first_ = false;
    return out_;
  }
  void end(const char* indent = "") { out_ << indent << '}'; }

 private:
  std::ostream& out_;
  const char* indent_;
  bool first_ = true;
};

void write_process(std::ostream& out, const ProcessInfo& p) {
  Object o(out, " ");
  o.number("number", p.number);
  o.integer("pid", p.pid);
  o.integer("ns_pid", p.ns_pid);
  o.integer("parent", p.parent);
  o.text("exe", p.exe);
  o.begin("cmdline") << '[';
  for (size_t i = 0; i < p.cmdline.size(); i++) out << (i ? ", " : "") << json_string(p.cmdline[i]);
  out << ']';
  o.end();
}

void write_stream(std::ostream& out, const StreamInfo& s) {
  Object o(out, " ");
  o.number("number", s.number);
  o.number("process", s.process);
  o.integer("tid", s.tid);
  o.number("recording", s.recording);
  o.number("flags", s.flags);
  o.number("event_cost_ps", s.event_cost_ps);
  o.text("luajit", s.luajit);
  o.end();
}

template <class T>
void write_list(std::ostream& out, const std::vector<T>& list,
                void (*write)(std::ostream&, const T&), const char* indent) {
  out << '[';
  for (size_t i = 0; i < list.size(); i++) {
    out << (i ? "," : "") << indent;
    write(out, list[i]);
  }
  out << ']';
}

void write_file(std::ostream& out, const ReportFile& f) {
  Object o(out, "\n     ");
  o.text("path", f.path);
  o.number("bytes", f.bytes);
  o.text("notes", f.notes);
  write_list(o.begin("processes"), f.processes, write_process, "\n       ");
  write_list(o.begin("streams"), f.streams, write_stream, "\n       ");
  if (f.signature) {
    o.text("group_by", f.signature->groups);
    o.text("filters", f.signature->filters);
  }
  o.boolean("ended", f.ended);
  if (f.ended) {
    o.number("reason", f.end.reason);
    o.integer("exit_status", f.end.exit_status);
  }
  o.end();
}

// The figures of a function of samples.
void write_samples(Object& o, const ReportFunction& f) {
  o.number("samples", f.samples);
  o.number("self_samples", f.calls);
  o.number("inclusive_ns", f.inclusive_ns);
  o.number("self_ns", f.self_ns);
  o.number("compiled_ns", f.compiled_ns);
  if (f.error >= 0) o.begin("self_share_error") << decimal(f.error, 6);
  o.end();
}

// c_ns: time in C functions that it called. `corrected`: times without the cost of recording, or
// null.
void write_function(std::ostream& out, const ReportFunction& f, uint64_t c_ns,
                    const Corrected* corrected) {
  Object o(out, " ");
  o.text("chunk", f.chunk);
  o.number("line", f.line);
  if (f.code) o.text("code", line_text(f));
  o.text("name", f.name);
  o.text("kind", kind_name(f.kind));
  o.boolean("hint", f.hint);
  if (f.sampled) return write_samples(o, f);
  o.number("calls", f.calls);
  o.number("wall_ns", f.wall_ns);
  o.number("inclusive_ns", f.inclusive_ns);
  o.number("running_ns", f.inclusive_ns);  // Its earlier name.
  o.number("self_ns", f.self_ns);
  if (corrected) {
    o.number("inclusive_corrected_ns", corrected->inclusive_ns);
    o.number("running_corrected_ns", corrected->inclusive_ns);  // Its earlier name.
    o.number("self_corrected_ns", corrected->self_ns);
    o.boolean("rough", corrected->rough);
  }
  o.number("suspended_ns", f.wall_ns - std::min(f.wall_ns, f.inclusive_ns));
  o.number("c_ns", c_ns);
  if (uint64_t ns = f.segments->apportioned_ns) o.number("apportioned_ns", ns);
  if (uint64_t ns = f.segments->self_apportioned_ns) o.number("self_apportioned_ns", ns);
  if (f.has_cpu_times()) o.number("cpu_ns", f.cpu_ns);
  if (f.has_cpu_times()) o.number("self_cpu_ns", f.self_cpu_ns);
  if (f.knows_times()) {
    o.number("min_ns", f.min_ns);
    o.number("max_ns", f.max_ns);
  } else {
    o.null("min_ns");
    o.null("max_ns");
  }
  o.number("avg_ns", f.average_ns());
  o.number("complete", f.all_complete());
  if (f.segments->inside) o.number("inside", f.segments->inside);
  o.end();
}

void write_functions(std::ostream& out, const Report& r, bool corrected) {
  Compensation c;
  if (corrected) c = compensate(r);
  const std::vector<uint64_t> native = native_times(r);
  out << '[';
  bool first = true;
  for (uint32_t i : by_name(r.functions, kReportFirst)) {
    out << (first ? "" : ",") << "\n  ";
    first = false;
    write_function(out, r.functions[i], native[i], corrected ? &c.functions[i] : nullptr);
  }
  out << ']';
}

void write_sample_sums(Object& o, const Report& r) {
  o.text("sampled", r.sampled == SampleKind::kCpu ? "cpu" : "off_cpu");
  o.number("samples", r.samples.samples);
  o.number("filtered_samples", r.samples.filtered);
  o.number("truncated_stacks", r.samples.truncated);
  o.number("unknown_frames", r.samples.unknown_frames);
  o.number("other_samples", r.samples.others);
  o.number("other_samples_ns", r.samples.others_ns);
}

void write_trace(std::ostream& out, const Report& r) {
  Object o(out, "\n   ");
  if (r.is_sampled()) write_sample_sums(o, r);
  o.number("duration_ns", r.duration_ns);
  o.number("traced_ns", r.traced_ns);
  o.number("self_ns", r.self_ns);
  if (!r.is_sampled()) o.number("idle_ns", r.idle_ns);
  o.number("gap_ns", r.gap_ns);
  o.number("filtered_ns", r.filtered_ns);
  if (!r.is_sampled()) o.number("events", r.trust.events);
  o.number("bytes", r.bytes);
  o.number("threads", r.threads);
  o.number("coroutines", r.coroutines);
  o.number("nodes", r.tree.size() - 1);
  if (!r.is_sampled()) o.number("recording_cost_ns", r.cost_ns);
  if (r.apportioned_ns) o.number("apportioned_ns", r.apportioned_ns);
  if (r.weight_samples) o.number("weight_samples", r.weight_samples);
  o.number("collector_ns", vm_work_time(r, is_collector));
  o.number("compiler_ns", vm_work_time(r, is_compiler));
  if (r.cpu.known()) {
    o.number("cpu_unknown_ns", r.cpu.unknown_ns);
    o.number("preempted_ns", r.cpu.preempted_ns);
    o.number("cpu_cut_ns", r.cpu.cut_ns);
  }
  write_list(o.begin("files"), r.files, write_file, "\n    ");
  o.end();
}

void write_trust(std::ostream& out, const Trust& t) {
  Object o(out, "\n   ");
  for (const auto& [name, counter] : kCounters) o.number(name, t.*counter);
  o.number("anomalies", t.anomalies());
  o.end();
}

}  // namespace

namespace {

// Of each view, the number of rows that a limit leaves out, if it is not 0; nothing if all are 0.
void write_left_out(Object& object, const std::vector<Table>& views) {
  if (std::none_of(views.begin(), views.end(), [](const Table& t) { return t.left_out > 0; }))
    return;
  Object o(object.begin("left_out"), " ");
  for (const Table& view : views)
    if (view.left_out) o.number(view.name.c_str(), view.left_out);
  o.end();
}

}  // namespace

void write_json(std::ostream& out, const Report& r, const std::vector<Table>& views,
                bool corrected) {
  Object o(out, "\n ");
  write_trace(o.begin("trace"), r);
  write_functions(o.begin("functions"), r, corrected);
  write_trust(o.begin("trust"), r.trust);
  const std::vector<Table> all = joined(views);
  for (const Table& view : all) {
    write_json(o.begin(view.name.c_str()), view, "\n  ");
    if (!view.former.empty()) write_json(o.begin(view.former.c_str()), view, "\n  ");
  }
  write_left_out(o, all);
  o.end("\n");
  out << '\n';
}

void write_json(std::ostream& out, const std::vector<Table>& views) {
  Object o(out, "\n ");
  for (const Table& view : views) write_json(o.begin(view.name.c_str()), view, "\n  ");
  write_left_out(o, views);
  o.end("\n");
  out << '\n';
}

}  // namespace luatrace::analyze
