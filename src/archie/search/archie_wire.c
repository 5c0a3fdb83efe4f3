/* Tables of the archive's messages. An answer of a hundred rows is made, carried and read a
 * thousand times a second, so repeated values are left out: a site is sent once and numbered, a
 * directory is sent only when it changes, and a reader that wants a URL makes it from the root of
 * the site. */
#include "archie/search/archie_wire.h"

#include "base/ascii.h"

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

#define M struct archie_message
#define PID MESSAGE_NUMBER_AT(M, id.pid, "pid", 0, UINT64_MAX)
#define NUMBER MESSAGE_NUMBER_AT(M, id.n, "number", 0, UINT64_MAX)

static const struct message_field of_hello[] = {
	{MESSAGE_NUMBER_AT(M, version, "version", 0, UINT32_MAX), .must = true},
};
static const struct message_field of_ask[] = {
	{PID},
	{NUMBER},
	{MESSAGE_NUMBER_AT(M, niceness, "niceness", 0, ARCHIE_NICE_MOST)},
	{MESSAGE_FLAG_AT(M, verbose, "verbose")},
	{MESSAGE_BYTES_AT(M, request, "request", ARCHIE_REQUEST_MOST), .must = true},
};
static const struct message_field of_cancel[] = {{PID}, {NUMBER}};
static const struct message_field of_loaded[] = {
	{MESSAGE_NUMBER_AT(M, queue, "queue", 0, UINT64_MAX), .must = true},
	{MESSAGE_SIGNED_AT(M, wait_us, "wait", 0, INT64_MAX), .must = true},
	{MESSAGE_NUMBER_AT(M, per_1000s, "per-1000s", 0, UINT32_MAX), .must = true},
};
static const struct message_field of_queued[] = {
	{PID},
	{NUMBER},
	{MESSAGE_NUMBER_AT(M, position, "position", 0, UINT64_MAX), .must = true},
	{MESSAGE_NUMBER_AT(M, seconds, "seconds", 0, INT64_MAX), .must = true},
};
static const struct message_field of_answer[] = {
	{PID},
	{NUMBER},
	{MESSAGE_SIGNED_AT(M, wait_us, "wait", 0, INT64_MAX)},
	{MESSAGE_FLAG_AT(M, exact, "exact")},
	{MESSAGE_FLAG_AT(M, cut, "cut")},
	{MESSAGE_NUMBER_AT(M, total, "total", 0, UINT64_MAX)},
	{MESSAGE_SIGNED_AT(M, search_us, "search", 0, INT64_MAX)},
	{MESSAGE_SAID_AT(M, problem, "problem", ARCHIE_TEXT_MOST)},
	{MESSAGE_ITEMS_AT(M, sites, "sites", ARCHIE_ROWS_MOST)},
	{MESSAGE_ITEMS_AT(M, rows, "rows", ARCHIE_ROWS_MOST)},
};
static const struct message_field of_refused[] = {
	{PID},
	{NUMBER},
	{MESSAGE_WORD_AT(M, why, "why", archie_refusal_words, ARCHIE_REFUSALS), .must = true},
	{MESSAGE_SAID_AT(M, text, "text", ARCHIE_TEXT_MOST)},
};
static const struct message_field of_search[] = {
	{PID},
	{NUMBER},
	{MESSAGE_SIGNED_AT(M, limit_us, "limit", 0, INT64_MAX), .must = true},
	{MESSAGE_BYTES_AT(M, request, "request", ARCHIE_REQUEST_MOST), .must = true},
};

enum {
	ASK_MOST = ARCHIE_REQUEST_MOST + ARCHIE_SMALL_MOST,
	ANSWER_MOST = ARCHIE_ANSWER_MOST + ARCHIE_SMALL_MOST,
};
static const struct message asks[] = {
	MESSAGE("ask", ARCHIE_WORD_ASK, ASK_MOST, of_ask),
	MESSAGE("cancel", ARCHIE_WORD_CANCEL, ARCHIE_SMALL_MOST, of_cancel),
	MESSAGE_BARE("load", ARCHIE_WORD_LOAD),
};
static const struct message tells[] = {
	/* those of searchers first */
	MESSAGE("answer", ARCHIE_WORD_ANSWER, ANSWER_MOST, of_answer),
	MESSAGE("refused", ARCHIE_WORD_REFUSED, ARCHIE_SMALL_MOST, of_refused),
	MESSAGE("archie", ARCHIE_WORD_HELLO, ARCHIE_SMALL_MOST, of_hello),
	MESSAGE("queued", ARCHIE_WORD_QUEUED, ARCHIE_SMALL_MOST, of_queued),
	MESSAGE("loaded", ARCHIE_WORD_LOADED, ARCHIE_SMALL_MOST, of_loaded),
};
static const struct message searches[] = {
	MESSAGE("search", ARCHIE_WORD_SEARCH, ASK_MOST, of_search),
	MESSAGE_BARE("stop", ARCHIE_WORD_STOP),
};

