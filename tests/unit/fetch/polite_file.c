/* Tables of politeness that are damaged, foreign, or cannot be made. */
#include "fetch/polite/polite_file.h"
#include "../dice.h"
#include "base/fault.h"
#include "disk/format.h"
#include "polite_unit.h"

#include <fcntl.h>

/* Opens the file, changes one byte somewhere in the entry of the only server. */
static void spoil(const char *path, uint32_t entry, size_t byte, uint8_t with)
{
	struct file f;
	struct err err;
	uint8_t b;
	size_t n;
	uint64_t at = polite_size(0) + (uint64_t)entry * sizeof(struct polite_entry) + byte;
	assert_int_equal(file_open(&f, path, O_RDWR, 0, &err), 0);
	assert_int_equal(file_read(&f, &b, 1, at, &n, &err), 0);
	b ^= with;
	assert_int_equal(file_write(&f, &b, 1, at, &err), 0);
	file_drop(&f);
}

static void a_damaged_entry_counts_as_asked_just_now(void **state)
{
	(void)state;
	const size_t from = offsetof(struct polite_entry, start_us);
	for (size_t byte = from; byte < offsetof(struct polite_entry, lease); byte++) {
		if (byte >= offsetof(struct polite_entry, check) + 4)
			continue; /* the second of the last trouble is not in the sum */
		struct polite *p = open_new("spoilt");
		struct lease l;
		takes(p, "192.0.2.1", START, &l);
		polite_end(p, &l, OUTCOME_OK, 0, START);
		spoil(scratch("spoilt"), l.entry, byte, 0x80);
		int64_t now = START + 20 * S;
		int64_t wait = waits(p, "192.0.2.1", now);
		assert_in_range(wait, 10 * S, POLITE_RETRY_MAX_US);
		int64_t next = entry_of(p, "192.0.2.1")->next_us;
		takes(p, "192.0.2.1", MAX(next, now + 10 * S), &l); /* and it is sound again */
		polite_close(&p);
	}
}

static void any_bytes_in_the_entries_are_survived(void **state)
{
	(void)state;
	uint64_t seed = 7;
	for (int round = 0; round < 50; round++) {
		struct polite *p = open_new("noise");
		uint64_t *word = (uint64_t *)p->entry;
		for (size_t i = 0; i < 64 * sizeof(struct polite_entry) / 8; i++)
			word[i] = dice(&seed);
		int64_t now = START;
		for (int i = 0; i < 200; i++, now += (int64_t)(dice(&seed) % (US_PER_DAY / 4))) {
			char server[ADDR_SHOWN];
			struct lease l;
			snprintf(server, sizeof server, "192.0.2.%u",
				 (unsigned)(dice(&seed) % 100));
			int64_t wait = take(p, server, &plain, now, &l);
			assert_true(wait <= POLITE_RETRY_MAX_US);
			if (wait == 0)
				polite_end(p, &l, (enum outcome)(dice(&seed) % OUTCOME_COUNT), 0,
					   now + 1);
		}
		polite_close(&p);
	}
}

static void files_that_are_no_tables_are_refused(void **state)
{
	(void)state;
	const char *path = scratch("foreign");
	struct polite *p = NULL;
	struct polite_options o = {.servers = 64};
	struct err err;
	assert_int_equal(
		file_replace(path, STR("this is a letter, not a table at all"), 0600, &err), 0);
	assert_true(polite_open(&p, path, &o, &err) < 0);
	assert_int_equal(err.code, ERR_DAMAGED);
	assert_non_null(strstr(err.msg, path));
	assert_int_equal(file_replace(path, STR("GARNERPO"), 0600, &err), 0);
	assert_true(polite_open(&p, path, &o, &err) < 0);
	unlink(path);
	p = open_at(path, NULL, 0, 0);
	polite_close(&p);
	assert_int_equal(format_verify(&polite_format, path, &err), 0);
	assert_int_equal(truncate(path, 4096 + 8192), 0);
	assert_true(polite_open(&p, path, &o, &err) < 0);
	assert_int_equal(err.code, ERR_DAMAGED);
	assert_true(format_verify(&polite_format, path, &err) < 0);
	assert_null(p);
	assert_true(polite_open(&p, scratch("no/such/folder"), &o, &err) < 0);
}

static void a_file_whose_making_was_interrupted_is_made_again(void **state)
{
	(void)state;
	const char *path = scratch("half");
	struct err err;
	static const char zeroes[5000];
	assert_int_equal(file_replace(path, (struct str){zeroes, sizeof zeroes}, 0600, &err), 0);
	struct polite *p = open_at(path, "a", START, WALL);
	struct lease l;
	takes(p, "192.0.2.1", START, &l);
	polite_close(&p);
	assert_int_equal(format_verify(&polite_format, path, &err), 0);
}

static void a_full_disk_is_said(void **state)
{
	(void)state;
#ifdef GARNER_FAULTS
	struct polite *p = NULL;
	struct err err;
	unlink(scratch("enospc"));
	assert_int_equal(fault_arm("file.write/enospc=enospc", &err), 0);
	assert_true(polite_open(&p, scratch("enospc"), NULL, &err) < 0);
	assert_int_equal(err.code, ERR_SYSTEM);
	assert_int_equal(fault_arm(NULL, &err), 0);
	p = open_at(scratch("enospc"), "a", START, WALL);
	polite_close(&p);
#endif
}

static void emit(void *ctx, struct str s)
{
	buf_add_str(ctx, s);
}

static void dump_shows_servers_and_leases(void **state)
{
	(void)state;
	struct polite *p = open_new("dump");
	CLEANUP(buf_free) struct buf out = BUF_INIT(1 << 20);
	struct err err;
	struct lease l;
	takes(p, "192.0.2.77", START, &l);
	takes(p, "2001:db8::1", START, &l);
	assert_int_equal(format_print(&polite_format, scratch("dump"), emit, &out, &err), 0);
	assert_non_null(strstr(out.p, "room for 64 servers"));
	assert_non_null(strstr(out.p, "192.0.2.77 "));
	assert_non_null(strstr(out.p, "2001:db8::/64 "));
	assert_non_null(strstr(out.p, "lease of process 0.1 until"));
	assert_null(strstr(out.p, "unfinished"));
	polite_close(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_damaged_entry_counts_as_asked_just_now),
		cmocka_unit_test(any_bytes_in_the_entries_are_survived),
		cmocka_unit_test(files_that_are_no_tables_are_refused),
		cmocka_unit_test(a_file_whose_making_was_interrupted_is_made_again),
		cmocka_unit_test(a_full_disk_is_said),
		cmocka_unit_test(dump_shows_servers_and_leases),
	};
	return cmocka_run_group_tests(tests, scratch_make, scratch_done);
}
