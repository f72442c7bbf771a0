/*
** Tracing of calls: names of library functions, and those in package.loaded.
** SPDX-License-Identifier: MIT
**
** Invariant: a search only reads and compares. It runs inside of events, so it calls no
** metamethod, makes no string, allocates nothing and causes no step of the collector;
** it nests MAXDEPTH tables and looks at a limited number of slots, per search and per
** recording. Keys of empty slots may be dead: a value is looked at before its key. */

#define lj_ltname_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include <string.h>

#include "lj_ff.h"
#include "lj_tab.h"
#include "lj_dispatch.h"
#include "lj_ltrace.h"
#include "lj_ltlocal.h"
#include "luatrace_builtin.h"

/* -- Library functions ----------------------------------------------------- */

/* Their names, by number; those of Lua functions and C functions are empty. */
const char lj_ltname_builtins[] =
  "\0"
#define FFDEF(name)	"\0" #name
#include "lj_ffdef.h"
#undef FFDEF
;

/* As it is shown; NULL: there is no such function. */
const char *lj_ltname_builtin(uint32_t ffid, char *buf, size_t size)
{
  const char *s = lj_ltname_builtins;
  if (ffid >= FF__MAX) return NULL;
  for (; ffid > 0; ffid--) s += strlen(s)+1;
  return lt_builtin_name(s, buf, size);
}

/* -- Other functions -------------------------------------------------------- */

#define MAXDEPTH	2	/* Tables inside a module's: module.a.b.name */
#define MAXTABLE	4096u	/* Larger tables hold data. */
#define MAXSEARCH	65536u	/* Slots per search */
#define MAXSLOTS	(1u<<20)  /* and per recording: 3 to 6 milliseconds. */
#define LUASLOTS	(MAXSLOTS/2)  /* What Lua functions leave to C functions. */

typedef struct Search {
  void *addr;		/* Prototype or C function. */
  int lua;
  GCtab *globals, *loaded;
  const GCstr *index;	/* "__index" */
  uint32_t left;	/* Slots. */
  const GCstr *key[MAXDEPTH+2];  /* Path to the current slot. */
  uint32_t nkey;
  char sep;		/* Before the last key: '.', ':' for a method. */
  int indirect;		/* A module's metatable has the current slot. */
  GCfunc *fn;		/* The function found, or NULL. */
  int meta;		/* It is called __something. */
  const GCstr *last;	/* Its key. */
  int by_metatable;	/* It was found as `indirect` says. */
  int alike;		/* Another function with the address has the same name. */
  int several;		/* Another one has another name. */
  char *name;		/* Its name, LT_PATH_MAX+1 bytes. */
} Search;

static int is_text(const GCstr *s, const char *text)
{
  size_t n = strlen(text);
  return s->len == n && !memcmp(strdata(s), text, n);
}

/* Append a key and return the new length, or LT_PATH_MAX+1 if it is not text or does
** not fit. */
static size_t append(char *path, size_t n, const char *key, size_t len, char sep)
{
  if (n + (sep != 0) + len > LT_PATH_MAX || memchr(key, 0, len)) return LT_PATH_MAX+1;
  if (sep) path[n++] = sep;
  memcpy(path+n, key, len);
  return n + len;
}

/* Begin a path with the class of objects that have a metatable, from its key in the
** registry: "__tcp_cosocket_mt" is tcp_cosocket's, "directory metatable" directory's. */
static size_t append_class(char *path, const GCstr *key)
{
  static const char *const ends[] = { "mt", "meta", "metatable" };
  const char *p = strdata(key);
  size_t n = key->len, m, i;
  while (n > 1 && *p == '_') p++, n--;
  for (i = 0; i < sizeof(ends)/sizeof(ends[0]); i++) {
    m = strlen(ends[i]);
    if (n < m+2 || memcmp(p+n-m, ends[i], m) || !strchr("_-. ", p[n-m-1])) continue;
    n -= m+1;
    break;
  }
  return append(path, 0, p, n, 0);
}

