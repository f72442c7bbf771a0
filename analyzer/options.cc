// SPDX-License-Identifier: MIT
#include "analyzer/options.h"

#include <unistd.h>

#include <boost/program_options.hpp>
#include <iostream>

namespace po = boost::program_options;

namespace luatrace {
namespace {

po::options_description visible_options() {
  po::options_description d("Options", 100, 50);
  auto optional = [](const char* implicit) {
    return po::value<std::string>()->implicit_value(implicit, "");
  };
  auto add = d.add_options();
  add("top", po::value<size_t>(), "rows of the table of functions (20)");
  add("sort", po::value<std::string>(), "by self (default), total, calls, avg, min, max or name");
  add("flame", optional(""),
      "[=FILE] write the flame graph page (default: trace.html beside the trace)");
  add("folded", optional("-"), "[=FILE] write folded stacks with self times");
  add("unit", po::value<std::string>(), "of folded weights: ns (default), us or ms");
  add("json", optional("-"), "[=FILE] write everything but the call tree as JSON");
  add("format", po::value<std::string>(), "NAME: write the profile for another program");
  add("output,o", po::value<std::string>(), "FILE of --format (standard output)");
  add("frames", po::value<std::string>(), "names of frames: ours (default), L or @");
  add("source-root", po::value<std::string>(), "directory that file names are relative to");
  add("dump", optional("text"),
      "[=calls] print the events as text; =calls: without times, by depth");
  add("convert", po::value<std::string>(), "=OUT write the (text) trace as a binary one");
  add("sysroot", po::value<std::string>(),
      "directory below which libraries of the program are found");
  add("debug-dir", po::value<std::vector<std::string>>(),
      "directory with debug files, as /usr/lib/debug (may be repeated)");
  add("strict", "exit status 3 if anything was lost, damaged or inferred");
  add("color", po::value<std::string>(), "auto (default), always or never");
  add("quiet,q", "no summary, no progress");
  add("help,h", "this text");
  add("version", "the version");
  return d;
}

void print_help() {
  std::cout
      << "Usage: luatrace-analyze FILE... [options]\n\n"
         "Reads traces of luatrace-record (or their text form; - is standard input) and says\n"
         "which functions ran, how often and how long. Several files are merged.\n\n"
      << visible_options()
      << "\nExit status: 0 good, 1 wrong usage, 2 a file cannot be read, 3 damage or loss with "
         "--strict.\n";
}

void read_summary(const po::variables_map& vm, SummaryOptions& out) {
  if (vm.count("top")) out.top = vm["top"].as<size_t>();
  if (vm.count("sort")) out.sort = vm["sort"].as<std::string>();
  if (!is_sort_key(out.sort))
    throw UsageError("--sort: self, total, calls, avg, min, max or name, not '" + out.sort + "'");
  std::string color = vm.count("color") ? vm["color"].as<std::string>() : "auto";
  if (color != "auto" && color != "always" && color != "never")
    throw UsageError("--color: auto, always or never, not '" + color + "'");
  out.color = color == "always" || (color == "auto" && isatty(STDOUT_FILENO));
}

uint64_t read_unit(const po::variables_map& vm) {
  std::string unit = vm.count("unit") ? vm["unit"].as<std::string>() : "ns";
  if (unit == "ns") return 1;
  if (unit == "us") return 1000;
  if (unit == "ms") return 1000000;
  throw UsageError("--unit: ns, us or ms, not '" + unit + "'");
}

void read_exports(const po::variables_map& vm, ExportOptions& out) {
  if (vm.count("format")) out.format = vm["format"].as<std::string>();
  if (vm.count("output")) out.output = vm["output"].as<std::string>();
  if (vm.count("source-root")) out.source_root = vm["source-root"].as<std::string>();
  if (!out.format.empty() && !find_format(out.format)) throw UsageError(unknown_format(out.format));
  const std::string frames = vm.count("frames") ? vm["frames"].as<std::string>() : "ours";
  if (!parse_frame_style(frames, out.style))
    throw UsageError("--frames: ours, L or @, not '" + frames + "'");
}

Options read(const po::variables_map& vm) {
  Options o;
  auto text = [&](const char* key, std::optional<std::string>& to) {
    if (vm.count(key)) to = vm[key].as<std::string>();
  };
  text("dump", o.dump);
  text("convert", o.convert);
  text("folded", o.folded);
  text("json", o.json);
  text("flame", o.flame);
  if (vm.count("file")) o.files = vm["file"].as<std::vector<std::string>>();
  if (vm.count("sysroot")) o.sysroot = vm["sysroot"].as<std::string>();
  if (vm.count("debug-dir")) o.debug_dirs = vm["debug-dir"].as<std::vector<std::string>>();
  o.strict = vm.count("strict");
  o.quiet = vm.count("quiet");
  o.unit_ns = read_unit(vm);
  read_exports(vm, o.exports);
  o.exports.unit_ns = o.unit_ns;
  read_summary(vm, o.summary);
  if (o.dump && *o.dump != "text" && *o.dump != "calls")
    throw UsageError("--dump: nothing or =calls, not '" + *o.dump + "'");
  if (o.files.empty()) throw UsageError("no trace given");
  if (o.convert && o.files.size() != 1) throw UsageError("--convert needs exactly one trace");
  return o;
}

// Options whose value is optional take it after '=' only, never from the next word.
std::vector<std::string> arguments(int argc, char** argv) {
  std::vector<std::string> out;
  bool options = true;
  for (int i = 1; i < argc; i++) {
    std::string word = argv[i];
    if (options && word == "--flame") word = "--flame=";
    if (options && (word == "--folded" || word == "--json")) word += "=-";
    if (options && word == "--dump") word += "=text";
    if (word == "--") options = false;
    out.push_back(word);
  }
  return out;
}

}  // namespace

std::optional<Options> parse_options(int argc, char** argv) {
  po::options_description all = visible_options();
  all.add_options()("file", po::value<std::vector<std::string>>());
  po::positional_options_description positional;
  positional.add("file", -1);
  po::variables_map vm;
  std::optional<std::string> flame;
  try {
    std::vector<std::string> words = arguments(argc, argv);
    // The library takes "--flame=" for a missing value.
    for (auto& word : words)
      if (word == "--flame=") word = "--flame=\x01";
    using namespace po::command_line_style;
    po::store(po::command_line_parser(words)
                  .options(all)
                  .positional(positional)
                  .style((unix_style | allow_long) & ~allow_guessing)
                  .run(),
              vm);
    po::notify(vm);
  } catch (const po::error& e) {
    throw UsageError(e.what());
  }
  if (vm.count("help")) return print_help(), std::nullopt;
  if (vm.count("version"))
    return std::cout << "luatrace-analyze " LUATRACE_VERSION "\n", std::nullopt;
  Options o = read(vm);
  if (o.flame == "\x01") o.flame = "";
  return o;
}

}  // namespace luatrace
