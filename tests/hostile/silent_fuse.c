// SPDX-License-Identifier: MIT
// A file system (FUSE) that stops answering.
//
//   silent_fuse FOLDER FILE STOP
//
// mounts itself on FOLDER with one file in it, "libluajit.so", with the contents of FILE. Once a
// file STOP exists it stops answering. What is written to the file stays in memory until the kernel
// writes it back, at the latest when it is closed. Ends with status 77 where it cannot be mounted; prints
// "ready" when it is.
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define NODE 2

static int device, file;
static char request[1 << 20], answer[1 << 20];

static void reply(uint64_t unique, int error, const void *data, size_t size) {
  struct fuse_out_header out = {sizeof out + (error ? 0 : size), error, unique};
  memcpy(answer, &out, sizeof out);
  if (!error) memcpy(answer + sizeof out, data, size);
  if (write(device, answer, out.len) < 0) perror("write");
}

static struct fuse_attr attr_of(uint64_t node) {
  struct stat st;
  struct fuse_attr a = {0};
  fstat(file, &st);
  a.ino = node;
  a.nlink = 1;
  a.mode = node == NODE ? S_IFREG | 0755 : S_IFDIR | 0755;
  a.size = node == NODE ? (uint64_t)st.st_size : 0;
  a.blksize = 4096;
  return a;
}

static void serve(const struct fuse_in_header *in, const void *body) {
  const struct fuse_read_in *read_in = body;
  struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION, .minor = 31, .max_readahead = 4096,
                               .max_write = 65536, .flags = FUSE_ASYNC_READ | FUSE_WRITEBACK_CACHE};
  struct fuse_attr_out attr = {.attr_valid = 1, .attr = attr_of(in->nodeid)};
  struct fuse_entry_out entry = {.nodeid = NODE, .entry_valid = 1, .attr_valid = 1, .attr = attr_of(NODE)};
  struct fuse_open_out open_out = {0};
  struct fuse_write_out written = {.size = ((const struct fuse_write_in *)body)->size};
  static char bytes[1 << 18];
  ssize_t n;
  switch (in->opcode) {
    case FUSE_INIT: reply(in->unique, 0, &init, sizeof init); break;
    case FUSE_GETATTR: reply(in->unique, 0, &attr, sizeof attr); break;
    case FUSE_LOOKUP:
      reply(in->unique, strcmp(body, "libluajit.so") ? -ENOENT : 0, &entry, sizeof entry);
      break;
    case FUSE_OPEN:
    case FUSE_OPENDIR: reply(in->unique, 0, &open_out, sizeof open_out); break;
    case FUSE_READ:
      n = pread(file, bytes, read_in->size < sizeof bytes ? read_in->size : sizeof bytes, (off_t)read_in->offset);
      reply(in->unique, n < 0 ? -errno : 0, bytes, n < 0 ? 0 : (size_t)n);
      break;
    case FUSE_WRITE: reply(in->unique, 0, &written, sizeof written); break;
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT: break;
    case FUSE_RELEASE:
    case FUSE_RELEASEDIR:
    case FUSE_FLUSH: reply(in->unique, 0, "", 0); break;
    default: reply(in->unique, -ENOSYS, "", 0);
  }
}

int main(int argc, char **argv) {
  char options[128];
  if (argc != 4) return 2;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  device = open("/dev/fuse", O_RDWR);
  file = open(argv[2], O_RDONLY);
  snprintf(options, sizeof options, "fd=%d,rootmode=40000,user_id=%d,group_id=%d", device, (int)getuid(),
           (int)getgid());
  if (device < 0 || file < 0 || mount("silent", argv[1], "fuse", MS_NOSUID | MS_NODEV, options) != 0) {
    perror("no FUSE here");
    return 77;
  }
  puts("ready");
  fflush(stdout);
  for (;;) {
    const ssize_t n = read(device, request, sizeof request);
    if (n < 0 && errno == ENODEV) return 0;  // unmounted
    if (n < (ssize_t)sizeof(struct fuse_in_header)) continue;
    if (access(argv[3], F_OK) == 0) {
      printf("silent %u\n", ((const struct fuse_in_header *)request)->opcode);
      fflush(stdout);
      continue;
    }
    serve((const void *)request, request + sizeof(struct fuse_in_header));
  }
}
