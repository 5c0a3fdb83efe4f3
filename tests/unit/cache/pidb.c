/* The providers' database: what is registered, proved, agreed and gone. */
#include "../scratch.h"
#include "../unit.h"

#include "base/clock.h"
#include "base/thread.h"
#include "cache/pidb.h"

#include <sys/stat.h>
#include <sys/wait.h>

#define NOW (1700000000 * US_PER_S)
#define SECRET_A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define SECRET_B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define LINE "$argon2id$v=19$m=32768,t=2,p=1$c2FsdHNhbHQ$aGFzaGhhc2hoYXNoaGFzaA"

static int made;
static struct err err;

static struct pidb *open_fresh(char folder[300])
{
	struct pidb *p;
	snprintf(folder, 300, "%s/cache%d", scratch_dir, made++);
	if (pidb_open(&p, folder, &err) != 0)
		fail_msg("%s", err.msg);
	return p;
}

static uint64_t add_provider(struct pidb *p, const char *secret, const char *address, int64_t now)
{
	uint64_t id;
	if (pidb_register(p, "http://www.example.com/", "a@example.com", LINE, secret, address, 10,
			  now, &id, &err) != 0)
		fail_msg("%s", err.msg);
	return id;
}

static uint64_t add_verified(struct pidb *p, const char *secret, const char *prefix)
{
	uint64_t id = add_provider(p, secret, "192.0.2.1", NOW);
	assert_int_equal(pidb_verify(p, id, secret, prefix, NOW + 1, &err), 0);
	return id;
}

static void registers_and_verifies(void **state)
{
	(void)state;
	char folder[300], secrets[10][PIDB_SECRET + 1];
	struct pidb *p = open_fresh(folder);
	struct pidb_provider who;
	size_t n;
	uint64_t id = add_provider(p, SECRET_A, "192.0.2.1", NOW);
	assert_int_equal(pidb_get(p, id, 0, &who, &err), 0);
	assert_false(who.is_verified);
	assert_string_equal(who.site, "http://www.example.com/");
	assert_string_equal(who.password, LINE);
	assert_true(who.quota_files == UINT64_MAX && who.quota_space == UINT64_MAX);
	assert_int_equal(pidb_secrets(p, id, NOW, secrets, 10, &n, &err), 0);
	assert_int_equal(n, 1);
	assert_string_equal(secrets[0], SECRET_A);
	assert_int_equal(pidb_secrets(p, id, NOW + 1, secrets, 10, &n, &err), 0);
	assert_int_equal(n, 0);
	assert_int_equal(pidb_verify(p, id, SECRET_B, "http://www.example.com/", NOW, &err), 1);
	assert_int_equal(pidb_verify(p, id + 1, SECRET_A, "http://x/", NOW, &err), 1);
	assert_int_equal(pidb_verify(p, id, SECRET_A, "http://www.example.com/", NOW, &err), 0);
	assert_int_equal(pidb_verify(p, id, SECRET_A, "http://www.example.com/", NOW, &err), 1);
	assert_int_equal(pidb_secret_add(p, id, SECRET_B, NOW, &err), 0);
	assert_int_equal(pidb_verify(p, id, SECRET_B, "http://a.example.com/", NOW + 5, &err), 0);
	pidb_close(&p);
	assert_int_equal(pidb_open(&p, folder, &err), 0);
	assert_int_equal(pidb_get(p, id, 0, &who, &err), 0);
	assert_true(who.is_verified && who.verified_us == NOW);
	struct arena arena = ARENA_INIT(1 << 20);
	char **prefix;
	assert_int_equal(pidb_prefixes(p, id, &arena, &prefix, &n, &err), 0);
	assert_int_equal(n, 2);
	assert_string_equal(prefix[0], "http://a.example.com/");
	assert_string_equal(prefix[1], "http://www.example.com/");
	assert_int_equal(pidb_prefixes(p, id + 1, &arena, &prefix, &n, &err), 1);
	arena_free(&arena);
	pidb_close(&p);
}

static void nobody_but_the_owner_reads_the_files(void **state)
{
	(void)state;
	char folder[300], path[400];
	static const char *const names[] = {"pidb.db", "pidb.db-wal", "pidb.db-shm"};
	struct stat st;
	struct pidb *p = open_fresh(folder);
	add_provider(p, SECRET_A, "192.0.2.1", NOW);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(path, sizeof path, "%s/%s", folder, names[i]);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
	}
	pidb_close(&p);
}