const struct message_wire archie_asks = {asks, ARRAY_LEN(asks), sizeof(M)};
const struct message_wire archie_tells = {tells, ARRAY_LEN(tells), sizeof(M)};
const struct message_wire archie_searches = {searches, ARRAY_LEN(searches), sizeof(M)};
const struct message_wire archie_finds = {tells, 2, sizeof(M)};

int archie_hello_check(const struct archie_message *hello, struct err *err)
{
	if (hello->version == ARCHIE_VERSION)
		return 0;
	return err_set(err, ERR_BUSY,
		       "the server does not search now: its queuer speaks version %" PRIu64
		       " of this protocol, expected %d",
		       hello->version, ARCHIE_VERSION);
}

/* Requests */

enum ask_list { ASK_SITES, ASK_DOMAINS, ASK_COMPONENTS, ASK_LISTS };

struct ask_said {
	struct archie_ask ask;
	struct message_items list[ASK_LISTS];
};

static const char *const what_words[ARCHIE_WHATS] = {"find", "whatis", "sites", "site", "folder"};
static const char *const syntax_words[] = {"extended", "ed"};
static const char *const sort_words[] = {"none", "name", "host", "size", "time"};

#define A struct ask_said
#define Q(member) ask.query.member
static const struct message_field ask_fields[] = {
	{MESSAGE_WORD_AT(A, ask.what, "what", what_words, ARCHIE_WHATS), .must = true},
	{MESSAGE_BYTES_AT(A, ask.from, "from", ARCHIE_FROM_MOST)},
	{MESSAGE_WORD_AT(A, Q(type), "type", names_type_words, NAMES_WHATIS)},
	{MESSAGE_WORD_AT(A, Q(syntax), "syntax", syntax_words, ARRAY_LEN(syntax_words))},
	{MESSAGE_BYTES_AT(A, Q(pattern), "pattern", NAMES_PATTERN_MOST)},
	{MESSAGE_FLAG_AT(A, Q(path), "path")},
	{MESSAGE_FLAG_AT(A, Q(reverse), "reverse")},
	{MESSAGE_FLAG_AT(A, Q(mirrors), "mirrors")},
	{MESSAGE_FLAG_AT(A, Q(count), "count")},
	{MESSAGE_FLAG_AT(A, Q(no_files), "names")},
	{MESSAGE_NUMBER_AT(A, Q(kinds), "kinds", 0, (1u << NAMES_KINDS) - 1)},
	{MESSAGE_WORD_AT(A, Q(sort), "sort", sort_words, ARRAY_LEN(sort_words))},
	{MESSAGE_NUMBER_AT(A, Q(maxhits), "maxhits", 0, UINT64_MAX)},
	{MESSAGE_NUMBER_AT(A, Q(maxmatch), "maxmatch", 0, UINT64_MAX)},
	{MESSAGE_NUMBER_AT(A, Q(maxhitspm), "maxhitspm", 0, UINT64_MAX)},
	{MESSAGE_NUMBER_AT(A, Q(offset), "offset", 0, UINT64_MAX)},
	{MESSAGE_FLAG_AT(A, Q(has_size_min), "from-size")},
	{MESSAGE_SIGNED_AT(A, Q(size_min), "size-min", INT64_MIN, INT64_MAX)},
	{MESSAGE_FLAG_AT(A, Q(has_size_max), "to-size")},
	{MESSAGE_SIGNED_AT(A, Q(size_max), "size-max", INT64_MIN, INT64_MAX)},
	{MESSAGE_FLAG_AT(A, Q(has_time_min), "from-time")},
	{MESSAGE_SIGNED_AT(A, Q(time_min), "time-min", INT64_MIN, INT64_MAX)},
	{MESSAGE_FLAG_AT(A, Q(has_time_max), "to-time")},
	{MESSAGE_SIGNED_AT(A, Q(time_max), "time-max", INT64_MIN, INT64_MAX)},
	{MESSAGE_ITEMS_AT(A, list[ASK_SITES], "sites", NAMES_LIST_MOST)},
	{MESSAGE_ITEMS_AT(A, list[ASK_DOMAINS], "domains", NAMES_LIST_MOST)},
	{MESSAGE_ITEMS_AT(A, list[ASK_COMPONENTS], "components", NAMES_LIST_MOST)},
};
static const struct message_item ask_item = {"a request", sizeof(A), ask_fields,
					     ARRAY_LEN(ask_fields)};
