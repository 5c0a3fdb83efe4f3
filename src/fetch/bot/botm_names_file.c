/* The file of names: its records, what they come to, and whether the folder is as they say. A file
 * is read the same way by the botm that owns it and by `garner check`, so what the one trusts the
 * other has proved. */
#include "base/cursor.h"
#include "base/fault.h"
#include "base/vec.h"
#include "fetch/bot/botm_names_inner.h"
#include "fetch/bot_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STEP_FOLDER = 'F', STEP_ERA = 'E' };

const struct record_kind botm_names_kind = {
	.magic = "GARNERBN", .version = 1, .most = BOTM_ANSWER_MAX + PATH_MAX};

static const struct {
	const char *name;
	char letter; /* what it is in the file */
} places[BOTM_PLACES] = {
	[BOTM_FREE] = {"free", 'f'},
	[BOTM_GIVEN] = {"given", 'g'},
	[BOTM_STORED] = {"stored", 's'},
	[BOTM_KEPT] = {"kept", 'k'},
};

/* Records. */

static uint8_t step_letter(const struct botm_step *step)
{
	if (step->kind == BOTM_STEP_NAME)
		return (uint8_t)places[step->place].letter;
	return step->kind == BOTM_STEP_FOLDER ? STEP_FOLDER : STEP_ERA;
}

void botm_step_write(const struct botm_step *step, struct buf *out)
{
	put_u8(out, step_letter(step));
	if (step->kind == BOTM_STEP_NAME)
		put_varint(out, step->name.number);
	if (step->kind != BOTM_STEP_FOLDER)
		put_varint(out, step->name.generation);
	buf_add_str(out, step->text);
}

static bool place_parse(uint8_t letter, enum botm_place *ret)
{
	for (unsigned i = 0; i < BOTM_PLACES; i++)
		if (places[i].letter == (char)letter) {
			*ret = (enum botm_place)i;
			return true;
		}
	return false;
}

static int step_head(struct reader *r, struct botm_step *ret, struct err *err)
{
	uint8_t letter = reader_u8(r);
	uint64_t number = 0, generation = 1;
	ret->kind = letter == STEP_FOLDER ? BOTM_STEP_FOLDER
		    : letter == STEP_ERA  ? BOTM_STEP_ERA
					  : BOTM_STEP_NAME;
	if (ret->kind == BOTM_STEP_NAME)
		number = reader_varint(r);
	if (ret->kind != BOTM_STEP_FOLDER)
		generation = reader_varint(r);
	if (r->bad || (ret->kind == BOTM_STEP_NAME && !place_parse(letter, &ret->place)) ||
	    number >= BOTM_NAMES_MOST || generation < 1 || generation > BOTM_GENERATION_MOST)
		return err_set(err, ERR_DAMAGED, "a step that there is none of");
	ret->name = (struct botm_name){(uint32_t)number, (uint32_t)generation};
	return 0;
}

int botm_step_read(struct str payload, struct botm_step *ret, struct err *err)
{
	struct reader r = reader_of(payload);
	struct botm_step step = {0};
	if (step_head(&r, &step, err) < 0)
		return -1;
	bool has_answer = step.kind == BOTM_STEP_NAME && step.place == BOTM_STORED;
	step.text = reader_bytes(&r, reader_left(&r));
	if (step.kind == BOTM_STEP_FOLDER
		    ? step.text.n == 0 || memchr(step.text.p, 0, step.text.n) != NULL
		    : step.text.n > (has_answer ? BOTM_ANSWER_MAX : 0))
		return err_set(err, ERR_DAMAGED, "a step with a text of %zu bytes", step.text.n);
	*ret = step;
	return 0;
}

