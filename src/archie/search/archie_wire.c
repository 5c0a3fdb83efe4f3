/* Lines are for people who look at what goes on; blocks are for speed: an answer of a hundred rows
 * is made, carried and read a thousand times a second, and text would cost more than the search. A
 * site is told with its first row, a directory when it is another than before; a URL is made where
 * it is wanted, from the root of its site. */
#include "archie/search/archie_wire.h"

#include "base/ascii.h"
#include "base/cursor.h"

#include <inttypes.h>

const char *const archie_refusal_words[ARCHIE_REFUSALS] = {
	"",
	[ARCHIE_BAD] = "bad",
	[ARCHIE_BUSY] = "busy",
	[ARCHIE_FAILED] = "failed",
	[ARCHIE_EMPTY] = "empty",
	[ARCHIE_CANCELLED] = "cancelled",
	[ARCHIE_AWAY] = "away",
};

static const char *const words[ARCHIE_WORDS] = {
	[ARCHIE_WORD_HELLO] = "ARCHIE",    [ARCHIE_WORD_ASK] = "ASK",
	[ARCHIE_WORD_CANCEL] = "CANCEL",   [ARCHIE_WORD_LOAD] = "LOAD",
	[ARCHIE_WORD_QUEUED] = "QUEUED",   [ARCHIE_WORD_ANSWER] = "ANSWER",
	[ARCHIE_WORD_REFUSED] = "REFUSED", [ARCHIE_WORD_SEARCH] = "SEARCH",
	[ARCHIE_WORD_STOP] = "STOP",
};

/* Lines */

struct fields {
	struct str rest;
	bool bad;
};

static struct str field_text(struct fields *f)
{
	struct str s = {0};
	if (f->bad || str_cut(&f->rest, ' ', &s) != 0)
		f->bad = true;
	return s;
}

static uint64_t field_number(struct fields *f, uint64_t most)
{
	uint64_t v = 0;
	if (!str_u64(field_text(f), &v) || v > most)
		f->bad = true;
	return f->bad ? 0 : v;
}

static struct archie_id field_id(struct fields *f)
{
	struct archie_id id = {0};
	struct str s = field_text(f), pid = {0};
	if (f->bad || str_cut(&s, '.', &pid) != 0 || !str_u64(pid, &id.pid) || !str_u64(s, &id.n))
		f->bad = true;
	return id;
}

static enum archie_refusal field_refusal(struct fields *f)
{
	struct str s = field_text(f);
	for (unsigned i = ARCHIE_NOT_REFUSED + 1; i < ARCHIE_REFUSALS; i++)
		if (str_is(s, archie_refusal_words[i]))
			return (enum archie_refusal)i;
	f->bad = true;
	return ARCHIE_NOT_REFUSED;
}

static void load_parse(struct fields *f, struct archie_line *l)
{
	if (!f->rest.p)
		return;
	l->has_load = true;
	l->load.queue = field_number(f, UINT64_MAX);
	l->load.wait_us = (int64_t)field_number(f, INT64_MAX);
	l->load.per_s = (double)field_number(f, UINT32_MAX) / 1000;
}

static void fields_parse(struct fields *f, struct archie_line *l)
{
	switch (l->word) {
	case ARCHIE_WORD_HELLO:
		if (field_number(f, ARCHIE_VERSION) != ARCHIE_VERSION)
			f->bad = true;
		break;
	case ARCHIE_WORD_ASK:
		l->id = field_id(f);
		l->niceness = field_number(f, ARCHIE_NICE_MOST);
		l->verbose = field_number(f, 1);
		l->bytes = field_number(f, ARCHIE_REQUEST_MOST);
		break;
	case ARCHIE_WORD_CANCEL:
		l->id = field_id(f);
		break;
	case ARCHIE_WORD_LOAD:
		load_parse(f, l);
		break;
	case ARCHIE_WORD_QUEUED:
		l->id = field_id(f);
		l->position = field_number(f, UINT64_MAX);
		l->seconds = field_number(f, INT64_MAX);
		break;
	case ARCHIE_WORD_ANSWER:
		l->id = field_id(f);
		l->wait_us = field_number(f, INT64_MAX);
		l->cut = field_number(f, 1);
		l->bytes = field_number(f, ARCHIE_BLOCK_MOST);
		break;
	case ARCHIE_WORD_REFUSED:
		l->id = field_id(f);
		l->why = field_refusal(f);
		l->text = f->rest;
		f->rest = (struct str){0};
		break;
	case ARCHIE_WORD_SEARCH:
		l->id = field_id(f);
		l->limit_us = field_number(f, INT64_MAX);
		l->bytes = field_number(f, ARCHIE_REQUEST_MOST);
		break;
	case ARCHIE_WORD_STOP:
	case ARCHIE_WORDS:
		break;
	}
}

