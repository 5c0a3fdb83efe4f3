/* What decoders and encoders make of all that they can be given (support/charset_domain.h), as
 * CRC-32: bytes and random bytes decoded by @exodus/bytes, links encoded by Chromium. Made by
 * prove/charset.py, run as a program. */
#pragma once
#include <stdint.h>

static const struct {
	const char *name;
	uint32_t bytes, random, links;
} charset_digests[] = {
	{"utf-8", 0x1adf1ab9, 0x36985839, 0xa5d41589},
	{"windows-1252", 0x040ec49f, 0x8acd7dde, 0x8f6d7681},
	{"ibm866", 0x18354155, 0x129a794a, 0x6f3b6d01},
	{"iso-8859-2", 0xec22f3a0, 0x3a4082eb, 0x77fd57a1},
	{"iso-8859-3", 0x102c87e8, 0x5fc794db, 0xd86c47d8},
	{"iso-8859-4", 0xd69a214d, 0x4e5204e7, 0x5c4e8654},
	{"iso-8859-5", 0xef4aad4c, 0x3ca8d565, 0x8bf9c358},
	{"iso-8859-6", 0x6682a7a7, 0xd0be8188, 0x12cd2c11},
	{"iso-8859-7", 0x0855b3f3, 0xcb4b84a3, 0x33fc7dad},
	{"iso-8859-8", 0x86610d82, 0x01e2d691, 0x5ecd363e},
	{"iso-8859-8-i", 0x86610d82, 0x01e2d691, 0x5ecd363e},
	{"iso-8859-10", 0x62541eb6, 0xcb22e84b, 0x0a9cf6c7},
	{"iso-8859-13", 0xfe9a6b74, 0x0de6fae7, 0xc7c23a90},
	{"iso-8859-14", 0x3447425b, 0x5ca4d80d, 0xbe97e1d4},
	{"iso-8859-15", 0x0b55713a, 0x536dbe7f, 0xe4974c4a},
	{"iso-8859-16", 0xc3f72ea5, 0x03c6e6e0, 0x69c2a2b3},
	{"koi8-r", 0x4c6b86eb, 0x4539dbe7, 0x9037eb93},
	{"koi8-u", 0x21a76d43, 0xbbf96f39, 0xd7259f31},
	{"macintosh", 0xe21e6838, 0x3893063a, 0x2e06eb3d},
	{"windows-874", 0xa64c2c4e, 0x99702e8b, 0x51d31873},
	{"windows-1250", 0x195809a9, 0xc056755c, 0x2962d414},
	{"windows-1251", 0xba6a44b7, 0x03bd532a, 0xcc0d9e39},
	{"windows-1253", 0x7f7b0a97, 0x0ad88497, 0x048cd055},
	{"windows-1254", 0x6be1f4ed, 0x50a0afbc, 0x9715f81c},
	{"windows-1255", 0xf550490b, 0x2a05cfbc, 0xaac35989},
	{"windows-1256", 0x430f134a, 0x94f2fe51, 0xbdf31939},
	{"windows-1257", 0x6735c8b9, 0x2911dd88, 0x60901956},
	{"windows-1258", 0x3cd26c53, 0xa64bb5fe, 0x6e04a59e},
	{"x-mac-cyrillic", 0x72fff6ca, 0x139c80d6, 0xb8c1f49a},
	{"gbk", 0x32eeba85, 0x254c8109, 0xbabd29df},
	{"gb18030", 0xa5b346b3, 0x254c8109, 0x6d96716a},
	{"big5", 0xd805623f, 0xe3d762ea, 0xf1f97ec4},
	{"euc-jp", 0x0392e560, 0x9153362f, 0xf0a166d8},
	{"iso-2022-jp", 0x7c25d379, 0xb5e0ce80, 0x3ba6e3aa},
	{"shift_jis", 0xa2569bc7, 0x95fc32d3, 0xf2a30cec},
	{"euc-kr", 0xcf2b11f1, 0x7bb71177, 0x8df37dd2},
	{"utf-16be", 0x3f96caff, 0x8565dcbe, 0xa5d41589},
	{"utf-16le", 0x21ec6f27, 0x054bbd89, 0xa5d41589},
	{"x-user-defined", 0xf866972c, 0x566b6539, 0x432e2041},
};
