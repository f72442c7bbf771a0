/*
** Tracing of calls: the context of each thread, for profilers of others.
** SPDX-License-Identifier: MIT
**
** While somebody has asked for it (lt_control.context), otel_thread_ctx_v1 points to a record with
** the labels and the request of the coroutine that the thread runs (OTEP 4947), and a mapping has
** the names of the labels (OTEP 4719). See docs/thread-context.md.
**
** Invariants: whoever shows the context of a coroutine also takes it back when the thread leaves
** the coroutine. So that of a coroutine which was entered by code that will not do that is not
** shown: a reader sees nothing rather than something old. A record changes only while the thread's
** pointer does not point to it, and is freed with its coroutine. One process context at a time:
** with one of another publisher there is none of ours, and nothing is shown. */

#define lj_ltcontext_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "luajit.h"
#include "lj_dispatch.h"
#include "lj_frame.h"
#include "lj_ltrace.h"
#include "lj_ltlocal.h"
#include "luatrace_context.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA		0x53564d41
#endif
#ifndef PR_SET_VMA_ANON_NAME
#define PR_SET_VMA_ANON_NAME	0
#endif
#ifndef MFD_CLOEXEC	/* Declared with _GNU_SOURCE only. */
#define MFD_CLOEXEC		1u
#define MFD_ALLOW_SEALING	2u
#endif
#define LT_MFD_NOEXEC_SEAL	8u	/* Linux 6.3. */

#define REQUEST_KEY	"luatrace.request"
#define REQUEST_TEXT	18u	/* 0x and 16 digits. */

/* -- The process context ---------------------------------------------------- */

/* A payload: two attributes of the resource, the schema, and LT_CONTEXT_KEYS names, each in two
** messages with heads of two bytes. */
#define PAYLOAD		(LT_CONTEXT_KEYS*(LT_LABEL_KEY_MAX+4) + 512)
#define MAPPING		(sizeof(struct lt_process_context) + 2*PAYLOAD)
#define MAPS_MAX	(16u<<20)  /* Bytes of the list of mappings that are looked at. */

/* Changed only between lj_ltstate_lock and _unlock. */
static struct {
  struct lt_process_context *map;	/* NULL: nothing is published. */
  pid_t pid;				/* Of the process that has tried it; 0: none. */
  uint32_t turn;			/* Which half of the mapping is next. */
  uint32_t nkeys;
  char key[LT_CONTEXT_KEYS][LT_LABEL_KEY_MAX+1];  /* Never removed: indices stay valid. */
} process;

/* A message of protobuf is written from its end, so that the lengths are known. */
static void put_bytes(char **p, const char *s, size_t n)
{
  *p -= n;
  memcpy(*p, s, n);
}

/* What is between *p and end becomes a field of bytes. */
static void put_head(char **p, const char *end, uint32_t field)
{
  size_t n = (size_t)(end - *p);
  char head[8];
  uint32_t k = 0;
  head[k++] = (char)(field << 3 | 2);
  for (; n > 127; n >>= 7) head[k++] = (char)(n | 128);
  head[k++] = (char)n;
  put_bytes(p, head, k);
}

static void put_string(char **p, uint32_t field, const char *s)
{
  char *end = *p;
  put_bytes(p, s, strlen(s));
  put_head(p, end, field);
}

/* KeyValue: what is between *p and end is the value. */
static void put_key(char **p, const char *end, uint32_t field, const char *key)
{
  put_head(p, end, 2);
  put_string(p, 1, key);
  put_head(p, end, field);
}

static void put_attribute(char **p, uint32_t field, const char *key, const char *value)
{
  char *end = *p;
  put_string(p, 1, value);
  put_key(p, end, field, key);
}

/* Writes the payload before `end`. Returns its first byte. */
static char *put_payload(char *end)
{
  char *p = end, *from;
  uint32_t i = process.nkeys;
  while (i-- > 0) {
    from = p;
    put_string(&p, 1, process.key[i]);
    put_head(&p, from, 1);
  }
  put_head(&p, end, 5);  /* ArrayValue */
  put_key(&p, end, 2, "threadlocal.attribute_key_map");
  put_attribute(&p, 2, "threadlocal.schema_version", LT_CONTEXT_SCHEMA);
  from = p;
  put_attribute(&p, 1, "process.runtime.version", LUAJIT_VERSION);
  put_attribute(&p, 1, "process.runtime.name", "luajit");
  put_head(&p, from, 1);
  return p;
}