int archie_line_parse(struct str line, struct archie_line *ret, struct err *err)
{
	struct fields f = {.rest = line};
	struct archie_line l = {0};
	struct str word = field_text(&f);
	unsigned i = 0;
	while (i < ARCHIE_WORDS && !str_is(word, words[i]))
		i++;
	l.word = (enum archie_word)i;
	fields_parse(&f, &l);
	if (i == ARCHIE_WORDS || f.bad || f.rest.p)
		return err_set(err, ERR_USAGE, "not a line of the queue: '" STR_FMT "'",
			       STR_ARG(str_head(line, 80)));
	*ret = l;
	return 0;
}

static void put_number(struct buf *out, uint64_t v)
{
	char digits[STR_DECIMAL_MAX];
	buf_add_byte(out, ' ');
	buf_add(out, digits, str_decimal(digits, v));
}

static void put_id(struct buf *out, struct archie_id id)
{
	char digits[STR_DECIMAL_MAX];
	put_number(out, id.pid);
	buf_add_byte(out, '.');
	buf_add(out, digits, str_decimal(digits, id.n));
}

static void put_words(struct buf *out, struct str text)
{
	text = str_utf8_head(text, ARCHIE_TEXT_MOST);
	for (size_t i = 0; i < text.n; i++)
		buf_add_byte(out,
			     (unsigned char)text.p[i] < ' ' || text.p[i] == 127 ? ' ' : text.p[i]);
}

void archie_line_print(const struct archie_line *l, struct buf *out)
{
	buf_add_text(out, words[l->word]);
	if (l->word != ARCHIE_WORD_HELLO && l->word != ARCHIE_WORD_LOAD &&
	    l->word != ARCHIE_WORD_STOP)
		put_id(out, l->id);
	switch (l->word) {
	case ARCHIE_WORD_HELLO:
		put_number(out, ARCHIE_VERSION);
		break;
	case ARCHIE_WORD_ASK:
		put_number(out, l->niceness);
		put_number(out, l->verbose);
		put_number(out, l->bytes);
		break;
	case ARCHIE_WORD_LOAD:
		if (!l->has_load)
			break;
		put_number(out, l->load.queue);
		put_number(out, (uint64_t)MAX(l->load.wait_us, 0));
		put_number(out, (uint64_t)(MIN(l->load.per_s, 4e6) * 1000));
		break;
	case ARCHIE_WORD_QUEUED:
		put_number(out, l->position);
		put_number(out, l->seconds);
		break;
	case ARCHIE_WORD_ANSWER:
		put_number(out, l->wait_us);
		put_number(out, l->cut);
		put_number(out, l->bytes);
		break;
	case ARCHIE_WORD_REFUSED:
		buf_add_byte(out, ' ');
		buf_add_text(out, archie_refusal_words[l->why]);
		buf_add_byte(out, ' ');
		put_words(out, l->text);
		break;
	case ARCHIE_WORD_SEARCH:
		put_number(out, l->limit_us);
		put_number(out, l->bytes);
		break;
	case ARCHIE_WORD_CANCEL:
	case ARCHIE_WORD_STOP:
	case ARCHIE_WORDS:
		break;
	}
	buf_add_byte(out, '\n');
}

