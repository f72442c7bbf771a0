// SPDX-License-Identifier: MIT
// What the programs do. Each of them calls one of these (cli/main.cc), luatrace-static any.
#pragma once

namespace luatrace {

int analyze_main(int argc, char** argv);
int record_main(int argc, char** argv);
int top_main(int argc, char** argv);

}  // namespace luatrace