static uint64_t boottime(void)
{
  struct timespec ts = { 0, 0 };
  clock_gettime(CLOCK_BOOTTIME, &ts);
  return (uint64_t)ts.tv_sec*1000000000u + (uint64_t)ts.tv_nsec;
}

static int name_mapping(void)
{
  return prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, (unsigned long)process.map, MAPPING,
	       LT_PROCESS_NAME);
}

/* A reader that copies a payload while it is replaced sees that by `published`. */
static void publish(void)
{
  struct lt_process_context *c = process.map;
  char *end = (char *)(c+1) + (1+process.turn)*PAYLOAD, *p = put_payload(end);
  uint64_t before = c->published, now = boottime();
  process.turn ^= 1;
  __atomic_store_n(&c->published, 0, __ATOMIC_SEQ_CST);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  c->payload = (uint64_t)(uintptr_t)p;
  c->size = (uint32_t)(end-p);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  __atomic_store_n(&c->published, now > before ? now : before+1, __ATOMIC_SEQ_CST);
}

/* Has the process a process context? Our own was not inherited, or has been unmapped. */
static int has_another(void)
{
  static const char name[] = ":" LT_PROCESS_NAME;
  static char buf[4097];  /* C stacks may be small. */
  size_t kept = 0, all = 0;
  ssize_t n;
  int fd = lj_ltctl_fdup(open("/proc/self/maps", O_RDONLY|O_CLOEXEC)), found = 0;
  if (fd < 0) return 0;
  while (!found && all < MAPS_MAX && (n = read(fd, buf+kept, sizeof(buf)-1-kept)) > 0) {
    size_t have = kept + (size_t)n;
    buf[have] = '\0';
    found = strstr(buf, name) != NULL;
    kept = have < sizeof(name) ? have : sizeof(name);
    memmove(buf, buf+have-kept, kept);
    all += (size_t)n;
  }
  close(fd);
  return found;
}

/* A memfd, so that the mapping has a name on every kernel; -1: not possible. Writing beyond
** RLIMIT_FSIZE would end the program by SIGXFSZ. */
static int name_file(void)
{
  struct rlimit r;
  int fd;
  if (getrlimit(RLIMIT_FSIZE, &r) || (r.rlim_cur != RLIM_INFINITY && r.rlim_cur < MAPPING))
    return -1;
  fd = (int)syscall(SYS_memfd_create, LT_PROCESS_NAME,
		    MFD_CLOEXEC|MFD_ALLOW_SEALING|LT_MFD_NOEXEC_SEAL);
  if (fd < 0)
    fd = (int)syscall(SYS_memfd_create, LT_PROCESS_NAME, MFD_CLOEXEC|MFD_ALLOW_SEALING);
  fd = lj_ltctl_fdup(fd);
  if (fd >= 0 && ftruncate(fd, (off_t)MAPPING) < 0) {
    close(fd);
    fd = -1;
  }
  return fd;
}

