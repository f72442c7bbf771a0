# SPDX-License-Identifier: MIT
# Toolchain file: Debian's cross compiler for arm64, with the libraries of packaging/sysroot in
# LUATRACE_SYSROOT. What is run while building (the program that writes man pages) is run by qemu.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(triplet aarch64-linux-gnu)
set(CMAKE_C_COMPILER ${triplet}-gcc)
set(CMAKE_CXX_COMPILER ${triplet}-g++)
set(CMAKE_LIBRARY_ARCHITECTURE ${triplet})
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES LUATRACE_SYSROOT)

set(CMAKE_FIND_ROOT_PATH ${LUATRACE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
foreach(what LIBRARY INCLUDE PACKAGE)
  set(CMAKE_FIND_ROOT_PATH_MODE_${what} ONLY)
endforeach()
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${LUATRACE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${LUATRACE_SYSROOT}/usr/lib/${triplet}/pkgconfig)

set(libraries ${LUATRACE_SYSROOT}/usr/lib/${triplet})
set(CMAKE_CXX_FLAGS_INIT "-isystem ${LUATRACE_SYSROOT}/usr/include -isystem ${LUATRACE_SYSROOT}/usr/include/${triplet}")
foreach(kind EXE SHARED MODULE)
  set(CMAKE_${kind}_LINKER_FLAGS_INIT "-L${libraries} -Wl,-rpath-link,${libraries}")
endforeach()
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L ${LUATRACE_SYSROOT})
