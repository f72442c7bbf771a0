/*
** Watched places: what a recorder asks of a Lua VM, and what the VM answers.
** SPDX-License-Identifier: MIT
**
** The request is text in the target's memory, near its control structure: lt_note.reserved is the
** signed distance in bytes from struct lt_control to LT_WATCH_REQUEST_MAX+1 bytes of it; 0: this LuaJIT
** cannot watch. It is written, like the settings in lt_control, before lt_control.ring; "" if nothing
** is to be watched. In a command it comes from the environment. The answers are event words.
*/

#ifndef _LUATRACE_WATCH_H
#define _LUATRACE_WATCH_H

#include "luatrace_format.h"

#define LT_ENV_WATCH		"LUATRACE_WATCH"	/* The request of a command. */

/*
** The request has lines, each a letter, a space and an argument:
**
**   F GLOB         functions of this name, at their entry
**   L LINE GLOB    a line of chunks of this name; a function's entry, if it is defined there
**   P WHAT         print: args, locals, upvalues or traceback
**   V NAME         print: a local variable, an upvalue or a global, .FIELD after it
**   D DEPTH        of tables that are printed, 0: no contents
**   N COUNT        stop after so many hits in the process
**
** and the steps of a condition in postfix order: values are put on a stack, operators take theirs
** from it:
**
**   v NAME   n NUMBER   s STRING   k nil, true or false   o =, ~, <, >, [ (<=), ] (>=), &, | or !
**
** The VM ignores what it does not understand, and what is beyond these limits.
*/
#define LT_WATCH_REQUEST_MAX	1023u	/* Bytes. */
#define LT_WATCH_PLACES_MAX	16u
#define LT_WATCH_ITEMS_MAX	16u
#define LT_WATCH_TESTS_MAX	64u	/* Steps of a condition. */
#define LT_WATCH_STACK_MAX	16u	/* Values that it needs at a time. */
#define LT_WATCH_DEPTH_MAX	8u

/*
** The record LTX_WATCH (an LTX_* of luatrace_format.h). arg: LTW_*, and LTW_MORE. Words:
** lt_pack(coroutine id, number of the place in the request); text, up to LT_WATCH_WORDS words.
** With MORE the text goes on in the next such record of the stream.
*/
#define LTX_WATCH		18u
enum {
  LTW_HIT = 0,		/* A place was reached: where, and the values. */
  LTW_FOUND = 1,	/* A place was found in the program. */
  LTW_NOLINE = 2,	/* Its line has no code: the nearest lines. */
  LTW_FULL = 3,		/* There are more places than the VM can watch. */
  LTW_DONE = 4		/* The requested number of hits was reached. */
};
#define LTW_KIND		7u
#define LTW_MORE		8u
#define LT_WATCH_WORDS		14u
#define LT_WATCH_MAX		4000u	/* Bytes of a whole text. */

#endif