/* The path of the current slot. Returns 0 if it is too long. A method of a metatable
** without a name is ":method". */
static int format_path(const Search *s, char *path)
{
  size_t n = 0;
  uint32_t i;
  for (i = 0; i < s->nkey && n <= LT_PATH_MAX; i++) {
    const GCstr *key = s->key[i];
    int last = i+1 == s->nkey;
    if (!i && !last && s->sep == ':')
      n = append_class(path, key);
    else
      n = append(path, n, strdata(key), key->len,
		 last && s->sep == ':' ? ':' : i ? '.' : 0);
  }
  if (n > LT_PATH_MAX) return 0;
  path[n] = '\0';
  return n > 0;
}

/* Of several paths to one function the shortest is its name, of these the first. A path
** that does not need a metatable comes before one that does. */
static int is_better(const char *a, const char *b)
{
  size_t na = strlen(a), nb = strlen(b);
  return na != nb ? na < nb : strcmp(a, b) < 0;
}

/* The current slot has a function with this address. A metamethod's name is used only if
** there is no other (close, __gc). Two functions that share an address are not told
** apart by events: neither name is right, unless they have the same. */
static void found(Search *s, GCfunc *fn)
{
  const GCstr *last = s->key[s->nkey-1];
  int meta = last->len > 2 && !memcmp(strdata(last), "__", 2);
  char path[LT_PATH_MAX+1];
  if (s->fn && meta > s->meta) return;
  if (!format_path(s, path)) *path = '\0';
  if (s->fn && meta == s->meta && fn != s->fn) {
    s->alike = 1;
    s->several |= strcmp(path, s->name) != 0;
    return;
  }
  if (!*path) return;
  if (!s->fn || meta < s->meta) {
    s->several = s->alike = 0;
  } else if (s->indirect != s->by_metatable ? s->indirect : !is_better(path, s->name)) {
    return;
  }
  s->several |= s->alike;
  s->by_metatable = s->indirect;
  s->last = last;
  s->fn = fn;
  s->meta = meta;
  strcpy(s->name, path);
}

static int is_wanted(const Search *s, GCfunc *fn)
{
  if (s->lua) return isluafunc(fn) && (void *)funcproto(fn) == s->addr;
  return fn->c.ffid == FF_C && (void *)(uintptr_t)fn->c.f == s->addr;
}

/* A table inside another one that is not searched at its own place: not a global table
** that is a module, too. */
static int is_inner(const Search *s, GCtab *outer, const GCstr *key, GCtab *t)
{
  cTValue *tv;
  if (t == outer || t == s->globals || t == s->loaded || t->hmask >= MAXTABLE) return 0;
  if (outer != s->globals || !s->loaded) return 1;
  tv = lj_tab_getstr(s->loaded, key);
  return !(tv && tvistab(tv) && tabV(tv) == t);
}

/* Search a table and, down to a depth, those in it. */
static void search_table(Search *s, GCtab *t, int depth)
{
  Node *node = noderef(t->node);
  uint32_t i;
  for (i = 0; i <= t->hmask; i++) {
    cTValue *val = &node[i].val, *key = &node[i].key;
    if (!s->left) return;
    s->left--;
    if (!(tvisfunc(val) || (depth && tvistab(val))) || !tvisstr(key)) continue;
    s->key[s->nkey++] = strV(key);
    if (tvistab(val)) {
      if (is_inner(s, t, strV(key), tabV(val))) search_table(s, tabV(val), depth-1);
    } else if (is_wanted(s, funcV(val))) {
      found(s, funcV(val));
    }
    s->nkey--;
  }
}

/* May this table be searched away from its own place? */
static int is_other(const Search *s, GCtab *t)
{
  return t != s->globals && t != s->loaded && t->hmask < MAXTABLE;
}

/* Search a metatable and its __index table, which has methods. */
static void search_metatable(Search *s, GCtab *mt, GCtab *methods)
{
  if (methods) search_table(s, methods, 0);
  if (methods != mt) search_table(s, mt, 0);
}

/* The table that a metatable has as __index, or NULL. */
static GCtab *methods_of(const Search *s, GCtab *mt)
{
  cTValue *tv = lj_tab_getstr(mt, s->index);
  return tv && tvistab(tv) && is_other(s, tabV(tv)) ? tabV(tv) : NULL;
}

/* Search what a slot of package.loaded has, and its metatable. */
static void search_module(Search *s, GCtab *t)
{
  GCtab *mt = tabref(t->metatable), *methods;
  if (!is_other(s, t)) return;
  search_table(s, t, MAXDEPTH);
  if (!mt || mt == t || !is_other(s, mt)) return;
  methods = methods_of(s, mt);
  s->indirect = 1;
  search_metatable(s, mt, methods == t ? NULL : methods);
  s->indirect = 0;
}

