/*
** Tracing of calls: names of library functions, and those in package.loaded.
** SPDX-License-Identifier: MIT
**
** Invariant: a search only reads and compares. It runs inside of events, so it calls no
** metamethod, makes no string, allocates nothing and causes no step of the collector;
** it nests MAXDEPTH calls and looks at a limited number of slots, per search and per
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

/* -- Library functions ----------------------------------------------------- */

/* Names of library functions. */
static const char *const ffnames[] = {
  "", "",
#define FFDEF(name)	#name,
#include "lj_ffdef.h"
#undef FFDEF
};

/* "string_gsub" -> "string.gsub", "io_method_read" -> "file:read" (as in LuaJIT's
** manual); "assert" is unchanged. */
const char *lj_ltname_builtin(uint32_t ffid, char *buf, size_t size)
{
  static const char mods[] = " bit buffer coroutine debug ffi io jit math os"
			     " package string table thread ";
  const char *s, *u;
  if (ffid >= sizeof(ffnames)/sizeof(ffnames[0])) return NULL;
  s = ffnames[ffid];
  if (strlen(s)+3 > size) return NULL;
  if (!strncmp(s, "io_method_", 10) || !strncmp(s, "buffer_method_", 14)) {
    strcpy(buf, *s == 'i' ? "file:" : "buf:");
    return strcat(buf, strstr(s, "method_")+7);
  }
  if (!strncmp(s, "ffi_meta_", 9) || !strncmp(s, "ffi_clib_", 9)) {
    strcpy(buf, s);
    buf[3] = buf[8] = '.';
    return buf;
  }
  strcpy(buf, s);
  u = strchr(s, '_');
  if (u && u > s) {
    char mod[32];
    size_t n = (size_t)(u-s);
    if (n < sizeof(mod)-3) {
      mod[0] = ' ';
      memcpy(mod+1, s, n);
      mod[n+1] = ' '; mod[n+2] = '\0';
      if (strstr(mods, mod)) buf[n] = '.';
    }
  }
  return buf;
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
  uint32_t left;	/* Slots. */
  const GCstr *key[MAXDEPTH+2];  /* Path to the current slot. */
  uint32_t nkey;
  char sep;		/* Before the last key: '.', ':' for a method. */
  GCfunc *fn;		/* The function found, or NULL. */
  int meta;		/* It is called __something. */
  int several;		/* Several functions share the address. */
  char *name;		/* Its name, LT_PATH_MAX+1 bytes. */
} Search;

static int is_text(const GCstr *s, const char *text)
{
  size_t n = strlen(text);
  return s->len == n && !memcmp(strdata(s), text, n);
}

/* Append a key and return the new length, or LT_PATH_MAX+1 if it is not text or does
** not fit. */
static size_t append(char *path, size_t n, const GCstr *key, char sep)
{
  if (n + (sep != 0) + key->len > LT_PATH_MAX ||
      memchr(strdata(key), 0, key->len))
    return LT_PATH_MAX+1;
  if (sep) path[n++] = sep;
  memcpy(path+n, strdata(key), key->len);
  return n + key->len;
}

/* The path of the current slot. Returns 0 if it is too long. */
static int format_path(const Search *s, char *path)
{
  size_t n = 0;
  uint32_t i;
  for (i = 0; i < s->nkey && n <= LT_PATH_MAX; i++)
    n = append(path, n, s->key[i], !i ? 0 : i+1 == s->nkey ? s->sep : '.');
  if (n > LT_PATH_MAX) return 0;
  path[n] = '\0';
  return n > 0;
}

/* Of several paths to one function the shortest is its name, of these the first. */
static int is_better(const char *a, const char *b)
{
  size_t na = strlen(a), nb = strlen(b);
  return na != nb ? na < nb : strcmp(a, b) < 0;
}

/* The current slot has a function with this address. A metamethod's name is used only if
** there is no other (close, __gc). Two functions that share an address are not told
** apart by events: neither name is right. */
static void found(Search *s, GCfunc *fn)
{
  const GCstr *last = s->key[s->nkey-1];
  int meta = last->len > 2 && !memcmp(strdata(last), "__", 2);
  char path[LT_PATH_MAX+1];
  if (s->fn && meta > s->meta) return;
  if (s->fn && meta == s->meta && fn != s->fn) {
    s->several = 1;
    return;
  }
  if (!format_path(s, path)) return;
  if (!s->fn || meta < s->meta) {
    s->several = 0;
  } else if (!is_better(path, s->name)) {
    return;
  }
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

/* Search what a slot of package.loaded has. */
static void search_module(Search *s, GCtab *t)
{
  if (t != s->globals && t != s->loaded && t->hmask < MAXTABLE)
    search_table(s, t, MAXDEPTH);
}

/* Search what a slot of the registry has: a metatable with methods? */
static void search_metatable(Search *s, GCtab *t, const GCstr *index)
{
  cTValue *tv = lj_tab_getstr(t, index);
  if (t == s->globals || t == s->loaded || !(tv && tvistab(tv))) return;
  search_table(s, tabV(tv), 0);
  if (tabV(tv) != t) search_table(s, t, 0);
}

/* Search the tables that a table has under string keys; with `index`, metatables. */
static void search_each(Search *s, GCtab *t, const GCstr *index)
{
  Node *node = noderef(t->node);
  uint32_t i;
  for (i = 0; i <= t->hmask && s->left; i++) {
    cTValue *val = &node[i].val, *key = &node[i].key;
    s->left--;
    if (!tvistab(val) || !tvisstr(key)) continue;
    s->key[0] = strV(key);
    s->nkey = 1;
    if (index)
      search_metatable(s, tabV(val), index);
    else
      search_module(s, tabV(val));
  }
  s->nkey = 0;
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
  if (s->globals) search_table(s, s->globals, MAXDEPTH);
  if (s->loaded) search_each(s, s->loaded, NULL);
  if (s->fn || s->lua) return;
  s->sep = ':';
  search_each(s, registry, mmname_str(g, MM_index));
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
