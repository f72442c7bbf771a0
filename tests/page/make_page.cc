// SPDX-License-Identifier: MIT
// Makes flame graph pages for the tests of the page, without a trace.
//
//   make_page FILE.html < tree.txt         the tree that the text describes
//   make_page FILE.html random NODES SEED  a random tree of the shape that programs have
//   make_page FILE.html deep LEVELS        one call below the other
//
// An option --max-nodes=N (0: no limit) may follow. The text: one item per line, fields separated
// by tabs, \xNN for any byte:
//   title TEXT | subtitle TEXT | trust TEXT
//   function KIND LINE CHUNK NAME
//   node PARENT FUNCTION CALLS SELF_NS     the first one is the root; inclusive times are summed
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>

#include "flame_page.h"

namespace {

using luatrace::FlameFunction;
using luatrace::FlameInput;
using luatrace::FlameNode;

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
  fields.resize(6);
  return fields;
}

uint32_t small(const std::string& text) {
  return static_cast<uint32_t>(std::stoul(text));
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
      input.functions.push_back({f[4], f[3], small(f[2]), f[1]});
    } else if (f[0] == "node") {
      input.nodes.push_back({small(f[1]), small(f[2]), std::stoull(f[3]), 0, std::stoull(f[4])});
    } else {
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
      input.functions.push_back({builtins[i / 9 % 8], "[builtin]", 0, "ff"});
    } else if (i % 14 == 5) {
      input.functions.push_back({"lua_" + word, "/usr/lib/libnative.so", 0, "c"});
    } else if (i % 31 == 7) {
      input.functions.push_back(
          {"coroutine " + word, "@lib/" + module + ".lua", line, "coroutine"});
    } else {
      input.functions.push_back({word, "@lib/" + module + ".lua", line, "lua"});
    }
  }
}

// Programs are some tens of calls deep and spend most of their time in a few places: a parent is
// one of the last four fifths of the nodes before, times are spread exponentially over magnitudes.
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
                           static_cast<uint64_t>(std::min(time, 4e7))});
  }
  return input;
}

FlameInput make_deep(size_t levels) {
  FlameInput input;
  input.title = "deep tree";
  for (int i = 0; i < 7; i++)
    input.functions.push_back({"level" + std::to_string(i), "@deep.lua", 1, "lua"});
  for (size_t i = 0; i <= levels; i++) {
    const auto parent = static_cast<uint32_t>(i == 0 ? 0 : i - 1);
    input.nodes.push_back({parent, static_cast<uint32_t>(i % 7), 1, 0, i == 0 ? 0u : 10u});
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
  luatrace::FlamePageOptions options;
  static const char kMax[] = "--max-nodes=";
  if (argc > 2 && std::strncmp(argv[argc - 1], kMax, sizeof kMax - 1) == 0) {
    options.max_nodes = std::stoull(argv[--argc] + sizeof kMax - 1);
  }
  const std::string mode = argc > 2 ? argv[2] : "text";
  FlameInput input;
  if (mode == "random" && argc == 5) {
    input = make_random(std::stoull(argv[3]), std::stoull(argv[4]));
  } else if (mode == "deep" && argc == 4) {
    input = make_deep(std::stoull(argv[3]));
  } else if (mode == "text" && argc == 2) {
    input = read_text(std::cin);
  } else {
    std::cerr << "usage: make_page FILE.html [random NODES SEED | deep LEVELS] [--max-nodes=N]\n";
    return EXIT_FAILURE;
  }
  sum_inclusive(input);
  std::ofstream out(argv[1], std::ios::binary);
  luatrace::write_flame_page(out, input, options);
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
