/*
** Names of the library functions that LuaJIT implements itself, as they are shown.
** SPDX-License-Identifier: MIT
**
** The VM and those who read the names that the ABI note publishes (luatrace_abi.h) show the same.
** Plain C99 with <string.h> only. */

#ifndef _LUATRACE_BUILTIN_H
#define _LUATRACE_BUILTIN_H

#include <string.h>

/* "string_gsub" -> "string.gsub", "io_method_read" -> "file:read" (as in LuaJIT's
** manual); "assert" is unchanged. buf has `size` bytes; NULL: that is not enough. */
static inline const char *lt_builtin_name(const char *s, char *buf, size_t size)
{
  static const char mods[] = " bit buffer coroutine debug ffi io jit math os"
			     " package string table thread ";
  const char *u;
  if (strlen(s)+3 > size) return NULL;
  if (!strncmp(s, "io_method_", 10) || !strncmp(s, "buffer_method_", 14)) {
    strcpy(buf, *s == 'i' ? "file:" : "buf:");
    return strcat(buf, strstr(s, "method_")+7);
  }
  strcpy(buf, s);
  if (!strncmp(s, "ffi_meta_", 9) || !strncmp(s, "ffi_clib_", 9)) {
    buf[3] = buf[8] = '.';
    return buf;
  }
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

#endif
