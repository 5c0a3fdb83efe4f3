/* Eight threads that append to one record file until they are killed; for record_rounds.py.
 *
 *	record_writer points            the fault points of record files, one a line
 *	record_writer write FILE N      appends N groups per thread (0: for ever), then closes
 *	record_writer check FILE        every record is whole and in order; says what is there
 *
 * Every thread numbers its records; all bytes of a record follow from thread and number. A line
 * "THREAD NUMBER" on standard output means: this thread was told that its records before NUMBER are
 * durable. A start goes on with the numbers that are in the file. */
#include "base/thread.h"
#include "disk/record.h"
#include "points.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WRITERS = 8, JUNK = 99, HEAD = 12, MOST = 300 << 10, TRIES = 100000 };

static const struct record_kind kind = {.magic = "GARNERKW", .version = 1, .most = MOST};

/* What is in the file. */
struct found {
	uint64_t next[WRITERS];  /* number of the next record of each thread */
	uint64_t records, again; /* all; those that came once more after a refusal */
	uint64_t junk;           /* where the last record is, if it is junk; else 0 */
};

struct writer {
	struct record_writer *w;
	uint32_t id;
	uint64_t next, groups;
	char *payload;
	pthread_t thread;
};

static int fail(const char *what)
{
	fprintf(stderr, "record_writer: %s\n", what);
	return -1;
}

/* Mostly short, some empty, a few so long that a handful fills a batch. */
static size_t tail_size(uint32_t id, uint64_t number)
{
	uint64_t mix = (number * 0x9e3779b97f4a7c15u) ^ (id * 0x85ebca6bu);
	mix ^= mix >> 29;
	return mix % 997 == 0 ? 250 << 10 : mix % 61 == 0 ? 5000 + mix % 999 : mix % 200;
}

static struct str make_payload(uint32_t id, uint64_t number, char *p)
{
	size_t n = tail_size(id, number);
	uint64_t x = number * 0x2545f4914f6cdd1du + id + 1;
	memcpy(p, &id, 4);
	memcpy(p + 4, &number, 8);
	for (size_t i = 0; i < n; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		p[HEAD + i] = (char)x;
	}
	return (struct str){p, HEAD + n};
}

static int take_record(const struct record *record, struct found *found, char *want)
{
	uint32_t id;
	uint64_t number;
	if (found->junk)
		return fail("records after what was cut off");
	if (record->payload.n < HEAD)
		return fail("a record too short");
	memcpy(&id, record->payload.p, 4);
	memcpy(&number, record->payload.p + 4, 8);
	found->junk = id == JUNK ? record->place.at : 0;
	if (id == JUNK)
		return 0;
	if (id >= WRITERS || tail_size(id, number) > MOST ||
	    !str_eq(record->payload, make_payload(id, number, want)))
		return fail("a record with other bytes than were written");
	if (number > found->next[id])
		return fail("a record is missing");
	found->again += number < found->next[id];
	found->next[id] = MAX(found->next[id], number + 1);
	found->records++;
	return 0;
}

static int look(const char *path, struct found *ret)
{
	struct record_reader *r = NULL;
	struct record record;
	struct err err = {0};
	char *want = mem_alloc(MOST + HEAD);
	*ret = (struct found){0};
	int rc = record_reader_open(&r, path, &kind, &err);
	while (rc == 0 && (rc = record_next(r, &record, &err)) == 0)
		rc = take_record(&record, ret, want);
	record_reader_free(&r);
	mem_free(&want);
	if (rc < 0 && err.msg[0])
		fail(err.msg);
	return rc < 0 ? -1 : 0;
}

static void say(uint32_t id, uint64_t next)
{
	char line[64];
	int n = snprintf(line, sizeof line, "%" PRIu32 " %" PRIu64 "\n", id, next);
	if (write(STDOUT_FILENO, line, (size_t)n) != n)
		abort();
}

