/* Contracts as the queue manager has them, while others change them. */
#include "../scratch.h"
#include "../unit.h"

#include "cache/qm/qm_contracts.h"

#define NOW (1700000000 * US_PER_S)
#define LATER (1000 * US_PER_S)
#define SECRET "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static struct err err;
static unsigned told;

static void on_changed(void *ctx, uint64_t provider)
{
	assert_int_equal(provider, *(const uint64_t *)ctx);
	told++;
}

static void on_gone(void *ctx, uint64_t provider)
{
	(void)ctx;
	(void)provider;
	fail();
}

static const struct qm_contracts_ops ops = {.changed = on_changed, .gone = on_gone};

static void a_contract_holds_from_the_next_round_on_and_is_told_at_the_next_walk(void **state)
{
	(void)state;
	const int64_t priority = 7, other = 8;
	struct qm_contracts *c;
	struct qm_contract k;
	struct pidb *pidb;
	uint64_t id;
	assert_int_equal(pidb_open(&pidb, scratch_dir, &err), 0);
	assert_int_equal(
		pidb_register(pidb, "http://a/", "", "x", SECRET, "192.0.2.1", 1, NOW, &id, &err),
		0);
	assert_int_equal(qm_contracts_open(&c, scratch_dir, HOURS_DAY, &err), 0);
	assert_int_equal(qm_contracts_look(c, 0, &ops, &id, &err), 0);
	assert_int_equal(told, 1);
	for (int64_t round = 1; round <= 2; round++) {
		const struct pidb_change change = {.priority = round == 1 ? &priority : &other};
		assert_int_equal(pidb_change(pidb, id, &change, &err), 0);
		/* too early for a walk: nobody is told, and yet it holds */
		assert_int_equal(qm_contracts_look(c, (round - 1) * LATER, &ops, &id, &err), 0);
		assert_int_equal(told, round);
		assert_int_equal(qm_contracts_get(c, id, &k), 0);
		assert_int_equal(k.priority, *change.priority);
		for (int i = 0; i < 2; i++)
			assert_int_equal(qm_contracts_look(c, round * LATER, &ops, &id, &err), 0);
		assert_int_equal(told, round + 1);
	}
	qm_contracts_close(&c);
	pidb_close(&pidb);
}

/* Verifies that folder with a secret. */
static void prove(struct pidb *pidb, uint64_t id, const char *secret, const char *prefix)
{
	assert_int_equal(pidb_verify(pidb, id, secret, prefix, NOW, &err), 0);
}

static void a_further_prefix_holds_from_the_next_round_on(void **state)
{
	(void)state;
	static const char secret[] = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";
	const char *folder = scratch("prefixes");
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(1 << 20);
	struct qm_contracts *c;
	struct pidb *pidb;
	struct str within;
	uint64_t id;
	assert_int_equal(pidb_open(&pidb, folder, &err), 0);
	assert_int_equal(
		pidb_register(pidb, "http://a/", "", "x", SECRET, "192.0.2.1", 1, NOW, &id, &err),
		0);
	prove(pidb, id, SECRET, "http://a/");
	assert_int_equal(qm_contracts_open(&c, folder, HOURS_DAY, &err), 0);
	assert_int_equal(qm_contracts_look(c, 0, &ops, &id, &err), 0);
	assert_int_equal(qm_contracts_within(c, id, STR("http://a/1"), &arena, &within), 0);
	assert_int_equal(qm_contracts_within(c, id, STR("http://b/1"), &arena, &within), 1);
	assert_int_equal(pidb_secret_add(pidb, id, secret, NOW, &err), 0);
	prove(pidb, id, secret, "http://b/");
	/* too early for a walk */
	assert_int_equal(qm_contracts_look(c, 0, &ops, &id, &err), 0);
	assert_int_equal(qm_contracts_within(c, id, STR("http://b/1"), &arena, &within), 0);
	assert_true(str_is(within, "http://b/"));
	assert_int_equal(qm_contracts_within(c, id, STR("http://a/1"), &arena, &within), 0);
	assert_int_equal(qm_contracts_within(c, id, STR("http://c/1"), &arena, &within), 1);
	qm_contracts_close(&c);
	pidb_close(&pidb);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			a_contract_holds_from_the_next_round_on_and_is_told_at_the_next_walk),
		cmocka_unit_test(a_further_prefix_holds_from_the_next_round_on),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