static const struct message_field text_fields[] = {
	{.name = {"is", 2}, .type = MESSAGE_BYTES, .most = ARCHIE_REQUEST_MOST, .must = true},
};
static const struct message_item text_item = {"a list of a request", sizeof(struct str),
					      text_fields, ARRAY_LEN(text_fields)};

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

static bool list_write(const struct str *list, uint32_t n, struct buf *room,
		       struct message_items *ret)
{
	*room = BUF_INIT(ARCHIE_REQUEST_MOST);
	for (uint32_t i = 0; i < n; i++)
		message_item_write(&text_item, &list[i], room);
	*ret = (struct message_items){n, buf_str(room)};
	return !room->over;
}

int archie_ask_encode(const struct archie_ask *ask, struct buf *out, struct err *err)
{
	const struct names_query *q = &ask->query;
	struct ask_said said = {.ask = *ask};
	struct buf room[ASK_LISTS];
	size_t before = out->n;
	if (ask_check(ask, err) < 0)
		return -1;
	bool fits = list_write(q->site, q->sites, &room[ASK_SITES], &said.list[ASK_SITES]);
	fits &= list_write(q->domain, q->domains, &room[ASK_DOMAINS], &said.list[ASK_DOMAINS]);
	fits &= list_write(q->component, q->components, &room[ASK_COMPONENTS],
			   &said.list[ASK_COMPONENTS]);
	message_item_write(&ask_item, &said, out);
	for (size_t i = 0; i < ASK_LISTS; i++)
		buf_free(&room[i]);
	if (!fits || out->over || out->n - before > ARCHIE_REQUEST_MOST)
		return err_set(err, ERR_USAGE, "a request has more than %d bytes",
			       ARCHIE_REQUEST_MOST);
	return 0;
}

int archie_ask_write(const struct archie_ask *ask, struct archie_id id, struct buf *out,
		     struct err *err)
{
	CLEANUP(buf_free) struct buf request = BUF_INIT(ARCHIE_REQUEST_MOST);
	if (archie_ask_encode(ask, &request, err) < 0)
		return -1;
	const struct archie_message m = {.id = id,
					 .niceness = (uint64_t)ask->niceness,
					 .verbose = ask->verbose,
					 .request = buf_str(&request)};
	message_write(&archie_asks, ARCHIE_WORD_ASK, &m, out);
	return 0;
}

static int list_read(struct message_items items, struct arena *arena, const struct str **ret,
		     uint32_t *ret_n, struct err *err)
{
	struct str *list = arena_array(arena, items.n, sizeof *list);
	size_t n = 0;
	int rc;
	while ((rc = message_item_next(&text_item, &items, &list[n], err)) == 0)
		n++;
	*ret = list;
	*ret_n = (uint32_t)n;
	return rc < 0 ? -1 : 0;
}

int archie_ask_decode(struct str bytes, struct arena *arena, struct archie_ask *ret,
		      struct err *err)
{
	struct message_items one = {1, bytes};
	struct ask_said said;
	struct names_query *q = &said.ask.query;
	if (message_item_next(&ask_item, &one, &said, err) < 0 ||
	    list_read(said.list[ASK_SITES], arena, &q->site, &q->sites, err) < 0 ||
	    list_read(said.list[ASK_DOMAINS], arena, &q->domain, &q->domains, err) < 0 ||
	    list_read(said.list[ASK_COMPONENTS], arena, &q->component, &q->components, err) < 0)
		return -1;
	if (one.bytes.n)
		return err_set(err, ERR_DAMAGED, "a request: %zu bytes too many", one.bytes.n);
	*ret = said.ask;
	return 0;
}

/* Rows of answers */

struct row_said {
	uint32_t site; /* 0: none */
	struct names_entry file;
	struct str mode;
	bool same_dir; /* as that of the row before */
	bool no_url;
	uint64_t mirrors;
	struct str text;
};

static const char *const kind_words[NAMES_KINDS] = {"file", "dir", "link", "other"};

