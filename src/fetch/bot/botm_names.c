/* The names of a botm in memory, and the steps that change them. A number takes four bytes: its
 * generation and its place. Free ones are a stack, so the folder stays as full as it can be.
 *
 * The file grows by a record for each step. Where it is several times as long as what it says, it
 * is written anew and renamed: at once and in the thread of the owner, since a million names are
 * 20 MB and this comes once in several million steps. A table of free names that is overwritten in
 * place was the other way; it needs a log of its own to survive a cut.
 *
 * A start that finds files of names that were never given knows that its file has lost its end, or
 * all of it. Then any free name may have been given before, and is perhaps known to the source: so
 * an era begins, a generation greater than all that can have been, and names are given from it on.
 * The files stay where they are, for the source may read and delete them. */
#include "base/clock.h"
#include "base/fault.h"
#include "base/vec.h"
#include "fetch/bot/botm_names_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <unistd.h>

enum {
	A_FOLDER = 1000,        /* names in a subfolder */
	STEP_BYTES = 32,        /* of most steps, with their frame */
	TIDY_LEAST = 256 << 10, /* a shorter file is left as it is */
	TIDY_FACTOR = 4,
};

struct botm_names {
	char *path, *folder;
	struct file lock; /* the folder, held */
	struct record_writer *writer;
	struct record_group group; /* of what is not committed yet */
	struct botm_map map;
	uint32_t *free;
	size_t nfree, room;
	struct buf payload;
};

/* Names as text. */

void botm_name_print(struct botm_name name, char ret[BOTM_NAME_ROOM])
{
	int n = snprintf(ret, BOTM_NAME_ROOM, "%06u/%03u", name.number / A_FOLDER % 1000000,
			 name.number % A_FOLDER);
	if (name.generation > 1)
		snprintf(ret + n, BOTM_NAME_ROOM - (size_t)n, ".%u",
			 name.generation & BOTM_GENERATION_MOST);
}

/* What is printed is what was read, so each name has one form. */
bool botm_name_parse(struct str text, struct botm_name *ret)
{
	char again[BOTM_NAME_ROOM];
	uint64_t folder, number, generation = 1;
	struct str rest = text, part;
	if (str_cut(&rest, '/', &part) != 0 || part.n != 6 || !str_u64(part, &folder) ||
	    str_cut(&rest, '.', &part) != 0 || part.n != 3 || !str_u64(part, &number) ||
	    (rest.p && (!str_u64(rest, &generation) || generation > BOTM_GENERATION_MOST)))
		return false;
	struct botm_name name = {(uint32_t)(folder * A_FOLDER + number), (uint32_t)generation};
	botm_name_print(name, again);
	if (generation == 0 || !str_is(text, again))
		return false;
	*ret = name;
	return true;
}

/* Steps. */

static int step_put(struct botm_names *n, struct record_writer *to, const struct botm_step *step,
		    struct record_group *group, struct err *err)
{
	buf_clear(&n->payload);
	botm_step_write(step, &n->payload);
	return record_append(to, buf_str(&n->payload), group, NULL, err);
}

static int step_append(struct botm_names *n, const struct botm_step *step, struct err *err)
{
	return step_put(n, n->writer, step, &n->group, err);
}

static int step_take(struct botm_names *n, enum botm_place place, struct botm_name name,
		     struct str answer, struct err *err)
{
	const struct botm_step step = {.place = place, .name = name, .text = answer};
	if (botm_map_apply(&n->map, &step, err) < 0 || step_append(n, &step, err) < 0)
		return -1;
	if (place == BOTM_FREE)
		*VEC_PUSH(n->free, n->nfree, n->room) = name.number;
	return 0;
}

static int subfolder_make(const struct botm_names *n, uint32_t number, struct err *err)
{
	char path[PATH_MAX];
	int length = snprintf(path, sizeof path, "%s/%06u", n->folder, number / A_FOLDER);
	if (length >= (int)sizeof path)
		return err_set(err, ERR_USAGE, "%.200s...: the path is too long", path);
	return dir_make(path, DIR_MODE, err);
}