static void create_mapping(void)
{
  int fd = name_file();
  void *p = mmap(NULL, MAPPING, PROT_READ|PROT_WRITE,
		 MAP_PRIVATE | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
  if (fd >= 0) close(fd);
  if (p == MAP_FAILED) return;
  process.map = (struct lt_process_context *)p;
  memset(p, 0, sizeof(*process.map));
  if (madvise(p, MAPPING, MADV_DONTFORK) < 0) goto failed;
  memcpy(process.map->signature, LT_PROCESS_NAME, sizeof(process.map->signature));
  process.map->version = LT_PROCESS_VERSION;
  publish();
  if (name_mapping() < 0 && fd < 0) goto failed;
  return;
failed:
  munmap(p, MAPPING);
  process.map = NULL;
}

/* A child has the state of its parent, but not the mapping. */
static int is_published(void)
{
  if (process.pid != getpid()) process.map = NULL;
  return process.map != NULL;
}

static void withdraw(void)
{
  if (is_published()) munmap(process.map, MAPPING);
  process.map = NULL;
  process.pid = 0;
}

/* Has somebody asked for contexts, and is there what a reader needs? It is tried once. */
int lj_ltcontext_wanted(void)
{
  int asked = luajit_usdt_control.context, published;
  if (!asked && !process.pid) return 0;
  lj_ltstate_lock();
  if (!asked) withdraw();
  published = is_published();
  if (asked && process.pid != getpid()) {
    process.pid = getpid();
    if (!has_another()) create_mapping();
    published = process.map != NULL;
  }
  lj_ltstate_unlock();
  return published;
}

/* The index of a key, or -1 if there are too many. */
static int key_index(const char *key)
{
  uint32_t i;
  int found = -1;
  lj_ltstate_lock();
  for (i = 0; i < process.nkeys && strcmp(process.key[i], key); i++) ;
  if (i < process.nkeys) {
    found = (int)i;
  } else if (i < LT_CONTEXT_KEYS) {
    strcpy(process.key[process.nkeys++], key);
    found = (int)i;
    if (is_published()) {
      publish();
      name_mapping();
    }
  }
  lj_ltstate_unlock();
  return found;
}

/* -- Records ----------------------------------------------------------------- */

typedef struct Context {
  void *labels;		/* The labels from which it was made, held; */
  uint64_t request;	/* and the request. */
  struct lt_context record;
} Context;

/* All that a coroutine can have fits. */
LJ_STATIC_ASSERT(LT_MAXLABELS*(2+LT_LABEL_VALUE_MAX) + 2+REQUEST_TEXT <=
		 LT_CONTEXT_MAX-LT_CONTEXT_HEAD);

/* Is it UTF-8, as the OTEP demands? Readers may drop all names because of one that is not. */
static int is_utf8(const char *s)
{
  const unsigned char *p = (const unsigned char *)s;
  while (*p) {
    uint32_t c = *p++, more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : 0, i;
    if (c < 0x80) continue;
    if (c < 0xc2 || c > 0xf4) return 0;
    if ((c == 0xe0 && *p < 0xa0) || (c == 0xed && *p > 0x9f) ||
	(c == 0xf0 && *p < 0x90) || (c == 0xf4 && *p > 0x8f)) return 0;
    for (i = 0; i < more; i++)
      if ((*p++ & 0xc0) != 0x80) return 0;
  }
  return 1;
}

/* n bytes of lower-case hexadecimal digits, of which one is not 0. */
static int get_id(uint8_t *id, const char *s, size_t n)
{
  uint32_t any = 0;
  size_t i;
  if (strlen(s) != 2*n || strspn(s, "0123456789abcdef") != 2*n) return 0;
  for (i = 0; i < 2*n; i++) {
    uint32_t digit = (uint32_t)(s[i] <= '9' ? s[i]-'0' : s[i]-'a'+10);
    id[i/2] = (uint8_t)(i & 1 ? (id[i/2] << 4 | digit) : digit);
    any |= digit;
  }
  return any != 0;
}

static void add_attribute(struct lt_context *r, const char *key, const char *value)
{
  size_t n = strlen(value);
  int index = is_utf8(key) && is_utf8(value) ? key_index(key) : -1;
  uint8_t *to = r->attrs + r->attrs_size;
  if (index < 0) return;
  to[0] = (uint8_t)index;
  to[1] = (uint8_t)n;
  memcpy(to+2, value, n);
  r->attrs_size = (uint16_t)(r->attrs_size + 2+n);
}

/* Labels with the names of the W3C's fields are those, if both ids are valid. */
static int take_ids(struct lt_context *r, void *labels)
{
  char key[LT_LABEL_KEY_MAX+1], value[LT_LABEL_VALUE_MAX+1];
  uint8_t flags[1];
  uint32_t i;
  int found = 0;
  for (i = 0; lj_ltmark_get(labels, i, key, value); i++) {
    if (!strcmp(key, "trace_id")) found += get_id(r->trace_id, value, sizeof(r->trace_id));
    if (!strcmp(key, "span_id")) found += get_id(r->span_id, value, sizeof(r->span_id));
    if (!strcmp(key, "trace_flags") && get_id(flags, value, 1)) r->trace_flags = flags[0];
  }
  if (found == 2) return 1;
  memset(r, 0, LT_CONTEXT_HEAD);
  return 0;
}

static int is_id(const char *key)
{
  return !strcmp(key, "trace_id") || !strcmp(key, "span_id") || !strcmp(key, "trace_flags");
}

static void request_text(char *s, uint64_t request)
{
  uint32_t n = 0;
  int shift = 60;
  while (shift > 0 && !(request >> shift)) shift -= 4;
  s[n++] = '0';
  s[n++] = 'x';
  for (; shift >= 0; shift -= 4) s[n++] = "0123456789abcdef"[request >> shift & 15];
  s[n] = '\0';
}

static void make_record(lua_State *L, Context *c)
{
  struct lt_context *r = &c->record;
  char key[LT_LABEL_KEY_MAX+1], value[LT_LABEL_VALUE_MAX+1];
  uint32_t i;
  int ids;
  lj_ltmark_release(c->labels);
  c->labels = lj_ltmark_hold(L);
  c->request = lt_exdata(L);
  memset(r, 0, LT_CONTEXT_HEAD);
  ids = take_ids(r, c->labels);
  for (i = 0; lj_ltmark_get(c->labels, i, key, value); i++)
    if (!(ids && is_id(key))) add_attribute(r, key, value);
  if (c->request) {
    request_text(value, c->request);
    add_attribute(r, REQUEST_KEY, value);
  }
  r->valid = 1;
}

/* The record of L, or NULL if there is nothing to say. */
static struct lt_context *record_of(lua_State *L, void *volatile *pointer)
{
  Context *c = (Context *)L->lt_context;
  if (!L->lt_labels && !lt_exdata(L)) return NULL;
  if (c && c->labels == L->lt_labels && c->request == lt_exdata(L)) return &c->record;
  if (!c) {
    c = (Context *)calloc(1, sizeof(Context));
    if (!c) return NULL;
    L->lt_context = c;
  }
  if (*pointer == &c->record) *pointer = NULL;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  make_record(L, c);
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  return &c->record;
}

/* -- What the thread shows ---------------------------------------------------- */

/* From now on the context of L, or `other` if that is NULL. */
static void show(LTState *lt, lua_State *L, void *other)
{
  void *volatile *pointer = lj_lttls_context();
  void *record = L ? record_of(L, pointer) : other;
  lt->context = L;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  *pointer = record;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* What is shown is not of this VM. */
static void *others(LTState *lt)
{
  return lt->context ? NULL : *lj_lttls_context();
}

/* Will whoever has entered L call lj_ltcontext_leave or _here? */
static int is_left(lua_State *L)
{
  return L2LT(L)->entered == L || lj_ltabi_byc(L);
}

/* The coroutine that runs, whatever is shown; NULL: none, or one that would be left unnoticed. */
static lua_State *runs_now(global_State *g)
{
  lua_State *L = gcref(g->cur_L) ? gco2th(gcref(g->cur_L)) : NULL;
  return L && L->cframe && is_left(L) ? L : NULL;
}

/* Contexts are wanted from now on; or the resume of L has returned, and it is not known what was
** shown before. */
void lj_ltcontext_here(lua_State *L)
{
  LTState *lt = L2LT(L);
  int olderr = errno;
  show(lt, runs_now(G(L)), others(lt));
  errno = olderr;
}

/* Nothing of this VM. */
void lj_ltcontext_hide(LTState *lt)
{
  show(lt, NULL, others(lt));
}

/* L is about to be entered. */
void lj_ltcontext_enter(lua_State *L, LTOuter *outer)
{
  LTState *lt = L2LT(L);
  int olderr = errno;
  lua_State *by = runs_now(G(L));
  outer->record = others(lt);
  outer->L = by && by != L ? by : lt->context;
  show(lt, L, NULL);
  errno = olderr;
}

/* L has been left. */
void lj_ltcontext_leave(lua_State *L, const LTOuter *outer)
{
  int olderr = errno;
  show(L2LT(L), outer->L, outer->record);
  errno = olderr;
}

/* The labels or the request of L may be others than before. */
void lj_ltcontext_changed(lua_State *L)
{
  LTState *lt = L2LT(L);
  int olderr = errno;
  if ((lt->on & LTON_CONTEXT) && lt->context == L) show(lt, L, NULL);
  errno = olderr;
}

/* L is freed, or reset for another use. */
void lj_ltcontext_free(lua_State *L)
{
  LTState *lt = L2LT(L);
  Context *c = (Context *)L->lt_context;
  if (lt->context == L) lj_ltcontext_hide(lt);
  L->lt_context = NULL;
  if (!c) return;
  lj_ltmark_release(c->labels);
  free(c);
}

#endif
