#include "fetch/botm_names.h"
#include "../dice.h"
#include "../scratch.h"
#include "../unit.h"
#include "base/fault.h"
#include "base/file.h"
#include "disk/tree.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { NAMES = 300 };

static struct botm_names *names_open(const char *path, const char *folder,
				     struct botm_names_found *found)
{
	struct botm_names *n = NULL;
	struct err err;
	if (botm_names_open(&n, path, folder, found, &err) < 0)
		fail_msg("%s", err.msg);
	return n;
}

static void names_close(struct botm_names **n)
{
	struct err err;
	if (botm_names_close(n, &err) < 0)
		fail_msg("%s", err.msg);
}

static void names_commit(struct botm_names *n)
{
	struct err err;
	struct botm_commit c = botm_names_commit_begin(n);
	if (botm_names_commit(&c, &err) < 0 || botm_names_tidy(n, &err) < 0)
		fail_msg("%s", err.msg);
}

/* Numbers so far. */
static uint64_t names_next(const struct botm_names *n)
{
	uint64_t all = 0;
	for (unsigned p = 0; p < BOTM_PLACES; p++)
		all += botm_names_count(n, (enum botm_place)p);
	return all;
}

static const char *file_of(const char *folder, struct botm_name name)
{
	static char path[512];
	char text[BOTM_NAME_ROOM];
	botm_name_print(name, text);
	snprintf(path, sizeof path, "%s/%s", folder, text);
	return path;
}

static void file_make(const char *folder, struct botm_name name)
{
	struct file f = FILE_INIT;
	struct err err;
	if (file_open(&f, file_of(folder, name), O_WRONLY | O_CREAT | O_EXCL, 0600, &err) != 0 ||
	    file_write(&f, "page", 4, 0, &err) < 0)
		fail_msg("%s", err.msg);
	file_drop(&f);
}

static bool file_is_there(const char *folder, struct botm_name name)
{
	return access(file_of(folder, name), F_OK) == 0;
}

static uint64_t length_of(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static void must_be_sound(const char *path)
{
	struct err err;
	int rc = format_verify(&botm_names_format, path, &err);
	if (rc != 0)
		fail_msg("%d: %s", rc, err.msg);
}

static void begin_anew(const char *path, const char *folder)
{
	struct err err;
	assert_true(file_remove(path, &err) >= 0);
	assert_true(tree_remove(folder, &err) >= 0);
}

static void names_have_one_form(void **state)
{
	static const struct {
		const char *text;
		struct botm_name name;
	} good[] = {
		{"000000/000", {0, 1}},        {"000012/345", {12345, 1}},
		{"000012/345.2", {12345, 2}},  {"999999/999.1073741823", {999999999, 1073741823}},
		{"000001/000.10", {1000, 10}},
	};
	static const char *const bad[] = {
		"",
		"000012",
		"000012/",
		"000012/34",
		"12/345",
		"000012/345.",
		"000012/345.1",
		"000012/345.0",
		"000012/345.02",
		"/000012/345",
		"000012/345/1",
		"000012/345.1073741824",
		"000012/+45",
		"000012/345.2.part",
		"1000000/000",
		"000012/345 ",
	};
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		char text[BOTM_NAME_ROOM];
		struct botm_name name;
		assert_true(botm_name_parse(str_of(good[i].text), &name));
		assert_int_equal(name.number, good[i].name.number);
		assert_int_equal(name.generation, good[i].name.generation);
		botm_name_print(name, text);
		assert_string_equal(text, good[i].text);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct botm_name name;
		if (botm_name_parse(str_of(bad[i]), &name))
			fail_msg("'%s' is taken for a name", bad[i]);
	}
}

static void a_name_is_used_again_in_another_generation(void **state)
{
	(void)state;
	const char *path = scratch("again"), *folder = scratch("again.files");
	struct botm_names *n = names_open(path, folder, NULL);
	struct botm_name a, b, c;
	struct err err;
	assert_int_equal(botm_names_give(n, &a, &err), 0);
	assert_int_equal(botm_names_free(n, a, &err), 0);
	assert_int_equal(botm_names_give(n, &b, &err), 0);
	assert_int_equal(botm_names_give(n, &c, &err), 0);
	assert_int_equal(a.number, b.number);
	assert_int_equal(b.generation, a.generation + 1);
	assert_int_equal(c.number, 1);
	assert_int_equal(botm_names_place(n, a), BOTM_FREE);
	assert_int_equal(botm_names_place(n, b), BOTM_GIVEN);
	assert_true(botm_names_free(n, a, &err) < 0);
	assert_true(botm_names_keep(n, b, &err) < 0);
	assert_true(botm_names_store(n, (struct botm_name){7, 1}, STR("x"), &err) < 0);
	names_close(&n);
}

