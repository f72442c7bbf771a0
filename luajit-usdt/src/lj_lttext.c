/*
** Tracing of calls: text for people: calls and values.
** SPDX-License-Identifier: MIT
**
** Invariants: values are read raw: no metamethod runs, nothing is allocated, nothing of the program
** is changed. Whatever comes from the program is cut and escaped, so that a text is one line of
** printable characters. A text never exceeds its maximum. */

#define lj_lttext_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lj_debug.h"
#include "lj_tab.h"
#include "lj_dispatch.h"
#include "lj_ltrace.h"
#include "lj_ltlocal.h"

#define NAME_MAX_	100	/* Bytes of a name or a chunk name, */
#define VALUE_MAX_	60	/* and of a string. */
#define ENTRIES_MAX	10	/* Entries of a table. */
#define STEPS_MAX	10000	/* Slots of a table that are looked at for them. */

void lj_lttext_add(LTText *t, const char *format, ...)
{
  va_list args;
  size_t left = t->max-t->n;
  int n;
  va_start(args, format);
  n = vsnprintf(t->s+t->n, left+1, format, args);
  va_end(args);
  if (n > 0) t->n += (size_t)n < left ? (size_t)n : left;
}

void lj_lttext_char(LTText *t, char c)
{
  if (t->n < t->max) t->s[t->n++] = c;
}

static void add_byte(LTText *t, unsigned char c, char quote)
{
  if (c == '\n') lj_lttext_add(t, "\\n");
  else if (c < 32 || c >= 127 || c == '\\' || c == quote) lj_lttext_add(t, "\\x%02x", c);
  else lj_lttext_char(t, (char)c);
}

/* A string of the program, up to max bytes of it. */
void lj_lttext_escaped(LTText *t, const char *s, size_t n, size_t max)
{
  size_t i;
  for (i = 0; i < n && i < max; i++) add_byte(t, (unsigned char)s[i], 0);
  if (n > max) lj_lttext_add(t, "...");
}

void lj_lttext_name(LTText *t, const char *s)
{
  lj_lttext_escaped(t, s, strlen(s), NAME_MAX_);
}

static int is_hidden(const lua_Debug *call)
{
  return !strcmp(call->source, LUATRACE_HIDDEN);
}

/* The next call of the stack of L, from *level on; none of the Lua module's own, or of a C function
** that these call. Returns 0 at the end. */
int lj_lttext_nextcall(lua_State *L, int *level, lua_Debug *call)
{
  lua_Debug by;
  while (lua_getstack(L, *level, call)) {
    ++*level;
    if (!lua_getinfo(L, "nSl", call) || is_hidden(call)) continue;
    if (*call->what != 'C' || !lua_getstack(L, *level, &by) || !lua_getinfo(L, "S", &by) ||
	!is_hidden(&by)) return 1;
  }
  return 0;
}

/* A call of a stack: where it is, and its function. */
void lj_lttext_call(LTText *t, const lua_Debug *call)
{
  int lua = *call->what == 'L' || *call->what == 'm';
  if (lua) {
    lj_lttext_name(t, call->short_src);
    if (call->currentline > 0) lj_lttext_add(t, ":%d", call->currentline);
    else lj_lttext_add(t, ":?");
  } else {
    lj_lttext_add(t, "[C]");
  }
  lj_lttext_add(t, "  ");
  if (call->name) lj_lttext_name(t, call->name);
  else if (*call->what == 'm') lj_lttext_add(t, "main chunk");
  else if (lua) {
    lj_lttext_add(t, "function <");
    lj_lttext_name(t, call->short_src);
    lj_lttext_add(t, ":%d>", call->linedefined);
  } else lj_lttext_add(t, "?");
}

/* -- Values ------------------------------------------------------------------ */

/* In quotes, which it has none of itself: it cannot look like two values. */
static void add_string(LTText *t, const GCstr *str)
{
  MSize i;
  lj_lttext_char(t, '"');
  for (i = 0; i < str->len && i < VALUE_MAX_; i++)
    add_byte(t, (unsigned char)strdata(str)[i], '"');
  if (str->len > VALUE_MAX_) lj_lttext_add(t, "...");
  lj_lttext_char(t, '"');
}

