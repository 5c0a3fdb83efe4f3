/* libmagic, loaded at first need: its database is 8 MB, and most documents are what they say. */
#include "extract/types_inner.h"

#include <dlfcn.h>
#include <magic.h>

#define LIBRARY "libmagic.so.1"

/* Neither what would unpack or look deeper into the bytes, nor what we know better. */
#define FLAGS                                                                                     \
	(MAGIC_MIME_TYPE | MAGIC_NO_CHECK_COMPRESS | MAGIC_NO_CHECK_ELF | MAGIC_NO_CHECK_TOKENS | \
	 MAGIC_NO_CHECK_CSV)
enum { LOOK = 4 << 10 }; /* bytes that it is shown */

#define FUNCTIONS(X) X(open) X(close) X(load) X(buffer) X(error)

struct types_magic {
#define X(name) __typeof__(magic_##name) *name;
	FUNCTIONS(X)
#undef X
	magic_t it;
};

int types_load(struct types *t, struct err *err)
{
	if (t->magic)
		return 0;
	t->magic_asked = true;
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	struct types_magic m;
	if (!library)
		return err_set(err, ERR_SYSTEM,
			       "types are not looked at by libmagic: %s (package libmagic1)",
			       dlerror());
#define X(name)                                                      \
	m.name = (__typeof__(m.name))dlsym(library, "magic_" #name); \
	if (!m.name)                                                 \
		return err_set(err, ERR_SYSTEM, LIBRARY " has no function magic_" #name);
	FUNCTIONS(X)
#undef X
	m.it = m.open(FLAGS);
	if (!m.it)
		return err_sys(err, LIBRARY);
	if (m.load(m.it, NULL) != 0) {
		err_set(err, ERR_SYSTEM, LIBRARY ": %s (package libmagic-mgc)", m.error(m.it));
		m.close(m.it);
		return -1;
	}
	t->magic = mem_copy(&m, sizeof m);
	return 0;
}

const char *types_magic(struct types *t, struct str body)
{
	struct err err;
	if (!t->magic_asked)
		(void)types_load(t, &err); /* without it the header and the first bytes decide */
	return t->magic ? t->magic->buffer(t->magic->it, body.p, MIN(body.n, (size_t)LOOK)) : NULL;
}

struct types *types_new(void)
{
	return mem_alloc(sizeof(struct types));
}

void types_free(struct types **pt)
{
	struct types *t = *pt;
	if (t && t->magic) {
		t->magic->close(t->magic->it);
		mem_free(&t->magic);
	}
	mem_free(pt);
}
