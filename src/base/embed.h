/* Files that are part of the program: their bytes, between two symbols. The compiler does not see
 * that they are read, so a room says in its meson.build what it is built again for. */
#pragma once

/* Declares name_begin and name_end; path is a literal. A NUL follows. */
#define EMBED(name, path)                                                              \
	extern const char name##_begin[], name##_end[];                                \
	__asm__(".pushsection .rodata\n" #name "_begin:\n.incbin \"" path "\"\n" #name \
		"_end:\n.byte 0\n.popsection\n")