/* With a point, whatever the program's locale has there. */
static void add_number(LTText *t, lua_Number n)
{
  static const char others[] = "+-0123456789aefin";
  char buf[64];
  size_t whole, point;
  snprintf(buf, sizeof(buf), "%.14g", n);
  whole = strspn(buf, others);
  point = strcspn(buf+whole, others);
  lj_lttext_add(t, "%.*s%s%s", (int)whole, buf, point ? "." : "", buf+whole+point);
}

static void add_simple(LTText *t, cTValue *o)
{
  if (tvisstr(o)) {
    add_string(t, strV(o));
  } else if (tvisint(o)) {
    lj_lttext_add(t, "%d", intV(o));
  } else if (tvisnum(o)) {
    add_number(t, numV(o));
  } else if (tvisnil(o) || tvisbool(o)) {
    lj_lttext_add(t, "%s", tvisnil(o) ? "nil" : tvistrue(o) ? "true" : "false");
  } else {
    lj_lttext_add(t, "%s", lj_obj_itypename[itypemap(o)]);
    if (tvisgcv(o)) lj_lttext_add(t, ": %p", (void *)gcV(o));
  }
}

/* Tables around the one that is printed. */
typedef struct Path {
  const GCtab *t;
  const struct Path *outer;
} Path;

static void add_nested(LTText *t, cTValue *o, uint32_t depth, const Path *outer);

static int is_around(const GCtab *tab, const Path *p)
{
  for (; p; p = p->outer)
    if (p->t == tab) return 1;
  return 0;
}

/* A key that needs no quotes. */
static int is_name(const GCstr *str)
{
  const char *s = strdata(str);
  size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");
  return n > 0 && n == str->len && (*s < '0' || *s > '9');
}

/* key NULL: an element of the array. Returns 0 if there is space for no more. */
static int add_entry(LTText *t, cTValue *key, cTValue *value, uint32_t n, uint32_t depth,
		     const Path *path)
{
  if (n > 0) lj_lttext_add(t, ", ");
  if (n == ENTRIES_MAX || t->n >= t->max) {
    lj_lttext_add(t, "...");
    return 0;
  }
  if (key && tvisstr(key) && is_name(strV(key))) {
    lj_lttext_escaped(t, strVdata(key), strV(key)->len, VALUE_MAX_);
  } else if (key) {
    lj_lttext_char(t, '[');
    add_simple(t, key);
    lj_lttext_char(t, ']');
  }
  if (key) lj_lttext_char(t, '=');
  add_nested(t, value, depth, path);
  return 1;
}

/* From 1 up to the first nil an entry of the array part has no key. */
static void add_table(LTText *t, GCtab *tab, uint32_t depth, const Path *outer)
{
  Path path;
  uint32_t i, n = 0, listed = 1, steps = 0;
  TValue key;
  path.t = tab;
  path.outer = outer;
  lj_lttext_char(t, '{');
  for (i = 0; i < tab->asize && steps++ < STEPS_MAX; i++) {
    cTValue *o = arrayslot(tab, i);
    if (tvisnil(o)) {
      if (i > 0) listed = 0;
      continue;
    }
    setintV(&key, (int32_t)i);
    if (!add_entry(t, i > 0 && listed ? NULL : &key, o, n++, depth, &path)) goto end;
  }
  for (i = 0; i <= tab->hmask && steps++ < STEPS_MAX; i++) {
    Node *node = &noderef(tab->node)[i];
    if (!tvisnil(&node->val) && !add_entry(t, &node->key, &node->val, n++, depth, &path)) goto end;
  }
  if (steps > STEPS_MAX) lj_lttext_add(t, n ? ", ..." : "...");
end:
  lj_lttext_char(t, '}');
}

static void add_nested(LTText *t, cTValue *o, uint32_t depth, const Path *outer)
{
  if (!tvistab(o) || depth == 0) {
    add_simple(t, o);
  } else if (is_around(tabV(o), outer)) {
    lj_lttext_add(t, "<cycle: %p>", (void *)tabV(o));
  } else {
    add_table(t, tabV(o), depth-1, outer);
  }
}

/* A value; tables with their entries down to that depth. */
void lj_lttext_value(LTText *t, cTValue *o, uint32_t depth)
{
  add_nested(t, o, depth, NULL);
}

#endif