#define R struct row_said
static const struct message_field row_fields[] = {
	{MESSAGE_BYTES_AT(R, file.name, "name", NAMES_NAME_MOST), .must = true},
	{MESSAGE_NUMBER_AT(R, site, "site", 0, UINT32_MAX)},
	{MESSAGE_WORD_AT(R, file.kind, "kind", kind_words, NAMES_KINDS)},
	{MESSAGE_BYTES_AT(R, mode, "mode", 10), .least = 10},
	{MESSAGE_FLAG_AT(R, same_dir, "same")},
	{MESSAGE_BYTES_AT(R, file.dir, "dir", NAMES_NAME_MOST)},
	{MESSAGE_SIGNED_AT(R, file.size, "size", INT64_MIN, INT64_MAX), .none = -1},
	{MESSAGE_SIGNED_AT(R, file.time_s, "time", INT64_MIN, INT64_MAX), .none = -1},
	{MESSAGE_SIGNED_AT(R, file.links, "links", INT32_MIN, INT32_MAX), .none = -1},
	{MESSAGE_BYTES_AT(R, file.owner, "owner", NAMES_NAME_MOST)},
	{MESSAGE_BYTES_AT(R, file.group, "group", NAMES_NAME_MOST)},
	{MESSAGE_NUMBER_AT(R, mirrors, "mirrors", 0, UINT64_MAX)},
	{MESSAGE_FLAG_AT(R, no_url, "no-url")},
	{MESSAGE_BYTES_AT(R, text, "text", (size_t)NAMES_NAME_MOST * 2)},
};
static const struct message_item row_item = {"a row", sizeof(R), row_fields, ARRAY_LEN(row_fields),
					     .packed = true};

#define S struct archie_row
static const struct message_field site_fields[] = {
	{MESSAGE_BYTES_AT(S, key, "key", NAMES_KEY_MOST), .must = true},
	{MESSAGE_BYTES_AT(S, host, "host", NAMES_KEY_MOST)},
	{MESSAGE_BYTES_AT(S, address, "address", NAMES_KEY_MOST)},
	{MESSAGE_BYTES_AT(S, url, "url", NAMES_NAME_MOST)},
	{MESSAGE_SIGNED_AT(S, listed_s, "listed", INT64_MIN, INT64_MAX), .none = -1},
	{MESSAGE_SIGNED_AT(S, entries, "entries", INT64_MIN, INT64_MAX), .none = -1},
};
static const struct message_item site_item = {"a site", sizeof(S), site_fields,
					      ARRAY_LEN(site_fields), .packed = true};

static void writer_empty(struct buf *b)
{
	enum { KEPT = 1 << 20 };
	if (b->cap > KEPT)
		buf_free(b);
	buf_clear(b);
	b->max = ARCHIE_ANSWER_MOST;
}

void archie_writer_begin(struct archie_writer *w, const struct names_site *site, uint32_t *number)
{
	writer_empty(&w->sites);
	writer_empty(&w->rows);
	*w = (struct archie_writer){
		.sites = w->sites, .rows = w->rows, .site = site, .number = number};
}

void archie_writer_free(struct archie_writer *w)
{
	buf_free(&w->sites);
	buf_free(&w->rows);
}

/* Its number; told with its first row. */
static uint32_t site_write(struct archie_writer *w, uint32_t which)
{
	const struct names_site *site = &w->site[which];
	uint32_t *number = &w->number[which];
	if (*number)
		return *number;
	const struct archie_row said = {.key = site->key,
					.host = site->host,
					.address = site->address,
					.url = site->url,
					.listed_s = site->listed_s,
					.entries = (int64_t)site->entries};
	message_item_write(&site_item, &said, &w->sites);
	return *number = ++w->told;
}

bool archie_writer_row(struct archie_writer *w, uint32_t site, const struct archie_row *row)
{
	struct row_said said = {.file = row->file,
				.mode = {row->file.mode, row->file.mode[0] ? 10 : 0},
				.no_url = !row->url.p,
				.mirrors = row->mirrors,
				.text = row->text};
	size_t sites = w->sites.n, rows = w->rows.n;
	uint32_t told = w->told;
	if (w->full)
		return false;
	said.site = site == ARCHIE_NO_SITE ? 0 : site_write(w, site);
	said.same_dir = w->nrows && str_eq(row->file.dir, w->dir);
	if (said.same_dir)
		said.file.dir = STR("");
	message_item_write(&row_item, &said, &w->rows);
	if (!w->sites.over && !w->rows.over && w->sites.n + w->rows.n <= ARCHIE_ANSWER_MOST &&
	    w->nrows < ARCHIE_ROWS_MOST) {
		w->dir = row->file.dir;
		w->nrows++;
		return true;
	}
	/* as if it had not been */
	w->full = true;
	w->sites.n = sites;
	w->rows.n = rows;
	w->told = told;
	return false;
}

