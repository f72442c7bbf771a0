// SPDX-License-Identifier: MIT
#include "analyzer/report/saved_profile.h"

#include <algorithm>
#include <cstring>
#include <ostream>
#include <tuple>
#include <utility>

#include "analyzer/report/byte_stream.h"
#include "analyzer/report/canonical_order.h"
#include "analyzer/report/saved_buckets.h"
#include "analyzer/report/saved_sections.h"
#include "base/escape.h"
#include "cli/usage_error.h"
#include "trace/crc32c.h"

namespace luatrace::analyze {
namespace {

constexpr size_t kHeaderSize = 32;

// -- Writing --

class Writer {
 public:
  explicit Writer(const Report& report) : r_(report) {}
  std::string payload();

 private:
  void section(Section tag, const ByteWriter& content) {
    out_.number(tag);
    out_.text(content.bytes());
  }
  void sums();
  void file(const ReportFile& file);
  void functions();
  void nodes();
  void node_times(ByteWriter& w, const NodeTimes& times) const;
  void cpu();
  void samples();
  void time_buckets();
  void segments();

  const Report& r_;
  ByteWriter out_;
  std::vector<uint32_t> place_;   // By function of the report: its index in the file.
  std::vector<NodeId> order_;     // The nodes as they are in the file.
  std::vector<uint32_t> number_;  // By node of the report: its place in order_.
};

void Writer::sums() {
  ByteWriter sums, trust;
  for (auto sum : kSumMembers) sums.number(r_.*sum);
  sums.number(r_.grouped);
  section(kSums, sums);
  for (auto counter : kTrustMembers) trust.number(r_.trust.*counter);
  trust.number(r_.trust.open_gap);
  trust.number(r_.trust.lost_at_least);
  section(kTrust, trust);
}

void Writer::file(const ReportFile& f) {
  ByteWriter w;
  pass_file(w, f);
  if (f.signature) {
    w.text(f.signature->groups);
    w.text(f.signature->filters);
  }
  section(kFile, w);
}

void Writer::functions() {
  std::vector<std::pair<std::string, uint32_t>> order;
  for (uint32_t i = kReportFirst; i < r_.functions.size(); i++)
    order.emplace_back(identity(r_.functions[i]), i);
  std::sort(order.begin(), order.end());
  place_ = {kReportRoot, kReportUnknown};
  place_.resize(r_.functions.size());
  ByteWriter w;
  w.number(order.size());
  for (uint32_t i = 0; i < order.size(); i++) place_[order[i].second] = i + kReportFirst;
  for (const auto& [key, index] : order) {
    const ReportFunction& f = r_.functions[index];
    auto kind = std::find(std::begin(kKinds), std::end(kKinds), f.kind) - std::begin(kKinds);
    w.number(f.coroutine ? kCoroutineGroup : static_cast<uint64_t>(kind));
    w.text(f.chunk);
    w.text(f.name);
    w.number(f.code ? f.code : f.line);
    write_figures(w, f);
  }
  section(kFunctions, w);
  ByteWriter hints;
  for (const auto& [key, index] : order) hints.number(r_.functions[index].hint);
  section(kHints, hints);
}

// In canonical order by the index of the functions in the file; each node stores how many nodes
// before it its parent is.
void Writer::nodes() {
  const CallTree& tree = r_.tree;
  std::vector<uint32_t>& number = number_;
  number.resize(tree.size());
  ByteWriter w;
  w.number(tree.size());
  uint32_t next = 0;
  order_ = canonical_order(tree, place_);
  for (NodeId node : order_) {
    number[node] = next++;
    w.number(number[node] - number[tree[node].parent]);
    w.number(place_[tree[node].function]);
    for (uint64_t n :
         {tree[node].calls, tree[node].self, r_.node_cost_ps[node], r_.node_suspended_ns[node]})
      w.number(n);
  }
  section(kNodes, w);
}

// Of each node that has such time how many nodes it is after the one before it.
void Writer::node_times(ByteWriter& w, const NodeTimes& times) const {
  uint64_t count = 0, last = 0;
  for (NodeId node : order_) count += times.at(node) > 0;
  w.number(count);
  for (uint64_t i = 0; i < order_.size(); i++) {
    if (!times.at(order_[i])) continue;
    w.number(i - std::exchange(last, i));
    w.number(times.at(order_[i]));
  }
}

// Only if there are CPU times: how many Lua VMs have and have not, and times without the processor.
void Writer::cpu() {
  if (!r_.cpu.vms) return;
  ByteWriter w;
  for (auto sum : kCpuMembers) w.number(r_.cpu.*sum);
  node_times(w, r_.cpu.off);
  w.number(r_.cpu.cut_ns);
  section(kCpu, w);
}

// Only if the profile is of samples.
void Writer::samples() {
  if (!r_.is_sampled()) return;
  ByteWriter w;
  w.number(static_cast<uint64_t>(r_.sampled));
  for (auto sum : kSampleSums) w.number(r_.samples.*sum);
  section(kSamples, w);
  ByteWriter compiled;
  node_times(compiled, r_.compiled);
  section(kCompiled, compiled);
}

void Writer::time_buckets() {
  if (r_.buckets.width_ns)
    section(kTimeBuckets, write_buckets(r_.buckets, r_.is_sampled(), place_, number_));
}

// Only if there are any: calls inside segments, of the whole and of each time bucket, and
// apportioned self times.
void Writer::segments() {
  const auto has_inside = [](const FunctionFigures& f) { return f.segments->inside != 0; };
  if (r_.apportioned.empty() && std::none_of(r_.functions.begin(), r_.functions.end(), has_inside))
    return;
  ByteWriter w;
  std::vector<const FunctionFigures*> figures(r_.functions.size());
  for (size_t i = 0; i < r_.functions.size(); i++) figures[place_[i]] = &r_.functions[i];
  write_inside(w, figures);
  node_times(w, r_.apportioned);
  for (const auto& [number, bucket] : r_.buckets.buckets) {
    figures.assign(r_.functions.size(), nullptr);
    for (const BucketFunction& f : bucket.functions) figures[place_[f.function]] = &f;
    write_inside(w, figures);
  }
  w.number(r_.weight_samples);
  section(kSegments, w);
}

std::string Writer::payload() {
  sums();
  std::vector<const ReportFile*> files;
  for (const auto& f : r_.files) files.push_back(&f);
  auto key = [](const ReportFile* f) {
    return std::tie(f->path, f->start_real_ns, f->bytes, f->duration_ns, f->notes, f->signature);
  };
  std::sort(files.begin(), files.end(), [&](auto* a, auto* b) { return key(a) < key(b); });
  for (auto* f : files) file(*f);
  functions();
  nodes();
  cpu();
  samples();
  time_buckets();
  segments();
  return out_.bytes();
}

// -- Reading --

class Reader {
 public:
  Reader(ByteReader payload, const std::string& path) : in_(payload), path_(path) {}
  void run();
  // Makes the time buckets longer, and leaves out what is outside of the range.
  void choose(const BucketChoice& choice);
  // Moves what run() read to a report. Cannot fail.
  void add_to(Report& report);
  const Trust& trust() const { return head_.trust; }

