// SPDX-License-Identifier: MIT
// Makes flame graph pages for the tests of the page, without a trace.
//
//   make_page FILE.html < tree.txt         the tree that the text describes
//   make_page FILE.html random NODES SEED  a random tree of the shape that programs have
//   make_page FILE.html deep LEVELS        one call below the other
//
// An option --max-nodes=N (0: no limit) may follow, or --diff for random ones: a tree to compare
// with. The text: one item per line, fields separated by tabs, \xNN for any byte; what is missing
// at the end of a line is 0:
//   title TEXT | subtitle TEXT | trust TEXT
//   function KIND LINE CHUNK NAME [hint]
//   node PARENT FUNCTION CALLS SELF_NS [BEFORE_CALLS BEFORE_SELF_NS]
//                                          the first one is the root; inclusive times are summed
//   times FUNCTION COMPLETE MIN AVERAGE MAX WALL [P50 P90 P99 P99.9 DEVIATION]
//   diff SCALE                             nodes have what was before
//   chart SHORTEST CALLS SELF HIDDEN_CALLS HIDDEN_NS HIDDEN_TRACKS NOTE ZERO
//   nochart REASON
//   track THREAD NAME BEGIN END SUSPENDED WAITING RESUMES RESUMER
//   slice KIND DEPTH WHAT BEGIN LENGTH SELF SUSPENDED CALLS
//                                          of the last track; KIND: 0 short, 1 call, 2 resumed,
//                                          3 suspended, 4 filtered
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>

#include "analyzer/output/page/flame_page.h"

namespace {

using luatrace::analyze::FlameFunction;
using luatrace::analyze::FlameInput;
using luatrace::analyze::FlameNode;

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

void read_times(FlameInput& input, const Fields& f) {
  luatrace::analyze::FlameTimes& t = input.functions.at(small(f[1])).times;
  t.complete = number(f[2]);
  t.min_ns = number(f[3]);
  t.avg_ns = number(f[4]);
  t.max_ns = number(f[5]);
  t.wall_ns = number(f[6]);
  t.percentiles = !f[7].empty();
  t.p50_ns = number(f[7]);
  t.p90_ns = number(f[8]);
  t.p99_ns = number(f[9]);
  t.p999_ns = number(f[10]);
  t.deviation_ns = number(f[11]);
}

// Lines about the chart; false for others.
bool read_chart(luatrace::analyze::FlameChart& chart, const Fields& f) {
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
                            {}});
  } else if (f[0] == "slice") {
    luatrace::analyze::FlameSlice slice;
    slice.kind = static_cast<luatrace::analyze::FlameSlice::Kind>(small(f[1]));
    slice.depth = small(f[2]);
    slice.what = small(f[3]);
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

FlameInput read_text(std::istream& in) {
  FlameInput input;
  for (std::string line; std::getline(in, line);) {
    if (line.empty()) continue;
    const std::vector<std::string> f = fields_of(line);
    if (f[0] == "title") {
      input.title = f[1];
    } else if (f[0] == "subtitle") {
      input.subtitle.push_back(f[1]);
    } else if (f[0] == "trust") {
      input.trust = f[1];
    } else if (f[0] == "function") {
      input.functions.push_back({f[4], f[3], small(f[2]), f[1], {}, f[5] == "hint"});
    } else if (f[0] == "node") {
      input.nodes.push_back(
          {small(f[1]), small(f[2]), number(f[3]), 0, number(f[4]), number(f[5]), number(f[6])});
    } else if (f[0] == "times") {
      read_times(input, f);
    } else if (f[0] == "diff") {
      input.diff = true;
      input.scale = std::stod(f[1]);
    } else if (f[0] == "nochart") {
      input.no_chart = f[1];
    } else if (!read_chart(input.chart, f)) {
      throw std::invalid_argument("make_page: unknown item " + f[0]);
    }
  }
  return input;
}

void name_functions(FlameInput& input, size_t count, std::mt19937_64& random) {
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
      input.functions.push_back({builtins[i / 9 % 8], "[builtin]", 0, "ff", {}});
    } else if (i % 14 == 5) {
      input.functions.push_back({"lua_" + word, "/usr/lib/libnative.so", 0, "c", {}});
    } else if (i % 31 == 7) {
      input.functions.push_back(
          {"coroutine " + word, "@lib/" + module + ".lua", line, "coroutine", {}});
    } else {
      input.functions.push_back({word, "@lib/" + module + ".lua", line, "lua", {}});
    }
  }
}

