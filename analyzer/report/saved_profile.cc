// SPDX-License-Identifier: MIT
#include "analyzer/report/saved_profile.h"

#include <algorithm>
#include <cstring>
#include <ostream>
#include <tuple>

#include "analyzer/report/byte_stream.h"
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
  kHints = 6
};
constexpr FunctionKind kKinds[] = {
    FunctionKind::kRoot,  FunctionKind::kGap,     FunctionKind::kLua,
    FunctionKind::kC,     FunctionKind::kBuiltin, FunctionKind::kUnknown,
    FunctionKind::kGroup, FunctionKind::kPruned,  FunctionKind::kGroup};
constexpr uint64_t kCoroutineGroup = 8;  // Index of the second kGroup above.
constexpr size_t kHeaderSize = 32;

// Visits the members of a structure in the order of the file, for writing and reading alike.
template <class Report, class F>
void each_sum(Report& r, F f) {
  for (auto* n : {&r.duration_ns, &r.traced_ns, &r.self_ns, &r.idle_ns, &r.gap_ns, &r.filtered_ns,
                  &r.threads, &r.coroutines, &r.bytes})
    f(*n);
}
template <class Trust, class F>
void each_counter(Trust& t, F f) {
  for (auto* n :
       {&t.events, &t.lost, &t.unbalanced, &t.truncated, &t.bad_blocks, &t.bad_block_events,
        &t.missing_blocks, &t.bad_records, &t.clock_anomalies, &t.inferred, &t.undescribed, &t.cut,
        &t.open_start, &t.open_end, &t.abandoned, &t.unwound, &t.unknown})
    f(*n);
}
template <class Function, class F>
void each_figure(Function& g, F f) {
  for (auto* n : {&g.calls, &g.complete, &g.wall_ns, &g.running_ns, &g.self_ns, &g.min_ns,
                  &g.max_ns, &g.sum_ns})
    f(*n);
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

  const Report& r_;
  ByteWriter out_;
  std::vector<uint32_t> place_;  // By function of the report: its index in the file.
};

void Writer::sums() {
  ByteWriter sums, trust;
  each_sum(r_, [&](uint64_t n) { sums.number(n); });
  sums.number(r_.cost_ns);
  sums.number(r_.grouped);
  section(kSums, sums);
  each_counter(r_.trust, [&](uint64_t n) { trust.number(n); });
  trust.number(r_.trust.open_gap);
  section(kTrust, trust);
}

void Writer::file(const ReportFile& f) {
  ByteWriter w;
  w.text(f.path);
  w.text(f.notes);
  for (uint64_t n : {f.bytes, f.start_real_ns, f.duration_ns, uint64_t{f.clock}, uint64_t{f.ended},
                     uint64_t{f.end.reason}})
    w.number(n);
  w.integer(f.end.exit_status);
  w.number(f.processes.size());
  for (const ProcessInfo& p : f.processes) {
    w.number(p.number);
    for (int32_t n : {p.pid, p.ns_pid, p.parent, p.uid}) w.integer(n);
    w.text(p.exe);
    w.number(p.cmdline.size());
    for (const auto& word : p.cmdline) w.text(word);
  }
  w.number(f.streams.size());
  for (const StreamInfo& s : f.streams) {
    for (uint64_t n : {uint64_t{s.number}, uint64_t{s.process}, uint64_t{s.flags},
                       uint64_t{s.recording}, s.event_cost_ps})
      w.number(n);
    w.integer(s.tid);
    w.text(s.luajit);
  }
  if (f.signature) {
    w.text(f.signature->groups);
    w.text(f.signature->filters);
  }
  section(kFile, w);
}

void Writer::functions() {
  std::vector<std::pair<std::string, uint32_t>> order;
  for (uint32_t i = 2; i < r_.functions.size(); i++)
    order.emplace_back(identity(r_.functions[i]), i);
  std::sort(order.begin(), order.end());
  place_ = {0, 1};
  place_.resize(r_.functions.size());
  ByteWriter w;
  w.number(order.size());
  for (uint32_t i = 0; i < order.size(); i++) place_[order[i].second] = i + 2;
  for (const auto& [key, index] : order) {
    const ReportFunction& f = r_.functions[index];
    auto kind = std::find(std::begin(kKinds), std::end(kKinds), f.kind) - std::begin(kKinds);
    w.number(f.coroutine ? kCoroutineGroup : static_cast<uint64_t>(kind));
    w.text(f.chunk);
    w.text(f.name);
    w.number(f.code ? f.code : f.line);
    each_figure(f, [&](uint64_t n) { w.number(n); });
    w.number(static_cast<uint64_t>(f.times.squares));
    w.number(static_cast<uint64_t>(f.times.squares >> 64));
    w.number(f.times.buckets.size());
    for (const auto& b : f.times.buckets) {
      w.number(b.bucket);
      w.number(b.count);
    }
  }
  section(kFunctions, w);
  ByteWriter hints;
  for (const auto& [key, index] : order) hints.number(r_.functions[index].hint);
  section(kHints, hints);
}