/* Numbers that may be negative: small ones are short, whatever their sign. */
static void put_signed(struct buf *out, int64_t v)
{
	put_varint(out, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

static int64_t reader_signed(struct reader *r)
{
	uint64_t v = reader_varint(r);
	return (int64_t)(v >> 1 ^ (~(v & 1) + 1));
}

static unsigned reader_upto(struct reader *r, unsigned below)
{
	uint64_t v = reader_varint(r);
	if (v >= below)
		r->bad = true;
	return r->bad ? 0 : (unsigned)v;
}

/* Requests */

enum {
	ASK_PATH = 1,
	ASK_SIZE_MIN = 2,
	ASK_SIZE_MAX = 4,
	ASK_TIME_MIN = 8,
	ASK_TIME_MAX = 16,
	ASK_REVERSE = 32,
	ASK_MIRRORS = 64,
	ASK_COUNT = 128,
	ASK_NO_FILES = 256,
	ASK_BITS = 512,
};

static unsigned ask_bits(const struct names_query *q)
{
	return (q->path ? ASK_PATH : 0u) | (q->has_size_min ? ASK_SIZE_MIN : 0u) |
	       (q->has_size_max ? ASK_SIZE_MAX : 0u) | (q->has_time_min ? ASK_TIME_MIN : 0u) |
	       (q->has_time_max ? ASK_TIME_MAX : 0u) | (q->reverse ? ASK_REVERSE : 0u) |
	       (q->mirrors ? ASK_MIRRORS : 0u) | (q->count ? ASK_COUNT : 0u) |
	       (q->no_files ? ASK_NO_FILES : 0u);
}

static void put_list(struct buf *out, const struct str *list, uint32_t n)
{
	put_varint(out, n);
	for (uint32_t i = 0; i < n; i++)
		put_text(out, list[i]);
}

static int ask_check(const struct archie_ask *ask, struct err *err)
{
	const struct names_query *q = &ask->query;
	if (q->pattern.n > NAMES_PATTERN_MOST)
		return err_set(err, ERR_USAGE, "%zu bytes are searched for, and %d are the most",
			       q->pattern.n, NAMES_PATTERN_MOST);
	if (ask->from.n > ARCHIE_FROM_MOST)
		return err_set(err, ERR_USAGE, "the asker's address has more than %d bytes",
			       ARCHIE_FROM_MOST);
	if (ask->niceness < 0 || ask->niceness > ARCHIE_NICE_MOST)
		return err_set(err, ERR_USAGE, "niceness %d is not one of 0 to %d", ask->niceness,
			       ARCHIE_NICE_MOST);
	if (q->sites > NAMES_LIST_MOST || q->domains > NAMES_LIST_MOST ||
	    q->components > NAMES_LIST_MOST)
		return err_set(err, ERR_USAGE,
			       "more than %d sites, domains or components are searched in",
			       NAMES_LIST_MOST);
	return 0;
}

int archie_ask_encode(const struct archie_ask *ask, struct buf *out, struct err *err)
{
	const struct names_query *q = &ask->query;
	size_t before = out->n;
	if (ask_check(ask, err) < 0)
		return -1;
	put_varint(out, ask->what);
	put_text(out, ask->from);
	put_varint(out, q->type);
	put_varint(out, q->syntax);
	put_text(out, q->pattern);
	put_varint(out, ask_bits(q));
	put_varint(out, q->kinds);
	put_varint(out, q->sort);
	put_varint(out, q->maxhits);
	put_varint(out, q->maxmatch);
	put_varint(out, q->maxhitspm);
	put_varint(out, q->offset);
	put_signed(out, q->has_size_min ? q->size_min : 0);
	put_signed(out, q->has_size_max ? q->size_max : 0);
	put_signed(out, q->has_time_min ? q->time_min : 0);
	put_signed(out, q->has_time_max ? q->time_max : 0);
	put_list(out, q->site, q->sites);
	put_list(out, q->domain, q->domains);
	put_list(out, q->component, q->components);
	if (out->over || out->n - before > ARCHIE_REQUEST_MOST)
		return err_set(err, ERR_USAGE, "a request has more than %d bytes",
			       ARCHIE_REQUEST_MOST);
	return 0;
}

static const struct str *reader_list(struct reader *r, struct arena *arena, uint32_t *ret_n)
{
	uint32_t n = reader_upto(r, NAMES_LIST_MOST + 1);
	struct str *list = arena_array(arena, n, sizeof *list);
	for (uint32_t i = 0; i < n; i++)
		list[i] = reader_text(r, ARCHIE_REQUEST_MOST);
	*ret_n = r->bad ? 0 : n;
	return list;
}

int archie_ask_decode(struct str bytes, struct arena *arena, struct archie_ask *ret,
		      struct err *err)
{
	struct reader r = reader_of(bytes);
	struct archie_ask ask = {.what = (enum archie_what)reader_upto(&r, ARCHIE_WHATS)};
	struct names_query *q = &ask.query;
	ask.from = reader_text(&r, ARCHIE_FROM_MOST);
	q->type = (enum names_type)reader_upto(&r, NAMES_WHATIS);
	q->syntax = (enum names_syntax)reader_upto(&r, NAMES_ED + 1);
	q->pattern = reader_text(&r, NAMES_PATTERN_MOST);
	unsigned bits = reader_upto(&r, ASK_BITS);
	q->path = bits & ASK_PATH;
	q->has_size_min = bits & ASK_SIZE_MIN;
	q->has_size_max = bits & ASK_SIZE_MAX;
	q->has_time_min = bits & ASK_TIME_MIN;
	q->has_time_max = bits & ASK_TIME_MAX;
	q->reverse = bits & ASK_REVERSE;
	q->mirrors = bits & ASK_MIRRORS;
	q->count = bits & ASK_COUNT;
	q->no_files = bits & ASK_NO_FILES;
	q->kinds = reader_upto(&r, 1u << NAMES_KINDS);
	q->sort = (enum names_sort)reader_upto(&r, NAMES_BY_TIME + 1);
	q->maxhits = reader_varint(&r);
	q->maxmatch = reader_varint(&r);
	q->maxhitspm = reader_varint(&r);
	q->offset = reader_varint(&r);
	q->size_min = reader_signed(&r);
	q->size_max = reader_signed(&r);
	q->time_min = reader_signed(&r);
	q->time_max = reader_signed(&r);
	q->site = reader_list(&r, arena, &q->sites);
	q->domain = reader_list(&r, arena, &q->domains);
	q->component = reader_list(&r, arena, &q->components);
	if (r.bad || reader_left(&r))
		return err_set(err, ERR_USAGE, "%zu bytes that are not a request", bytes.n);
	*ret = ask;
	return 0;
}

/* Answers: how many rows, what kind, the rows, the end. */

enum { ANSWER_HEAD = 5 };

enum {
	ROW_KIND = 3, /* bits of enum names_kind */
	ROW_MODE = 4,
	ROW_SAME_DIR = 8,
	ROW_MORE = 16, /* links, owner, group */
	ROW_MIRRORS = 32,
	ROW_NO_URL = 64,
	ROW_BITS = 128,
};

enum { END_EXACT = 1, END_CUT = 2, END_BITS = 4 };

void archie_writer_init(struct archie_writer *w, enum archie_what what, uint32_t *number,
			struct buf *out)
{
	*w = (struct archie_writer){.out = out, .number = number};
	put_u32le(out, 0);
	put_u8(out, (uint8_t)what);
}

static void put_site(struct archie_writer *w, const struct archie_writer_site *site)
{
	uint32_t *number = &w->number[site->site];
	if (*number) {
		put_varint(w->out, *number);
		return;
	}
	*number = ++w->told;
	put_varint(w->out, *number);
	put_text(w->out, site->key);
	put_text(w->out, site->host);
	put_text(w->out, site->address);
	put_text(w->out, site->url);
	put_signed(w->out, site->listed_s);
	put_signed(w->out, site->entries);
}

static void put_file(struct archie_writer *w, const struct archie_row *row)
{
	const struct names_entry *e = &row->file;
	struct buf *out = w->out;
	bool same = w->rows && str_eq(e->dir, w->dir);
	bool more = e->links != -1 || e->owner.n || e->group.n;
	put_u8(out, (uint8_t)((unsigned)e->kind | (e->mode[0] ? ROW_MODE : 0u) |
			      (same ? ROW_SAME_DIR : 0u) | (more ? ROW_MORE : 0u) |
			      (row->mirrors ? ROW_MIRRORS : 0u) | (row->url.p ? 0u : ROW_NO_URL)));
	if (e->mode[0])
		buf_add(out, e->mode, sizeof e->mode);
	put_text(out, e->name);
	if (!same)
		put_text(out, e->dir);
	put_signed(out, e->size);
	put_signed(out, e->time_s);
	if (more) {
		put_signed(out, e->links);
		put_text(out, e->owner);
		put_text(out, e->group);
	}
	if (row->mirrors)
		put_varint(out, row->mirrors);
	w->dir = e->dir;
}

bool archie_writer_row(struct archie_writer *w, const struct archie_writer_site *site,
		       const struct archie_row *row)
{
	struct buf *out = w->out;
	size_t before = out->n;
	uint32_t told = w->told;
	if (w->full)
		return false;
	if (site)
		put_site(w, site);
	else
		put_varint(out, 0);
	put_file(w, row);
	put_text(out, row->text);
	if (!out->over && out->n <= ARCHIE_ANSWER_MOST) {
		w->rows++;
		return true;
	}
	/* as if it had not been */
	w->full = true;
	out->n = before;
	out->over = false;
	w->told = told;
	return false;
}

void archie_writer_end(struct archie_writer *w, const struct archie_answer *a)
{
	struct buf *out = w->out;
	uint32_t n = htole32(w->rows);
	put_varint(out, (a->exact ? END_EXACT : 0u) | (a->cut ? END_CUT : 0u));
	put_varint(out, a->total);
	put_varint(out, (uint64_t)MAX(a->search_us, 0));
	put_text(out, str_utf8_head(a->problem, ARCHIE_TEXT_MOST));
	ENSURE(!out->over);
	memcpy(out->p, &n, sizeof n);
}

struct answer_reader {
	struct reader r;
	struct arena *arena;
	enum archie_what what;
	struct archie_row *site; /* as rows: what each tells of its site; url is that of the root */
	size_t sites, room;
	struct str dir;
	struct buf url;
};

static const struct archie_row *read_site(struct answer_reader *a)
{
	uint64_t number = reader_varint(&a->r);
	if (number > a->sites + 1)
		a->r.bad = true;
	if (a->r.bad || number == 0)
		return NULL;
	if (number <= a->sites)
		return &a->site[number - 1];
	struct archie_row *s = ARENA_PUSH(a->arena, a->site, a->sites, a->room);
	*s = (struct archie_row){0};
	s->key = reader_text(&a->r, NAMES_KEY_MOST);
	s->host = reader_text(&a->r, NAMES_KEY_MOST);
	s->address = reader_text(&a->r, NAMES_KEY_MOST);
	s->url = reader_text(&a->r, NAMES_NAME_MOST);
	s->listed_s = reader_signed(&a->r);
	s->entries = reader_signed(&a->r);
	return s;
}

/* In the arena. */
static struct str read_url(struct answer_reader *a, struct str root, const struct names_entry *e)
{
	buf_clear(&a->url);
	bool has = names_entry_url(root, e, &a->url);
	return has && !a->url.over ? arena_str(a->arena, buf_str(&a->url)) : STR("");
}

static void read_file(struct answer_reader *a, struct archie_row *row)
{
	struct names_entry *e = &row->file;
	unsigned bits = reader_u8(&a->r);
	if (bits >= ROW_BITS)
		a->r.bad = true;
	e->kind = (enum names_kind)(bits & ROW_KIND);
	if (bits & ROW_MODE) {
		const unsigned char *mode = reader_take(&a->r, sizeof e->mode);
		if (mode)
			memcpy(e->mode, mode, sizeof e->mode);
	}
	e->name = reader_text(&a->r, NAMES_NAME_MOST);
	e->dir = bits & ROW_SAME_DIR ? a->dir : reader_text(&a->r, NAMES_NAME_MOST);
	a->dir = e->dir;
	e->size = reader_signed(&a->r);
	e->time_s = reader_signed(&a->r);
	e->links = bits & ROW_MORE ? (int32_t)reader_signed(&a->r) : -1;
	if (bits & ROW_MORE) {
		e->owner = reader_text(&a->r, NAMES_NAME_MOST);
		e->group = reader_text(&a->r, NAMES_NAME_MOST);
	}
	row->mirrors = bits & ROW_MIRRORS ? reader_varint(&a->r) : 0;
	if (bits & ROW_NO_URL)
		row->url = STR("");
	else if (a->what != ARCHIE_SITES && row->url.n && !a->r.bad)
		row->url = read_url(a, row->url, e);
}

static void read_row(struct answer_reader *a, struct archie_row *row)
{
	const struct archie_row *site = read_site(a);
	*row = site ? *site : (struct archie_row){.listed_s = -1, .entries = -1};
	read_file(a, row);
	row->text = reader_text(&a->r, (size_t)NAMES_NAME_MOST * 2);
}

static int read_answer(struct answer_reader *a, struct archie_answer *ret, struct err *err)
{
	uint32_t n = reader_u32le(&a->r);
	struct archie_answer answer = {0};
	a->what = (enum archie_what)reader_upto(&a->r, ARCHIE_WHATS);
	/* a row has more than ANSWER_HEAD bytes */
	if (a->r.bad || n > ARCHIE_ROWS_MOST || n > reader_left(&a->r) / ANSWER_HEAD)
		return err_set(err, ERR_REMOTE, "the answer of the queuer has no head");
	answer.row = arena_array(a->arena, n, sizeof *answer.row);
	for (; answer.n < n && !a->r.bad; answer.n++)
		read_row(a, &answer.row[answer.n]);
	unsigned bits = reader_upto(&a->r, END_BITS);
	answer.exact = bits & END_EXACT;
	answer.cut = bits & END_CUT;
	answer.total = reader_varint(&a->r);
	uint64_t search_us = reader_varint(&a->r);
	answer.search_us = (int64_t)MIN(search_us, (uint64_t)INT64_MAX);
	answer.problem = reader_text(&a->r, ARCHIE_TEXT_MOST);
	if (a->r.bad || reader_left(&a->r))
		return err_set(err, ERR_REMOTE,
			       "the answer of the queuer makes no sense at byte %zu of %zu",
			       reader_at(&a->r), (size_t)(a->r.end - a->r.start));
	*ret = answer;
	return 0;
}

int archie_answer_decode(struct str bytes, struct arena *arena, struct archie_answer *ret,
			 struct err *err)
{
	struct answer_reader a = {.r = reader_of(bytes),
				  .arena = arena,
				  .url = BUF_INIT((size_t)16 * NAMES_NAME_MOST)};
	int rc = read_answer(&a, ret, err);
	buf_free(&a.url);
	return rc;
}

/* Rows */

static struct str path_of_listing(const struct names_entry *file, struct arena *arena)
{
	return str_of(arena_printf(arena, "/" STR_FMT "%s" STR_FMT, STR_ARG(file->dir),
				   file->dir.n ? "/" : "", STR_ARG(file->name)));
}

static struct str path_of_url(struct str url, struct arena *arena)
{
	struct str rest = str_from(url, str_find_byte(url, ':'));
	rest = str_starts(rest, STR("://")) ? str_from(rest, 3) : STR("");
	rest = str_from(rest, str_find_byte(rest, '/'));
	while (rest.n > 1 && rest.p[rest.n - 1] == '/')
		rest.n--;
	if (!rest.n || !memchr(rest.p, '%', rest.n))
		return rest;
	char *path = arena_alloc(arena, rest.n);
	size_t n = 0;
	for (size_t i = 0; i < rest.n; i++) {
		int byte = rest.p[i] == '%' && i + 2 < rest.n ? ascii_hex_byte(rest.p + i + 1) : -1;
		path[n++] = byte < 0 ? rest.p[i] : (char)byte;
		i += byte < 0 ? 0 : 2;
	}
	return (struct str){path, n};
}

struct str archie_row_path(const struct archie_row *row, struct arena *arena)
{
	struct str path = path_of_url(row->url, arena), name = row->file.name;
	if (path.n > name.n && str_ends(path, name) && path.p[path.n - name.n - 1] == '/')
		return path;
	return path_of_listing(&row->file, arena);
}
