// SPDX-License-Identifier: MIT
// Makes flame graph pages for the tests of the page, without a trace.
//
//   make_page FILE.html < tree.txt         the tree that the text describes
//   make_page FILE.html random NODES SEED  a random tree of the shape that programs have
//   make_page FILE.html deep LEVELS        one call below the other
//
// Options at the end, in this order: --diff adds random figures before to compare with;
// --max-nodes=N (0: no limit). The text: one item per line, fields separated by tabs, \xNN for any
// byte; fields missing at the end of a line are 0 or empty:
//   title TEXT | subtitle TEXT | trust TEXT
//   function KIND LINE CHUNK NAME [hint]   KIND as in JSON, or coroutine; else unknown
//   node PARENT FUNCTION CALLS SELF_NS [BEFORE_CALLS BEFORE_SELF_NS]
//                                          the first one is the root; siblings differ in FUNCTION
//   times FUNCTION WALL NS COUNT [NS COUNT [NS COUNT]]
//                                          COUNT calls took NS each
//   diff SCALE                             nodes have the figures before
//   chart SHORTEST CALLS SELF HIDDEN_CALLS HIDDEN_NS HIDDEN_TRACKS NOTE ZERO
//   nochart REASON
//   track THREAD NAME BEGIN END SUSPENDED WAITING RESUMES RESUMER [VM]
//   slice KIND DEPTH WHAT BEGIN LENGTH SELF SUSPENDED CALLS
//                                          of the last track; KIND: 0 short, 1 call (WHAT:
//                                          function), 2 resumed (WHAT: track + 1), 3 suspended,
//                                          4 filtered
//   requests ALL                           how many the trace has
//   request BEGIN RUNNING WAIT OTHERS REST COROUTINES BEGUN_BEFORE UNFINISHED VM [UNSURE]
//   label KEY VALUE                        of the last request, like the next three
//   wait FUNCTION INNER COUNT NS           "-": no function
//   phase FUNCTION RUNNING WAIT
//   step RUNS FUNCTION INNER NS OTHERS PHASE COROUTINE
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>

#include "analyzer/output/page/flame_page.h"
#include "tests/page/page_input.h"

namespace {

using luatrace::analyze::FlameChart;
using luatrace::analyze::FlameInput;
using luatrace::analyze::FunctionKind;
using luatrace::analyze::ReportFunction;

std::string unescape(const std::string& text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); i++) {
    if (text.compare(i, 2, "\\x") == 0 && i + 3 < text.size()) {
      bytes += static_cast<char>(std::stoi(text.substr(i + 2, 2), nullptr, 16));
      i += 3;
    } else {
      bytes += text[i];
    }
  }
  return bytes;
}

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream in(line);
  for (std::string field; std::getline(in, field, '\t');) fields.push_back(unescape(field));
  fields.resize(12);
  return fields;
}

uint64_t number(const std::string& text) {
  return text.empty() ? 0 : std::stoull(text);
}

uint32_t small(const std::string& text) {
  return static_cast<uint32_t>(number(text));
}

using Fields = std::vector<std::string>;

FunctionKind kind_of(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(FunctionKind::kSuspended); i++)
    if (name == kind_name(static_cast<FunctionKind>(i))) return static_cast<FunctionKind>(i);
  return name == "coroutine" ? FunctionKind::kGroup : FunctionKind::kUnknown;
}

void add_function(PageInput& input, const std::string& kind, uint32_t line,
                  const std::string& chunk, const std::string& name) {
  input.add_function(kind_of(kind), line, chunk, name);
  input.functions.back().coroutine = kind == "coroutine";
}

void read_times(PageInput& input, const Fields& f) {
  ReportFunction& to = input.functions.at(small(f[1]) + 1);
  to.wall_ns = number(f[2]);
  to.min_ns = number(f[3]);
  for (size_t i = 3; i + 1 < f.size() && !f[i].empty(); i += 2) {
    const uint64_t ns = number(f[i]), count = number(f[i + 1]);
    to.max_ns = ns;
    to.complete += count;
    to.sum_ns += ns * count;
    to.times.buckets.push_back({luatrace::analyze::bucket_of(ns), count});
    to.times.squares += luatrace::analyze::Square{ns} * ns * count;
  }
}

void read_node(PageInput& input, const Fields& f, size_t number_of_nodes) {
  if (number_of_nodes == 0) return;  // The root.
  if (!input.add_node(small(f[1]), small(f[2]), number(f[3]), number(f[4])))
    throw std::invalid_argument("two siblings of one function");
  input.before.back() = {number(f[5]), number(f[6])};
}

