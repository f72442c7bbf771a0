/* SPDX-License-Identifier: MIT
** Plugin of qemu: the instructions that the program has executed, into the file COUNT_INSTRUCTIONS. No
** package has the header, so what is used of the interface's version 1 is declared here. */
#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct qemu_plugin_tb;
typedef uint64_t plugin_id;

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
void qemu_plugin_register_vcpu_tb_trans_cb(plugin_id id, void (*f)(plugin_id, struct qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *block, int op, void *p, uint64_t n);
void qemu_plugin_register_atexit_cb(plugin_id id, void (*f)(plugin_id, void *), void *data);
int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv);

int qemu_plugin_version = 1;
static uint64_t count;

/* A block is added as a whole when it begins: exact, but where it is left in its middle by a signal. */
static void translated(plugin_id id, struct qemu_plugin_tb *block)
{
  (void)id;
  qemu_plugin_register_vcpu_tb_exec_inline(block, 0 /* add */, &count, qemu_plugin_tb_n_insns(block));
}

static void ended(plugin_id id, void *data)
{
  FILE *f = fopen(getenv("COUNT_INSTRUCTIONS"), "w");
  (void)id;
  (void)data;
  if (!f) return;
  fprintf(f, "%" PRIu64 "\n", count);
  fclose(f);
}

int qemu_plugin_install(plugin_id id, const void *info, int argc, char **argv)
{
  (void)info;
  (void)argc;
  (void)argv;
  qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
  qemu_plugin_register_atexit_cb(id, ended, NULL);
  return getenv("COUNT_INSTRUCTIONS") ? 0 : -1;
}