static void a_start_frees_what_was_given_and_sweeps_the_folder(void **state)
{
	(void)state;
	const char *path = scratch("start"), *folder = scratch("start.files");
	struct botm_names *n = names_open(path, folder, NULL);
	struct botm_names_found found;
	struct botm_name name[4];
	struct str answer;
	struct err err;
	size_t at = 0;
	for (size_t i = 0; i < ARRAY_LEN(name); i++) {
		assert_int_equal(botm_names_give(n, &name[i], &err), 0);
		file_make(folder, name[i]);
	}
	assert_int_equal(botm_names_store(n, name[0], STR("first"), &err), 0);
	assert_int_equal(botm_names_store(n, name[1], STR("second"), &err), 0);
	assert_int_equal(botm_names_keep(n, name[1], &err), 0);
	names_close(&n);
	/* as a killed robot leaves it, and what is not ours to remove */
	assert_int_equal(
		file_replace(scratch("start.files/000000/000.x.part"), STR(""), 0600, &err), 0);
	assert_int_equal(file_replace(scratch("start.files/readme"), STR(""), 0600, &err), 0);
	assert_int_equal(format_verify(&botm_names_format, path, &err), FORMAT_NOTED);
	n = names_open(path, folder, &found);
	assert_int_equal(found.given, 2);
	assert_int_equal(found.removed, 3);
	assert_int_equal(found.lost, 0);
	assert_true(file_is_there(folder, name[0]));
	assert_true(file_is_there(folder, name[1]));
	assert_false(file_is_there(folder, name[2]));
	assert_int_equal(access(scratch("start.files/readme"), F_OK), 0);
	assert_int_equal(botm_names_next_stored(n, &at, &name[3], &answer), 0);
	assert_int_equal(name[3].number, 0);
	assert_str(answer, "first");
	assert_int_equal(botm_names_next_stored(n, &at, &name[3], &answer), 1);
	names_close(&n);
	must_be_sound(path);
	assert_int_equal(remove(file_of(folder, name[1])), 0);
	assert_true(format_verify(&botm_names_format, path, &err) < 0);
	assert_int_equal(err.code, ERR_DAMAGED);
}

static void files_that_were_cut_are_found(void **state)
{
	(void)state;
	const char *path = scratch("short"), *folder = scratch("short.files");
	struct botm_names *n = names_open(path, folder, NULL);
	struct botm_name name[2];
	struct err err;
	for (size_t i = 0; i < ARRAY_LEN(name); i++) {
		assert_int_equal(botm_names_give(n, &name[i], &err), 0);
		file_make(folder, name[i]);
		assert_int_equal(botm_names_store(n, name[i],
						  STR("<fetched id='a' outcome='ok' size='4'/>\n"),
						  &err),
				 0);
	}
	assert_int_equal(botm_names_keep(n, name[1], &err), 0);
	names_close(&n);
	must_be_sound(path);
	/* what a source keeps may be empty: nobody here knows how long it was */
	assert_int_equal(truncate(file_of(folder, name[1]), 0), 0);
	assert_int_equal(format_verify(&botm_names_format, path, &err), FORMAT_NOTED);
	assert_non_null(strstr(err.msg, "1 files in "));
	assert_int_equal(truncate(file_of(folder, name[0]), 3), 0);
	assert_true(format_verify(&botm_names_format, path, &err) < 0);
	assert_int_equal(err.code, ERR_DAMAGED);
	assert_non_null(strstr(err.msg, "is stored with 4 bytes, but the file has 3"));
}

/* Names that are stored one moment, and their files. */
static void names_fill(struct botm_names *n, const char *folder, struct botm_name *ret,
		       size_t count)
{
	struct err err;
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(botm_names_give(n, &ret[i], &err), 0);
		file_make(folder, ret[i]);
		assert_int_equal(botm_names_store(n, ret[i], STR("answer"), &err), 0);
		assert_int_equal(botm_names_keep(n, ret[i], &err), 0);
	}
}

