/* Requests of the port: every flag, in any order and case, and every refusal with its character. */
#include "broker/request.h"
#include "../unit.h"
#include "base/ascii.h"
#include "base/buf.h"

static struct err err;

/* A line as clients send it, without its verb. */
static int parse(enum request_kind kind, const char *rest, struct request *ret)
{
	return request_parse(kind, str_of(rest), 6, ret, &err);
}

static struct request read_well(enum request_kind kind, const char *rest)
{
	struct request r = {0};
	if (parse(kind, rest, &r) != 0)
		fail_msg("'%s': %s", rest, err.msg);
	assert_int_equal(r.kind, kind);
	return r;
}

static struct request parsed_user(const char *rest)
{
	return read_well(REQUEST_USER, rest);
}

static void without_flags_it_is_as_glimpse(void **state)
{
	(void)state;
	struct request r = parsed_user("#END apple AND \"a pie\" ");
	assert_str(r.query, "apple AND \"a pie\"");
	assert_false(r.desc || r.opaque || r.insensitive || r.matchword || r.best || r.all);
	assert_int_equal(r.errors, 0);
	assert_int_equal(r.results, 50);
	assert_int_equal(r.lifetime_s, 0);
	assert_int_equal(r.attributes, 0);
	/* a transfer is of all that is found */
	assert_int_equal(read_well(REQUEST_BULK, "#END apple").results, REQUEST_RESULTS_MOST);
}

static void all_flags_are_known_in_any_case_and_order(void **state)
{
	(void)state;
	static const char *const flags[] = {
		"#desc",
		"#opaque",
		"#index case insensitive",
		"#index error 2",
		"#index matchword",
		"#index maxresult 21",
		"#index maxfiles 30",
		"#attribute title #attribute MD5",
		"#lifetime 30",
	};
	for (size_t from = 0; from < ARRAY_LEN(flags); from++)
		for (int upper = 0; upper < 2; upper++) {
			struct buf line = BUF_INIT(1000);
			for (size_t i = 0; i < ARRAY_LEN(flags); i++)
				buf_printf(&line, "%s \t",
					   flags[(from + i * 2) % ARRAY_LEN(flags)]);
			for (size_t i = 0; upper && i < line.n; i++)
				line.p[i] = ascii_upper(line.p[i]);
			buf_add_text(&line, upper ? "#end x" : "#END x");
			struct request r = parsed_user(buf_text(&line));
			assert_true(r.desc && r.opaque && r.insensitive && r.matchword);
			assert_int_equal(r.errors, 2);
			assert_int_equal(r.results, 21);
			assert_int_equal(r.lifetime_s, 30);
			assert_int_equal(r.attributes, 2);
			assert_str(r.attribute[0], upper ? "TITLE" : "title");
			assert_str(r.query, "x");
			buf_free(&line);
		}
	assert_true(parsed_user("#index case insenstive #END x").insensitive);
	assert_false(
		parsed_user("#index case insensitive #index case sensitive #END x").insensitive);
	assert_true(parsed_user("#index best #END x").best);
	assert_true(parsed_user("#index error 1 #index error Best #END x").best);
	assert_false(parsed_user("#index error best #index error 1 #END x").best);
	assert_int_equal(parsed_user("#index maxfiles 2 #index maxresult 3 #END x").results, 2);
	assert_int_equal(parsed_user("#index maxresult 99999999999999999999 #END x").results,
			 REQUEST_RESULTS_MOST);
	assert_int_equal(parsed_user("#lifetime 99999999999999999999 #END x").lifetime_s,
			 UINT32_MAX);
	assert_int_equal(parsed_user("#lifetime 0 #END x").lifetime_s, 1);
	struct request r = read_well(REQUEST_BULK, "#SINCE 1700000000 #END #ALLB ");
	assert_int_equal(r.since_s, 1700000000);
	assert_true(r.all && r.query.n == 0);
	assert_false(parsed_user("#END #allb and x").all);
}