// Programs are some tens of calls deep and add_self_time most of their time in a few places: a
// parent is one of the last four fifths of the nodes before, times are spread exponentially over
// magnitudes.
FlameInput make_random(size_t nodes, uint64_t seed) {
  std::mt19937_64 random(seed);
  FlameInput input;
  input.title = "random tree";
  input.subtitle = {std::to_string(nodes) + " nodes", "seed " + std::to_string(seed)};
  const size_t functions = nodes < 4000 ? nodes / 12 + 8 : 3000;
  name_functions(input, functions, random);
  std::exponential_distribution<double> spread(1.0);
  for (size_t i = 0; i < nodes; i++) {
    const size_t back = i == 0 ? 0 : 1 + random() % (i * 4 / 5 + 1) % i;
    const double time = 50 * std::exp(3 * spread(random) * (random() % 3));
    input.nodes.push_back({static_cast<uint32_t>(i - back),
                           static_cast<uint32_t>(random() % functions), 1 + random() % 50, 0,
                           static_cast<uint64_t>(std::min(time, 4e7)), 0, 0});
  }
  return input;
}

// Before, most nodes took about as long, some longer or shorter, some were not there.
void add_before(FlameInput& input, uint64_t seed) {
  std::mt19937_64 random(seed);
  input.diff = true;
  for (FlameNode& node : input.nodes) {
    const double factors[] = {1, 1, 1.02, 0.97, 1.4, 0.6, 2.5, 0};
    const double factor = factors[random() % 8];
    node.before_calls = static_cast<uint64_t>(double(node.calls) * factor);
    node.before_self_ns = static_cast<uint64_t>(double(node.self_ns) * factor);
  }
}

FlameInput make_deep(size_t levels) {
  FlameInput input;
  input.title = "deep tree";
  for (int i = 0; i < 7; i++)
    input.functions.push_back({"level" + std::to_string(i), "@deep.lua", 1, "lua", {}});
  for (size_t i = 0; i <= levels; i++) {
    const auto parent = static_cast<uint32_t>(i == 0 ? 0 : i - 1);
    input.nodes.push_back({parent, static_cast<uint32_t>(i % 7), 1, 0, i == 0 ? 0u : 10u, 0, 0});
  }
  return input;
}

void sum_inclusive(FlameInput& input) {
  for (size_t i = input.nodes.size(); i-- > 0;) {
    FlameNode& node = input.nodes[i];
    node.inclusive_ns += node.self_ns;
    if (i > 0) input.nodes[node.parent].inclusive_ns += node.inclusive_ns;
  }
}

int run(int argc, char** argv) {
  luatrace::analyze::FlamePageOptions options;
  static const char kMax[] = "--max-nodes=";
  if (argc > 2 && std::strncmp(argv[argc - 1], kMax, sizeof kMax - 1) == 0) {
    options.max_nodes = std::stoull(argv[--argc] + sizeof kMax - 1);
  }
  const bool diff = argc > 2 && std::strcmp(argv[argc - 1], "--diff") == 0;
  if (diff) argc--;
  const std::string mode = argc > 2 ? argv[2] : "text";
  FlameInput input;
  if (mode == "random" && argc == 5) {
    input = make_random(std::stoull(argv[3]), std::stoull(argv[4]));
  } else if (mode == "deep" && argc == 4) {
    input = make_deep(std::stoull(argv[3]));
  } else if (mode == "text" && argc == 2) {
    input = read_text(std::cin);
  } else {
    std::cerr << "usage: make_page FILE.html [random NODES SEED | deep LEVELS] [--max-nodes=N | "
                 "--diff]\n";
    return EXIT_FAILURE;
  }
  if (diff) add_before(input, 7);
  sum_inclusive(input);
  std::ofstream out(argv[1], std::ios::binary);
  luatrace::analyze::write_flame_page(out, input, options);
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