static void names_end(struct botm_names *n, const char *folder, struct botm_name name)
{
	struct err err;
	assert_int_equal(botm_names_free(n, name, &err), 0);
	names_commit(n);
	assert_int_equal(file_remove(file_of(folder, name), &err), 0);
}

/* Until the file has been written anew. */
static void names_churn(struct botm_names *n, const char *path, struct botm_name *ret)
{
	static const char text[8000] = "x";
	uint64_t longest = 0;
	struct err err;
	for (int i = 0; i < 1000 && length_of(path) >= longest; i++) {
		longest = length_of(path);
		assert_int_equal(botm_names_give(n, ret, &err), 0);
		assert_int_equal(botm_names_store(n, *ret, (struct str){text, sizeof text}, &err),
				 0);
		assert_int_equal(botm_names_free(n, *ret, &err), 0);
		names_commit(n);
	}
	assert_true(length_of(path) < longest);
}

static void without_its_file_a_folder_keeps_what_is_in_it(void **state)
{
	(void)state;
	const char *path = scratch("lost"), *folder = scratch("lost.files");
	struct botm_names *n = names_open(path, folder, NULL);
	struct botm_names_found found;
	struct botm_name name[6], again, odd = {999999999, (1 << 30) - 1};
	struct err err;
	names_fill(n, folder, name, 6);
	names_end(n, folder, name[0]);
	names_end(n, folder, name[5]);
	names_close(&n);
	assert_int_equal(file_remove(path, &err), 0);
	/* what no botm has made, and cannot be in the way of any */
	assert_int_equal(dir_make(scratch("lost.files/999999"), 0700, &err), 0);
	file_make(folder, odd);
	n = names_open(path, folder, &found);
	assert_true(found.has_lost);
	assert_int_equal(found.lost, 5);
	assert_int_equal(found.removed, 0);
	/* not even a name whose file is gone is given a second time */
	for (int i = 0; i < 8; i++) {
		assert_int_equal(botm_names_give(n, &again, &err), 0);
		assert_int_equal(again.number, i);
		assert_true(again.generation > 1000000);
		file_make(folder, again);
		assert_int_equal(botm_names_store(n, again, STR("answer"), &err), 0);
	}
	names_end(n, folder, again);
	names_churn(n, path, &again);
	names_close(&n);
	assert_int_equal(format_verify(&botm_names_format, path, &err), FORMAT_NOTED);
	assert_non_null(strstr(err.msg, "does not know 5 files"));
	/* and that holds for all times */
	n = names_open(path, folder, &found);
	assert_false(found.has_lost);
	assert_int_equal(found.lost, 5);
	assert_int_equal(found.removed, 0);
	for (int i = 1; i < 5; i++) {
		assert_true(file_is_there(folder, name[i]));
		assert_int_equal(botm_names_place(n, name[i]), BOTM_FREE);
		assert_int_equal(remove(file_of(folder, name[i])), 0);
	}
	assert_int_equal(botm_names_give(n, &name[0], &err), 0);
	assert_int_equal(name[0].number, again.number);
	assert_int_equal(name[0].generation, again.generation + 1);
	assert_int_equal(remove(file_of(folder, odd)), 0);
	assert_int_equal(botm_names_free(n, name[0], &err), 0);
	names_close(&n);
	must_be_sound(path);
}

