/* A host records itself. SPDX-License-Identifier: MIT */
#include <lauxlib.h>
#include <lualib.h>
#include <luatrace.h>
#include <stdio.h>
#include <string.h>

/* Missing arguments are refused, whether or not anything is recorded. */
static const char *checks(lua_State *L)
{
  unsigned int number;
  unsigned long long vm;
  luaJIT_trace_stack(L, NULL, NULL);
  luaJIT_trace_stack(NULL, NULL, NULL);
  luaJIT_trace_unhook(NULL, 1);
  lua_pushcfunction(L, luaopen_base);
  return luaJIT_trace_section_start(L, NULL) && luaJIT_trace_section_start(L, "") &&
	 luaJIT_trace_section_stop(L, NULL) && luaJIT_trace_section_start(NULL, "x") &&
	 luaJIT_trace_section_stop(NULL, "x") && luaJIT_trace_label(L, NULL, "x") &&
	 luaJIT_trace_label(L, "", "x") && luaJIT_trace_label(NULL, "x", "x") &&
	 luaJIT_trace_hook(L, -1, NULL, NULL, &number) && luaJIT_trace_hook(NULL, -1, NULL, NULL, NULL) &&
	 strstr(luaJIT_trace_section_stop(L, "never"), "never") && luaJIT_trace_snapshot(L, "") && luaJIT_trace_snapshot(NULL, NULL) &&
	 luaJIT_trace_start(NULL, NULL, NULL) && luaJIT_trace_start(L, "", NULL) &&
	 luaJIT_trace_stop(NULL) && luaJIT_trace_pause(NULL) && luaJIT_trace_resume(NULL) &&
	 luaJIT_trace_reset(NULL) && luaJIT_trace_report(NULL, NULL, 1) &&
	 luaJIT_trace_report(L, NULL, -1) && luaJIT_trace_coroutine(NULL, &vm) == 0 &&
	 luaJIT_trace_coroutine(L, NULL) == luaJIT_trace_coroutine(L, &vm) ?
	 NULL : "a missing argument is accepted";
}

int main(int argc, char **argv)
{
  const char *const options[] = { "--format", "csv", NULL }, *why;
  lua_State *L = luaL_newstate();
  luaL_openlibs(L);
  if ((why = checks(L)) || (why = luaJIT_trace_start(L, argc > 2 ? argv[2] : NULL, NULL)) || (why = checks(L)) ||
      luaL_dofile(L, argv[1]) ||
      (why = luaJIT_trace_report(L, options, fileno(stdout))) || (why = luaJIT_trace_stop(L)))
    fprintf(stderr, "%s\n", why ? why : lua_tostring(L, -1));
  lua_close(L);
  return why != NULL;
}
