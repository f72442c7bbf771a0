// SPDX-License-Identifier: MIT
#include "analyzer/report/saved_profile.h"

#include <algorithm>
#include <cstring>
#include <ostream>
#include <tuple>
#include <utility>

#include "analyzer/report/byte_stream.h"
#include "analyzer/report/canonical_order.h"
#include "base/escape.h"
#include "trace/crc32c.h"

namespace luatrace::analyze {
namespace {

enum Section : uint64_t {
  kSums = 1,
  kTrust = 2,
  kFile = 3,
  kFunctions = 4,
  kNodes = 5,
  kHints = 6,
  kCpu = 7
};
constexpr FunctionKind kKinds[] = {
    FunctionKind::kRoot,  FunctionKind::kGap,     FunctionKind::kLua,
    FunctionKind::kC,     FunctionKind::kBuiltin, FunctionKind::kUnknown,
    FunctionKind::kGroup, FunctionKind::kPruned,  FunctionKind::kGroup};
constexpr uint64_t kCoroutineGroup = 8;  // Index of the second kGroup above.
constexpr size_t kHeaderSize = 32;

// Members in the order of the file.
constexpr uint64_t Report::*kSumMembers[] = {
    &Report::duration_ns, &Report::traced_ns,   &Report::self_ns, &Report::idle_ns,
    &Report::gap_ns,      &Report::filtered_ns, &Report::threads, &Report::coroutines,
    &Report::bytes,       &Report::cost_ns};
constexpr uint64_t Trust::*kTrustMembers[] = {
    &Trust::events,         &Trust::lost,        &Trust::unbalanced,
    &Trust::truncated,      &Trust::bad_blocks,  &Trust::bad_block_events,
    &Trust::missing_blocks, &Trust::bad_records, &Trust::clock_anomalies,
    &Trust::inferred,       &Trust::undescribed, &Trust::cut,
    &Trust::open_start,     &Trust::open_end,    &Trust::abandoned,
    &Trust::unwound,        &Trust::unknown};
constexpr uint64_t ReportCpu::*kCpuMembers[] = {&ReportCpu::vms, &ReportCpu::without,
                                                &ReportCpu::unknown_ns, &ReportCpu::preempted_ns};
constexpr uint64_t ReportFunction::*kFigures[] = {
    &ReportFunction::calls,        &ReportFunction::complete, &ReportFunction::wall_ns,
    &ReportFunction::inclusive_ns, &ReportFunction::self_ns,  &ReportFunction::min_ns,
    &ReportFunction::max_ns,       &ReportFunction::sum_ns};

// Writes or reads all but the signature. `stream`: a ByteWriter or ByteReader.
template <class Stream, class File>
void pass_file(Stream& stream, File& f) {
  stream.text(f.path);
  stream.text(f.notes);
  for (auto* n : {&f.bytes, &f.start_real_ns, &f.duration_ns}) stream.number(*n);
  stream.number(f.clock);
  stream.number(f.ended);
  stream.number(f.end.reason);
  stream.integer(f.end.exit_status);
  stream.list(f.processes, [&](auto& p) {
    stream.number(p.number);
    for (auto* n : {&p.pid, &p.ns_pid, &p.parent, &p.uid}) stream.integer(*n);
    stream.text(p.exe);
    stream.list(p.cmdline, [&](auto& word) { stream.text(word); });
  });
  stream.list(f.streams, [&](auto& s) {
    stream.number(s.number);
    stream.number(s.process);
    for (auto* n : {&s.flags, &s.recording}) stream.number(*n);
    stream.number(s.event_cost_ps);
    stream.integer(s.tid);
    stream.text(s.luajit);
  });
}

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
  void cpu();

