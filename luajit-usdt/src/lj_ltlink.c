/*
** Tracing of calls: the connection to the recorder that this process has started.
** SPDX-License-Identifier: MIT
**
** The recorder has one end of a socket pair as its standard input and standard error. From it come
** its messages, a line each, and its answers, which begin with a NUL; to it go requests: a letter, the
** number of the request in decimal, and perhaps a descriptor. An answer begins with the same letter
** and number.
**
** Invariants: a descriptor is used only while it is still ours. Every wait has a limit, and ends when
** the recorder has ended, even if a forked child has inherited its end of the socket. An answer
** that came too late for one request is never the answer to another. */

#define lj_ltlink_c
#define LUA_CORE

#include "lj_obj.h"

#ifdef LUAJIT_USE_SDT

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lj_dispatch.h"
#include "lj_ltrace.h"
#include "lj_ltlocal.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open	434
#endif

static struct {
  LTFile socket;
  int pid;		/* The recorder's. */
  unsigned int number;	/* Of the last request. */
} link_ = { { -1, 0, 0 }, 0, 0 };

static char messages[2048];	/* What the recorder has printed. */

/* -- Descriptors ---------------------------------------------------------- */

void lj_ltlink_own(LTFile *f, int fd)
{
  struct stat st;
  f->fd = fd;
  f->dev = f->ino = 0;
  if (fd >= 0 && !fstat(fd, &st)) {
    f->dev = (uint64_t)st.st_dev;
    f->ino = (uint64_t)st.st_ino;
  }
}

int lj_ltlink_isours(const LTFile *f)
{
  return lj_ltctl_samefile(f->fd, f->dev, f->ino);
}

void lj_ltlink_close(LTFile *f)
{
  if (lj_ltlink_isours(f)) close(f->fd);
  f->fd = -1;
}

/* -- Messages ------------------------------------------------------------- */

/* Keep a line that the recorder has printed, as far as there is space. */
static void keep_line(const char *line, size_t n)
{
  static const char prefix[] = "luatrace-record: ";
  size_t used = strlen(messages);
  if (n > sizeof(prefix)-1 && !memcmp(line, prefix, sizeof(prefix)-1)) {
    line += sizeof(prefix)-1;
    n -= sizeof(prefix)-1;
  }
  if (n > sizeof(messages)-1-used) n = sizeof(messages)-1-used;
  memcpy(messages+used, line, n);
  messages[used+n] = '\0';
}

char *lj_ltlink_messages(void)
{
  return messages;
}

/* -- Connection ----------------------------------------------------------- */

/* The socket to a recorder that has just been started. */
void lj_ltlink_connect(int fd, int pid)
{
  lj_ltlink_own(&link_.socket, fd);
  link_.pid = pid;
  link_.number = 0;
}

/* Forget the recorder, which may still run. */
void lj_ltlink_disconnect(void)
{
  lj_ltlink_close(&link_.socket);
}

int lj_ltlink_isopen(void)
{
  return lj_ltlink_isours(&link_.socket);
}

/* -- Answers -------------------------------------------------------------- */

#define clock_ms()	((int64_t)(lj_ltctl_monotonic()/1000000))

/* A descriptor of the recorder's process. -1: there is none; *ended: the recorder has ended. */
static int open_process(int *ended)
{
  int fd = (int)syscall(SYS_pidfd_open, link_.pid, 0);
  *ended = fd < 0 && errno == ESRCH;
  return lj_ltctl_fdup(fd);
}

/* Has the recorder ended? A program that has closed the connection cannot know. */
int lj_ltlink_ended(void)
{
  int ended, fd = open_process(&ended);
  struct pollfd p = { fd, POLLIN, 0 };
  if (fd < 0) return ended;
  ended = poll(&p, 1, 0) > 0;
  close(fd);
  return ended;
}

/* Receive an answer of up to LTLINK_ANSWER-1 bytes, which is followed by a NUL. Messages before it
** are kept. Returns its size, 0 if the connection has ended, -1 if nothing is there. */
static int receive_now(char *answer)
{
  ssize_t n;
  while ((n = recv(link_.socket.fd, answer, LTLINK_ANSWER-1, MSG_DONTWAIT)) > 0) {
    answer[n] = '\0';
    if (answer[0] == '\0') return (int)n;
    keep_line(answer, (size_t)n);
  }
  return n < 0 && (errno == EAGAIN || errno == EINTR) ? -1 : 0;
}

/* Wait for something to receive, or for the recorder's end. Returns whether it has ended. */
static int wait_for_recorder(int pidfd, int ms)
{
  struct pollfd p[2] = { { link_.socket.fd, POLLIN, 0 }, { pidfd, POLLIN, 0 } };
  /* One entry more than the program may have open files would be an error. */
  int n = poll(p, pidfd < 0 ? 1 : 2, ms);
  if (n < 0 && errno != EINTR) usleep(1000);
  return n > 0 && pidfd >= 0 && (p[1].revents & POLLIN);
}

/* The same, waiting. Returns -1 if time is up. */
int lj_ltlink_receive(char *answer, int ms)
{
  int64_t end = clock_ms() + ms, left = ms;
  int ended, n = -1, pidfd = open_process(&ended);
  for (; n < 0 && left > 0; left = end - clock_ms()) {
    int now = wait_for_recorder(pidfd, ended ? 0 : (int)left);
    n = receive_now(answer);
    if (n < 0 && ended) n = 0;
    ended = ended || now;
  }
  if (pidfd >= 0) close(pidfd);
  return n;
}

/* -- Requests ------------------------------------------------------------- */

static int send_request(const char *text, size_t n, int fd)
{
  union { struct cmsghdr align; char space[CMSG_SPACE(sizeof(int))]; } control;
  struct iovec part = { (void *)(uintptr_t)text, n };
  struct msghdr m;
  memset(&m, 0, sizeof(m));
  m.msg_iov = &part;
  m.msg_iovlen = 1;
  if (fd >= 0) {
    memset(&control, 0, sizeof(control));
    m.msg_control = control.space;
    m.msg_controllen = sizeof(control.space);
    CMSG_FIRSTHDR(&m)->cmsg_level = SOL_SOCKET;
    CMSG_FIRSTHDR(&m)->cmsg_type = SCM_RIGHTS;
    CMSG_FIRSTHDR(&m)->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(CMSG_FIRSTHDR(&m)), &fd, sizeof(int));
  }
  return sendmsg(link_.socket.fd, &m, MSG_NOSIGNAL|MSG_DONTWAIT) == (ssize_t)n;
}

/* Send a request, with a descriptor unless that is -1. Returns 0 if the recorder is gone. */
int lj_ltlink_request(char what, int fd)
{
  char old[LTLINK_ANSWER], text[16];
  if (!lj_ltlink_isopen()) return 0;
  while (receive_now(old) > 0) {}
  return send_request(text, (size_t)snprintf(text, sizeof(text), "%c%u", what, ++link_.number), fd);
}

/* Wait for the answer to the last request. Returns what follows its number, or NULL: then *ended
** tells whether the recorder has ended; else time is up. */
const char *lj_ltlink_answer(char what, char *answer, int ms, int *ended)
{
  char begin[16];
  size_t size = (size_t)snprintf(begin, sizeof(begin), "%c%u:", what, link_.number);
  int64_t end = clock_ms() + ms, left = ms;
  for (; left > 0; left = end - clock_ms()) {
    int n = lj_ltlink_receive(answer, (int)left);
    *ended = n == 0;
    if (n <= 0) return NULL;
    if ((size_t)n > size && !memcmp(answer+1, begin, size)) return answer+1+size;
  }
  return NULL;
}

#endif