static void an_address_registers_so_often_a_day(void **state)
{
	(void)state;
	char folder[300], secret[PIDB_SECRET + 1] = SECRET_A;
	struct pidb *p = open_fresh(folder);
	uint64_t id;
	for (int i = 0; i < 10; i++) {
		secret[0] = (char)('0' + i);
		id = add_provider(p, secret, "192.0.2.1", NOW + i);
	}
	/* Those who go at once do not get a place back. */
	assert_int_equal(pidb_deregister(p, id, NOW, &err), 0);
	assert_int_equal(pidb_register(p, "s", "", LINE, SECRET_B, "192.0.2.1", 10,
				       NOW + US_PER_DAY - 1, &id, &err),
			 -1);
	assert_int_equal(err.code, ERR_BUSY);
	assert_int_equal(pidb_may_register(p, "192.0.2.1", 10, NOW + US_PER_DAY - 1, &err), -1);
	assert_int_equal(pidb_may_register(p, "192.0.2.2", 10, NOW + US_PER_DAY - 1, &err), 0);
	assert_int_equal(pidb_expire(p, 0, NOW + US_PER_DAY - 1, &err), 0);
	assert_int_equal(pidb_register(p, "s", "", LINE, SECRET_B, "192.0.2.1", 10,
				       NOW + US_PER_DAY - 1, &id, &err),
			 -1);
	assert_int_equal(
		pidb_register(p, "s", "", LINE, SECRET_B, "192.0.2.2", 10, NOW + 10, &id, &err), 0);
	secret[0] = 'z';
	assert_int_equal(pidb_register(p, "s", "", LINE, secret, "192.0.2.1", 10, NOW + US_PER_DAY,
				       &id, &err),
			 0);
	pidb_close(&p);
}

static void numbers_are_not_used_again(void **state)
{
	(void)state;
	char folder[300];
	struct pidb *p = open_fresh(folder);
	struct pidb_provider who;
	uint64_t gone, first = add_verified(p, SECRET_A, "http://a/");
	assert_int_equal(pidb_gone(p, &gone, &err), 1);
	assert_int_equal(pidb_deregister(p, first, NOW, &err), 0);
	assert_int_equal(pidb_deregister(p, first, NOW, &err), 1);
	assert_int_equal(pidb_get(p, first, 0, &who, &err), 1);
	assert_int_equal(pidb_gone(p, &gone, &err), 0);
	assert_int_equal(gone, first);
	pidb_close(&p);
	assert_int_equal(pidb_open(&p, folder, &err), 0);
	uint64_t second = add_verified(p, SECRET_A, "http://a/");
	assert_true(second > first);
	assert_int_equal(pidb_gone_done(p, first, &err), 0);
	assert_int_equal(pidb_gone(p, &gone, &err), 1);
	pidb_close(&p);
}

static void numbers_that_others_have_rows_of_are_not_given(void **state)
{
	(void)state;
	char folder[300];
	struct pidb *p = open_fresh(folder);
	assert_int_equal(pidb_reserve(p, 41, &err), 0);
	assert_int_equal(add_provider(p, SECRET_A, "192.0.2.1", NOW), 42);
	assert_int_equal(pidb_reserve(p, 7, &err), 0);
	assert_int_equal(add_provider(p, SECRET_B, "192.0.2.1", NOW), 43);
	pidb_close(&p);
}

static void those_who_prove_nothing_expire(void **state)
{
	(void)state;
	char folder[300], secrets[10][PIDB_SECRET + 1];
	struct pidb *p = open_fresh(folder);
	struct pidb_provider who;
	size_t n;
	uint64_t idle = add_provider(p, SECRET_A, "192.0.2.1", NOW);
	uint64_t good = add_verified(p, SECRET_B, "http://a/"), gone;
	assert_int_equal(pidb_secret_add(p, good, "cccccccccccccccccccccccccccccccc", NOW, &err),
			 0);
	assert_int_equal(pidb_expire(p, NOW, NOW, &err), 0);
	assert_int_equal(pidb_get(p, idle, 0, &who, &err), 0);
	assert_int_equal(pidb_expire(p, NOW + 1, NOW + 1, &err), 0);
	assert_int_equal(pidb_get(p, idle, 0, &who, &err), 1);
	assert_int_equal(pidb_secrets(p, idle, 0, secrets, 10, &n, &err), 1);
	assert_int_equal(pidb_get(p, good, 0, &who, &err), 0);
	assert_int_equal(pidb_secrets(p, good, 0, secrets, 10, &n, &err), 0);
	assert_int_equal(n, 0);
	assert_int_equal(pidb_gone(p, &gone, &err), 1);
	pidb_close(&p);
}

