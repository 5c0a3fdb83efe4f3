/* What a worker for listings says: whatever it is, only entries of the right form come through. The
 * input is what it writes after its hello. */
#include "extract/listing_wire_inner.h"

#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_entry(const struct listing_entry *e)
{
	struct str part, dir = e->dir;
	ENSURE(e->name.n && !memchr(e->name.p, '/', e->name.n) && !memchr(e->name.p, 0, e->name.n));
	ENSURE(!str_is(e->name, ".") && !str_is(e->name, ".."));
	ENSURE(e->kind <= LISTING_OTHER && e->links >= -1 && e->size >= -1 && e->time_s >= -1);
	while (dir.n && str_cut(&dir, '/', &part) == 0)
		ENSURE(part.n && !str_is(part, ".") && !str_is(part, "..") &&
		       !memchr(part.p, 0, part.n));
	for (size_t i = 0; i < e->owner.n; i++)
		ENSURE(e->owner.p[i] != '\n');
	for (size_t i = 0; i < e->group.n; i++)
		ENSURE(e->group.p[i] != '\n');
}

static int answer_fd(const uint8_t *data, size_t size)
{
	struct {
		struct wire_head head;
		struct wire_hello hello;
	} first = {{WIRE_HELLO, sizeof(struct wire_hello)}, {.magic = WIRE_MAGIC}};
	int fd = memfd_create("answer", MFD_CLOEXEC);
	ENSURE(fd >= 0 && write(fd, &first, sizeof first) == sizeof first);
	ENSURE(size == 0 || write(fd, data, size) == (ssize_t)size);
	ENSURE(lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct listing_run_options options = {
		.job = {.errors_max_percent = 5}, .unpacked_max = 1 << 20, .idle_us = 1000000};
	struct listing_run *run = listing_run_of(answer_fd(data, size), &options);
	struct listing_entry e;
	struct err err;
	uint64_t n = 0;
	int rc;
	while ((rc = listing_run_next(run, &e, &err)) == 0) {
		check_entry(&e);
		n++;
	}
	const struct listing_stats *s = listing_run_stats(run);
	if (rc == 1)
		ENSURE(s->entries == n && n > 0 && s->bad <= s->lines);
	else
		ENSURE(err.msg[0]);
	for (size_t i = 0; rc == 1 && i < MIN(s->bad, (uint64_t)LISTING_BAD_KEPT); i++)
		ENSURE(s->bad_why[i][0]);
	listing_run_close(&run);
	return 0;
}