/* Of the line "#USER " or "#BULK " and this. */
static void what_cannot_be_read_is_named_with_its_character(void **state)
{
	(void)state;
	static const struct {
		const char *rest, *said;
	} wrong[] = {
		{"", "character 7: #END and a query are missing"},
		{"#desc", "character 12: #END and a query are missing"},
		{"#END", "character 11: there is no query after #END"},
		{"apple", "character 7: a query stands after #END"},
		{"#desc apple #END x", "character 13: a query stands after #END"},
		{"#desc #what #END x", "character 13: there is no flag '#what'"},
		{"#de\xc3\xa4sc #END x", "character 7: there is no flag '#de\xc3\xa4sc'"},
		{"#attribute \xc3\xa4 #x #END x", "character 20: there is no flag '#x'"},
		{"#index #END x", "character 14: #index wants an option of the index"},
		{"#index", "character 13: #index wants an option of the index"},
		{"#index fuzz 1 #END x", "character 14: there is no flag #index 'fuzz'"},
		{"#index case both #END x", "character 19: #index case is sensitive or "
					    "insensitive"},
		{"#index error 9 #END x", "character 20: #index error wants a number from 0 to 8"},
		{"#index error -1 #END x", "character 20: #index error wants a number from 0 to 8"},
		{"#index error #END x", "character 20: #index error wants a number from 0 to 8"},
		{"#index maxresult 0 #END x",
		 "character 24: #index maxresult wants a number from 1 to 100000"},
		{"#index maxfiles 1x #END x",
		 "character 23: #index maxfiles wants a number from 1 to 100000"},
		{"#lifetime x #END x", "character 17: #lifetime wants a number from 0 to "
				       "4294967295"},
		{"#attribute #END x", "character 18: #attribute wants the name of one"},
		{"#attribute", "character 17: #attribute wants the name of one"},
		{"#since 1 #END x", "character 7: #since is for #BULK alone"},
	};
	struct request r = {.results = 7};
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		assert_int_equal(parse(REQUEST_USER, wrong[i].rest, &r), -1);
		assert_int_equal(err.code, ERR_USAGE);
		assert_string_equal(err.msg, wrong[i].said);
		assert_int_equal(r.results, 7); /* nothing of it is kept */
	}
	assert_int_equal(parse(REQUEST_BULK, "#since 4294967296 #END x", &r), -1);
	assert_string_equal(err.msg, "character 14: #since wants a number from 0 to 4294967295");
	struct buf many = BUF_INIT(4000);
	for (int i = 0; i <= REQUEST_ATTRIBUTES; i++)
		buf_printf(&many, "#attribute a%d ", i);
	buf_add_text(&many, "#END x");
	assert_int_equal(parse(REQUEST_USER, buf_text(&many), &r), -1);
	assert_non_null(strstr(err.msg, "more than 32 attributes are asked for"));
	buf_free(&many);
}

static void commands_have_a_password_and_a_rest(void **state)
{
	(void)state;
	struct request r = read_well(REQUEST_ADMIN, "#Password  secret #Set  Name  a value ");
	assert_str(r.password, "secret");
	assert_str(r.command, "#Set");
	assert_str(r.rest, "Name  a value");
	r = read_well(REQUEST_ADMIN, "#password \"two words\" #collection");
	assert_str(r.password, "two words");
	assert_str(r.command, "#collection");
	assert_int_equal(r.rest.n, 0);
	static const struct {
		const char *rest, *said;
	} wrong[] = {
		{"", "character 7: #ADMIN wants #password, a password and a command"},
		{"#pass x #collection",
		 "character 7: #ADMIN wants #password, a password and a command"},
		{"#password", "character 16: there is no password after #password"},
		{"#password \"\" #x", "character 20: there is no password after #password"},
		{"#password hidden",
		 "character 23: a command stands after the password and begins with #"},
		{"#password hidden collection",
		 "character 24: a command stands after the password and begins with #"},
		{"#password \"hidden #collection",
		 "character 17: this quote has no end before a blank"},
		{"#password \"hid\"den #collection",
		 "character 17: this quote has no end before a blank"},
	};
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		assert_int_equal(parse(REQUEST_ADMIN, wrong[i].rest, &r), -1);
		assert_string_equal(err.msg, wrong[i].said);
		assert_null(strstr(err.msg, "hid"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_flags_it_is_as_glimpse),
		cmocka_unit_test(all_flags_are_known_in_any_case_and_order),
		cmocka_unit_test(what_cannot_be_read_is_named_with_its_character),
		cmocka_unit_test(commands_have_a_password_and_a_rest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