static int step_show(struct str payload, struct buf *out, struct err *err)
{
	char name[BOTM_NAME_ROOM];
	struct botm_step step;
	if (botm_step_read(payload, &step, err) < 0)
		return -1;
	if (step.kind == BOTM_STEP_FOLDER) {
		buf_printf(out, "folder " STR_FMT, STR_ARG(step.text));
		return 0;
	}
	if (step.kind == BOTM_STEP_ERA) {
		buf_printf(out, "era    %" PRIu32, step.name.generation);
		return 0;
	}
	botm_name_print(step.name, name);
	buf_printf(out, "%-6s %s", places[step.place].name, name);
	if (step.text.n)
		buf_printf(out, " " STR_FMT, STR_ARG(str_trim(step.text)));
	return 0;
}

/* What they come to. */

struct botm_name botm_map_name(const struct botm_map *m, uint32_t number)
{
	return (struct botm_name){number, m->name[number] >> 2};
}

enum botm_place botm_map_place(const struct botm_map *m, uint32_t number)
{
	return (enum botm_place)(m->name[number] & 3);
}

uint32_t botm_map_next(const struct botm_map *m, uint32_t number)
{
	uint32_t after = number < m->n ? botm_map_name(m, number).generation + 1 : 1;
	return MAX(after, m->era);
}

/* A number that was not there before may come in any place: the file begins so after it was
 * written anew. Else it goes round: free, given, stored, kept; and free from anywhere. One that was
 * given before the era is kept without having been stored, where that may have been lost. */
static bool may_follow(const struct botm_map *m, const struct botm_step *step)
{
	uint32_t number = step->name.number;
	if (number >= m->n)
		return number == m->n;
	enum botm_place old = botm_map_place(m, number);
	uint32_t generation = botm_map_name(m, number).generation;
	switch (step->place) {
	case BOTM_GIVEN:
		return old == BOTM_FREE && step->name.generation == botm_map_next(m, number);
	case BOTM_STORED:
		return old == BOTM_GIVEN && step->name.generation == generation;
	case BOTM_KEPT:
		return (old == BOTM_STORED || (old == BOTM_GIVEN && generation < m->era)) &&
		       step->name.generation == generation;
	case BOTM_FREE:
		return old != BOTM_FREE && step->name.generation == generation;
	case BOTM_PLACES:
		break;
	}
	return false;
}

static void answer_forget(struct botm_map *m, uint32_t number)
{
	struct str *answer = botm_answers_get(&m->answers, number);
	if (!answer)
		return;
	m->answer_bytes -= answer->n;
	mem_free(&answer->p);
	botm_answers_remove(&m->answers, number);
}

static void folder_set(struct botm_map *m, struct str folder)
{
	mem_free(&m->folder);
	m->folder = mem_alloc(folder.n + 1);
	memcpy(m->folder, folder.p, folder.n);
}

int botm_map_apply(struct botm_map *m, const struct botm_step *step, struct err *err)
{
	char name[BOTM_NAME_ROOM];
	uint32_t number = step->name.number;
	if (step->kind == BOTM_STEP_FOLDER) {
		folder_set(m, step->text);
		return 0;
	}
	if (step->kind == BOTM_STEP_ERA) {
		m->era = MAX(m->era, step->name.generation);
		return 0;
	}
	if (!may_follow(m, step)) {
		botm_name_print(step->name, name);
		return err_set(err, ERR_DAMAGED, "%s cannot become %s: %s", name,
			       places[step->place].name,
			       number > m->n    ? "there are names before it that were never given"
			       : number == m->n ? "it was never given"
						: places[botm_map_place(m, number)].name);
	}
	if (number == m->n)
		*VEC_PUSH(m->name, m->n, m->room) = 0;
	else
		m->count[botm_map_place(m, number)]--;
	m->name[number] = step->name.generation << 2 | (uint32_t)step->place;
	m->count[step->place]++;
	answer_forget(m, number);
	if (step->place == BOTM_STORED) {
		m->answer_bytes += step->text.n;
		*botm_answers_put(&m->answers, number) =
			(struct str){mem_copy(step->text.p, step->text.n), step->text.n};
	}
	return 0;
}

