// SPDX-License-Identifier: MIT
#include "analyzer/symbols/debug_files.h"

#include <elfutils/libdwelf.h>
#include <libelf.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <filesystem>

#include "analyzer/symbols/open_in_root.h"
#include "base/escape.h"

namespace luatrace::analyze {
namespace {

// The CRC-32 of .gnu_debuglink is that of zlib.
bool has_checksum(int fd, uint32_t wanted) {
  std::array<unsigned char, 65536> buffer;
  uLong sum = crc32(0, nullptr, 0);
  off_t at = 0;
  for (ssize_t n; (n = pread(fd, buffer.data(), buffer.size(), at)) > 0; at += n)
    sum = crc32(sum, buffer.data(), static_cast<uInt>(n));
  return sum == wanted;
}

std::string build_id_of_file(int fd) {
  elf_version(EV_CURRENT);
  Elf* elf = elf_begin(fd, ELF_C_READ_MMAP, nullptr);
  std::string id = elf ? build_id_of(elf) : "";
  elf_end(elf);
  return id;
}

// Opens the file if it is the wanted one: by its build-id or, if that is empty, by its checksum.
OpenFile take(const SymbolPaths::Folder& place, const std::string& build_id,
              const uint32_t* checksum) {
  OpenFile file = open_regular(place.root, place.path);
  if (file.fd < 0) return file;
  bool good = build_id.empty() ? checksum && has_checksum(file.fd, *checksum)
                               : build_id_of_file(file.fd) == build_id;
  if (good) return file;
  close(file.fd);
  return {};
}

bool is_special(const std::string& path) {
  struct stat st;
  return stat(path.c_str(), &st) == 0 && !S_ISREG(st.st_mode);
}

}  // namespace

// Folders named by the user may be outside of the sysroot.
std::vector<SymbolPaths::Folder> SymbolPaths::debug_folders() const {
  std::vector<Folder> all;
  for (const std::string& dir : debug_dirs) {
    std::error_code error;
    const auto path = std::filesystem::absolute(dir, error);
    if (!error) all.push_back({"", path.string()});
  }
  all.push_back({sysroot, "/usr/lib/debug"});
  return all;
}

OpenFile open_regular(const std::string& root, const std::string& path) {
  int fd = open_regular_in(root, path);
  if (fd >= 0 && !has_usual_tables(fd)) {
    close(fd);
    fd = -1;
  }
  return {fd, root + path};
}

std::string build_id_of(Elf* elf) {
  const void* id = nullptr;
  ssize_t size = dwelf_elf_gnu_build_id(elf, &id);
  return size > 0 ? std::string(static_cast<const char*>(id), static_cast<size_t>(size)) : "";
}

OpenFile find_by_build_id(const SymbolPaths& paths, const std::string& build_id, bool debug) {
  if (build_id.size() < 2) return {};
  const std::string hex = hex_bytes(build_id);
  const std::string place =
      "/.build-id/" + hex.substr(0, 2) + '/' + hex.substr(2) + (debug ? ".debug" : "");
  for (const auto& folder : paths.debug_folders())
    if (OpenFile file = take({folder.root, folder.path + place}, build_id, nullptr); file.fd >= 0)
      return file;
  return {};
}

OpenFile find_by_debuglink(const SymbolPaths& paths, Elf* elf, const std::string& recorded) {
  GElf_Word checksum = 0;
  const char* link = dwelf_elf_gnu_debuglink(elf, &checksum);
  if (!link || !*link || std::string(link).find('/') != std::string::npos) return {};
  const std::string folder = recorded.substr(0, recorded.rfind('/') + 1);
  std::vector<SymbolPaths::Folder> places = {{paths.sysroot, folder},
                                             {paths.sysroot, folder + ".debug/"}};
  for (const auto& [root, debug] : paths.debug_folders()) {
    places.push_back({root, debug + folder});
    places.push_back({root, debug + '/'});
  }
  const std::string id = build_id_of(elf);
  for (const auto& [root, place] : places) {
    if (root == paths.sysroot && place + link == recorded) continue;  // The file itself.
    if (OpenFile file = take({root, place + link}, id, &checksum); file.fd >= 0) return file;
  }
  return {};
}

OpenFile find_alternate(const SymbolPaths& paths, Dwarf* dwarf, const std::string& debug_file,
                        bool& may_search) {
  const char* link = nullptr;
  const void* bytes = nullptr;
  const ssize_t size = dwarf ? dwelf_dwarf_gnu_debugaltlink(dwarf, &link, &bytes) : 0;
  if (size <= 0 || !link || !*link) return {};
  const std::string id(static_cast<const char*>(bytes), static_cast<size_t>(size));
  if (OpenFile file = find_by_build_id(paths, id, true); file.fd >= 0) return file;
  const std::string name = link, &root = paths.sysroot;
  const std::string inside =
      debug_file.starts_with(root) ? debug_file.substr(root.size()) : debug_file;
  const std::string named = name[0] == '/' ? name : inside.substr(0, inside.rfind('/') + 1) + name;
  may_search = root.empty() && !is_special(named) && !is_special(name);
  std::vector<SymbolPaths::Folder> places = {{root, named}};
  for (const auto& folder : paths.debug_folders())
    places.push_back({folder.root, folder.path + "/.dwz/" + name.substr(name.rfind('/') + 1)});
  for (const auto& place : places)
    if (OpenFile file = take(place, id, nullptr); file.fd >= 0) return file;
  return {};
}

}  // namespace luatrace::analyze
