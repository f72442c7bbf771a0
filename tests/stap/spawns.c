// SPDX-License-Identifier: MIT
// spawns FIFO OUT: a Lua program whose children still share its memory (posix_spawn) when a tracer
// attaches and when it detaches. Writes into OUT how many probes the tracer has enabled.
//
//   The main thread starts a child that waits for someone who opens FIFO, and it with it.
//   The other thread, when there is OUT.go, starts one that does not wait; then it makes OUT.went.
//   The main thread, released, calls Lua and writes, until there is OUT.again.
//   Then it starts another child that waits for FIFO, and writes once more.
#define _GNU_SOURCE  // RTLD_DEFAULT
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lauxlib.h"
#include "lualib.h"

static const char *out;
static const volatile uint16_t *control;  // Not by its name: the linker would give us a copy.

static const char *beside(char *to, size_t size, const char *end) {
  snprintf(to, size, "%s.%s", out, end);
  return to;
}

// fifo: null if nothing is waited for.
static void spawn(const char *fifo) {
  posix_spawn_file_actions_t actions;
  char *words[] = {"true", NULL};
  posix_spawn_file_actions_init(&actions);
  if (fifo) posix_spawn_file_actions_addopen(&actions, 0, fifo, O_RDONLY, 0);
  if (posix_spawn(NULL, "/bin/true", &actions, NULL, words, environ)) exit(1);
}

static void *other_thread(void *unused) {
  char name[256];
  while (access(beside(name, sizeof(name), "go"), F_OK)) usleep(50000);
  spawn(NULL);
  close(open(beside(name, sizeof(name), "went"), O_WRONLY | O_CREAT, 0644));
  return unused;
}

static void tell(void) {
  FILE *f = fopen(out, "a");
  if (!f) exit(1);
  fprintf(f, "%d\n", *control);
  fclose(f);
}

int main(int argc, char **argv) {
  char again[256];
  pthread_t other;
  lua_State *L = luaL_newstate();
  control = dlsym(RTLD_DEFAULT, "luajit_usdt_control");
  if (argc != 3 || !L || !control) return 1;
  out = argv[2];
  luaL_openlibs(L);
  if (pthread_create(&other, NULL, other_thread, NULL)) return 1;
  spawn(argv[1]);
  do {
    tell();
    if (luaL_dostring(L, "for i = 1, 200 do tostring(i) end")) return 1;
    usleep(50000);
  } while (access(beside(again, sizeof(again), "again"), F_OK));
  spawn(argv[1]);
  tell();
  pthread_join(other, NULL);
  lua_close(L);
  return 0;
}