// Reads a line about the chart; returns false for other lines.
bool read_chart(FlameChart& chart, const Fields& f) {
  if (f[0] == "chart") {
    chart.shortest_ns = number(f[1]);
    chart.calls = number(f[2]);
    chart.self_ns = number(f[3]);
    chart.hidden_calls = number(f[4]);
    chart.hidden_ns = number(f[5]);
    chart.hidden_tracks = number(f[6]);
    chart.note = f[7];
    chart.zero_ns = number(f[8]);
  } else if (f[0] == "track") {
    chart.tracks.push_back({f[1],
                            f[2],
                            number(f[3]),
                            number(f[4]),
                            number(f[5]),
                            number(f[6]),
                            number(f[7]),
                            small(f[8]),
                            0,
                            f[9].empty() ? 1 : small(f[9]),
                            {}});
  } else if (f[0] == "slice") {
    luatrace::analyze::FlameSlice slice;
    slice.kind = static_cast<luatrace::analyze::FlameSlice::Kind>(small(f[1]));
    slice.depth = small(f[2]);
    slice.what = small(f[3]) + (slice.kind == luatrace::analyze::FlameSlice::kCall);
    slice.begin_ns = number(f[4]);
    slice.length_ns = number(f[5]);
    slice.self_ns = number(f[6]);
    slice.suspended_ns = number(f[7]);
    slice.calls = number(f[8]);
    chart.tracks.at(chart.tracks.size() - 1).slices.push_back(slice);
  } else {
    return false;
  }
  return true;
}

luatrace::analyze::ReportFunctionId function_id(const std::string& text) {
  return luatrace::analyze::ReportFunctionId(text == "-" ? 0 : small(text) + 1);
}

// Reads a line about requests; returns false for other lines.
bool read_request(PageInput& input, const Fields& f) {
  if (f[0] == "requests") {
    input.page.requests.all = number(f[1]);
  } else if (f[0] == "request") {
    luatrace::analyze::ReportRequest& r = input.requests.emplace_back().sums;
    r.id = static_cast<uint32_t>(input.requests.size());
    uint64_t* const to[] = {&r.start_ns, &r.running_ns, &r.wait_ns, &r.others_ns,
                            &r.unattributed_ns};
    for (size_t i = 0; i < std::size(to); i++) *to[i] = number(f[i + 1]);
    r.wall_ns = r.running_ns + r.wait_ns + r.others_ns + r.unattributed_ns;
    r.coroutines = small(f[6]);
    r.begun_before = f[7] == "1";
    r.unfinished = f[8] == "1";
    r.vm = luatrace::analyze::StreamId(small(f[9]));
    r.unsure = f.size() > 10 && f[10] == "1";
  } else if (f[0] == "label") {
    input.requests.back().sums.labels.emplace_back(f[1], f[2]);
  } else if (f[0] == "wait") {
    input.requests.back().sums.waits.push_back(
        {function_id(f[1]), function_id(f[2]), number(f[3]), number(f[4])});
  } else if (f[0] == "phase") {
    input.requests.back().sums.phases.push_back({function_id(f[1]), number(f[2]), number(f[3])});
  } else if (f[0] == "step") {
    input.requests.back().steps.steps.push_back(
        {0, number(f[4]), number(f[5]), f[1] == "1", function_id(f[2]), function_id(f[3]),
         function_id(f[6]), luatrace::analyze::CoroutineId(number(f[7]))});
  } else {
    return false;
  }
  return true;
}

void read_text(std::istream& in, PageInput& input) {
  FlameInput& page = input.page;
  size_t nodes = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) continue;
    const std::vector<std::string> f = fields_of(line);
    if (f[0] == "title") {
      page.title = f[1];
    } else if (f[0] == "subtitle") {
      page.subtitle.push_back(f[1]);
    } else if (f[0] == "trust") {
      page.trust = f[1];
    } else if (f[0] == "function") {
      add_function(input, f[1], small(f[2]), f[3], f[4]);
      input.functions.back().hint = f[5] == "hint";
    } else if (f[0] == "node") {
      read_node(input, f, nodes++);
    } else if (f[0] == "times") {
      read_times(input, f);
    } else if (f[0] == "diff") {
      input.is_diff = true;
      page.scale = std::stod(f[1]);
    } else if (f[0] == "nochart") {
      page.no_chart = f[1];
    } else if (!read_chart(page.chart, f) && !read_request(input, f)) {
      throw std::invalid_argument("unknown item " + f[0]);
    }
  }
}