 private:
  struct Node {
    uint32_t parent, function;
    uint64_t calls, self, cost, suspended;
    bool operator==(const Node&) const = default;
  };
  [[noreturn]] void fail(const std::string& what) const {
    throw Unreadable(path_ + ": damaged profile: " + what);
  }
  void sums(ByteReader in);
  void counters(ByteReader in);
  void file(ByteReader in);
  void functions(ByteReader in);
  void function(ByteReader& in);
  void nodes(ByteReader in);
  void hints(ByteReader in);
  using Times = std::vector<std::pair<uint64_t, uint64_t>>;  // Index of the node, ns.
  Times node_times(ByteReader& in) const;
  void cpu(ByteReader in);
  void samples(ByteReader in);
  void time_buckets(ByteReader in);
  void segments(ByteReader in);
  bool same_times(const Times& a, const Times& b) const;
  void check_buckets();
  void clear();
  void add(const TimeBucket& bucket);
  void limit_off_cpu();
  void add_buckets(Report& report, const std::vector<ReportFunctionId>& map,
                   const std::vector<NodeId>& place);

  ByteReader in_;
  std::string path_;
  Report head_;  // Sums, trust, files.
  std::vector<ReportFunction> functions_{2};
  std::vector<Node> nodes_;
  Times off_, compiled_;  // Without the processor; in compiled code.
  Times apportioned_;     // Inside segments.
  TimeBuckets buckets_;   // With the file's numbers of functions and nodes.
  bool partial_ = false;  // Only a range of them is left: of the others nothing is used.
  std::vector<bool> used_functions_, used_nodes_;
};

void Reader::sums(ByteReader in) {
  for (auto sum : kSumMembers) in.number(head_.*sum);
  head_.grouped = in.number() != 0;
}

void Reader::counters(ByteReader in) {
  for (auto counter : kTrustMembers) in.number(head_.trust.*counter);
  for (auto counter : {&Trust::open_gap, &Trust::lost_at_least})  // Missing in older versions.
    if (!in.at_end()) head_.trust.*counter = in.number();
}

void Reader::file(ByteReader in) {
  ReportFile f;
  pass_file(in, f);
  if (!in.at_end()) {  // Missing in older versions.
    in.text(f.signature.emplace().groups);
    in.text(f.signature->filters);
  }
  head_.files.push_back(std::move(f));
}

void Reader::function(ByteReader& in) {
  ReportFunction f;
  uint64_t kind = in.number();
  if (kind < 2 || kind >= std::size(kKinds)) fail("a function of an unknown kind");
  f.kind = kKinds[kind];
  f.coroutine = kind == kCoroutineGroup;
  in.text(f.chunk);
  in.text(f.name);
  const auto line = static_cast<uint32_t>(in.number());
  const bool has_code = f.kind == FunctionKind::kLua || f.kind == FunctionKind::kC;
  (has_code && line & LT_LINE_CODE ? f.code : f.line) = line;
  read_figures(in, f);
  functions_.push_back(std::move(f));
}

void Reader::functions(ByteReader in) {
  for (size_t n = in.count(); n > 0; n--) function(in);
}

void Reader::hints(ByteReader in) {
  for (size_t i = kReportFirst; i < functions_.size() && !in.at_end(); i++)
    functions_[i].hint = in.number() != 0;
}

void Reader::nodes(ByteReader in) {
  const size_t n = in.count();
  for (size_t i = 0; i < n; i++) {
    uint64_t up = in.number(), function = in.number();
    if (i == 0 ? up || function : up == 0 || up > i || function == 0)
      fail("a node of the call tree without parent or function");
    if (function >= functions_.size()) fail("a node of a function that does not exist");
    Node node{static_cast<uint32_t>(i - up), static_cast<uint32_t>(function), 0, 0, 0, 0};
    for (uint64_t* to : {&node.calls, &node.self, &node.cost, &node.suspended}) in.number(*to);
    nodes_.push_back(node);
  }
}

Reader::Times Reader::node_times(ByteReader& in) const {
  Times times;
  uint64_t node = 0;
  for (size_t n = in.count(); n > 0; n--) {
    const uint64_t step = in.number(), ns = in.number();
    if (step >= nodes_.size() - std::min<uint64_t>(node, nodes_.size()))
      fail("a time of a node that does not exist");
    times.emplace_back(node += step, ns);
  }
  return times;
}

void Reader::cpu(ByteReader in) {
  for (auto sum : kCpuMembers) in.number(head_.cpu.*sum);
  off_ = node_times(in);
  if (!in.at_end()) in.number(head_.cpu.cut_ns);  // Older profiles do not have it.
}

void Reader::samples(ByteReader in) {
  const uint64_t kind = in.number();
  if (kind < 1 || kind > static_cast<uint64_t>(SampleKind::kOffCpu))
    fail("samples of an unknown kind");
  head_.sampled = static_cast<SampleKind>(kind);
  for (auto sum : kSampleSums) in.number(head_.samples.*sum);
}

void Reader::run() {
  try {
    while (!in_.at_end()) {
      uint64_t tag = in_.number();
      ByteReader content = in_.part();
      if (tag == kSums) sums(content);
      if (tag == kTrust) counters(content);
      if (tag == kFile) file(content);
      if (tag == kFunctions) functions(content);
      if (tag == kNodes) nodes(content);
      if (tag == kHints) hints(content);
      if (tag == kSamples) samples(content);
      if (tag == kCpu) cpu(content);
      if (tag == kCompiled) compiled_ = node_times(content);
      if (tag == kTimeBuckets) time_buckets(content);
      if (tag == kSegments) segments(content);  // Ignore tags of later versions.
    }
  } catch (const ByteReader::Short&) {
    fail("it is truncated");
  } catch (const Malformed& e) {
    fail(e.what);
  }
  if (buckets_.width_ns) check_buckets();
}

void Reader::time_buckets(ByteReader in) {
  buckets_ = read_buckets(in, functions_.size(), nodes_.size());
}

void Reader::segments(ByteReader in) {
  std::vector<FunctionFigures*> figures;
  for (ReportFunction& f : functions_) figures.push_back(&f);
  read_inside(in, figures);
  apportioned_ = node_times(in);
  for (auto& [number, bucket] : buckets_.buckets) {
    figures.assign(functions_.size(), nullptr);
    for (BucketFunction& f : bucket.functions) figures[f.function] = &f;
    read_inside(in, figures);
  }
  if (!in.at_end()) head_.weight_samples = in.number();  // Missing in older versions.
}

// All figures become 0, and none of the functions and nodes is used.
void Reader::clear() {
  for (auto sum : kSumsOfBuckets) head_.*sum = 0;
  head_.filtered_ns = 0;
  head_.samples = {};
  for (ReportFunction& f : functions_) static_cast<FunctionFigures&>(f) = {};
  for (Node& n : nodes_) n = {n.parent, n.function, 0, 0, 0, 0};
  off_.clear();
  compiled_.clear();
  used_functions_.assign(functions_.size(), false);
  used_nodes_.assign(nodes_.size(), false);
}

void Reader::add(const TimeBucket& bucket) {
  for (size_t i = 0; i < std::size(kSumsOfBuckets); i++)
    head_.*kSumsOfBuckets[i] += bucket.*kBucketSums[i];
  head_.filtered_ns += bucket.filtered_ns;
  head_.samples += bucket.samples;
  Times& parts = head_.is_sampled() ? compiled_ : off_;
  for (const BucketFunction& f : bucket.functions) {
    add_figures(functions_[f.function], f);
    used_functions_[f.function] = true;
  }
  for (const BucketNode& b : bucket.nodes) {
    Node& n = nodes_[b.node];
    n.calls += b.calls;
    n.self += b.self_ns;
    n.cost += b.cost_ps;
    n.suspended += b.suspended_ns;
    if (b.part_ns) parts.emplace_back(b.node, b.part_ns);
    used_nodes_[b.node] = true;
  }
}

// What was cut off is as much as the buckets say too much.
void Reader::limit_off_cpu() {
  std::vector<uint64_t> sums(nodes_.size());
  for (const auto& [node, ns] : off_) sums[node] += ns;
  off_.clear();
  for (size_t i = 0; i < sums.size(); i++) {
    const uint64_t ns = std::min(sums[i], nodes_[i].self);
    head_.cpu.cut_ns += sums[i] - ns;
    if (ns) off_.emplace_back(i, ns);
  }
}

bool Reader::same_times(const Times& a, const Times& b) const {
  std::vector<uint64_t> difference(nodes_.size());
  for (const auto& [node, ns] : a) difference[node] += ns;
  for (const auto& [node, ns] : b) difference[node] -= ns;
  return std::all_of(difference.begin(), difference.end(), [](uint64_t ns) { return ns == 0; });
}

// They must sum to what the other sections say.
void Reader::check_buckets() {
  const std::vector<Node> nodes = nodes_;
  const std::vector<FunctionFigures> figures(functions_.begin(), functions_.end());
  const Times off = off_, compiled = compiled_;
  const SampleSums samples = head_.samples;
  uint64_t sums[std::size(kSumsOfBuckets)];
  for (size_t i = 0; i < std::size(sums); i++) sums[i] = head_.*kSumsOfBuckets[i];
  const uint64_t filtered = head_.filtered_ns;
  clear();
  for (const auto& [number, bucket] : buckets_.buckets) add(bucket);
  head_.duration_ns = sums[0];  // It may be longer.
  bool same = nodes == nodes_ && filtered == head_.filtered_ns && samples == head_.samples;
  for (size_t i = 0; i < std::size(sums); i++) same &= sums[i] == head_.*kSumsOfBuckets[i];
  for (size_t i = 0; i < figures.size(); i++) same &= figures[i] == functions_[i];
  same = same && same_times(off, off_) && same_times(compiled, compiled_);
  if (!same) fail("its time buckets do not sum to the whole");
  off_ = off;
  compiled_ = compiled;
}

void Reader::choose(const BucketChoice& choice) {
  const uint64_t own = buckets_.width_ns;
  if (choice.range) {
    if (!own)
      throw UsageError(path_ +
                       ": a saved profile has no events, and this one no time buckets, which "
                       "--time-range needs: give the trace that it was made from, or save it with "
                       "--bucket");
    choice.range->check(own, path_);
    std::erase_if(buckets_.buckets,
                  [&](const auto& b) { return !choice.range->has(b.first, own); });
    clear();
    for (const auto& [number, bucket] : buckets_.buckets) add(bucket);
    limit_off_cpu();
    partial_ = true;
    if (buckets_.buckets.empty() && choice.warn)
      choice.warn(path_ + ": nothing of it is in the range of --time-range");
  }
  if (choice.width_ns && !own)
    throw UsageError("--bucket: " + path_ +
                     " has no time buckets: make it again from its traces, with --bucket");
  if (choice.width_ns % std::max<uint64_t>(own, 1))
    throw UsageError("--bucket: " + path_ + " has buckets of " + width_text(own) +
                     ", which can only be merged into multiples of that");
  if (choice.width_ns && choice.width_ns != own) buckets_.widen(choice.width_ns);
  if (!choice.keep) buckets_ = {};
}

void Reader::add_to(Report& report) {
  for (auto sum : kSumMembers) report.*sum += head_.*sum;
  report.grouped |= head_.grouped;
  report.trust += head_.trust;
  report.files.insert(report.files.end(), head_.files.begin(), head_.files.end());
  std::vector<ReportFunctionId> map{kReportRoot, kReportUnknown};
  report.sampled = head_.sampled;
  report.samples += head_.samples;
  report.weight_samples += head_.weight_samples;
  if (!head_.cpu.vms && !head_.is_sampled()) report.cpu.without++;
  for (auto sum : kCpuMembers) report.cpu.*sum += head_.cpu.*sum;
  report.cpu.cut_ns += head_.cpu.cut_ns;
  // Of a range, only those that have something in it, and what calls them.
  std::vector<bool> used = used_nodes_;
  for (size_t i = used.size(); i-- > 1;)
    if (used[i]) used[nodes_[i].parent] = true;
  std::vector<bool> named = used_functions_;
  for (size_t i = 1; i < used.size(); i++)
    if (used[i]) named[nodes_[i].function] = true;
  for (size_t f = kReportFirst; f < functions_.size(); f++) {
    map.push_back(kReportRoot);
    if (partial_ && !named[f]) continue;
    map.back() = report.function(functions_[f]);
    add_figures(report.functions[map.back()], functions_[f]);
  }
  std::vector<NodeId> place(nodes_.size());
  for (size_t i = 0; i < nodes_.size(); i++) {
    if (partial_ && !used[i]) continue;
    const Node& node = nodes_[i];
    const NodeId at = place[i] =
        i ? report.enter(place[node.parent], map[node.function]) : kRootNode;
    report.tree[at].calls += node.calls;
    report.tree[at].self += node.self;
    report.node_cost_ps[at] += node.cost;
    report.node_suspended_ns[at] += node.suspended;
  }
  for (const auto& [node, ns] : off_) report.cpu.off.add(place[node], ns);
  for (const auto& [node, ns] : compiled_) report.compiled.add(place[node], ns);
  // Of a range it is not known how much: at most this.
  for (const auto& [node, ns] : apportioned_)
    if (!partial_ || used[node])
      report.apportioned.add(place[node], std::min(ns, nodes_[node].self));
  add_buckets(report, map, place);
}

void Reader::add_buckets(Report& report, const std::vector<ReportFunctionId>& map,
                         const std::vector<NodeId>& place) {
  if (buckets_.width_ns) report.buckets.width_ns = buckets_.width_ns;
  for (auto& [number, from] : buckets_.buckets) {
    TimeBucket bucket = std::move(from);
    for (BucketFunction& f : bucket.functions) f.function = map[f.function];
    for (BucketNode& n : bucket.nodes) n.node = place[n.node];
    bucket.unite();
    report.buckets.buckets[number].add(bucket);
  }
}

uint32_t version_of(const Report& report) {
  if (!report.is_sampled()) return kProfileVersion;
  return report.buckets.width_ns ? kSampledBucketsVersion : kSampledVersion;
}

}  // namespace

void write_profile(std::ostream& out, const Report& report) {
  std::string payload = Writer(report).payload();
  uint8_t header[kHeaderSize] = {};
  auto put = [&](size_t at, auto value) { memcpy(header + at, &value, sizeof value); };
  put(0, kProfileMagic);
  put(8, version_of(report));
  put(12, static_cast<uint32_t>(kHeaderSize));
  put(16, static_cast<uint64_t>(payload.size()));
  put(24, crc32c(payload.data(), payload.size()));
  put(28, crc32c(header, 28));
  out.write(reinterpret_cast<const char*>(header), kHeaderSize);
  out.write(payload.data(), static_cast<std::streamsize>(payload.size()));
}

bool is_profile(Input& input) {
  uint64_t magic = 0;
  if (input.need(sizeof magic) < sizeof magic) return false;
  memcpy(&magic, input.data(), sizeof magic);
  return magic == kProfileMagic;
}

Trust read_profile(Input& input, Report& report, const BucketChoice& choice) {
  const std::string path = printable(input.name());
  auto fail = [&](const std::string& what) {
    throw Unreadable(path + ": damaged profile: " + what);
  };
  if (input.need(kHeaderSize) < kHeaderSize) fail("its header is truncated");
  auto get = [&](size_t at, auto value) {
    memcpy(&value, input.data() + at, sizeof value);
    return value;
  };
  if (get(28, uint32_t{}) != crc32c(input.data(), 28)) fail("its header has a wrong checksum");
  if (get(8, uint32_t{}) - kProfileVersion > kSampledBucketsVersion - kProfileVersion)
    throw Unreadable(path + ": unknown profile version " + std::to_string(get(8, uint32_t{})) +
                     "; use a newer luatrace-analyze");
  const auto size = get(16, uint64_t{});
  const auto crc = get(24, uint32_t{});
  if (get(12, uint32_t{}) != kHeaderSize) fail("its header has a wrong size");
  input.consume(kHeaderSize);
  // Read piecemeal: a forged size costs no memory.
  std::string payload;
  while (payload.size() < size) {
    size_t more = input.need(1);
    if (more == 0) fail("it is truncated");
    more = std::min<uint64_t>(more, size - payload.size());
    payload.append(reinterpret_cast<const char*>(input.data()), more);
    input.consume(more);
  }
  if (crc != crc32c(payload.data(), payload.size())) fail("wrong checksum");
  if (input.need(1) > 0)
    fail("data after its end (give each profile as an argument to add them up)");
  Reader reader(ByteReader(payload), path);
  reader.run();
  reader.choose(choice);
  reader.add_to(report);
  return reader.trust();
}

}  // namespace luatrace::analyze