static int append_group(struct writer *me, uint64_t n, struct err *err)
{
	struct record_group group = {0};
	for (uint64_t i = 0; i < n; i++)
		if (record_append(me->w, make_payload(me->id, me->next + i, me->payload), &group,
				  NULL, err) < 0)
			return -1;
	return record_sync(me->w, &group, err);
}

/* A refused group is appended again until it is taken. */
static void *work(void *arg)
{
	struct writer *me = arg;
	struct err err;
	for (uint64_t done = 0, tries = 0; me->groups == 0 || done < me->groups;) {
		uint64_t n = 1 + (me->next + me->id) % 7 * (me->next % 3);
		if (append_group(me, n, &err) == 0) {
			me->next += n;
			say(me->id, me->next);
			done++;
			tries = 0;
			continue;
		}
		if (tries++ == 0)
			fprintf(stderr, "refused: %s\n", err.msg);
		if (tries == TRIES)
			return "refused too often";
		usleep(1000);
	}
	return NULL;
}

/* Something that does not stay: appended, synced and cut off again. */
static int pass_checkpoint(struct record_writer *w, const struct found *found, struct err *err)
{
	struct record_group group = {0};
	if (found->junk && record_truncate(w, found->junk, err) < 0)
		return -1;
	uint64_t checkpoint = record_end(w), number = 0;
	char junk[HEAD];
	uint32_t id = JUNK;
	memcpy(junk, &id, 4);
	memcpy(junk + 4, &number, 8);
	if (record_append(w, (struct str){junk, HEAD}, &group, NULL, err) < 0 ||
	    record_sync(w, &group, err) < 0)
		return -1;
	return record_truncate(w, checkpoint, err);
}

static int run_writers(struct record_writer *w, const struct found *found, uint64_t groups)
{
	struct writer writer[WRITERS];
	struct err err;
	void *said = NULL;
	int rc = 0;
	for (uint32_t i = 0; i < WRITERS; i++) {
		writer[i] =
			(struct writer){.w = w, .id = i, .next = found->next[i], .groups = groups};
		writer[i].payload = mem_alloc(MOST + HEAD);
		if (thread_start(&writer[i].thread, work, &writer[i], &err) < 0)
			return fail(err.msg);
	}
	for (uint32_t i = 0; i < WRITERS; i++) {
		pthread_join(writer[i].thread, &said);
		mem_free(&writer[i].payload);
		if (said)
			rc = fail(said);
	}
	return rc;
}

static int write_file(const char *path, uint64_t groups)
{
	struct record_writer *w = NULL;
	struct found found;
	struct err err = {0};
	uint64_t cut;
	if (record_open(&w, path, &kind, 0644, &cut, &err) < 0)
		return fail(err.msg);
	if (cut)
		fprintf(stderr, "cut off %" PRIu64 " bytes\n", cut);
	int rc = look(path, &found);
	if (rc == 0 && pass_checkpoint(w, &found, &err) < 0)
		rc = fail(err.msg);
	if (rc == 0)
		rc = run_writers(w, &found, groups);
	if (record_close(&w, &err) < 0)
		rc = fail(err.msg);
	return rc;
}

static int check_file(const char *path)
{
	struct found found;
	if (look(path, &found) < 0)
		return -1;
	for (uint32_t i = 0; i < WRITERS; i++)
		printf("%" PRIu32 " %" PRIu64 "\n", i, found.next[i]);
	printf("records %" PRIu64 "\nagain %" PRIu64 "\n", found.records, found.again);
	return 0;
}

int main(int argc, char **argv)
{
	struct err err;
	if (fault_arm(getenv("GARNER_FAULTS"), &err) < 0)
		return fail(err.msg), 2;
	if (argc == 2 && strcmp(argv[1], "points") == 0)
		return POINTS_PRINT("record.");
	if (argc == 4 && strcmp(argv[1], "write") == 0)
		return write_file(argv[2], strtoull(argv[3], NULL, 10)) < 0;
	if (argc == 3 && strcmp(argv[1], "check") == 0)
		return check_file(argv[2]) < 0;
	return fail("usage: points | write FILE GROUPS | check FILE"), 2;
}