  const Report& r_;
  ByteWriter out_;
  std::vector<uint32_t> place_;  // By function of the report: its index in the file.
  std::vector<NodeId> order_;    // The nodes as they are in the file.
};

void Writer::sums() {
  ByteWriter sums, trust;
  for (auto sum : kSumMembers) sums.number(r_.*sum);
  sums.number(r_.grouped);
  section(kSums, sums);
  for (auto counter : kTrustMembers) trust.number(r_.trust.*counter);
  trust.number(r_.trust.open_gap);
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
    for (auto figure : kFigures) w.number(f.*figure);
    w.number(static_cast<uint64_t>(f.times.squares));
    w.number(static_cast<uint64_t>(f.times.squares >> 64));
    w.list(f.times.buckets, [&](const auto& b) { w.number(b.bucket), w.number(b.count); });
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
  std::vector<uint32_t> number(tree.size());
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

// Only if there are CPU times: how many Lua VMs have and have not, and of each node that has been
// without the processor how many nodes it is after the one before it.
void Writer::cpu() {
  if (!r_.cpu.vms) return;
  ByteWriter w;
  for (auto sum : kCpuMembers) w.number(r_.cpu.*sum);
  uint64_t count = 0, last = 0;
  for (NodeId node : order_) count += r_.cpu.off_at(node) > 0;
  w.number(count);
  for (uint64_t i = 0; i < order_.size(); i++) {
    if (!r_.cpu.off_at(order_[i])) continue;
    w.number(i - std::exchange(last, i));
    w.number(r_.cpu.off_at(order_[i]));
  }
  section(kCpu, w);
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
  return out_.bytes();
}

// -- Reading --

class Reader {
 public:
  Reader(ByteReader payload, const std::string& path) : in_(payload), path_(path) {}
  void run();
  // Adds what run() read to a report. Cannot fail.
  void add_to(Report& report) const;
  const Trust& trust() const { return head_.trust; }

 private:
  struct Node {
    uint32_t parent, function;
    uint64_t calls, self, cost, suspended;
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
  void cpu(ByteReader in);

  ByteReader in_;
  std::string path_;
  Report head_;  // Sums, trust, files.
  std::vector<ReportFunction> functions_{2};
  std::vector<Node> nodes_;
  std::vector<std::pair<uint64_t, uint64_t>> off_;  // Nodes that were without the processor, ns.
};

void Reader::sums(ByteReader in) {
  for (auto sum : kSumMembers) in.number(head_.*sum);
  head_.grouped = in.number() != 0;
}

void Reader::counters(ByteReader in) {
  for (auto counter : kTrustMembers) in.number(head_.trust.*counter);
  if (!in.at_end()) head_.trust.open_gap = in.number();  // Missing in older versions.
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
  for (auto figure : kFigures) in.number(f.*figure);
  uint64_t low = in.number();
  f.times.squares = Square{in.number()} << 64 | low;
  uint64_t next = 0;
  for (size_t n = in.count(); n > 0; n--) {
    uint64_t bucket = in.number(), count = in.number();
    if (bucket < next || bucket >= kBuckets) fail("the buckets of a histogram are out of order");
    next = bucket + 1;
    f.times.buckets.push_back({static_cast<uint32_t>(bucket), count});
  }
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

void Reader::cpu(ByteReader in) {
  for (auto sum : kCpuMembers) in.number(head_.cpu.*sum);
  uint64_t node = 0;
  for (size_t n = in.count(); n > 0; n--) {
    const uint64_t step = in.number(), ns = in.number();
    if (step >= nodes_.size() - std::min<uint64_t>(node, nodes_.size()))
      fail("a CPU time of a node that does not exist");
    off_.emplace_back(node += step, ns);
  }
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
      if (tag == kCpu) cpu(content);  // Ignore tags of later versions.
    }
  } catch (const ByteReader::Short&) {
    fail("it is truncated");
  }
}

void Reader::add_to(Report& report) const {
  for (auto sum : kSumMembers) report.*sum += head_.*sum;
  report.grouped |= head_.grouped;
  report.trust += head_.trust;
  report.files.insert(report.files.end(), head_.files.begin(), head_.files.end());
  std::vector<ReportFunctionId> map{kReportRoot, kReportUnknown};
  if (!head_.cpu.vms) report.cpu.without++;
  for (auto sum : kCpuMembers) report.cpu.*sum += head_.cpu.*sum;
  for (size_t f = kReportFirst; f < functions_.size(); f++) {
    map.push_back(report.function(functions_[f]));
    add_figures(report.functions[map.back()], functions_[f]);
  }
  std::vector<NodeId> place;
  for (const Node& node : nodes_) {
    const NodeId at =
        place.empty() ? kRootNode : report.enter(place[node.parent], map[node.function]);
    place.push_back(at);
    report.tree[at].calls += node.calls;
    report.tree[at].self += node.self;
    report.node_cost_ps[at] += node.cost;
    report.node_suspended_ns[at] += node.suspended;
  }
  for (const auto& [node, ns] : off_) report.cpu.add_off(place[node], ns);
}

}  // namespace

void write_profile(std::ostream& out, const Report& report) {
  std::string payload = Writer(report).payload();
  uint8_t header[kHeaderSize] = {};
  auto put = [&](size_t at, auto value) { memcpy(header + at, &value, sizeof value); };
  put(0, kProfileMagic);
  put(8, kProfileVersion);
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

Trust read_profile(Input& input, Report& report) {
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
  if (get(8, uint32_t{}) != kProfileVersion)
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
  reader.add_to(report);
  return reader.trust();
}

}  // namespace luatrace::analyze
