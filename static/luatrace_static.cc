// SPDX-License-Identifier: MIT
// luatrace-static: luatrace with the programs that it runs in one file that needs no library.
// Under the name of one of them (a link is enough) it is that one: this is how it starts itself,
// and how a program that records itself starts it.
#include <iostream>
#include <string>
#include <vector>

#include "cli/execute.h"
#include "cli/front.h"
#include "cli/mains.h"

using namespace luatrace;

namespace {

struct Part {
  const char* name;
  int (*main)(int argc, char** argv);
};
constexpr Part kParts[] = {{"luatrace-analyze", analyze_main},
                           {"luatrace-record", record_main},
                           {"luatrace-top", top_main}};

const Part* part_named(const std::string& name) {
  for (const Part& part : kParts)
    if (name == part.name) return &part;
  return nullptr;
}

int run(const Part& part, const std::string& folder, CommandLine::Tokens words) {
  words.insert(words.begin(), folder + part.name);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  return part.main(static_cast<int>(words.size()), argv.data());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string self = argc > 0 ? argv[0] : "";
  const size_t folder = self.rfind('/') + 1;
  set_all_programs(argv[0]);
  if (const Part* const part = part_named(self.substr(folder))) return part->main(argc, argv);
  return front_main(argc, argv, [&](const std::string& program, CommandLine::Tokens words) {
    return run(*part_named(program), self.substr(0, folder), std::move(words));
  });
}
