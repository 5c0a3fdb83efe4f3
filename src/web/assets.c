#include "web/assets.h"

#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>
#include <web/assets_sum.h> /* made by meson.build: changes with the files */

/* The bytes of a file of web/, between two symbols. */
#define ASSET(name, file)                                                                   \
	extern const char name##_begin[], name##_end[];                                     \
	__asm__(".pushsection .rodata\n" #name "_begin:\n.incbin \"" GARNER_ASSETS "/" file \
		"\"\n" #name "_end:\n.byte 0\n.popsection\n")

ASSET(asset_style, "style.css");
ASSET(asset_status, "status.js");

static int serve(struct http_answer *ret, const char *begin, const char *end, const char *type)
{
	char tag[20];
	struct str bytes = str_range(begin, end);
	snprintf(tag, sizeof tag, "%016" PRIx64, hash64(bytes));
	http_answer_static(ret, bytes, type);
	http_answer_etag(ret, str_of(tag));
	ret->cache = "no-cache"; /* asked for again with every page, so that an update is seen */
	return 0;
}

int web_style(struct http_request *req, struct http_answer *ret, struct err *err)
{
	(void)req, (void)err;
	return serve(ret, asset_style_begin, asset_style_end, "text/css; charset=utf-8");
}

int web_status_js(struct http_request *req, struct http_answer *ret, struct err *err)
{
	(void)req, (void)err;
	return serve(ret, asset_status_begin, asset_status_end, "text/javascript; charset=utf-8");
}
