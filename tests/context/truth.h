// SPDX-License-Identifier: MIT
// What a program says of itself, for reader.c: one slot for each thread, in a file that both map.
// Invariant: `value` is written by the thread itself; it is kUnknown from before a switch until
// after it.
#ifndef TRUTH_H
#define TRUTH_H

#include <stdint.h>

enum {
  kUnknown = 0,     // between two states
  kOutside = 1,     // the thread is not in Lua: there must be no context
  kUnlabelled = 2,  // it runs a coroutine without labels
  kFirst = 100      // it runs a coroutine whose label `id` is this number
};

struct truth_slot {
  volatile int32_t tid;  // 0: free
  volatile uint32_t value;
  volatile uint64_t request;  // of the coroutine with this value; 0: none, or not known to the VM
};

#define TRUTH_SLOTS 64
struct truth {
  volatile uint32_t started;  // the program runs; set by it
  struct truth_slot slot[TRUTH_SLOTS];
};

#endif