static void with_an_older_file_a_folder_keeps_what_is_in_it(void **state)
{
	(void)state;
	const char *path = scratch("older"), *folder = scratch("older.files");
	struct botm_names *n = names_open(path, folder, NULL);
	struct botm_names_found found;
	struct botm_name old[3], given, late;
	struct err err;
	names_fill(n, folder, old, 3);
	assert_int_equal(botm_names_give(n, &given, &err), 0);
	names_commit(n);
	CLEANUP(buf_free) struct buf bytes = BUF_INIT(1 << 20);
	assert_int_equal(file_slurp(path, &bytes, &err), 0);
	/* all that follows is lost: one more is kept, and one is another by now */
	file_make(folder, given);
	assert_int_equal(botm_names_store(n, given, STR("answer"), &err), 0);
	assert_int_equal(botm_names_keep(n, given, &err), 0);
	names_end(n, folder, old[0]);
	names_fill(n, folder, &late, 1);
	assert_int_equal(late.number, old[0].number);
	names_close(&n);
	assert_int_equal(file_replace(path, buf_str(&bytes), 0600, &err), 0);
	n = names_open(path, folder, &found);
	assert_true(found.has_lost);
	assert_int_equal(found.lost, 1);
	assert_int_equal(found.removed, 0);
	assert_int_equal(botm_names_place(n, given), BOTM_KEPT);
	assert_true(file_is_there(folder, given));
	assert_true(file_is_there(folder, late));
	names_close(&n);
	/* however much of that was noted when it was killed, the next start comes to the same */
	CLEANUP(buf_free) struct buf mended = BUF_INIT(1 << 20);
	assert_int_equal(file_slurp(path, &mended, &err), 0);
	for (size_t length = bytes.n; length <= mended.n; length++) {
		struct str part = str_head(buf_str(&mended), length);
		assert_int_equal(file_replace(path, part, 0600, &err), 0);
		n = names_open(path, folder, &found);
		assert_int_equal(found.lost, 1);
		assert_int_equal(found.removed, 0);
		assert_int_equal(botm_names_place(n, given), BOTM_KEPT);
		names_close(&n);
	}
	n = names_open(path, folder, &found);
	assert_true(file_is_there(folder, late));
	/* what the names do know is removed as ever */
	assert_int_equal(botm_names_free(n, given, &err), 0);
	names_close(&n);
	n = names_open(path, folder, &found);
	assert_int_equal(found.removed, 1);
	assert_int_equal(found.lost, 1);
	assert_false(file_is_there(folder, given));
	names_close(&n);
}

static void without_its_folder_a_file_makes_it_anew(void **state)
{
	(void)state;
	const char *path = scratch("bare"), *folder = scratch("bare.files");
	struct botm_names *n = names_open(path, folder, NULL);
	struct botm_name name;
	struct err err;
	assert_int_equal(botm_names_give(n, &name, &err), 0);
	names_close(&n);
	assert_true(tree_remove(folder, &err) >= 0);
	n = names_open(path, folder, NULL);
	assert_int_equal(botm_names_give(n, &name, &err), 0);
	file_make(folder, name);
	names_close(&n);
}

static void two_botms_do_not_share_a_folder(void **state)
{
	(void)state;
	const char *folder = scratch("one.files");
	struct botm_names *n = names_open(scratch("one"), folder, NULL), *other = NULL;
	struct err err;
	assert_true(botm_names_open(&other, scratch("two"), folder, NULL, &err) < 0);
	assert_int_equal(err.code, ERR_BUSY);
	assert_null(other);
	names_close(&n);
}

/* Against a plain model. */

struct model {
	struct {
		enum botm_place place;
		uint32_t generation;
	} name[NAMES];
	uint32_t next;
};

static void model_must_hold(const struct model *m, struct botm_names *n)
{
	uint64_t count[BOTM_PLACES] = {0};
	assert_int_equal(names_next(n), m->next);
	for (uint32_t i = 0; i < m->next; i++) {
		const struct botm_name name = {i, m->name[i].generation};
		assert_int_equal(botm_names_place(n, name), m->name[i].place);
		count[m->name[i].place]++;
	}
	for (unsigned p = 0; p < BOTM_PLACES; p++)
		assert_int_equal(botm_names_count(n, (enum botm_place)p), count[p]);
}

static void model_give(struct model *m, struct botm_names *n)
{
	struct botm_name name;
	struct err err;
	bool has_free = botm_names_count(n, BOTM_FREE) > 0;
	if (m->next == NAMES && !has_free)
		return;
	assert_int_equal(botm_names_give(n, &name, &err), 0);
	if (has_free) {
		assert_int_equal(m->name[name.number].place, BOTM_FREE);
		assert_int_equal(name.generation, m->name[name.number].generation + 1);
	} else {
		assert_int_equal(name.number, m->next++);
		assert_int_equal(name.generation, 1);
	}
	m->name[name.number].place = BOTM_GIVEN;
	m->name[name.number].generation = name.generation;
}