// Depth first, children by the index of their function; each node stores how many nodes before it
// its parent is.
void Writer::nodes() {
  const CallTree& tree = r_.tree;
  std::vector<std::vector<uint32_t>> children(tree.size());
  for (uint32_t i = 1; i < tree.size(); i++) children[tree[i].parent].push_back(i);
  ByteWriter w;
  w.number(tree.size());
  std::vector<std::pair<uint32_t, uint32_t>> stack{{0, 0}};  // Node, number of its parent.
  for (uint32_t number = 0; !stack.empty(); number++) {
    auto [node, parent] = stack.back();
    stack.pop_back();
    w.number(number - parent);
    w.number(place_[tree[node].function]);
    for (uint64_t n :
         {tree[node].calls, tree[node].self, r_.node_cost_ps[node], r_.node_yielded_ns[node]})
      w.number(n);
    auto& list = children[node];
    std::sort(list.begin(), list.end(), [&](uint32_t a, uint32_t b) {
      return place_[tree[a].function] > place_[tree[b].function];
    });
    for (uint32_t child : list) stack.emplace_back(child, number);
  }
  section(kNodes, w);
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
    uint64_t calls, self, cost, yielded;
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

  ByteReader in_;
  std::string path_;
  Report head_;  // Sums, trust, files.
  std::vector<ReportFunction> functions_{2};
  std::vector<Node> nodes_;
};

void Reader::sums(ByteReader in) {
  each_sum(head_, [&](uint64_t& n) { n = in.number(); });
  head_.cost_ns = in.number();
  head_.grouped = in.number() != 0;
}

void Reader::counters(ByteReader in) {
  each_counter(head_.trust, [&](uint64_t& n) { n = in.number(); });
  if (!in.at_end()) head_.trust.open_gap = in.number();  // Missing in older versions.
}

void Reader::file(ByteReader in) {
  ReportFile f;
  f.path = in.text();
  f.notes = in.text();
  f.bytes = in.number();
  f.start_real_ns = in.number();
  f.duration_ns = in.number();
  f.clock = static_cast<uint32_t>(in.number());
  f.ended = in.number() != 0;
  f.end.reason = static_cast<uint32_t>(in.number());
  f.end.exit_status = static_cast<int32_t>(in.integer());
  for (size_t n = in.count(); n > 0; n--) {
    ProcessInfo p;
    p.number = static_cast<uint32_t>(in.number());
    for (int32_t* to : {&p.pid, &p.ns_pid, &p.parent, &p.uid})
      *to = static_cast<int32_t>(in.integer());
    p.exe = in.text();
    for (size_t words = in.count(); words > 0; words--) p.cmdline.push_back(in.text());
    f.processes.push_back(std::move(p));
  }
  for (size_t n = in.count(); n > 0; n--) {
    StreamInfo s;
    for (uint32_t* to : {&s.number, &s.process, &s.flags, &s.recording})
      *to = static_cast<uint32_t>(in.number());
    s.event_cost_ps = in.number();
    s.tid = static_cast<int32_t>(in.integer());
    s.luajit = in.text();
    f.streams.push_back(std::move(s));
  }
  if (!in.at_end()) {  // Missing in older versions.
    FilterSignature& signature = f.signature.emplace();
    signature.groups = in.text();
    signature.filters = in.text();
  }
  head_.files.push_back(std::move(f));
}