static void secrets_and_prefixes_are_bounded(void **state)
{
	(void)state;
	char folder[300], secret[PIDB_SECRET + 1] = SECRET_B, prefix[40];
	struct pidb *p = open_fresh(folder);
	uint64_t id = add_verified(p, SECRET_A, "http://a/000/");
	for (int i = 1; i < PIDB_PREFIXES; i++) {
		snprintf(prefix, sizeof prefix, "http://a/%03d/", i);
		assert_int_equal(pidb_secret_add(p, id, secret, NOW, &err), 0);
		assert_int_equal(pidb_verify(p, id, secret, prefix, NOW, &err), 0);
	}
	assert_int_equal(pidb_secret_add(p, id, secret, NOW, &err), 0);
	assert_int_equal(pidb_verify(p, id, secret, "http://a/more/", NOW, &err), -1);
	assert_int_equal(err.code, ERR_USAGE);
	/* The same once more is not one more, and the refused try has not used the secret up. */
	assert_int_equal(pidb_verify(p, id, secret, "http://a/007/", NOW, &err), 0);
	for (int i = 0; i < 10; i++) {
		secret[0] = (char)('0' + i);
		assert_int_equal(pidb_secret_add(p, id, secret, NOW, &err), 0);
	}
	assert_int_equal(pidb_secret_add(p, id, SECRET_B, NOW, &err), -1);
	assert_int_equal(err.code, ERR_BUSY);
	pidb_close(&p);
}

static void the_contract_changes_in_what_is_set(void **state)
{
	(void)state;
	char folder[300];
	struct pidb *p = open_fresh(folder);
	struct pidb_provider who;
	uint64_t id = add_verified(p, SECRET_A, "http://a/");
	int64_t priority = -3;
	uint64_t files = 7, space = UINT64_MAX, bandwidth = 50000, none = UINT64_MAX;
	assert_int_equal(pidb_change(p, id,
				     &(struct pidb_change){.priority = &priority,
							   .quota_files = &files,
							   .quota_space = &space},
				     &err),
			 0);
	assert_int_equal(pidb_change(p, id,
				     &(struct pidb_change){.bandwidth = &bandwidth,
							   .hours = "0-8",
							   .mail = "b@example.com"},
				     &err),
			 0);
	assert_int_equal(pidb_get(p, id, 0, &who, &err), 0);
	assert_true(who.priority == -3 && who.quota_files == 7 && who.quota_space == UINT64_MAX);
	assert_true(who.bandwidth == 50000);
	assert_string_equal(who.hours, "0-8");
	assert_string_equal(who.mail, "b@example.com");
	assert_int_equal(pidb_change(p, id, &(struct pidb_change){.quota_files = &none}, &err), 0);
	assert_int_equal(pidb_get(p, id, 0, &who, &err), 0);
	assert_true(who.quota_files == UINT64_MAX);
	assert_int_equal(pidb_change(p, id + 1, &(struct pidb_change){.hours = ""}, &err), 1);
	pidb_close(&p);
}

static void sessions_count_and_tell_what_was_before(void **state)
{
	(void)state;
	char folder[300];
	struct pidb *p = open_fresh(folder);
	struct pidb_provider who;
	uint64_t id = add_verified(p, SECRET_A, "http://a/");
	assert_int_equal(pidb_session(p, id, "192.0.2.1", 0, &who, &err), 0);
	assert_int_equal(who.seq, 1);
	assert_string_equal(who.last_address, "");
	assert_int_equal(pidb_session_done(p, id, 12, 0, &err), 0);
	assert_int_equal(pidb_session_done(p, id, 5, 0, &err), 0);
	assert_int_equal(pidb_session(p, id, "192.0.2.2", 0, &who, &err), 0);
	assert_int_equal(who.seq, 2);
	assert_int_equal(who.errors_told, 12);
	assert_string_equal(who.last_address, "192.0.2.1");
	/* The cache's database was begun anew. */
	assert_int_equal(pidb_session_done(p, id, 3, 12, &err), 0);
	assert_int_equal(pidb_session_done(p, id, 2, 12, &err), 0);
	assert_int_equal(pidb_get(p, id, 0, &who, &err), 0);
	assert_int_equal(who.errors_told, 3);
	assert_int_equal(pidb_session(p, id + 1, "192.0.2.2", 0, &who, &err), 1);
	pidb_close(&p);
}