/* The number that is taken from the stack, or the next one. */
static int number_choose(struct botm_names *n, struct botm_name *ret, struct err *err)
{
	while (n->nfree) {
		struct botm_name name = botm_map_name(&n->map, n->free[--n->nfree]);
		if (name.generation == BOTM_GENERATION_MOST)
			continue; /* used up: it stays free for ever */
		*ret = (struct botm_name){name.number, botm_map_next(&n->map, name.number)};
		return 0;
	}
	if (n->map.n >= BOTM_NAMES_MOST)
		return err_set(err, ERR_SYSTEM, "%s: all %d names are in use", n->folder,
			       BOTM_NAMES_MOST);
	*ret = (struct botm_name){(uint32_t)n->map.n, botm_map_next(&n->map, (uint32_t)n->map.n)};
	return ret->number % A_FOLDER == 0 ? subfolder_make(n, ret->number, err) : 0;
}

int botm_names_give(struct botm_names *n, struct botm_name *ret, struct err *err)
{
	struct botm_name name;
	if (number_choose(n, &name, err) < 0 ||
	    step_take(n, BOTM_GIVEN, name, (struct str){0}, err) < 0)
		return -1;
	*ret = name;
	return 0;
}

int botm_names_store(struct botm_names *n, struct botm_name name, struct str answer,
		     struct err *err)
{
	ENSURE(answer.n <= BOTM_ANSWER_MAX);
	return step_take(n, BOTM_STORED, name, answer, err);
}

int botm_names_keep(struct botm_names *n, struct botm_name name, struct err *err)
{
	return step_take(n, BOTM_KEPT, name, (struct str){0}, err);
}

int botm_names_free(struct botm_names *n, struct botm_name name, struct err *err)
{
	return step_take(n, BOTM_FREE, name, (struct str){0}, err);
}

int botm_names_flush(struct botm_names *n, struct err *err)
{
	if (record_flush(n->writer, err) < 0)
		return -1;
	FAULT("botm.flush");
	return 0;
}

struct botm_commit botm_names_commit_begin(struct botm_names *n)
{
	struct botm_commit c = {n->writer, n->group};
	n->group = (struct record_group){0};
	return c;
}

int botm_names_commit(struct botm_commit *c, struct err *err)
{
	FAULT("botm.commit");
	if (record_sync(c->writer, &c->group, err) < 0)
		return -1;
	FAULT("botm.committed");
	return 0;
}

/* Writing the file anew. */

static int map_write(struct botm_names *n, struct record_writer *w, struct err *err)
{
	struct record_group group = {0};
	const struct botm_step folder = {.kind = BOTM_STEP_FOLDER, .text = str_of(n->map.folder)};
	int rc = step_put(n, w, &folder, &group, err);
	if (rc == 0 && n->map.era) {
		const struct botm_step era = {.kind = BOTM_STEP_ERA, .name = {0, n->map.era}};
		rc = step_put(n, w, &era, &group, err);
	}
	for (uint32_t i = 0; rc == 0 && i < n->map.n; i++) {
		struct str *answer = botm_answers_get(&n->map.answers, i);
		const struct botm_step step = {.place = botm_map_place(&n->map, i),
					       .name = botm_map_name(&n->map, i),
					       .text = answer ? *answer : (struct str){0}};
		rc = step_put(n, w, &step, &group, err);
	}
	return rc < 0 ? rc : record_sync(w, &group, err);
}

static int new_path_of(const char *path, char ret[PATH_MAX], struct err *err)
{
	const char *slash = strrchr(path, '/');
	int folder = slash ? (int)(slash + 1 - path) : 0;
	if (snprintf(ret, PATH_MAX, "%.*s.%s.new", folder, path, path + folder) >= PATH_MAX)
		return err_set(err, ERR_USAGE, "%.200s...: the path is too long", path);
	return 0;
}

/* The old file is whole until it has been replaced. */
static int names_rewrite(struct botm_names *n, struct err *err)
{
	char fresh[PATH_MAX];
	struct record_writer *w = NULL;
	if (new_path_of(n->path, fresh, err) < 0 || file_remove(fresh, err) < 0 ||
	    record_open(&w, fresh, &botm_names_kind, 0640, NULL, err) < 0)
		return -1;
	if (map_write(n, w, err) < 0) {
		record_drop(&w);
		return -1;
	}
	FAULT("botm.rewritten");
	record_drop(&n->writer);
	n->group = (struct record_group){0};
	n->writer = w;
	if (file_rename(fresh, n->path, err) < 0 || dir_sync_of(n->path, err) < 0)
		return -1;
	FAULT("botm.renamed");
	return 0;
}

