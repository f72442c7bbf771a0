// SPDX-License-Identifier: MIT
#include <iostream>

#include "analyzer/decode/trace_reader.h"
#include "analyzer/render/calls.h"
#include "analyzer/render/dump.h"

using namespace luatrace;

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  std::string mode = argc > 2 ? argv[1] : "";
  for (int i = argc > 2 ? 2 : 1; i < argc; i++) try {
      Input input(argv[i]);
      Diagnostics diag(argv[i], [](const std::string& s) { std::cerr << s << "\n"; });
      if (mode == "--dump") {
        DumpSink dump(std::cout);
        read_trace(input, diag, dump);
      } else if (mode == "--dump=calls") {
        CallsSink calls(std::cout);
        Streams<CallsSink> streams(calls, diag);
        calls.set_namer([&](uint32_t f) { return call_name(streams.functions()[f], ""); });
        read_trace(input, diag, streams);
        streams.finish();
      }
    } catch (const Unreadable& e) {
      std::cerr << "luatrace-analyze: " << e.what() << "\n";
      return 2;
    }
  return 0;
}