static void wanted_holds_until_a_full_set_came(void **state)
{
	(void)state;
	char folder[300];
	struct pidb *p = open_fresh(folder);
	struct pidb_provider who;
	uint64_t a = add_verified(p, SECRET_A, "http://a/"),
		 b = add_verified(p, SECRET_B, "http://b/");
	assert_int_equal(pidb_want(p, a, PIDB_EXPIRED, &err), 0);
	assert_int_equal(pidb_want(p, a, PIDB_OLD, &err), 0);
	assert_int_equal(pidb_get(p, a, 0, &who, &err), 0);
	assert_string_equal(pidb_wanted_name(who.wanted), "expired");
	assert_int_equal(pidb_want(p, 0, PIDB_CRASH, &err), 0);
	assert_int_equal(pidb_get(p, b, 0, &who, &err), 0);
	assert_int_equal(who.wanted, PIDB_CRASH);
	/* The first was asked for, the second was not. */
	assert_int_equal(pidb_fullset(p, b, NOW, &err), 0);
	assert_int_equal(pidb_get(p, b, NOW - 5, &who, &err), 0);
	assert_true(who.wanted == PIDB_NOT_WANTED && who.fullsets_used == 0);
	assert_int_equal(pidb_fullset(p, b, NOW, &err), 0);
	assert_int_equal(pidb_get(p, b, NOW - 5, &who, &err), 0);
	assert_int_equal(who.fullsets_used, 1);
	assert_int_equal(pidb_get(p, b, NOW + 5, &who, &err), 0);
	assert_int_equal(who.fullsets_used, 0);
	/* One from a future that has not come is forgiven. */
	assert_int_equal(pidb_fullset(p, b, NOW + US_PER_DAY, &err), 0);
	assert_int_equal(pidb_expire(p, 0, NOW + 1, &err), 0);
	assert_int_equal(pidb_get(p, b, 0, &who, &err), 0);
	assert_int_equal(who.fullsets_used, 1);
	pidb_close(&p);
}

static void providers_come_in_the_order_of_their_numbers(void **state)
{
	(void)state;
	char folder[300];
	struct pidb *p = open_fresh(folder);
	struct pidb_provider who = {0};
	uint64_t a = add_verified(p, SECRET_A, "http://a/"),
		 b = add_provider(p, SECRET_B, "x", NOW);
	assert_int_equal(pidb_next(p, who.id, 0, &who, &err), 0);
	assert_int_equal(who.id, a);
	assert_int_equal(pidb_next(p, who.id, 0, &who, &err), 0);
	assert_int_equal(who.id, b);
	assert_int_equal(pidb_next(p, who.id, 0, &who, &err), 1);
	assert_int_equal(pidb_get(p, UINT64_MAX, 0, &who, &err), 1);
	pidb_close(&p);
}

static void the_version_follows_every_change(void **state)
{
	(void)state;
	char folder[300];
	struct pidb *p = open_fresh(folder), *other;
	assert_int_equal(pidb_open(&other, folder, &err), 0);
	uint64_t v = pidb_version(p);
	assert_true(pidb_version(p) == v);
	uint64_t id = add_provider(other, SECRET_A, "x", NOW);
	assert_true(pidb_version(p) != v);
	v = pidb_version(p);
	assert_int_equal(pidb_password_set(p, id, LINE, &err), 0);
	assert_true(pidb_version(p) != v);
	v = pidb_version(p);
	assert_int_equal(pidb_want(p, id, PIDB_NOT_WANTED, &err), 0);
	assert_true(pidb_version(p) == v);
	assert_int_equal(pidb_password_set(p, id + 1, LINE, &err), 1);
	pidb_close(&other);
	pidb_close(&p);
}

enum { SESSIONS = 25 };

struct visitor {
	const char *folder;
	struct pidb *shared;
	uint64_t id;
	unsigned failed;
};

static void *visit_often(void *arg)
{
	struct visitor *v = arg;
	struct pidb *own = NULL;
	struct pidb_provider who;
	struct err problem;
	if (!v->shared && pidb_open(&own, v->folder, &problem) != 0)
		v->failed++;
	for (int i = 0; i < SESSIONS && !v->failed; i++)
		if (pidb_session(own ? own : v->shared, v->id, "x", 0, &who, &problem) != 0)
			v->failed++;
	pidb_close(&own);
	return NULL;
}

static void connections_and_threads_take_turns(void **state)
{
	(void)state;
	char folder[300];
	struct pidb *p = open_fresh(folder);
	struct pidb_provider who;
	uint64_t id = add_verified(p, SECRET_A, "http://a/");
	struct visitor v[4];
	pthread_t thread[4];
	for (int i = 0; i < 4; i++) {
		v[i] = (struct visitor){folder, i < 2 ? p : NULL, id, 0};
		assert_int_equal(thread_start(&thread[i], visit_often, &v[i], &err), 0);
	}
	for (int i = 0; i < 4; i++) {
		pthread_join(thread[i], NULL);
		assert_int_equal(v[i].failed, 0);
	}
	assert_int_equal(pidb_get(p, id, 0, &who, &err), 0);
	assert_int_equal(who.seq, 4 * SESSIONS);
	pidb_close(&p);
}

