// SPDX-License-Identifier: MIT
// Part of luatrace-static only: a static program can load only libraries of the glibc with
// which it was built, and others may crash it. Ours would load libcurl (push/http.cc); libdw loads
// libdebuginfod whenever a program starts.
//
// Invariant: no library is ever loaded. With -Wl,--wrap=dlopen each call of dlopen() comes here.
extern "C" void* __wrap_dlopen(const char*, int) {
  return nullptr;
}
