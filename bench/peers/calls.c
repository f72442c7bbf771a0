/*
** Input for `uftrace report`: compiled with -pg, makes about the number of
** entry and exit events given as argument, in a call tree of 1,111 nodes
** (ten functions calling each other three deep).
** SPDX-License-Identifier: MIT
*/
#include <stdio.h>
#include <stdlib.h>

typedef void step(unsigned path, unsigned depth);
static step *const steps[10];
static volatile unsigned sink;

/* Calls the function named by the lowest digit of path, until depth is 0. */
#define STEP(name) \
  static __attribute__((noinline)) void name(unsigned path, unsigned depth) \
  { \
    if (depth) \
      steps[path % 10](path / 10, depth - 1); \
    sink = sink + path; \
  }
STEP(s0) STEP(s1) STEP(s2) STEP(s3) STEP(s4)
STEP(s5) STEP(s6) STEP(s7) STEP(s8) STEP(s9)
static step *const steps[10] = {s0, s1, s2, s3, s4, s5, s6, s7, s8, s9};

int main(int argc, char **argv)
{
  unsigned long events = argc > 1 ? strtoul(argv[1], NULL, 10) : 600;
  for (unsigned long i = 0; i < events / 6; i++)
    steps[i % 10]((unsigned)(i / 10 % 100), 2);
  printf("%u\n", sink);
  return 0;
}
