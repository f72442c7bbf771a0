/* A host of ten lines records itself. SPDX-License-Identifier: MIT */
#include <lauxlib.h>
#include <lualib.h>
#include <luatrace.h>
#include <stdio.h>

int main(int argc, char **argv)
{
  const char *const options[] = { "--format", "csv", NULL }, *why;
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  if ((why = luaJIT_trace_start(L, argc > 2 ? argv[2] : NULL, NULL)) || luaL_dofile(L, argv[1]) ||
      (why = luaJIT_trace_report(L, options, fileno(stdout))) || (why = luaJIT_trace_stop(L)))
    fprintf(stderr, "%s\n", why ? why : lua_tostring(L, -1));
  lua_close(L);
  return why != NULL;
}
