/* Guessing by the bytes: uchardet, loaded when the first document needs it, since it brings the
 * run-time of another language along. */
#include "extract/charset_inner.h"

#include <dlfcn.h>

#define LIBRARY "libuchardet.so.0"

/* The functions that we use. */
#define FUNCTIONS(X)                                          \
	X(new, void *(*)(void))                               \
	X(delete, void (*)(void *))                           \
	X(handle_data, int (*)(void *, const char *, size_t)) \
	X(data_end, void (*)(void *))                         \
	X(reset, void (*)(void *))                            \
	X(get_charset, const char *(*)(void *))

struct detector {
#define X(name, type) __typeof__(type) name;
	FUNCTIONS(X)
#undef X
	void *it;
};

int charset_detector_load(struct charset *c, struct err *err)
{
	if (c->detector)
		return 0;
	c->detector_asked = true;
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	struct detector d = {0};
	if (!library)
		return err_set(err, ERR_SYSTEM,
			       "charsets are not guessed: %s (package libuchardet0)", dlerror());
#define X(name, type)                                                 \
	d.name = (__typeof__(type))dlsym(library, "uchardet_" #name); \
	if (!d.name)                                                  \
		return err_set(err, ERR_SYSTEM, LIBRARY " has no function uchardet_" #name);
	FUNCTIONS(X)
#undef X
	d.it = d.new();
	c->detector = mem_copy(&d, sizeof d);
	return 0;
}

void charset_detector_free(struct charset *c)
{
	struct detector *d = c->detector;
	if (d)
		d->delete (d->it);
	mem_free(&c->detector);
}

const char *charset_guess(struct charset *c, struct str sample)
{
	struct err err;
	if (!c->detector_asked)
		(void)charset_detector_load(c, &err); /* without it there are other ways */
	struct detector *d = c->detector;
	if (!d)
		return NULL;
	d->reset(d->it);
	if (d->handle_data(d->it, sample.p, sample.n) != 0)
		return NULL;
	d->data_end(d->it);
	return charset_by_label(str_of(d->get_charset(d->it)));
}
