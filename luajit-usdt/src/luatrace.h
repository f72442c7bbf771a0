/*
** Recording a program from inside: what a host of LuaJIT calls to record itself.
** SPDX-License-Identifier: MIT
**
** The Lua module `luatrace` is made of these functions; docs/inside.md describes them. The work is
** done by two programs: luatrace-record, which is started for each recording and reads the rings
** of this process's Lua VMs, and luatrace-analyze, which is started for each report. They are
** searched in the folder that the environment variable LUATRACE_BIN names, or in PATH if it is not set.
**
** Invariants: nothing is changed in a process that calls none of these functions. The programs are
** no children of the process: it gets no SIGCHLD, and its wait() does not return them. They
** inherit no descriptor. When the process ends, for any reason, the recorder completes the file.
**
** A function that returns a string returns NULL if it succeeded, and otherwise what is wrong, as a
** sentence. It is valid until the next call of any of these functions, in any thread. L is the
** coroutine that is running, or any coroutine of a Lua VM that does not run. What is missing (L is NULL, a
** name is NULL or empty, where a comment here does not say what that means) is refused, too. */

#ifndef _LUATRACE_H
#define _LUATRACE_H

#include "lua.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Record this process, all of its Lua VMs and its future children, until luaJIT_trace_stop() or
** its end. file: the name of the trace: %p is replaced by the process id (each process then has
** a file of its own), %s by something unique. NULL: a temporary file without a name, for reports,
** up to 1 GB. options: those of luatrace-record, ended by NULL, for example
** { "--include", "app.*", "--c-functions", "all", NULL }; or NULL. */
LUA_API const char *luaJIT_trace_start(lua_State *L, const char *file,
				       const char *const *options);
/* End the recording. Calls that are open are cut here. Returns when the file is complete. */
LUA_API const char *luaJIT_trace_stop(lua_State *L);
/* Interrupt the recording: the Lua VM runs at full speed. Calls that are open are cut here, and
** reported as running calls at the resume. Other threads' VMs follow when they next run. For reports the VM
** and its coroutines stay the same. */
LUA_API const char *luaJIT_trace_pause(lua_State *L);
LUA_API const char *luaJIT_trace_resume(lua_State *L);
/* Begin again with an empty file. If that fails the recording has ended. */
LUA_API const char *luaJIT_trace_reset(lua_State *L);
/* Of a recording with the option "--flight": write a snapshot of the newest events, a complete trace, to
** a file, and return when it is written. It must not exist, or be a regular file that is empty or a trace.
** path NULL: the recorder names the file, as it does for its other snapshots. With a recorder that was
** started from outside (luatrace-record --flight) path must be NULL, and nothing is waited for: the
** recorder has been asked. */
LUA_API const char *luaJIT_trace_snapshot(lua_State *L, const char *path);

/* Is this process being recorded by luaJIT_trace_start()? */
enum { LUATRACE_OFF = 0, LUATRACE_ON = 1, LUATRACE_PAUSED = 2 };
LUA_API int luaJIT_trace_status(void);
/* What the recorder has printed since the start, a line each; "" if nothing. */
LUA_API const char *luaJIT_trace_messages(void);

/* Write the output of `luatrace-analyze OPTIONS FILE` for the current recording, or the last one
** after its end, to the descriptor fd. options are ended by NULL: { "--format", "folded", NULL }.
** Everything that happened before this call is in it. Blocks until it is complete. */
LUA_API const char *luaJIT_trace_report(lua_State *L, const char *const *options, int fd);
/* What luatrace-analyze printed beside the last report, a line each: a pattern that matched nothing,
** events that are missing. "" if nothing, or if there was no report. */
LUA_API const char *luaJIT_trace_warnings(void);

/* A section of the program begins or ends in the coroutine L. Sections of one name may be nested.
** Names are cut to 98 bytes. These work while nothing is recorded, too: a recording that begins
** later knows the sections that are open (up to 64 of a coroutine). */
LUA_API const char *luaJIT_trace_section_start(lua_State *L, const char *name);
LUA_API const char *luaJIT_trace_section_stop(lua_State *L, const char *name);
/* The coroutine L has this label from now on, and coroutines that it creates have it, too. value: NULL
** or "" takes the label away; what is longer than LUATRACE_LABEL_MAX bytes is cut. key: 1 to 28
** bytes. A coroutine has up to 8 labels. */
#define LUATRACE_LABEL_MAX	70
LUA_API const char *luaJIT_trace_label(lua_State *L, const char *key, const char *value);
/* Calls each(L, call, data) for each call of the coroutine L, innermost first, until that returns 0.
** call is as lua_getstack() leaves it, for lua_getinfo(). */
LUA_API void luaJIT_trace_stack(lua_State *L, int (*each)(lua_State *L, lua_Debug *call, void *data),
				void *data);

/* The tree of one call: the calls below it by call path, parents before their children; the first is
** the call itself. The strings are valid until the function that gets the tree returns. */
struct luatrace_node {
  const char *source, *name;	/* As in lua_Debug. */
  int line;			/* Of the definition, -1: C. */
  int is_c;
  unsigned int parent, calls;
  unsigned long long full_ns, self_ns, native_ns;  /* With callees, without, in those in C. */
};
struct luatrace_tree {
  unsigned int count;
  const struct luatrace_node *node;
  unsigned long long suspended_ns;  /* In no node: the coroutine was suspended. */
  int error;			/* The call was left by an error. */
  int cut;			/* There were too many nodes, levels or coroutines. */
  unsigned int skipped;		/* Calls before this one that were not watched: too many at a time. */
};
typedef void (*luatrace_hook_function)(lua_State *L, const struct luatrace_tree *tree, void *data);
/* Call `done` after each call of the function at that index, before the next instruction of Lua code.
** It must not throw. All functions of one definition are the same. While there is a hook, nothing is
** compiled. number: for luaJIT_trace_unhook(). */
LUA_API const char *luaJIT_trace_hook(lua_State *L, int index, luatrace_hook_function done,
				      void *data, unsigned int *number);
LUA_API void luaJIT_trace_unhook(lua_State *L, unsigned int number);

/* What reports call the coroutine L: its number, and the address of its Lua VM, as in
** `--coroutine @ADDRESS:NUMBER`. */
LUA_API unsigned int luaJIT_trace_coroutine(lua_State *L, unsigned long long *vm);
/* A C function whose first upvalue is this light userdata has no events, nor has a Lua function
** whose chunk name is LUATRACE_HIDDEN. */
LUA_API void *luaJIT_trace_hidden(void);
/* A section begins or ends; with LUATRACE=mode=tag it is printed. L runs a C function whose first n
** arguments are the name of the section and values to print. */
LUA_API void luaJIT_trace_section(lua_State *L, int begins, int n);
#define LUATRACE_HIDDEN	"=[luatrace]"

#ifdef __cplusplus
}
#endif

#endif
