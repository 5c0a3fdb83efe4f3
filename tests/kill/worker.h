/* What the workers share that keep something by commits until they are killed: the frame of their
 * main(), numbers that follow from a commit, and damage. Such a worker is called as
 *
 *	points                 its fault points, one a line
 *	write FOLDER N         makes N commits (0: for ever), each told in a line when it is durable
 *	check FOLDER           what is there is just what some commit left; says which
 *	damage FOLDER N SEED   changes N bytes, one at a time, and looks at what is said
 */
#pragma once
#include "base/file.h"
#include "points.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>

static inline int fail(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s%s%s\n", program_invocation_short_name, what, *why ? ": " : "", why);
	return -1;
}

static inline uint64_t mix(uint64_t commit, unsigned i)
{
	uint64_t v = commit * UINT64_C(0x9e3779b97f4a7c15) + i * UINT64_C(0xbf58476d1ce4e5b9);
	v ^= v >> 29;
	v *= UINT64_C(0x94d049bb133111eb);
	return v ^ v >> 32;
}

/* Files whose bytes are changed, but for the last `spared` of each. */
struct victims {
	char path[256][PATH_MAX];
	unsigned spared[256];
	size_t n;
};

static inline void victims_add(struct victims *v, const char *folder, const char *name,
			       unsigned spared)
{
	if (v->n == ARRAY_LEN(v->path))
		return;
	v->spared[v->n] = spared;
	snprintf(v->path[v->n++], PATH_MAX, "%s/%s", folder, name);
}

static inline int change_byte(const char *path, unsigned spared, uint64_t r, uint64_t *at,
			      uint8_t *bits, struct err *err)
{
	CLEANUP(file_drop) struct file f = FILE_INIT;
	uint64_t size;
	unsigned char c;
	size_t got;
	if (file_open(&f, path, O_RDWR, 0, err) != 0 || file_size(&f, &size, err) < 0 ||
	    size <= spared)
		return -1;
	if (*bits == 0) {
		*bits = (uint8_t)(1 + r % 255);
		*at = r / 255 % (size - spared);
	}
	if (file_read(&f, &c, 1, *at, &got, err) < 0 || got != 1)
		return -1;
	c ^= *bits;
	return file_write(&f, &c, 1, *at, err);
}

struct worker; /* each has its own */

/* look() says what is found, and fails where that is nothing, or nothing that is called damage. */
static inline int damage_bytes(struct worker *w, const struct victims *v, uint64_t n, uint64_t seed,
			       int (*look)(struct worker *w), struct err *err)
{
	for (uint64_t i = 0; i < n; i++) {
		size_t k = mix(seed, 1) % v->n;
		uint64_t at = 0;
		uint8_t bits = 0;
		seed = mix(seed, 2) | 1;
		if (change_byte(v->path[k], v->spared[k], mix(seed, 3), &at, &bits, err) < 0)
			return -1;
		if (look(w) < 0) {
			fprintf(stderr, "%s, byte %" PRIu64 " ^ %02x\n", v->path[k], at, bits);
			return -1;
		}
		if (change_byte(v->path[k], v->spared[k], 0, &at, &bits, err) < 0)
			return -1;
	}
	printf("%" PRIu64 " changes in %zu files, all found\n", n, v->n);
	return 0;
}

struct worker_ops {
	int (*begin)(struct worker *w, const char *folder);
	int (*write)(struct worker *w, uint64_t n);
	int (*check)(struct worker *w);
	int (*damage)(struct worker *w, uint64_t n, uint64_t seed);
	int (*read)(struct worker *w); /* NULL: nobody reads meanwhile */
};

static inline int worker_run(int argc, char **argv, const struct worker_ops *ops, struct worker *w,
			     struct err *err)
{
	uint64_t n = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	int rc;
	if (argc < 3 || fault_arm(getenv("GARNER_FAULTS"), err) < 0)
		return fail("usage: points | write FOLDER N | check FOLDER | damage FOLDER N SEED",
			    err->msg) +
		       3;
	if (ops->begin(w, argv[2]) < 0)
		rc = -1;
	else if (strcmp(argv[1], "write") == 0)
		rc = ops->write(w, n);
	else if (strcmp(argv[1], "damage") == 0 && argc == 5)
		rc = ops->damage(w, n, strtoull(argv[4], NULL, 10));
	else if (strcmp(argv[1], "read") == 0 && ops->read)
		rc = ops->read(w);
	else
		rc = ops->check(w);
	if (rc < 0)
		fail(argv[1], err->msg);
	return rc < 0 ? 1 : 0;
}
