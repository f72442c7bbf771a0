// SPDX-License-Identifier: MIT
// Writing a report into a file as a whole: an older file of that name stays until the new one is
// complete. Nothing here has a destructor (luatrace.cc says why).
#pragma once

namespace luatrace::module {

// Copies the file `from`, from its beginning, to the file of that name, which gets mode 0600, or
// mode and owner of the one that it replaces. 0 or an errno. Devices, FIFOs and files in
// directories where nothing can be created are written themselves.
int dump_file(int from, const char* path);

}  // namespace luatrace::module