static void model_step(struct model *m, struct botm_names *n, uint64_t *seed)
{
	static const char text[4000] = "x";
	struct err err;
	if (m->next == 0 || dice(seed) % 3 == 0) {
		model_give(m, n);
		return;
	}
	uint32_t i = (uint32_t)(dice(seed) % m->next);
	const struct botm_name name = {i, m->name[i].generation};
	enum botm_place place = (enum botm_place)(dice(seed) % BOTM_PLACES);
	enum botm_place old = m->name[i].place;
	if (place == BOTM_STORED && old == BOTM_GIVEN)
		assert_int_equal(botm_names_store(n, name,
						  (struct str){text, dice(seed) % sizeof text},
						  &err),
				 0);
	else if (place == BOTM_KEPT && old == BOTM_STORED)
		assert_int_equal(botm_names_keep(n, name, &err), 0);
	else if (place == BOTM_FREE && old != BOTM_FREE)
		assert_int_equal(botm_names_free(n, name, &err), 0);
	else
		return;
	m->name[i].place = place;
}

static void random_steps_agree_with_a_plain_model(void **state)
{
	(void)state;
	const char *path = scratch("model"), *folder = scratch("model.files");
	uint64_t seed = 4711;
	struct model m = {0};
	struct botm_names *n = names_open(path, folder, NULL);
	int rounds = unit_thorough() ? 40 : 8;
	for (int round = 0; round < rounds; round++) {
		for (int i = 0; i < 1500; i++) {
			model_step(&m, n, &seed);
			if (dice(&seed) % 50 == 0)
				names_commit(n);
		}
		model_must_hold(&m, n);
		names_close(&n);
		n = names_open(path, folder, NULL);
		for (uint32_t i = 0; i < m.next; i++)
			if (m.name[i].place == BOTM_GIVEN)
				m.name[i].place = BOTM_FREE;
		model_must_hold(&m, n);
	}
	names_close(&n);
}

/* Cut at every byte. */

struct history {
	struct model at[64];
	uint64_t length[64]; /* of the file */
	size_t n;
};

static void history_note(struct history *h, const struct model *m, struct botm_names *n,
			 const char *path)
{
	struct err err;
	assert_int_equal(botm_names_flush(n, &err), 0);
	h->at[h->n] = *m;
	h->length[h->n++] = length_of(path);
}

/* What is cut at a length is what was flushed before it, or a step of what came after. */
static const struct model *history_at(const struct history *h, uint64_t length)
{
	static const struct model nothing;
	size_t before = 0;
	while (before + 1 < h->n && h->length[before + 1] <= length)
		before++;
	return h->length[before] <= length ? &h->at[before] : &nothing;
}

static void cut_must_hold(const struct history *h, uint64_t length, bool is_flushed,
			  struct botm_names *n, const struct botm_names_found *found)
{
	const struct model *m = history_at(h, length);
	uint64_t next = names_next(n);
	assert_true(next >= m->next);
	for (uint32_t i = 0; i < next; i++) {
		unsigned places = 0;
		for (uint32_t g = 1; g < 100; g++)
			places += botm_names_place(n, (struct botm_name){i, g}) != BOTM_FREE;
		assert_true(places <= 1);
	}
	for (uint32_t i = 0; i < m->next && is_flushed; i++) {
		const struct botm_name name = {i, m->name[i].generation};
		enum botm_place place = botm_names_place(n, name);
		if (m->name[i].place != BOTM_GIVEN)
			assert_int_equal(place, m->name[i].place);
		else
			assert_true(place == BOTM_FREE || (place == BOTM_KEPT && found->has_lost));
	}
}

/* Files that are stored or kept at the end, and lie in the folder whatever the names say. */
static void files_make(const struct model *m, const char *folder)
{
	struct err err;
	char path[512];
	snprintf(path, sizeof path, "%s/000000", folder);
	assert_int_equal(dir_make(path, 0700, &err), 0);
	for (uint32_t i = 0; i < m->next; i++)
		if (m->name[i].place >= BOTM_STORED)
			file_make(folder, (struct botm_name){i, m->name[i].generation});
}

/* A file goes only if the names have it as given, and nothing shows that they were cut. */
static void files_must_be_there(const struct model *last, const struct model *cut,
				const struct botm_names_found *found, const char *folder)
{
	for (uint32_t i = 0; i < last->next; i++) {
		const struct botm_name name = {i, last->name[i].generation};
		bool is_given = i < cut->next && cut->name[i].generation == name.generation &&
				cut->name[i].place == BOTM_GIVEN;
		if (last->name[i].place >= BOTM_STORED && !file_is_there(folder, name))
			assert_true(is_given && !found->has_lost);
	}
}