void botm_map_free(struct botm_map *m)
{
	TABLE_EACH (botm_answers, slot, &m->answers)
		mem_free(&slot->value.p);
	botm_answers_free(&m->answers);
	mem_free(&m->name);
	mem_free(&m->folder);
	*m = (struct botm_map){0};
}

int botm_map_load(struct botm_map *m, const char *path, struct err *err)
{
	struct record_reader *r = NULL;
	struct record record;
	int rc = record_reader_open(&r, path, &botm_names_kind, err);
	if (rc != 0)
		return rc;
	while ((rc = record_next(r, &record, err)) == 0) {
		struct botm_step step;
		if (botm_step_read(record.payload, &step, err) < 0 ||
		    botm_map_apply(m, &step, err) < 0) {
			rc = err_in(err, "%s: byte %" PRIu64, path, record.place.at);
			break;
		}
	}
	record_reader_free(&r);
	return MIN(rc, 0);
}

/* The folder. */

enum botm_claim botm_map_claim(const struct botm_map *m, struct botm_name name)
{
	if (name.number >= m->n || name.generation > botm_map_name(m, name.number).generation)
		return BOTM_LOST;
	if (name.generation < botm_map_name(m, name.number).generation)
		return name.generation < m->era ? BOTM_LOST : BOTM_LEFT;
	return botm_map_place(m, name.number) >= BOTM_STORED ? BOTM_HELD : BOTM_LEFT;
}

/* The folder of a file of names: what it says is relative to the folder that it lies in. */
static int folder_of_names(const char *path, const char *said, struct buf *ret)
{
	const char *slash = strrchr(path, '/');
	if (said[0] != '/' && slash)
		buf_add(ret, path, (size_t)(slash + 1 - path));
	buf_add_text(ret, said);
	return ret->over ? -1 : 0;
}

static bool is_part(struct str name)
{
	return str_ends(name, STR(".part"));
}

static int subfolder_walk(const char *folder, const char *sub, botm_seen_fn *seen, void *ctx,
			  struct err *err)
{
	char path[PATH_MAX];
	const char *entry;
	struct dir_walk *walk = NULL;
	struct botm_name name;
	int length = snprintf(path, sizeof path, "%s/%s", folder, sub);
	if (length + NAME_MAX + 2 > (int)sizeof path)
		return err_set(err, ERR_USAGE, "%.200s...: the path is too long", folder);
	int rc = dir_walk_open(&walk, path, err);
	if (rc != 0)
		return MIN(rc, 0);
	path[length] = '/';
	while ((rc = dir_walk_next(walk, &entry, err)) == 0) {
		snprintf(path + length + 1, sizeof path - (size_t)length - 1, "%s", entry);
		struct str text = str_of(path + strlen(folder) + 1);
		bool is_name = botm_name_parse(text, &name);
		if ((is_name || is_part(text)) && (rc = seen(ctx, path, is_name, name, err)) < 0)
			break;
	}
	dir_walk_close(&walk);
	return MIN(rc, 0);
}

/* A subfolder has six digits; nothing else in the folder is ours. */
static bool is_subfolder(const char *name)
{
	uint64_t number;
	return strlen(name) == 6 && str_u64(str_of(name), &number);
}

int botm_folder_walk(const char *folder, botm_seen_fn *seen, void *ctx, struct err *err)
{
	struct dir_walk *walk = NULL;
	const char *entry;
	int rc = dir_walk_open(&walk, folder, err);
	if (rc != 0)
		return MIN(rc, 0);
	while ((rc = dir_walk_next(walk, &entry, err)) == 0) {
		char path[PATH_MAX];
		struct stat st;
		snprintf(path, sizeof path, "%s/%s", folder, entry);
		if (is_subfolder(entry) && lstat(path, &st) == 0 && S_ISDIR(st.st_mode) &&
		    (rc = subfolder_walk(folder, entry, seen, ctx, err)) < 0)
			break;
	}
	dir_walk_close(&walk);
	return MIN(rc, 0);
}

