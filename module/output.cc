// SPDX-License-Identifier: MIT
// See output.h.
#include "module/output.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "module/hooks.h"
#include "module/vm.h"

namespace luatrace::module {
namespace {

struct Mapping {
  void* text;
  size_t size;
};

void unmap(Mapping& m) {
  if (m.size > 0) munmap(m.text, m.size);
  m.size = 0;
}

int collect(lua_State* lua) {
  unmap(*static_cast<Mapping*>(lua_touserdata(lua, 1)));
  return 0;
}

// Pushes an object that unmaps what it gets when it is collected.
Mapping& push_mapping(lua_State* lua) {
  auto* const m = static_cast<Mapping*>(lua_newuserdata(lua, sizeof(Mapping)));
  *m = {nullptr, 0};
  lua_createtable(lua, 0, 1);
  push_hidden(lua, collect);
  lua_setfield(lua, -2, "__gc");
  lua_setmetatable(lua, -2);
  return *m;
}

const char* map(int fd, Mapping& m) {
  struct stat st {};
  if (fstat(fd, &st) != 0) return std::strerror(errno);
  const auto size = static_cast<size_t>(st.st_size);
  if (size == 0) return nullptr;
  void* const text = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (text == MAP_FAILED) return std::strerror(errno);
  m = {text, size};
  return nullptr;
}

}  // namespace

int make_output(lua_State* lua, const char* const* options, const char** why) {
  const int fd = memfd_create("luatrace-report", MFD_CLOEXEC);
  *why = fd < 0 ? std::strerror(errno) : luaJIT_trace_report(lua, options, fd);
  if (fd < 0 || *why == nullptr) return fd;
  close(fd);
  return -1;
}

const char* push_output(lua_State* lua, const char* const* options, std::string_view* text) {
  Mapping& m = push_mapping(lua);
  const char* why = nullptr;
  const int fd = make_output(lua, options, &why);
  if (fd >= 0) why = map(fd, m);
  if (fd >= 0) close(fd);
  if (why != nullptr) return lua_pop(lua, 1), why;
  *text = {static_cast<const char*>(m.text), m.size};
  return nullptr;
}

void release_output(lua_State* lua, int index) {
  unmap(*static_cast<Mapping*>(lua_touserdata(lua, index)));
}

}  // namespace luatrace::module