static void no_name_must_be_given_twice(struct botm_names *n, const struct model *last)
{
	for (int i = 0; i < 10; i++) {
		struct botm_name name;
		struct err err;
		assert_int_equal(botm_names_give(n, &name, &err), 0);
		if (name.number < last->next)
			assert_true(name.generation > last->name[name.number].generation);
	}
}

static void a_file_cut_at_every_byte_has_every_name_in_one_place(void **state)
{
	(void)state;
	const char *path = scratch("cut"), *folder = scratch("cut.files");
	const char *part = scratch("part"), *part_folder = scratch("part.files");
	static struct history h;
	struct botm_names_found found;
	struct model m = {0};
	uint64_t seed = 815, lost = 0;
	struct err err;
	struct botm_names *n = names_open(path, folder, NULL);
	for (int i = 0; i < 60; i++) {
		model_step(&m, n, &seed);
		history_note(&h, &m, n, path);
	}
	names_close(&n);
	CLEANUP(buf_free) struct buf bytes = BUF_INIT(1 << 20);
	assert_int_equal(file_slurp(path, &bytes, &err), 0);
	size_t step = unit_thorough() ? 1 : 61; /* and every length that was flushed */
	for (size_t length = 0; length <= bytes.n; length++) {
		bool is_flushed = false;
		for (size_t i = 0; i < h.n; i++)
			is_flushed = is_flushed || h.length[i] == length;
		if (length % step && !is_flushed && length > 200)
			continue;
		begin_anew(part, part_folder);
		files_make(&m, part_folder);
		assert_int_equal(file_replace(part, str_head(buf_str(&bytes), length), 0600, &err),
				 0);
		n = names_open(part, part_folder, &found);
		cut_must_hold(&h, length, is_flushed, n, &found);
		if (is_flushed)
			files_must_be_there(&m, history_at(&h, length), &found, part_folder);
		if (found.has_lost)
			no_name_must_be_given_twice(n, &m);
		lost += found.has_lost;
		names_close(&n);
	}
	assert_true(lost > 20);
}

#ifdef GARNER_FAULTS
/* Killed at every point. What the child has been promised lies in memory that both see. */

struct promise {
	struct {
		enum botm_place place;
		uint32_t generation;
		bool moving; /* the next step was begun */
	} name[NAMES];
	uint64_t steps;
};

static void child_store(struct botm_names *n, struct promise *p, struct botm_name name,
			const char *folder)
{
	static const char text[1000] = "answer";
	struct err err;
	file_make(folder, name);
	if (botm_names_store(n, name, (struct str){text, sizeof text}, &err) < 0)
		abort();
	names_commit(n);
	p->name[name.number].place = BOTM_STORED;
}

static void child_free(struct botm_names *n, struct botm_name name, const char *folder)
{
	struct err err;
	if (botm_names_free(n, name, &err) < 0)
		abort();
	names_commit(n);
	if (file_remove(file_of(folder, name), &err) < 0)
		abort();
}

static void child_step(struct botm_names *n, struct promise *p, uint64_t *seed, const char *folder)
{
	struct botm_name name;
	struct err err;
	uint32_t i = (uint32_t)(dice(seed) % NAMES);
	if (i >= names_next(n) || p->name[i].place == BOTM_FREE) {
		if (botm_names_give(n, &name, &err) < 0 || botm_names_flush(n, &err) < 0)
			abort();
		/* the promise that counts most: never the same name twice */
		if (name.number < NAMES && name.generation <= p->name[name.number].generation)
			abort();
		if (name.number >= NAMES)
			abort();
		p->name[name.number].place = BOTM_GIVEN;
		p->name[name.number].generation = name.generation;
		return;
	}
	name = (struct botm_name){i, p->name[i].generation};
	p->name[i].moving = true;
	if (p->name[i].place == BOTM_GIVEN && dice(seed) % 4) {
		child_store(n, p, name, folder);
	} else if (p->name[i].place == BOTM_STORED && dice(seed) % 2) {
		if (botm_names_keep(n, name, &err) < 0 || botm_names_flush(n, &err) < 0)
			abort();
		p->name[i].place = BOTM_KEPT;
	} else {
		child_free(n, name, folder);
		p->name[i].place = BOTM_FREE;
	}
	p->name[i].moving = false;
}

