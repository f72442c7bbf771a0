/*
** Tracing of calls: probe sites and their notes, where there is no <sys/sdt.h>.
** SPDX-License-Identifier: MIT
**
** Alpine, for one, has no package with that header. This one has as much of it as
** lj_ltprobe.c uses: STAP_PROBE and STAP_PROBE2 to STAP_PROBE7 with semaphores, for
** arguments that are pointers, int, uint32_t or uint64_t.
**
** Invariant: code and notes are byte for byte those that the header makes. (The test is
** dropin.own_notes; -DLUAJIT_OWN_SDT uses this file although the header is there.) */

#ifndef _LJ_LTSDT_H
#define _LJ_LTSDT_H

#define SDT_STRING(...)		#__VA_ARGS__
#define SDT_LINE(...)		SDT_STRING(__VA_ARGS__) "\n"

#define _SDT_NOP		nop

#if LJ_64
#define SDT_ADDR		.8byte
#else
#define SDT_ADDR		.4byte
#endif

/* i386 has fewer registers than some probes have arguments. */
#if LJ_TARGET_X86
#define SDT_CONSTRAINT		"nor"
#else
#define SDT_CONSTRAINT		"nr"
#endif

/* An operand in the note: bytes of the value, negative if it is signed, @, and where it
** is. i386 needs the names of whole registers. */
#if LJ_TARGET_X86
#define SDT_PLACE(n)		"%k[sdt_arg" #n "]"
#else
#define SDT_PLACE(n)		"%[sdt_arg" #n "]"
#endif
#define SDT_ARG(n)		".ascii \"%c[sdt_size" #n "]@" SDT_PLACE(n) "\"\n"
#define SDT_NEXT(n)		".ascii \" \"\n" SDT_ARG(n)
#define SDT_SIZE(x) \
  (__builtin_types_compatible_p(__typeof__(x), int) ? -4 : (int)sizeof(x))
#define SDT_OPERAND(n, x) \
  [sdt_size##n] "n" (SDT_SIZE(x)), [sdt_arg##n] SDT_CONSTRAINT (x)

/* The note (type 3 of the owner stapsdt): the addresses of the site, of the base and of
** the semaphore, the names and the operands. The base is one symbol per library: tools
** compare its address in the note with that in the file, in case something has moved
** the code without correcting the notes. */
#define SDT_PROBE(probe, args, ...) \
  do { \
    __asm__ volatile("" :: "m" (luajit_##probe##_semaphore)); \
    __asm__ volatile( \
      SDT_LINE(990: _SDT_NOP) \
      ".pushsection .note.stapsdt,\"\",\"note\"\n" \
      ".balign 4\n" \
      ".4byte 992f-991f, 994f-993f, 3\n" \
      "991: .asciz \"stapsdt\"\n" \
      "992: .balign 4\n" \
      SDT_LINE(993: SDT_ADDR 990b, _.stapsdt.base, luajit_##probe##_semaphore) \
      ".asciz \"luajit\"\n" \
      ".asciz \"" #probe "\"\n" \
      args \
      ".byte 0\n" \
      "994: .balign 4\n" \
      ".popsection\n" \
      ".ifndef _.stapsdt.base\n" \
      ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n" \
      ".weak _.stapsdt.base\n" \
      ".hidden _.stapsdt.base\n" \
      "_.stapsdt.base: .space 1\n" \
      ".size _.stapsdt.base, 1\n" \
      ".popsection\n" \
      ".endif\n" \
      :: __VA_ARGS__); \
  } while (0)

#define SDT_ARGS2		SDT_ARG(1) SDT_NEXT(2)
#define SDT_ARGS3		SDT_ARGS2 SDT_NEXT(3)
#define SDT_ARGS4		SDT_ARGS3 SDT_NEXT(4)
#define SDT_ARGS5		SDT_ARGS4 SDT_NEXT(5)
#define SDT_ARGS6		SDT_ARGS5 SDT_NEXT(6)
#define SDT_ARGS7		SDT_ARGS6 SDT_NEXT(7)

#define SDT_OPERANDS2(a, b)	SDT_OPERAND(1, a), SDT_OPERAND(2, b)
#define SDT_OPERANDS3(a, b, c)	SDT_OPERANDS2(a, b), SDT_OPERAND(3, c)
#define SDT_OPERANDS4(a, b, c, d)	SDT_OPERANDS3(a, b, c), SDT_OPERAND(4, d)
#define SDT_OPERANDS5(a, b, c, d, e) \
  SDT_OPERANDS4(a, b, c, d), SDT_OPERAND(5, e)
#define SDT_OPERANDS6(a, b, c, d, e, f) \
  SDT_OPERANDS5(a, b, c, d, e), SDT_OPERAND(6, f)
#define SDT_OPERANDS7(a, b, c, d, e, f, g) \
  SDT_OPERANDS6(a, b, c, d, e, f), SDT_OPERAND(7, g)

/* The header's names. The provider is always luajit. */
#define STAP_PROBE(provider, probe)	SDT_PROBE(probe, "", )
#define STAP_PROBE2(provider, probe, ...) \
  SDT_PROBE(probe, SDT_ARGS2, SDT_OPERANDS2(__VA_ARGS__))
#define STAP_PROBE3(provider, probe, ...) \
  SDT_PROBE(probe, SDT_ARGS3, SDT_OPERANDS3(__VA_ARGS__))
#define STAP_PROBE4(provider, probe, ...) \
  SDT_PROBE(probe, SDT_ARGS4, SDT_OPERANDS4(__VA_ARGS__))
#define STAP_PROBE5(provider, probe, ...) \
  SDT_PROBE(probe, SDT_ARGS5, SDT_OPERANDS5(__VA_ARGS__))
#define STAP_PROBE6(provider, probe, ...) \
  SDT_PROBE(probe, SDT_ARGS6, SDT_OPERANDS6(__VA_ARGS__))
#define STAP_PROBE7(provider, probe, ...) \
  SDT_PROBE(probe, SDT_ARGS7, SDT_OPERANDS7(__VA_ARGS__))

#endif