int botm_names_tidy(struct botm_names *n, struct err *err)
{
	uint64_t needs = n->map.n * STEP_BYTES + n->map.answer_bytes;
	if (record_end(n->writer) < MAX(needs * TIDY_FACTOR, (uint64_t)TIDY_LEAST))
		return 0;
	return names_rewrite(n, err);
}

/* Opening. */

/* What lies in the folder. */
struct survey {
	struct botm_names *names;
	struct botm_name *left; /* files that may go, as far as the names know */
	size_t nleft, room;
	uint64_t removed, lost;
	uint32_t highest; /* generation of those that show a loss; 0: there is none */
};

/* A folder is not removed: no robot of ours makes one. */
static int survey_remove(struct survey *s, const char *path, struct err *err)
{
	FAULT("botm.sweep");
	if (file_remove(path, err) >= 0)
		s->removed++;
	else if (err->sys_errno != EISDIR)
		return -1;
	return 0;
}

/* A file of a robot that was killed is nobody's whatever the names say. */
static int survey_file(void *ctx, const char *path, bool is_name, struct botm_name name,
		       struct err *err)
{
	struct survey *s = ctx;
	const struct botm_map *map = &s->names->map;
	if (!is_name)
		return survey_remove(s, path, err);
	enum botm_claim claim = botm_map_claim(map, name);
	if (claim == BOTM_LEFT)
		*VEC_PUSH(s->left, s->nleft, s->room) = name;
	if (claim != BOTM_LOST)
		return 0;
	s->lost++;
	if (name.generation >= map->era && name.generation < BOTM_ERA_MOST)
		s->highest = MAX(s->highest, name.generation);
	return 0;
}

/* Greater than all that was given: by the clock, in minutes since 1970, since nobody knows what
 * else there was. */
static int era_begin(struct botm_names *n, uint32_t highest, struct err *err)
{
	int64_t minutes = clock_wall_us() / US_PER_MIN;
	uint32_t era = (uint32_t)MIN(MAX(minutes, (int64_t)highest + 1), (int64_t)BOTM_ERA_MOST);
	const struct botm_step step = {.kind = BOTM_STEP_ERA, .name = {0, era}};
	return botm_map_apply(&n->map, &step, err) < 0 ? -1 : step_append(n, &step, err);
}

static void file_path(const struct botm_names *n, struct botm_name name, char ret[PATH_MAX])
{
	char text[BOTM_NAME_ROOM];
	botm_name_print(name, text);
	snprintf(ret, PATH_MAX, "%s/%s", n->folder, text);
}

/* A given name is free, for nobody waits for its robot's answer. But what the file of names lost
 * when an era began may have been that it is stored. */
static int given_end(struct botm_names *n, uint64_t *freed, struct err *err)
{
	for (uint32_t i = (uint32_t)n->map.n; i-- > 0;) {
		struct botm_name name = botm_map_name(&n->map, i);
		enum botm_place place = botm_map_place(&n->map, i);
		char path[PATH_MAX];
		if (place == BOTM_FREE)
			*VEC_PUSH(n->free, n->nfree, n->room) = i;
		if (place != BOTM_GIVEN)
			continue;
		file_path(n, name, path);
		bool may_be_stored = name.generation < n->map.era && access(path, F_OK) == 0;
		if ((may_be_stored ? botm_names_keep(n, name, err)
				   : botm_names_free(n, name, err)) < 0)
			return -1;
		*freed += !may_be_stored;
	}
	return 0;
}

static int survey_sweep(struct survey *s, struct err *err)
{
	for (size_t i = 0; i < s->nleft; i++) {
		char path[PATH_MAX];
		if (botm_map_claim(&s->names->map, s->left[i]) != BOTM_LEFT)
			continue;
		file_path(s->names, s->left[i], path);
		if (survey_remove(s, path, err) < 0)
			return -1;
	}
	return 0;
}

