/* Tables of politeness that others wrote. Whatever is in the entries, a table that is opened never
 * lets anybody ask earlier than the rule says after a start it has granted, nor more at once, and
 * never makes anybody wait for longer than a day. */
#include "fetch/polite/polite_file.h"
#include "memory_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SERVERS = 32, STEPS = 40 };

static void check_head(struct str bytes)
{
	struct polite_head head;
	struct err err;
	int rc = polite_head_parse(bytes, &head, &err);
	if (rc == 0)
		ENSURE(head.servers > 0 && head.servers <= POLITE_SERVERS_MAX &&
		       head.size == polite_size(head.servers));
	else if (rc < 0)
		ENSURE(err.code == ERR_DAMAGED && err.msg[0]);
}

/* The bytes as entries of a sound file; times are asked for as the same bytes say. */
static void check_entries(const uint8_t *data, size_t size)
{
	char path[64];
	int fd = memory_file(path);
	struct polite *p = NULL;
	struct polite_options o = {
		.servers = SERVERS, .boot = "fuzz", .now_us = 1000 * US_PER_S, .wall_us = 1};
	struct polite_rule rule = {.delay_us = US_PER_S};
	struct err err;
	int64_t now = o.now_us, last = INT64_MIN, wait;
	struct lease lease = {0};
	struct addr a = {.family = AF_INET};
	ENSURE(polite_open(&p, path, &o, &err) == 0);
	memcpy(p->entry, data, MIN(size, SERVERS * sizeof *p->entry));
	if (size >= 4)
		memcpy(a.b, data, 4); /* the key of the first entry, upside down */
	for (size_t i = 0; i < STEPS; i++) {
		int rc = polite_take(p, &a, &rule, now, &lease, &wait);
		if (rc == 0) {
			struct lease second;
			ENSURE(last == INT64_MIN || now - last >= rule.delay_us);
			ENSURE(polite_take(p, &a, &rule, now + rule.delay_us, &second, &wait) == 1);
			last = now;
			polite_end(p, &lease, (enum outcome)(data[i % size] % OUTCOME_COUNT), 0,
				   now);
			wait = data[i % size] * US_PER_S / 16;
		}
		ENSURE(wait >= 0 && wait <= POLITE_RETRY_MAX_US);
		now += wait;
	}
	polite_close(&p);
	memory_file_end(fd, path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_head((struct str){(const char *)data, size});
	if (size == 0)
		return 0;
	check_entries(data, size);
	/* with sums that are right, because no chance finds them */
	struct polite_entry entry[SERVERS] = {0};
	memcpy(entry, data, MIN(size, sizeof entry));
	for (size_t i = 0; i < SERVERS; i++)
		entry[i].check =
			(entry[i].check & ~(uint64_t)UINT32_MAX) | polite_entry_check(&entry[i]);
	check_entries((const uint8_t *)entry, sizeof entry);
	for (size_t i = 0; i < SERVERS; i++) {
		struct buf line = BUF_INIT(1024);
		polite_entry_print(&entry[i], &line);
		ENSURE(!line.over);
		buf_free(&line);
	}
	return 0;
}
