/* Listings with their right answers (tests/data/listings), at once and byte by byte. */
#include "base/file.h"
#include "extract/listing.h"

#include <jansson.h>
#include <limits.h>
#include <stdio.h>

#include "../unit.h"

static const char folder[] = "tests/data/listings";

/* What is compared: a line of text for each entry, in the order in which they come. */

/* Text of the pairs is one character per byte. */
static void put_json_text(struct buf *out, const json_t *v)
{
	if (!json_is_string(v)) {
		buf_add_text(out, " null");
		return;
	}
	const unsigned char *p = (const unsigned char *)json_string_value(v);
	buf_add_text(out, " '");
	for (size_t i = 0, n = json_string_length(v); i < n; i++) {
		if (p[i] < 0x80) {
			buf_add_byte(out, (char)p[i]);
		} else {
			assert_true(i + 1 < n && p[i] <= 0xc3);
			buf_add_byte(out, (char)(p[i] << 6 | (p[i + 1] & 0x3f)));
			i++;
		}
	}
	buf_add_byte(out, '\'');
}

static void put_json_number(struct buf *out, const json_t *v)
{
	buf_printf(out, " %lld", json_is_integer(v) ? (long long)json_integer_value(v) : -1LL);
}

static void put_wanted(struct buf *out, const json_t *root)
{
	size_t i;
	const json_t *e;
	json_array_foreach(json_object_get(root, "entries"), i, e)
	{
		static const char *const texts[] = {"name", "dir",   "kind",
						    "mode", "owner", "group"};
		static const char *const numbers[] = {"links", "size", "time"};
		for (size_t k = 0; k < ARRAY_LEN(texts); k++)
			put_json_text(out, json_object_get(e, texts[k]));
		for (size_t k = 0; k < ARRAY_LEN(numbers); k++)
			put_json_number(out, json_object_get(e, numbers[k]));
		buf_add_byte(out, '\n');
	}
	json_array_foreach(json_object_get(root, "bad"), i, e)
		buf_printf(out, "bad %lld\n", (long long)json_integer_value(e));
}

static void put_text(struct buf *out, struct str s)
{
	if (!s.p) {
		buf_add_text(out, " null");
		return;
	}
	buf_add_text(out, " '");
	buf_add_str(out, s);
	buf_add_byte(out, '\'');
}

static int put_entry(void *ctx, const struct listing_entry *e, struct err *err)
{
	struct buf *out = ctx;
	(void)err;
	put_text(out, e->name);
	put_text(out, e->dir);
	put_text(out, str_of(listing_kind_name[e->kind]));
	put_text(out, (struct str){e->mode[0] ? e->mode : NULL, sizeof e->mode});
	put_text(out, e->owner);
	put_text(out, e->group);
	buf_printf(out, " %lld %lld %lld\n", (long long)e->links, (long long)e->size,
		   (long long)e->time_s);
	return 0;
}

static int parse(const struct listing_job *job, struct str text, size_t piece, struct buf *out)
{
	struct listing *l = listing_new(job, put_entry, out);
	struct listing_stats stats;
	struct err err;
	for (; text.n; text = str_from(text, piece))
		assert_int_equal(listing_put(l, str_head(text, piece), &err), 0);
	int rc = listing_end(l, &stats, &err);
	for (size_t i = 0; i < MIN(stats.bad, (uint64_t)LISTING_BAD_KEPT); i++) {
		buf_printf(out, "bad %llu\n", (unsigned long long)stats.bad_line[i]);
		assert_true(stats.bad_why[i][0]);
	}
	listing_free(&l);
	return rc;
}

static struct listing_job job_of(const json_t *root)
{
	struct listing_job job = {
		.listed_s = json_integer_value(json_object_get(root, "listed")),
		.tz_s = (int32_t)json_integer_value(json_object_get(root, "tz_s")),
		.errors_max_percent = 100,
	};
	const json_t *prefix = json_object_get(root, "prefix");
	if (prefix)
		job.prefix = str_of(json_string_value(prefix));
	return job;
}

static void compare(const char *name, const struct buf *got, const struct buf *want)
{
	if (!str_eq(buf_str(got), buf_str(want)))
		fail_msg("%s:\n--- got\n%s--- want\n%s", name, buf_text(got), buf_text(want));
}

static void check_pair(const char *name)
{
	char path[PATH_MAX];
	struct buf text = BUF_INIT(1 << 20), want = BUF_INIT(1 << 20), got = BUF_INIT(1 << 20);
	struct err err;
	json_error_t error;
	snprintf(path, sizeof path, "%s/%s.txt", folder, name);
	assert_int_equal(file_slurp(path, &text, &err), 0);
	snprintf(path, sizeof path, "%s/%s.json", folder, name);
	json_t *root = json_load_file(path, JSON_ALLOW_NUL, &error);
	assert_non_null(root);
	struct listing_job job = job_of(root);
	put_wanted(&want, root);
	int empty = json_array_size(json_object_get(root, "entries")) == 0;
	static const size_t pieces[] = {SIZE_MAX, 1, 7, 4096};
	for (size_t i = 0; i < ARRAY_LEN(pieces); i++) {
		buf_clear(&got);
		assert_int_equal(parse(&job, buf_str(&text), pieces[i], &got), empty ? -1 : 0);
		compare(name, &got, &want);
	}
	json_decref(root);
	buf_free(&text);
	buf_free(&want);
	buf_free(&got);
}

static void every_listing_says_what_its_pair_says(void **state)
{
	struct dir dir;
	struct err err;
	const char *name;
	size_t n = 0;
	(void)state;
	assert_int_equal(dir_init(&dir, folder, &err), 0);
	while (dir_next(&dir, &name) == 0) {
		char stem[NAME_MAX + 1];
		if (!str_ends(str_of(name), STR(".txt")))
			continue;
		snprintf(stem, sizeof stem, "%.*s", (int)strlen(name) - 4, name);
		check_pair(stem);
		n++;
	}
	dir_done(&dir);
	assert_int_equal(n, 45);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_listing_says_what_its_pair_says),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
