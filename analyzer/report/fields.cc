// SPDX-License-Identifier: MIT
#include "analyzer/report/fields.h"

#include <algorithm>
#include <charconv>

#include "analyzer/report/canonical_order.h"
#include "cli/usage_error.h"

namespace luatrace::analyze {

std::optional<Field> find_field(const std::string& name) {
  static const struct {
    const char* name;
    Field::Kind kind;
  } kinds[] = {
      {"calls", Field::kCalls}, {"self", Field::kSelf},        {"share", Field::kShare},
      {"avg", Field::kAvg},     {"min", Field::kMin},          {"max", Field::kMax},
      {"wall", Field::kWall},   {"stddev", Field::kStddev},    {"complete", Field::kComplete},
      {"cpu", Field::kCpu},     {"self_cpu", Field::kSelfCpu}, {"samples", Field::kSamples},
      {"error", Field::kError}, {"compiled", Field::kCompiled}};
  if (name == "inclusive" || name == "total")
    return Field{Field::kInclusive, "inclusive", 0, "total"};
  if (name == "running") return Field{Field::kInclusive, "inclusive", 0, "running"};
  for (const auto& k : kinds)
    if (name == k.name) return Field{k.kind, name, 0};
  if (name.size() < 2 || name[0] != 'p') return std::nullopt;
  double percent = 0;
  const char* end = name.data() + name.size();
  auto [rest, error] = std::from_chars(name.data() + 1, end, percent, std::chars_format::fixed);
  if (error != std::errc() || rest != end || !(percent >= 0 && percent <= 100)) return std::nullopt;
  return Field{Field::kPercentile, name, percent};
}

std::vector<Field> parse_fields(const std::string& list) {
  std::vector<Field> out;
  for (size_t at = 0; at <= list.size();) {
    size_t end = std::min(list.find(',', at), list.size());
    std::string name = list.substr(at, end - at);
    auto field = find_field(name);
    if (!field)
      throw UsageError(
          "--fields: invalid value '" + name +
          "'; choose calls, inclusive, self, share, avg, min, max, stddev, wall, "
          "complete, cpu, self_cpu, samples, error, compiled or a percentile such as p99.9");
    out.push_back(*field);
    at = end + 1;
  }
  return out;
}

std::optional<double> value_of(const Field& field, const ReportFunction& f, uint64_t self_ns) {
  if (field.of_complete() && f.all_complete() == 0) return std::nullopt;
  if (field.of_single() && !f.knows_times()) return std::nullopt;
  switch (field.kind) {
    case Field::kCalls:
      return f.calls + f.inner_calls;
    case Field::kInclusive:
      return f.inclusive_ns;
    case Field::kSelf:
      return f.self_ns + f.inner_self_ns;
    case Field::kShare:
      return self_ns ? 100.0 * static_cast<double>(f.self_ns + f.inner_self_ns) /
                           static_cast<double>(self_ns)
                     : 0;
    case Field::kAvg:
      return f.average_ns();
    case Field::kMin:
      return f.min_ns;
    case Field::kMax:
      return f.max_ns;
    case Field::kWall:
      return f.wall_ns;
    case Field::kComplete:
      return f.all_complete();
    case Field::kCpu:
    case Field::kSelfCpu:
      if (!f.has_cpu_times()) return std::nullopt;
      return field.kind == Field::kCpu ? f.cpu_ns : f.self_cpu_ns;
    case Field::kSamples:
      if (!f.sampled) return std::nullopt;
      return f.samples;
    case Field::kError:
      if (f.error < 0) return std::nullopt;
      return f.error;
    case Field::kCompiled:
      if (!f.has_compiled_share()) return std::nullopt;
      return 100.0 * static_cast<double>(f.compiled_ns) /
             static_cast<double>(f.self_ns + f.inner_self_ns);
    case Field::kStddev:
      return deviation(f.complete, f.sum_ns, f.times.squares);
    case Field::kPercentile:
      return f.times.percentile(field.percent, f.min_ns, f.max_ns);
  }
  return std::nullopt;
}

std::vector<uint32_t> sorted_functions(const Report& r, const std::string& sort) {
  std::vector<uint32_t> list;
  for (uint32_t i : by_name(r.functions, kReportUnknown)) {
    const ReportFunction& f = r.functions[i];
    if (i == kReportUnknown ? f.self_ns == 0
                            : r.grouped && (f.kind != FunctionKind::kGroup || f.in_group))
      continue;
    if (f.kind != FunctionKind::kPhase) list.push_back(i);  // It has no calls: requests name it.
  }
  if (sort == "name") return list;
  const Field field = find_field(sort).value_or(Field{});
  std::vector<double> values(r.functions.size());
  for (uint32_t i : list) values[i] = value_of(field, r.functions[i], r.self_ns).value_or(-1);
  std::stable_sort(list.begin(), list.end(),
                   [&](uint32_t a, uint32_t b) { return values[a] > values[b]; });
  return list;
}

}  // namespace luatrace::analyze