/* One is enough. */
static int seen_any(void *ctx, const char *path, bool is_name, struct botm_name name,
		    struct err *err)
{
	(void)path, (void)name, (void)err;
	*(bool *)ctx = is_name;
	return is_name ? -1 : 0;
}

int botm_names_path(const char *folder, char ret[PATH_MAX], struct err *err)
{
	size_t n = strlen(folder);
	while (n > 1 && folder[n - 1] == '/')
		n--;
	struct str path = {folder, n}, last = path;
	for (size_t at; (at = str_find_byte(last, '/')) < last.n;)
		last = str_from(last, at + 1);
	bool is_files = str_starts(last, STR("files"));
	int length = snprintf(ret, PATH_MAX, STR_FMT "%s" STR_FMT "%s",
			      STR_ARG(str_head(path, path.n - last.n)), is_files ? "names" : "",
			      STR_ARG(str_from(last, is_files ? strlen("files") : 0)),
			      is_files ? "" : ".names");
	if (length >= PATH_MAX)
		return err_set(err, ERR_USAGE, "%.100s: the path is too long", folder);
	return 0;
}

const char botm_names_remedy[] =
	"restore it from a backup before the botm starts; without it the files stay, and their "
	"names are given to nobody";

/* NULL: nothing. */
static const char *file_trouble(const char *path)
{
	struct stat st;
	if (lstat(path, &st) < 0)
		return errno == ENOENT ? "is not there" : NULL;
	if (S_ISLNK(st.st_mode))
		return "is a symbolic link, which is not followed";
	return S_ISREG(st.st_mode) && st.st_size == 0 ? "is empty" : NULL;
}

int botm_names_check(const char *folder, struct err *err)
{
	char path[PATH_MAX];
	bool is_any = false;
	if (botm_names_path(folder, path, err) < 0)
		return -1;
	const char *trouble = file_trouble(path);
	if (!trouble)
		return 0;
	(void)botm_folder_walk(folder, seen_any, &is_any, err);
	if (!is_any)
		return 0;
	return err_set(err, ERR_DAMAGED, "%s has files of a botm, but %s %s", folder, path,
		       trouble);
}

/* For `garner check`. */

struct proof {
	const char *path, *folder;
	const struct botm_map *map;
	uint64_t left; /* files that the next start removes */
	uint64_t lost;
	uint64_t empty; /* of those that are kept */
};

static int proof_seen(void *ctx, const char *path, bool is_name, struct botm_name name,
		      struct err *err)
{
	struct proof *p = ctx;
	enum botm_claim claim = is_name ? botm_map_claim(p->map, name) : BOTM_LEFT;
	(void)path, (void)err;
	p->left += claim == BOTM_LEFT;
	p->lost += claim == BOTM_LOST;
	return 0;
}

static void answer_size(void *ctx, const struct bot_message *m)
{
	if (m->kind == BOT_FETCHED && m->has & BOT_HAS_SIZE)
		*(uint64_t *)ctx = m->size;
}

static void answer_error(void *ctx, const struct err *err, uint64_t line, uint64_t column)
{
	(void)ctx, (void)err, (void)line, (void)column;
}

/* What the source was or will be told of a name that is stored; UINT64_MAX: nothing. */
static uint64_t told_size(const struct botm_map *map, uint32_t number)
{
	static const struct bot_reader_ops ops = {answer_size, answer_error};
	const struct str *answer = botm_answers_get(&map->answers, number);
	uint64_t size = UINT64_MAX;
	if (!answer)
		return size;
	struct bot_reader *reader = bot_reader_new(&ops, &size);
	(void)bot_reader_put(reader, *answer);
	bot_reader_free(&reader);
	return size;
}