/* What the slots of a table have under keys of a type: modules under strings;
** metatables under strings, or addresses (lightuserdata), which give no name. */
enum { MODULES, CLASSES, UNNAMED };

static void search_each(Search *s, GCtab *t, int what)
{
  Node *node = noderef(t->node);
  uint32_t i;
  for (i = 0; i <= t->hmask && s->left; i++) {
    cTValue *val = &node[i].val, *key = &node[i].key;
    GCtab *methods;
    s->left--;
    if (!tvistab(val) || !(what == UNNAMED ? tvislightud(key) : tvisstr(key)) ||
	tabV(val) == s->globals || tabV(val) == s->loaded) continue;
    s->nkey = 0;
    if (what != UNNAMED) s->key[s->nkey++] = strV(key);
    if (what == MODULES) {
      search_module(s, tabV(val));
    } else if ((methods = methods_of(s, tabV(val)))) {
      search_metatable(s, tabV(val), methods);
    }
  }
  s->nkey = 0;
}

/* Does another C function have the found one's key in a metatable under an address? */
static int is_ambiguous(Search *s, GCtab *registry)
{
  Node *node = noderef(registry->node);
  uint32_t i;
  for (i = 0; i <= registry->hmask; i++) {
    cTValue *val = &node[i].val;
    GCtab *methods;
    cTValue *tv;
    if (!s->left) return 1;
    s->left--;
    if (!tvistab(val) || !tvislightud(&node[i].key) ||
	!(methods = methods_of(s, tabV(val)))) continue;
    tv = lj_tab_getstr(methods, s->last);
    if (!(tv && tvisfunc(tv))) tv = lj_tab_getstr(tabV(val), s->last);
    if (tv && tvisfunc(tv) && !is_wanted(s, funcV(tv))) return 1;
  }
  return 0;
}

/* A table in the registry, without making a string for its key. NULL if there is none. */
static GCtab *registered(Search *s, GCtab *registry, const char *name)
{
  Node *node = noderef(registry->node);
  uint32_t i;
  for (i = 0; i <= registry->hmask && s->left; i++) {
    cTValue *val = &node[i].val, *key = &node[i].key;
    s->left--;
    if (tvistab(val) && tvisstr(key) && is_text(strV(key), name)) return tabV(val);
  }
  return NULL;
}

static void search_all(Search *s, global_State *g)
{
  GCtab *registry;
  if (!tvistab(&g->registrytv)) return;
  registry = tabV(&g->registrytv);
  s->sep = '.';
  s->globals = tabref(mainthread(g)->env);
  s->loaded = registered(s, registry, "_LOADED");
  s->index = mmname_str(g, MM_index);
  if (s->globals) search_table(s, s->globals, MAXDEPTH);
  if (s->loaded) search_each(s, s->loaded, MODULES);
  if (s->fn || s->lua) return;
  s->sep = ':';
  search_each(s, registry, CLASSES);
  if (s->fn) return;
  search_each(s, registry, UNNAMED);
  if (s->fn) s->several |= is_ambiguous(s, registry);
}

/* Find the name by which a program reaches a function: a prototype (lua), or a C
** function. name: gets it, LT_PATH_MAX+1 bytes. Returns LT_PATH_*. */
int lj_ltname_find(lua_State *L, void *addr, int lua, char *name)
{
  LTState *lt = L2LT(L);
  Search s;
  uint32_t slots;
  if (lt->searched != lt->rec) {
    lt->searched = lt->rec;
    lt->slots = MAXSLOTS;
  }
  slots = lt->slots - (lua ? LUASLOTS : 0);
  if (slots > lt->slots) return LT_PATH_NONE;
  memset(&s, 0, sizeof(s));
  s.addr = addr;
  s.lua = lua;
  s.name = name;
  s.left = slots < MAXSEARCH ? slots : MAXSEARCH;
  lt->slots -= s.left;
  search_all(&s, G(L));
  lt->slots += s.left;
  if (!s.fn) return LT_PATH_NONE;
  return s.several ? LT_PATH_SEVERAL : LT_PATH_ONE;
}

#endif