void name_functions(PageInput& input, size_t count, std::mt19937_64& random) {
  static const char* const verbs[] = {"parse", "read", "write", "emit",  "scan", "match",
                                      "send",  "next", "find",  "apply", "load", "encode"};
  static const char* const nouns[] = {"value", "header", "object", "token", "route", "row",
                                      "chunk", "string", "number", "body",  "table", "list"};
  static const char* const builtins[] = {"string.gsub", "table.concat", "string.format", "ipairs",
                                         "string.find", "tostring",     "table.insert",  "pcall"};
  for (size_t i = 0; i < count; i++) {
    const std::string word = std::string(verbs[random() % 12]) + "_" + nouns[random() % 12];
    const std::string module = nouns[i / 40 % 12];
    const auto line = static_cast<uint32_t>(10 + 7 * (i % 90));
    if (i % 9 == 3) {
      add_function(input, "builtin", 0, "[builtin]", builtins[i / 9 % 8]);
    } else if (i % 14 == 5) {
      add_function(input, "c", 0, "/usr/lib/libnative.so", "lua_" + word);
    } else if (i % 31 == 7) {
      add_function(input, "coroutine", line, "@lib/" + module + ".lua", "coroutine " + word);
    } else {
      add_function(input, "lua", line, "@lib/" + module + ".lua", word);
    }
  }
}

// Programs are some tens of calls deep and spend most of their time in a few call paths: a parent
// is one of the last four fifths of the nodes before it, times are spread over orders of magnitude.
void make_random(PageInput& input, size_t nodes, uint64_t seed) {
  std::mt19937_64 random(seed);
  input.page.title = "random tree";
  input.page.subtitle = {std::to_string(nodes) + " nodes", "seed " + std::to_string(seed)};
  const size_t functions = nodes < 4000 ? nodes / 12 + 8 : 3000;
  name_functions(input, functions, random);
  std::exponential_distribution<double> spread(1.0);
  while (input.tree.size() < nodes) {
    const size_t i = input.tree.size();
    const size_t back = 1 + random() % (i * 4 / 5 + 1) % i;
    const double time = 50 * std::exp(3 * spread(random) * (random() % 3));
    input.add_node(static_cast<uint32_t>(i - back), static_cast<uint32_t>(random() % functions),
                   1 + random() % 50, static_cast<uint64_t>(std::min(time, 4e7)));
  }
}

// Before, most nodes took about as long, some longer or shorter, and some did not exist.
void add_before(PageInput& input, uint64_t seed) {
  std::mt19937_64 random(seed);
  input.is_diff = true;
  for (luatrace::analyze::NodeId i{1}; i < input.tree.size(); ++i) {
    const double factors[] = {1, 1, 1.02, 0.97, 1.4, 0.6, 2.5, 0};
    const double factor = factors[random() % 8];
    input.before[i] = {static_cast<uint64_t>(double(input.tree[i].calls) * factor),
                       static_cast<uint64_t>(double(input.tree[i].self) * factor)};
  }
}

void make_deep(PageInput& input, size_t levels) {
  input.page.title = "deep tree";
  for (int i = 0; i < 7; i++)
    add_function(input, "lua", 1, "@deep.lua", "level" + std::to_string(i));
  for (uint32_t i = 1; i <= levels; i++) input.add_node(i - 1, i % 7, 1, 10);
}

int run(int argc, char** argv) {
  PageInput input;
  static const char kMax[] = "--max-nodes=";
  if (argc > 2 && std::strncmp(argv[argc - 1], kMax, sizeof kMax - 1) == 0) {
    input.page.max_nodes = std::stoull(argv[--argc] + sizeof kMax - 1);
  }
  const bool diff = argc > 2 && std::strcmp(argv[argc - 1], "--diff") == 0;
  if (diff) argc--;
  const std::string mode = argc > 2 ? argv[2] : "text";
  if (mode == "random" && argc == 5) {
    make_random(input, std::stoull(argv[3]), std::stoull(argv[4]));
  } else if (mode == "deep" && argc == 4) {
    make_deep(input, std::stoull(argv[3]));
  } else if (mode == "text" && argc == 2) {
    read_text(std::cin, input);
  } else {
    std::cerr << "usage: make_page FILE.html [random NODES SEED | deep LEVELS] [--diff] "
                 "[--max-nodes=N]\n";
    return EXIT_FAILURE;
  }
  if (diff) add_before(input, 7);
  std::ofstream out(argv[1], std::ios::binary);
  luatrace::analyze::write_flame_page(out, input.input());
  return out.flush() ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::cerr << "make_page: " << error.what() << "\n";
    return EXIT_FAILURE;
  }
}