static int proof_file(struct proof *p, uint32_t number, struct err *err)
{
	const char *place = places[botm_map_place(p->map, number)].name;
	char name[BOTM_NAME_ROOM], path[PATH_MAX];
	uint64_t told = told_size(p->map, number);
	struct stat st;
	botm_name_print(botm_map_name(p->map, number), name);
	snprintf(path, sizeof path, "%s/%s", p->folder, name);
	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return err_set(err, ERR_DAMAGED, "%s: %s is %s, but the file is not there", p->path,
			       path, place);
	if (told != UINT64_MAX && told != (uint64_t)st.st_size)
		return err_set(err, ERR_DAMAGED,
			       "%s: %s is %s with %" PRIu64 " bytes, but the file has %" PRIu64,
			       p->path, path, place, told, (uint64_t)st.st_size);
	p->empty += botm_map_place(p->map, number) == BOTM_KEPT && st.st_size == 0;
	return 0;
}

static int proof_files(struct proof *p, struct err *err)
{
	for (uint32_t i = 0; i < p->map->n; i++)
		if (botm_map_place(p->map, i) >= BOTM_STORED && proof_file(p, i, err) < 0)
			return -1;
	return 0;
}

/* A botm that runs holds the folder, and changes it while we look. */
static bool folder_is_held(const char *folder)
{
	struct file f = FILE_INIT;
	struct err err;
	if (file_open(&f, folder, O_RDONLY | O_DIRECTORY, 0, &err) != 0)
		return false;
	bool is_held = flock(f.fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
	file_drop(&f);
	return is_held;
}

static int folder_verify(const char *path, const struct botm_map *map, struct err *err)
{
	CLEANUP(buf_free) struct buf folder = BUF_INIT(PATH_MAX);
	struct proof p = {.path = path, .map = map};
	if (!map->folder)
		return 0;
	if (folder_of_names(path, map->folder, &folder) < 0)
		return err_set(err, ERR_DAMAGED, "%s: the path of its folder is too long", path);
	p.folder = buf_text(&folder);
	if (folder_is_held(p.folder))
		return 0;
	if (proof_files(&p, err) < 0 || botm_folder_walk(p.folder, proof_seen, &p, err) < 0)
		return -1;
	if (p.lost)
		err_set(err, ERR_NONE,
			"%s: does not know %" PRIu64 " files in %s: it was lost or cut, or is "
			"older than they are. Restore it from a backup before the botm starts, or "
			"let them be: they stay, their names are given to nobody, and a delete of "
			"their source still finds them. What nobody wants may be removed",
			path, p.lost, p.folder);
	else if (p.left)
		err_set(err, ERR_NONE,
			"%s: %" PRIu64
			" files in %s are of names that are free; the next start removes them",
			path, p.left, p.folder);
	else if (p.empty)
		err_set(err, ERR_NONE,
			"%s: %" PRIu64
			" files in %s that are kept are empty: documents without a byte, or cut. "
			"What should hold something may be fetched again",
			path, p.empty, p.folder);
	return p.lost || p.left || p.empty ? FORMAT_NOTED : 0;
}

static int names_verify(const char *path, struct err *err)
{
	struct botm_map map = {0};
	struct stat st;
	if (lstat(path, &st) == 0 && st.st_size == 0) {
		err_set(err, ERR_NONE, "%s: there is nothing in it yet", path);
		return FORMAT_NOTED;
	}
	int rc = records_verify(&botm_names_format, path, &(struct records_known){0}, err);
	struct err noted = *err;
	if (rc < 0 || rc == 1)
		return rc;
	int also = botm_map_load(&map, path, err);
	if (also == 0 && rc != RECORDS_WRITTEN)
		also = folder_verify(path, &map, err);
	botm_map_free(&map);
	if (also == 0 && rc == FORMAT_NOTED)
		*err = noted;
	return also ? also : rc;
}

const struct format botm_names_format = {
	.name = "botm-names",
	.file = "cache/names*",
	.magic = "GARNERBN",
	.version = 1,
	.help = "which file names of a botm are free, given, stored and kept",
	.remedy = "stop the botm and restore the file and its folder from a backup, or remove the "
		  "file: the next start then leaves what is in the folder as it is, and gives the "
		  "names to nobody",
	.records = &botm_names_kind,
	.show = step_show,
	.verify = names_verify,
};