static void child_run(const char *faults, struct promise *p, const char *path, const char *folder,
		      uint64_t seed)
{
	struct botm_names *n = NULL;
	struct err err;
	if (fault_arm(faults, &err) < 0 || botm_names_open(&n, path, folder, NULL, &err) < 0)
		abort();
	for (uint32_t i = 0; i < NAMES; i++)
		if (p->name[i].place == BOTM_GIVEN)
			p->name[i].place = BOTM_FREE;
	for (int i = 0; i < 3000; i++) {
		child_step(n, p, &seed, folder);
		p->steps++;
	}
	_exit(0);
}

static bool is_killed(const char *faults, struct promise *p, const char *path, const char *folder,
		      uint64_t seed)
{
	int status = 0;
	pid_t pid = fork();
	if (pid == 0)
		child_run(faults, p, path, folder, seed);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	bool was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
	if (!was_killed && !(WIFEXITED(status) && WEXITSTATUS(status) == 0))
		fail_msg("%s: the child ended with %x", faults, status);
	return was_killed;
}

static void promises_must_hold(struct promise *p, const char *path, const char *folder)
{
	struct botm_names *n = names_open(path, folder, NULL);
	for (uint32_t i = 0; i < NAMES; i++) {
		const struct botm_name name = {i, p->name[i].generation};
		enum botm_place place = botm_names_place(n, name), said = p->name[i].place;
		if (said == BOTM_GIVEN)
			said = BOTM_FREE;
		if (p->name[i].moving)
			assert_true(place == said || place == BOTM_FREE || place == said + 1 ||
				    place == BOTM_STORED);
		else
			assert_int_equal(place, said);
		if (name.generation)
			assert_int_equal(file_is_there(folder, name), place >= BOTM_STORED);
		p->name[i].place = place;
		p->name[i].moving = false;
	}
	names_close(&n);
	must_be_sound(path);
}

static void killed_at_every_point_no_name_is_lost_or_given_twice(void **state)
{
	static const char *const points[] = {"botm.flush",     "botm.commit",  "botm.committed",
					     "botm.rewritten", "botm.renamed", "botm.sweep"};
	(void)state;
	const char *path = scratch("killed"), *folder = scratch("killed.files");
	struct promise *p =
		mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(p != MAP_FAILED);
	for (size_t i = 0; i < ARRAY_LEN(points); i++) {
		unsigned kills = 0;
		for (unsigned at = 1; at < (unit_thorough() ? 40u : 5u); at++) {
			char faults[64];
			snprintf(faults, sizeof faults, "%s=kill@%u", points[i],
				 at < 3 ? at : at * 7);
			/* something to sweep: a file of a robot that nobody waits for */
			if (strcmp(points[i], "botm.sweep") == 0) {
				struct err err;
				snprintf(faults, sizeof faults, "%s=kill", points[i]);
				assert_true(dir_make(scratch("killed.files/000000"), 0700, &err) ==
					    0);
				assert_int_equal(file_replace(scratch("killed.files/000000/1.part"),
							      STR(""), 0600, &err),
						 0);
			}
			kills += is_killed(faults, p, path, folder, 99 + at);
			promises_must_hold(p, path, folder);
		}
		if (kills == 0)
			fail_msg("%s was never passed", points[i]);
	}
	munmap(p, sizeof *p);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_have_one_form),
		cmocka_unit_test(a_name_is_used_again_in_another_generation),
		cmocka_unit_test(a_start_frees_what_was_given_and_sweeps_the_folder),
		cmocka_unit_test(files_that_were_cut_are_found),
		cmocka_unit_test(without_its_file_a_folder_keeps_what_is_in_it),
		cmocka_unit_test(with_an_older_file_a_folder_keeps_what_is_in_it),
		cmocka_unit_test(without_its_folder_a_file_makes_it_anew),
		cmocka_unit_test(two_botms_do_not_share_a_folder),
		cmocka_unit_test(random_steps_agree_with_a_plain_model),
		cmocka_unit_test(a_file_cut_at_every_byte_has_every_name_in_one_place),
#ifdef GARNER_FAULTS
		cmocka_unit_test(killed_at_every_point_no_name_is_lost_or_given_twice),
#endif
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