static int folder_take(struct botm_names *n, struct err *err)
{
	int rc = dir_make(n->folder, DIR_MODE, err);
	if (rc == 0)
		rc = file_open(&n->lock, n->folder, O_RDONLY | O_DIRECTORY, 0, err);
	if (rc == 1)
		rc = err_set(err, ERR_SYSTEM, "%s: was removed meanwhile", n->folder);
	if (rc < 0)
		return -1;
	if (flock(n->lock.fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	return errno == EWOULDBLOCK
		       ? err_set(err, ERR_BUSY,
				 "%s: another botm has this folder; set botm.folder, for each botm "
				 "another one",
				 n->folder)
		       : err_sys(err, "%s: lock", n->folder);
}

/* What the file says of the folder: its path, as seen from the folder that the file is in. */
static int folder_say(struct botm_names *n, struct err *err)
{
	const char *slash = strrchr(n->path, '/');
	size_t above = slash ? (size_t)(slash + 1 - n->path) : 0;
	bool is_near = above && strncmp(n->folder, n->path, above) == 0;
	const struct botm_step step = {.kind = BOTM_STEP_FOLDER,
				       .text = str_of(n->folder + (is_near ? above : 0))};
	if (n->map.folder && str_eq(str_of(n->map.folder), step.text))
		return 0;
	return botm_map_apply(&n->map, &step, err) < 0 ? -1 : step_append(n, &step, err);
}

/* What is said of the era and of names that were given comes before a file is removed. */
static int names_settle(struct botm_names *n, struct survey *s, struct botm_names_found *found,
			struct err *err)
{
	if (botm_folder_walk(n->folder, survey_file, s, err) < 0 ||
	    (s->highest && era_begin(n, s->highest, err) < 0) ||
	    given_end(n, &found->given, err) < 0)
		return -1;
	struct botm_commit c = botm_names_commit_begin(n);
	if (botm_names_commit(&c, err) < 0 || survey_sweep(s, err) < 0)
		return -1;
	found->removed = s->removed;
	found->lost = s->lost;
	found->has_lost = s->highest > 0;
	return 0;
}

static int names_load(struct botm_names *n, struct botm_names_found *found, struct err *err)
{
	struct survey survey = {.names = n};
	if (folder_take(n, err) < 0 ||
	    record_open(&n->writer, n->path, &botm_names_kind, 0640, &found->cut, err) < 0 ||
	    botm_map_load(&n->map, n->path, err) < 0 || folder_say(n, err) < 0)
		return -1;
	int rc = names_settle(n, &survey, found, err);
	mem_free(&survey.left);
	for (uint32_t i = 0; rc == 0 && i < n->map.n; i += A_FOLDER)
		rc = subfolder_make(n, i, err);
	return rc < 0 ? -1 : botm_names_tidy(n, err);
}

int botm_names_open(struct botm_names **ret, const char *path, const char *folder,
		    struct botm_names_found *ret_found, struct err *err)
{
	struct botm_names_found found = {0};
	struct botm_names *n = mem_alloc(sizeof *n);
	struct err ignored;
	n->path = mem_text(path);
	n->folder = mem_text(folder);
	n->lock = FILE_INIT;
	n->payload = BUF_INIT(BOTM_ANSWER_MAX + PATH_MAX);
	if (names_load(n, &found, err) < 0) {
		if (err->code == ERR_DAMAGED)
			format_advise(&botm_names_format, err);
		(void)botm_names_close(&n, &ignored);
		return -1;
	}
	*ret = n;
	if (ret_found)
		*ret_found = found;
	return 0;
}

int botm_names_close(struct botm_names **names, struct err *err)
{
	struct botm_names *n = *names;
	if (!n)
		return 0;
	int rc = n->writer ? record_close(&n->writer, err) : 0;
	botm_map_free(&n->map);
	file_drop(&n->lock);
	buf_free(&n->payload);
	mem_free(&n->free);
	mem_free(&n->path);
	mem_free(&n->folder);
	mem_free(names);
	return rc;
}

/* Looking. */

enum botm_place botm_names_place(const struct botm_names *n, struct botm_name name)
{
	if (name.number >= n->map.n ||
	    botm_map_name(&n->map, name.number).generation != name.generation)
		return BOTM_FREE;
	return botm_map_place(&n->map, name.number);
}

int botm_names_next_stored(const struct botm_names *n, size_t *at, struct botm_name *ret,
			   struct str *ret_answer)
{
	struct botm_answers_slot *slot =
		botm_answers_next(&n->map.answers, *at ? n->map.answers.slots + (*at - 1) : NULL);
	if (!slot)
		return 1;
	*at = (size_t)(slot - n->map.answers.slots) + 1;
	*ret = botm_map_name(&n->map, (uint32_t)slot->key);
	*ret_answer = slot->value;
	return 0;
}

uint64_t botm_names_count(const struct botm_names *n, enum botm_place place)
{
	return n->map.count[place];
}