void archie_writer_end(const struct archie_writer *w, struct archie_message *ret)
{
	ret->sites = (struct message_items){w->told, buf_str(&w->sites)};
	ret->rows = (struct message_items){w->nrows, buf_str(&w->rows)};
}

struct answer_reader {
	struct arena *arena;
	struct archie_row *site; /* what each tells of its rows; url is that of the root */
	size_t sites;
	struct str dir;
	uint32_t folder_site;   /* whose URL is in `folder`; 0: none */
	struct buf folder, url; /* of the directory of the row before; of a file in it */
};

/* In the arena. */
static struct str url_make(struct answer_reader *a, const struct row_said *said, struct str root)
{
	if (a->folder_site != said->site) {
		buf_clear(&a->folder);
		(void)names_url(root, said->file.dir, true, &a->folder);
		a->folder_site = said->site;
	}
	buf_clear(&a->url);
	(void)names_url(buf_str(&a->folder), said->file.name, said->file.kind == NAMES_DIR,
			&a->url);
	return a->folder.over || a->url.over ? STR("") : arena_str(a->arena, buf_str(&a->url));
}

static int row_make(struct answer_reader *a, struct row_said *said, struct archie_row *ret,
		    struct err *err)
{
	if (said->site > a->sites)
		return err_set(err, ERR_DAMAGED, "a row: site %u of %zu", said->site, a->sites);
	if (said->same_dir)
		said->file.dir = a->dir;
	else
		a->folder_site = 0;
	a->dir = said->file.dir;
	if (said->mode.n)
		memcpy(said->file.mode, said->mode.p, sizeof said->file.mode);
	*ret = said->site ? a->site[said->site - 1]
			  : (struct archie_row){.listed_s = -1, .entries = -1};
	ret->file = said->file;
	ret->mirrors = said->mirrors;
	ret->text = said->text;
	if (said->no_url)
		ret->url = STR("");
	else if (said->file.name.n && ret->url.n) /* a row of a site alone has its root */
		ret->url = url_make(a, said, ret->url);
	return 0;
}

static int answer_rows(struct answer_reader *a, const struct archie_message *m,
		       struct archie_answer *ret, struct err *err)
{
	struct message_items sites = m->sites, rows = m->rows;
	struct row_said said;
	int rc;
	a->site = arena_array(a->arena, sites.n, sizeof *a->site);
	ret->row = arena_array(a->arena, rows.n, sizeof *ret->row);
	while (sites.n && message_item_next(&site_item, &sites, &a->site[a->sites], err) == 0)
		a->sites++;
	if (sites.n || sites.bytes.n)
		return err_set(err, ERR_DAMAGED, "an answer: not %" PRIu64 " sites", m->sites.n);
	while ((rc = message_item_next(&row_item, &rows, &said, err)) == 0)
		if (row_make(a, &said, &ret->row[ret->n++], err) < 0)
			return -1;
	return rc < 0 ? -1 : 0;
}

int archie_answer_read(const struct archie_message *m, struct arena *arena,
		       struct archie_answer *ret, struct err *err)
{
	struct answer_reader a = {.arena = arena,
				  .folder = BUF_INIT((size_t)8 * NAMES_NAME_MOST),
				  .url = BUF_INIT((size_t)16 * NAMES_NAME_MOST)};
	struct archie_answer answer = {.total = m->total,
				       .exact = m->exact,
				       .cut = m->cut,
				       .problem = m->problem,
				       .wait_us = m->wait_us,
				       .search_us = m->search_us};
	int rc = answer_rows(&a, m, &answer, err);
	buf_free(&a.folder);
	buf_free(&a.url);
	if (rc == 0)
		*ret = answer;
	return rc;
}

/* Paths */

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
	return str_unescape(rest, arena_alloc(arena, rest.n));
}

struct str archie_row_path(const struct archie_row *row, struct arena *arena)
{
	struct str path = path_of_url(row->url, arena), name = row->file.name;
	if (path.n > name.n && str_ends(path, name) && path.p[path.n - name.n - 1] == '/')
		return path;
	return path_of_listing(&row->file, arena);
}