static void another_database_is_refused(void **state)
{
	(void)state;
	char folder[300], path[400];
	struct pidb *p = open_fresh(folder);
	pidb_close(&p);
	snprintf(path, sizeof path, "%s/pidb.db", folder);
	FILE *f = fopen(path, "r+");
	fseek(f, 68, SEEK_SET);
	fputs("XXXX", f);
	fclose(f);
	assert_int_equal(pidb_open(&p, folder, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
	f = fopen(path, "w");
	for (int i = 0; i < 3000; i++)
		fputs("no database", f);
	fclose(f);
	assert_int_equal(pidb_open(&p, folder, &err), -1);
	assert_int_equal(err.code, ERR_DAMAGED);
}

static void several_processes_make_it_at_once_also_through_a_link(void **state)
{
	(void)state;
	enum { PROCESSES = 6 };
	char folder[300], link[320], below[340];
	pid_t child[PROCESSES];
	struct pidb *p = open_fresh(folder);
	pidb_close(&p);
	snprintf(link, sizeof link, "%s-link", folder);
	snprintf(below, sizeof below, "%s/new", link);
	assert_int_equal(symlink(folder, link), 0);
	for (int i = 0; i < PROCESSES; i++) {
		child[i] = fork();
		if (child[i] == 0)
			_exit(pidb_open(&p, below, &err) == 0 && pidb_expire(p, NOW, NOW, &err) == 0
				      ? 0
				      : 1);
	}
	for (int i = 0; i < PROCESSES; i++) {
		int status = 1;
		assert_int_equal(waitpid(child[i], &status, 0), child[i]);
		assert_int_equal(status, 0);
	}
}

static void collect_finding(void *ctx, const char *text)
{
	buf_printf(ctx, "%.28s.", text);
}

static void rows_that_nobody_could_have_written_are_found(void **state)
{
	(void)state;
	char folder[300], path[320];
	struct buf text = BUF_INIT(4000);
	struct pidb *p = open_fresh(folder);
	uint64_t first = add_verified(p, SECRET_A, "http://a/");
	uint64_t second = add_verified(p, SECRET_B, "http://b/");
	snprintf(path, sizeof path, "%s/none", folder);
	assert_int_equal(pidb_check(path, collect_finding, &text, &err), 0);
	assert_int_equal(pidb_check(folder, collect_finding, &text, &err), 0);
	assert_int_equal(text.n, 0);
	struct pidb_change change = {.hours = "25-169"};
	assert_int_equal(pidb_change(p, first, &change, &err), 0);
	assert_int_equal(pidb_password_set(p, second, "secret", &err), 0);
	assert_int_equal(pidb_check(folder, collect_finding, &text, &err), 0);
	assert_non_null(strstr(buf_text(&text), "pidb.db: provider 1: "));
	assert_non_null(strstr(buf_text(&text), "pidb.db: provider 2: "));
	pidb_close(&p);
	snprintf(path, sizeof path, "%s/pidb.db", folder);
	FILE *f = fopen(path, "r+");
	fputs("no database", f);
	fclose(f);
	buf_clear(&text);
	assert_int_equal(pidb_check(folder, collect_finding, &text, &err), 0);
	assert_true(text.n > 0);
	buf_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(registers_and_verifies),
		cmocka_unit_test(nobody_but_the_owner_reads_the_files),
		cmocka_unit_test(an_address_registers_so_often_a_day),
		cmocka_unit_test(numbers_are_not_used_again),
		cmocka_unit_test(numbers_that_others_have_rows_of_are_not_given),
		cmocka_unit_test(those_who_prove_nothing_expire),
		cmocka_unit_test(secrets_and_prefixes_are_bounded),
		cmocka_unit_test(the_contract_changes_in_what_is_set),
		cmocka_unit_test(sessions_count_and_tell_what_was_before),
		cmocka_unit_test(wanted_holds_until_a_full_set_came),
		cmocka_unit_test(providers_come_in_the_order_of_their_numbers),
		cmocka_unit_test(the_version_follows_every_change),
		cmocka_unit_test(connections_and_threads_take_turns),
		cmocka_unit_test(another_database_is_refused),
		cmocka_unit_test(rows_that_nobody_could_have_written_are_found),
		cmocka_unit_test(several_processes_make_it_at_once_also_through_a_link),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