void Reader::function(ByteReader& in) {
  ReportFunction f;
  uint64_t kind = in.number();
  if (kind < 2 || kind >= std::size(kKinds)) fail("a function of an unknown kind");
  f.kind = kKinds[kind];
  f.coroutine = kind == kCoroutineGroup;
  f.chunk = in.text();
  f.name = in.text();
  const auto line = static_cast<uint32_t>(in.number());
  (f.kind == FunctionKind::kLua && line & LT_LINE_CODE ? f.code : f.line) = line;
  each_figure(f, [&](uint64_t& n) { n = in.number(); });
  uint64_t low = in.number();
  f.times.squares = Square{in.number()} << 64 | low;
  uint64_t behind = 0;
  for (size_t n = in.count(); n > 0; n--) {
    uint64_t bucket = in.number(), count = in.number();
    if (bucket < behind || bucket >= kBuckets) fail("the buckets of a histogram are out of order");
    behind = bucket + 1;
    f.times.buckets.push_back({static_cast<uint32_t>(bucket), count});
  }
  functions_.push_back(std::move(f));
}

void Reader::functions(ByteReader in) {
  for (size_t n = in.count(); n > 0; n--) function(in);
}

void Reader::hints(ByteReader in) {
  for (size_t i = 2; i < functions_.size() && !in.at_end(); i++)
    functions_[i].hint = in.number() != 0;
}

void Reader::nodes(ByteReader in) {
  const size_t n = in.count();
  for (size_t i = 0; i < n; i++) {
    uint64_t up = in.number(), function = in.number();
    if (i == 0 ? up || function : up == 0 || up > i || function == 0)
      fail("a node of the call tree without parent or function");
    if (function >= functions_.size()) fail("a node of a function that is not there");
    Node node{static_cast<uint32_t>(i - up), static_cast<uint32_t>(function), 0, 0, 0, 0};
    for (uint64_t* to : {&node.calls, &node.self, &node.cost, &node.yielded}) *to = in.number();
    nodes_.push_back(node);
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
      if (tag == kHints) hints(content);  // Ignore tags of later versions.
    }
  } catch (const ByteReader::Short&) {
    fail("it ends too soon");
  }
}

void Reader::add_to(Report& report) const {
  std::vector<uint64_t> values;
  each_sum(head_, [&](uint64_t n) { values.push_back(n); });
  size_t i = 0;
  each_sum(report, [&](uint64_t& n) { n += values[i++]; });
  report.cost_ns += head_.cost_ns;
  report.grouped |= head_.grouped;
  report.trust += head_.trust;
  report.files.insert(report.files.end(), head_.files.begin(), head_.files.end());
  std::vector<uint32_t> map{0, 1};
  for (size_t f = 2; f < functions_.size(); f++) {
    map.push_back(report.function(functions_[f]));
    add_figures(report.functions[map.back()], functions_[f]);
  }
  std::vector<uint32_t> place;
  for (const Node& node : nodes_) {
    uint32_t at = place.empty() ? 0 : report.tree.enter(place[node.parent], map[node.function]);
    place.push_back(at);
    report.node_cost_ps.resize(report.tree.size());
    report.node_yielded_ns.resize(report.tree.size());
    report.tree[at].calls += node.calls;
    report.tree[at].self += node.self;
    report.node_cost_ps[at] += node.cost;
    report.node_yielded_ns[at] += node.yielded;
  }
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
  if (input.need(kHeaderSize) < kHeaderSize) fail("it ends in its header");
  auto get = [&](size_t at, auto value) {
    memcpy(&value, input.data() + at, sizeof value);
    return value;
  };
  if (get(28, uint32_t{}) != crc32c(input.data(), 28)) fail("wrong checksum of its header");
  if (get(8, uint32_t{}) != kProfileVersion)
    throw Unreadable(path + ": a profile of version " + std::to_string(get(8, uint32_t{})) +
                     ", which this luatrace-analyze does not know");
  const auto size = get(16, uint64_t{});
  const auto crc = get(24, uint32_t{});
  if (get(12, uint32_t{}) != kHeaderSize) fail("wrong size of its header");
  input.consume(kHeaderSize);
  // Read piecemeal: a forged size costs no memory.
  std::string payload;
  while (payload.size() < size) {
    size_t more = input.need(1);
    if (more == 0) fail("it ends too soon");
    more = std::min<uint64_t>(more, size - payload.size());
    payload.append(reinterpret_cast<const char*>(input.data()), more);
    input.consume(more);
  }
  if (crc != crc32c(payload.data(), payload.size())) fail("wrong checksum");
  if (input.need(1) > 0)
    fail("something stands behind its end (name each profile as an argument to add them up)");
  Reader reader(ByteReader(payload), path);
  reader.run();
  reader.add_to(report);
  return reader.trust();
}

}  // namespace luatrace::analyze
