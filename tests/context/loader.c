// SPDX-License-Identifier: MIT
// Runs main() of a library that it opens with dlopen(): loader LIBRARY ARGUMENTS...
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
  void* const library = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
  void* const symbol = library ? dlsym(library, "main") : NULL;
  int (*run)(int, char**);
  if (!symbol) return fprintf(stderr, "loader: %s\n", dlerror()), 2;
  *(void**)&run = symbol;
  return run(argc - 1, argv + 1);
}
