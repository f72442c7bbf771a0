// SPDX-License-Identifier: MIT
// The command line of luatrace-record. Everything after the first word that is no option, or after
// "--", belongs to the command, so that `luatrace-record -o x luajit -v` gives -v to luajit.
#include "recorder/options.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <cmath>
#include <iostream>

#include "luatrace_format.h"
#include "recorder/text.h"
#include "trace/packing.h"

namespace luatrace {
namespace {

namespace po = boost::program_options;

constexpr uint64_t kMinRing = uint64_t{LT_RING_MIN_BLOCKS} * LT_RING_BLOCK_SIZE;
constexpr uint64_t kMaxRing = uint64_t{LT_RING_MAX_BLOCKS} * LT_RING_BLOCK_SIZE;
constexpr uint64_t kMinFile = 256 * 1024;

const char* const kUsage =
    "Usage: luatrace-record -o FILE [options] [--] COMMAND [ARGUMENTS]\n"
    "       luatrace-record -o FILE [options] -p PID [-p PID...]\n"
    "Runs COMMAND, or attaches to processes that run, and writes every call and return of their\n"
    "Lua functions to FILE.\n";

const char* const kNotes =
    "\nSIZE is a number of bytes with K, M or G after it. %p in FILE is the process id: each "
    "process\n"
    "writes a file of its own. FILE may be - (standard output, if that is no terminal; what the\n"
    "command prints then goes to standard error).\n"
    "What COMMAND leaves running, a daemon say, is recorded until it ends or a signal comes.\n"
    "GLOBs are matched with chunk names as LuaJIT has them, \"@path/file.lua\", with the same\n"
    "without the first character, and with the file's name alone; * matches / too.\n"
    "SIGINT, SIGTERM, SIGHUP: the first ends the recording, a second one luatrace-record.\n"
    "Exit status: that of COMMAND (128+N if signal N ended it); 125 if luatrace-record itself\n"
    "failed, 126 if COMMAND cannot be executed, 127 if it is not found.\n"
    "With -p the recording goes on until the processes end, -d, or ^C. Exit status then: 0 good;\n"
    "120 no such process, 121 no right, 122 no LuaJIT with tracepoints in it, 123 it is being\n"
    "recorded already, 124 it was attached to but no event came, 125 anything else.\n"
    "PID may be PID@HOSTPID: what PID is in the process namespace of HOSTPID (a container's).\n";

struct Raw {
  std::string ring_size, max_size, compression;
  int64_t max_depth = 0;
};

po::options_description describe(Options& o, Raw& raw) {
  po::options_description d("Options", 100);
  auto add = d.add_options();
  add("output,o", po::value(&o.output)->value_name("FILE"), "where to write the trace");
  add("include", po::value(&o.include)->value_name("GLOB"),
      "record only functions of such chunks (may be repeated)");
  add("exclude", po::value(&o.exclude)->value_name("GLOB"),
      "do not record functions of such chunks (may be repeated)");
  add("c-functions", po::value(&o.c_functions)->value_name("CLASS"),
      "which C functions to record: none, user, default, all");
  add("ring-size", po::value(&raw.ring_size)->value_name("SIZE"),
      "memory between program and recorder, per Lua state");
  add("block", po::bool_switch(&o.block),
      "make the program wait when that memory is full, instead of dropping events");
  add("compress", po::value(&raw.compression)->implicit_value("1")->value_name("LEVEL"),
      "[=LEVEL] compress the trace with zstd, 1 (default: fast) to 19 (small)");
  add("max-size", po::value(&raw.max_size)->value_name("SIZE"),
      "end the recording before FILE becomes larger; the command goes on");
  add("max-depth", po::value(&raw.max_depth)->value_name("N"),
      "leave out calls that are deeper than N");
  add("duration,d", po::value(&o.seconds)->value_name("SECONDS"),
      "end the recording after so long; the command goes on");
  add("pid,p", po::value(&o.pids)->value_name("PID"),
      "attach to this process instead of running a command (may be repeated)");
  add("children", po::bool_switch(&o.children),
      "with -p: also its descendants, and those born during the recording");
  add("via", po::value(&o.via)->value_name("WAY"),
      "direct (through the process's memory), bpf, or auto: direct where that can");
  add("bpf-site", po::value(&o.bpf_site)->value_name("KIND"),
      "with --via bpf: which nop of a probe is replaced: narrow, wide, or auto");
  add("bpf-link", po::value(&o.bpf_link)->value_name("KIND"),
      "with --via bpf: multi (one link for all probes), each (perf events), or auto");
  add("verbose,v", po::bool_switch(&o.verbose), "say more");
  add("quiet,q", po::bool_switch(&o.quiet), "say nothing but errors");
  add("version", "print the version and exit");
  add("help,h", "print this and exit");
  return d;
}

// "--output": its value is the next word. Names may be shortened.
bool long_wants_value(const std::string& word, const po::options_description& d) {
  const auto* option = d.find_nothrow(word.substr(2), true);
  return option != nullptr && option->semantic()->min_tokens() > 0;  // "output=x" is none
}

// "-o" and "-vo": the first letter that takes a value takes the rest of the word, or the next one.
bool short_wants_value(const std::string& word, const po::options_description& d) {
  for (size_t i = 1; i < word.size(); i++) {
    const auto* option = d.find_nothrow({'-', word[i]}, false);
    if (option != nullptr && option->semantic()->max_tokens() > 0)
      return i + 1 == word.size() && option->semantic()->min_tokens() > 0;
  }
  return false;
}

// Index in argv of the command's first word; argc if there is none.
int find_command(int argc, char** argv, const po::options_description& d) {
  for (int i = 1; i < argc; i++) {
    const std::string word = argv[i];
    if (word == "--") return i;
    if (word.size() < 2 || word[0] != '-') return i;
    if (word[1] == '-' ? long_wants_value(word, d) : short_wants_value(word, d)) i++;
  }
  return argc;
}

uint64_t size_option(const char* name, const std::string& text, uint64_t least, uint64_t most) {
  const auto n = parse_size(text);
  if (!n || *n < least || *n > most)
    throw UsageError(std::string(name) + ": '" + text + "' is not a size between " +
                     grouped(least) + " and " + grouped(most) + " bytes");
  return *n;
}

int compression_level(const std::string& text) {
  int level = 0;
  for (const char c : text) level = isdigit(c) && level < 100 ? level * 10 + (c - '0') : 100;
  if (level < kMinCompression || level > kMaxCompression)
    throw UsageError("--compress: '" + text + "' is not a level from 1 to 19");
  return level;
}

void check_globs(const char* name, const std::vector<std::string>& globs) {
  size_t size = 0;
  for (const auto& g : globs) {
    if (g.empty() || g.find('\n') != g.npos)
      throw UsageError(std::string(name) + ": a pattern cannot be empty or contain a newline");
    size += g.size() + 1;
  }
  if (size > LT_GLOBS_MAX + 1)
    throw UsageError(std::string(name) + ": the patterns are longer than " + grouped(LT_GLOBS_MAX) +
                     " bytes in all; a shorter one with * may do");
}

void check_word(const char* name, const std::string& word,
                const std::vector<std::string>& allowed) {
  if (std::find(allowed.begin(), allowed.end(), word) != allowed.end()) return;
  std::string all;
  for (const auto& a : allowed) all += (all.empty() ? "" : ", ") + a;
  throw UsageError(std::string(name) + ": '" + word + "' is none of " + all);
}

void check(Options& o, const Raw& raw) {
  if (o.output.empty()) throw UsageError("where to? Say -o FILE");
  if (o.command.empty() && !o.attach())
    throw UsageError("which command? Give it after the options; or -p PID");
  if (!o.command.empty() && o.attach())
    throw UsageError("either a command or -p: '" + o.command[0] + "' is one too many");
  if (o.children && !o.attach()) throw UsageError("--children needs -p; a command's are recorded");
  if (o.via != "auto" && o.via != "direct" && o.via != "bpf")
    throw UsageError("--via: '" + o.via + "' is none of auto, direct, bpf");
  check_word("--bpf-site", o.bpf_site, {"auto", "narrow", "wide"});
  check_word("--bpf-link", o.bpf_link, {"auto", "multi", "each"});
  if (!raw.ring_size.empty())
    o.ring_size = size_option("--ring-size", raw.ring_size, kMinRing, kMaxRing);
  if (!raw.max_size.empty())
    o.max_size = size_option("--max-size", raw.max_size, kMinFile, UINT64_MAX >> 1);
  if (!raw.compression.empty()) o.compression = compression_level(raw.compression);
  if (raw.max_depth < 0 || raw.max_depth > 1000000000)
    throw UsageError("--max-depth must be between 1 and 1,000,000,000");
  o.max_depth = static_cast<uint32_t>(raw.max_depth);
  if (!(o.seconds >= 0) || o.seconds > 1e9) throw UsageError("-d needs a number of seconds");
  const auto& c = o.c_functions;
  if (!c.empty() && c != "none" && c != "user" && c != "default" && c != "all")
    throw UsageError("--c-functions: '" + c + "' is none of none, user, default, all");
  check_globs("--include", o.include);
  check_globs("--exclude", o.exclude);
}

}  // namespace

const char* version_text() {
  return LUATRACE_VERSION;
}

Options parse_options(int argc, char** argv, bool* done) {
  Options o;
  Raw raw;
  const auto d = describe(o, raw);
  *done = false;
  o.self = argc > 0 ? argv[0] : "luatrace-record";
  try {
    int at = find_command(argc, argv, d);
    po::variables_map vm;
    po::store(po::command_line_parser(at, argv).options(d).run(), vm);
    if (vm.count("help") || vm.count("version")) {
      *done = true;
      if (vm.count("help"))
        std::cout << kUsage << d << kNotes;
      else
        std::cout << "luatrace-record " << version_text() << "\n";
      return o;
    }
    if (vm.count("max-depth") && vm["max-depth"].as<int64_t>() == 0)
      throw UsageError("--max-depth must be between 1 and 1,000,000,000");
    if (vm.count("duration") && !(vm["duration"].as<double>() > 0))
      throw UsageError("-d needs a number of seconds");
    po::notify(vm);
    if (at < argc && std::string(argv[at]) == "--") at++;
    o.command.assign(argv + at, argv + argc);
  } catch (const po::error& e) {
    throw UsageError(e.what());
  }
  check(o, raw);
  return o;
}

}  // namespace luatrace
