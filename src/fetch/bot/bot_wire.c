/* The messages of the bot protocol, from two tables: the formats of attributes, and the attributes
 * that each message must or may have. A message is reported at its start tag, which has all its
 * content; anything between start and end is a separate error, reported after it.
 *
 * Parsing and printing use the same form, so a botm passes on what it understood and nothing else.
 */
#include "fetch/bot_wire.h"

#include "base/ascii.h"
#include "base/hash.h"

#include <inttypes.h>
#include <stdio.h>

enum attr_type {
	ATTR_WORD,    /* visible ASCII, at least a byte */
	ATTR_MACHINE, /* bot_is_machine() or empty */
	ATTR_FILE,
	ATTR_URL,
	ATTR_TEXT, /* UTF-8 without control characters */
	ATTR_NUMBER,
	ATTR_DELAY,
	ATTR_BOOL, /* one of two words */
	ATTR_OUTCOME,
	ATTR_DELETION,
	ATTR_MD5,
};

struct attr_def {
	const char *name;
	enum attr_type type;
	size_t offset;
	uint64_t most;        /* bytes, or the largest number */
	const char *yes, *no; /* ATTR_BOOL */
};

#define AT(m) offsetof(struct bot_message, m)

/* In the order of enum bot_attr, which is the order in which they are printed. */
static const struct attr_def attrs[BOT_NATTRS] = {
	{"id", ATTR_WORD, AT(id), BOT_ID_MAX, NULL, NULL},
	{"url", ATTR_URL, AT(url), BOT_URL_MAX, NULL, NULL},
	{"file", ATTR_FILE, AT(file), BOT_FILE_MAX, NULL, NULL},
	{"since", ATTR_NUMBER, AT(since), CLOCK_MOST_US / US_PER_S, NULL, NULL},
	{"etag", ATTR_TEXT, AT(etag), ROBOT_ETAG_MAX, NULL, NULL},
	{"mime", ATTR_TEXT, AT(mime), ROBOT_MIME_MAX, NULL, NULL},
	{"size_max", ATTR_NUMBER, AT(size_max), INT64_MAX, NULL, NULL},
	{"within", ATTR_URL, AT(within), BOT_URL_MAX, NULL, NULL},
	{"delay", ATTR_DELAY, AT(delay_us), BOT_DELAY_MAX_US, NULL, NULL},
	{"robots", ATTR_BOOL, AT(robots), 0, "yes", "no"},
	{"outcome", ATTR_OUTCOME, AT(outcome), 0, NULL, NULL},
	{"cause", ATTR_WORD, AT(cause), BOT_ID_MAX, NULL, NULL},
	{"status", ATTR_NUMBER, AT(status), 999, NULL, NULL},
	{"md5", ATTR_MD5, AT(md5), 0, NULL, NULL},
	{"size", ATTR_NUMBER, AT(size), INT64_MAX, NULL, NULL},
	{"mtime", ATTR_NUMBER, AT(mtime), CLOCK_MOST_US / US_PER_S, NULL, NULL},
	{"machine", ATTR_MACHINE, AT(machine), BOT_ID_MAX, NULL, NULL},
	{"node", ATTR_MACHINE, AT(node), BOT_ID_MAX, NULL, NULL},
	{"capacity", ATTR_NUMBER, AT(capacity), BOT_PARALLEL_MAX, NULL, NULL},
	{"parallel", ATTR_NUMBER, AT(parallel), BOT_PARALLEL_MAX, NULL, NULL},
	{"state", ATTR_BOOL, AT(is_up), 0, "up", "down"},
	{"outcome", ATTR_DELETION, AT(deletion), 0, NULL, NULL},
	{"reason", ATTR_TEXT, AT(reason), BOT_REASON_MAX, NULL, NULL},
	{"line", ATTR_NUMBER, AT(line), UINT64_MAX, NULL, NULL},
	{"column", ATTR_NUMBER, AT(column), UINT64_MAX, NULL, NULL},
};

struct kind_def {
	const char *name;
	unsigned must, may;
};

#define FETCH_MAY                                                                        \
	(BOT_HAS_FILE | BOT_HAS_SINCE | BOT_HAS_ETAG | BOT_HAS_MIME | BOT_HAS_SIZE_MAX | \
	 BOT_HAS_WITHIN | BOT_HAS_DELAY | BOT_HAS_ROBOTS)
#define FETCHED_MAY                                                                    \
	(BOT_HAS_CAUSE | BOT_HAS_STATUS | BOT_HAS_MD5 | BOT_HAS_SIZE | BOT_HAS_MTIME | \
	 BOT_HAS_MIME | BOT_HAS_ETAG | BOT_HAS_REASON | BOT_HAS_MACHINE | BOT_HAS_FILE)

static const struct kind_def kinds[BOT_NKINDS] = {
	[BOT_ROBOT] = {"robot", BOT_HAS_PARALLEL, 0},
	[BOT_FETCH] = {"fetch", BOT_HAS_ID | BOT_HAS_URL, FETCH_MAY},
	[BOT_FETCHED] = {"fetched", BOT_HAS_ID | BOT_HAS_OUTCOME, FETCHED_MAY},
	[BOT_BOTM] = {"botm", BOT_HAS_MACHINE | BOT_HAS_NODE | BOT_HAS_CAPACITY, 0},
	[BOT_MACHINE] = {"machine", BOT_HAS_MACHINE | BOT_HAS_NODE | BOT_HAS_STATE, 0},
	[BOT_KEPT] = {"kept", BOT_HAS_ID, BOT_HAS_MACHINE | BOT_HAS_FILE},
	[BOT_DROPPED] = {"dropped", BOT_HAS_ID, BOT_HAS_MACHINE | BOT_HAS_FILE},
	[BOT_DELETE] = {"delete", BOT_HAS_ID | BOT_HAS_MACHINE | BOT_HAS_FILE, 0},
	[BOT_DELETED] = {"deleted", BOT_HAS_ID | BOT_HAS_DELETION, 0},
	[BOT_REFUSED] = {"refused", BOT_HAS_REASON, 0},
	[BOT_ERROR] = {"error", BOT_HAS_LINE | BOT_HAS_COLUMN, BOT_HAS_REASON},
};

static const char *const deletions[BOT_NDELETIONS] = {
#define X(symbol, name) [BOT_DELETED_##symbol] = name,
	BOT_DELETIONS(X)
#undef X
};

static bool is_visible(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] <= ' ' || s.p[i] > '~')
			return false;
	return s.n > 0;
}

struct bot_message bot_message_copy(const struct bot_message *m, struct arena *arena)
{
	struct bot_message copy = *m;
	struct str *text[] = {&copy.id,     &copy.url,   &copy.file,    &copy.etag, &copy.mime,
			      &copy.within, &copy.cause, &copy.machine, &copy.node, &copy.reason};
	for (size_t i = 0; i < ARRAY_LEN(text); i++)
		*text[i] = text[i]->n ? arena_str(arena, *text[i]) : STR("");
	return copy;
}

bool bot_is_machine(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!ascii_is_alnum(s.p[i]) && s.p[i] != '.' && s.p[i] != '_' && s.p[i] != '-')
			return false;
	return s.n > 0 && s.n <= BOT_ID_MAX;
}

/* Visible, and neither absolute nor climbing; a robot opens it below its folder all the same. */
static bool is_file(struct str s)
{
	struct str rest = s, part;
	if (!is_visible(s))
		return false;
	while (str_cut(&rest, '/', &part) == 0)
		if (part.n == 0 || str_is(part, ".") || str_is(part, ".."))
			return false;
	return true;
}

static bool is_text(struct str s)
{
	return str_utf8(s) && !str_has_control(s);
}

/* Reading. */

static bool deletion_parse(struct str s, enum bot_deletion *ret)
{
	*ret = (enum bot_deletion)str_index(s, deletions, BOT_NDELETIONS);
	return *ret < BOT_NDELETIONS;
}

static bool bool_parse(const struct attr_def *def, struct str s, bool *ret)
{
	if (!str_is(s, def->yes) && !str_is(s, def->no))
		return false;
	*ret = str_is(s, def->yes);
	return true;
}

static bool number_parse(struct str s, uint64_t most, uint64_t *ret)
{
	uint64_t v;
	if (!str_u64(s, &v) || v > most)
		return false;
	*ret = v;
	return true;
}

static bool text_parse(struct str s, uint64_t most, bool is_good, struct str *ret)
{
	if (s.n > most || !is_good)
		return false;
	*ret = s;
	return true;
}

static bool attr_parse(const struct attr_def *def, struct str s, struct bot_message *m)
{
	void *at = (char *)m + def->offset;
	switch (def->type) {
	case ATTR_WORD:
	case ATTR_URL:
		return text_parse(s, def->most, is_visible(s), at);
	case ATTR_MACHINE:
		return text_parse(s, def->most, s.n == 0 || bot_is_machine(s), at);
	case ATTR_FILE:
		return text_parse(s, def->most, is_file(s), at);
	case ATTR_TEXT:
		return text_parse(s, def->most, is_text(s), at);
	case ATTR_NUMBER:
		return number_parse(s, def->most, at);
	case ATTR_DELAY:
		return duration_parse(s, at) && *(int64_t *)at <= (int64_t)def->most;
	case ATTR_BOOL:
		return bool_parse(def, s, at);
	case ATTR_OUTCOME:
		return outcome_parse(s, at);
	case ATTR_DELETION:
		return deletion_parse(s, at);
	case ATTR_MD5:
		return hex_parse(s, at, sizeof m->md5);
	}
	return false;
}

static int kind_of(const struct xml_tag *tag, enum bot_kind *ret, struct err *err)
{
	for (unsigned i = 0; i < BOT_NKINDS; i++)
		if (str_is(tag->name, kinds[i].name) && tag->uri.n == 0) {
			*ret = (enum bot_kind)i;
			return 0;
		}
	return err_set(err, ERR_USAGE, "there is no message <" STR_FMT ">",
		       STR_ARG(str_head(tag->name, BOT_ID_MAX)));
}

int bot_message_read(const struct xml_tag *tag, struct bot_message *ret, struct err *err)
{
	struct bot_message m = {0};
	if (kind_of(tag, &m.kind, err) < 0)
		return -1;
	const struct kind_def *kind = &kinds[m.kind];
	for (size_t i = 0; i < BOT_NATTRS; i++) {
		bool is_there;
		if (!((kind->must | kind->may) & 1u << i))
			continue;
		struct str value = xml_attr(tag, attrs[i].name, &is_there);
		if (!is_there && kind->must & 1u << i)
			return err_set(err, ERR_USAGE, "<%s> needs %s=", kind->name, attrs[i].name);
		if (is_there && !attr_parse(&attrs[i], value, &m))
			return err_set(err, ERR_USAGE, "<%s>: %s='" STR_FMT "' cannot be taken",
				       kind->name, attrs[i].name,
				       STR_ARG(str_utf8_head(value, BOT_ID_MAX)));
		m.has |= is_there ? 1u << i : 0;
	}
	*ret = m;
	return 0;
}

/* Printing. */

static void delay_print(struct buf *out, const char *name, int64_t us)
{
	buf_printf(out, " %s=\"", name);
	duration_print(out, us);
	buf_add_byte(out, '"');
}

static void md5_print(struct buf *out, const char *name, const unsigned char *md5)
{
	char hex[33];
	hex_print(md5, 16, hex);
	xml_add_attr(out, name, str_of(hex));
}

static void attr_print(const struct attr_def *def, const struct bot_message *m, struct buf *out)
{
	const void *at = (const char *)m + def->offset;
	switch (def->type) {
	case ATTR_TEXT: /* the only ones that come as servers send them */
		if (is_text(*(const struct str *)at))
			xml_add_attr(out, def->name, *(const struct str *)at);
		return;
	case ATTR_WORD:
	case ATTR_MACHINE:
	case ATTR_FILE:
	case ATTR_URL:
		xml_add_attr(out, def->name, *(const struct str *)at);
		return;
	case ATTR_NUMBER:
		xml_add_number(out, def->name, *(const uint64_t *)at);
		return;
	case ATTR_DELAY:
		delay_print(out, def->name, *(const int64_t *)at);
		return;
	case ATTR_BOOL:
		xml_add_attr(out, def->name, str_of(*(const bool *)at ? def->yes : def->no));
		return;
	case ATTR_OUTCOME:
		xml_add_attr(out, def->name, str_of(outcome_name(m->outcome)));
		return;
	case ATTR_DELETION:
		xml_add_attr(out, def->name, str_of(deletions[m->deletion]));
		return;
	case ATTR_MD5:
		md5_print(out, def->name, m->md5);
		return;
	}
}

void bot_message_print(const struct bot_message *m, struct buf *out)
{
	const struct kind_def *kind = &kinds[m->kind];
	buf_add_byte(out, '<');
	buf_add_text(out, kind->name);
	for (size_t i = 0; i < BOT_NATTRS; i++)
		if (m->has & (kind->must | kind->may) & 1u << i)
			attr_print(&attrs[i], m, out);
	buf_add_text(out, "/>\n");
}

/* The stream. */

static const struct xml_limits stream_limits = {
	.depth = 1,
	.attrs = (size_t)2 * BOT_NATTRS,
	.token_max = BOT_MESSAGE_MAX,
	.message_max = BOT_MESSAGE_MAX,
	.bindings = 8,
};

static void on_start(void *ctx, const struct xml_tag *tag)
{
	struct bot_reader *r = ctx;
	struct bot_message m;
	struct err err;
	if (bot_message_read(tag, &m, &err) < 0)
		xml_stream_refuse(r->xml, err.msg);
	else
		r->ops->message(r->ctx, &m);
}

static void on_text(void *ctx, struct str text)
{
	struct bot_reader *r = ctx;
	if (str_trim(text).n)
		xml_stream_refuse(r->xml, "a message has attributes, and no text");
}

static void on_end(void *ctx, const struct xml_tag *tag)
{
	(void)ctx, (void)tag;
}

static void on_error(void *ctx, const struct err *err, uint64_t line, uint64_t column)
{
	struct bot_reader *r = ctx;
	r->ops->error(r->ctx, err, line, column);
}

struct bot_reader *bot_reader_new(const struct bot_reader_ops *ops, void *ctx)
{
	static const struct xml_ops xml_ops = {
		.start = on_start,
		.text = on_text,
		.end = on_end,
		.error = on_error,
	};
	struct bot_reader *r = mem_alloc(sizeof *r);
	r->ops = ops;
	r->ctx = ctx;
	r->xml = xml_stream_new(&stream_limits, &xml_ops, r);
	return r;
}

void bot_reader_free(struct bot_reader **r)
{
	if (!*r)
		return;
	xml_stream_free(&(*r)->xml);
	mem_free(r);
}

int bot_reader_put(struct bot_reader *r, struct str bytes)
{
	return xml_stream_put(r->xml, bytes);
}

void bot_error_print(const struct err *err, uint64_t line, uint64_t column,
		     char ret[BOT_REASON_MAX + 1])
{
	snprintf(ret, BOT_REASON_MAX + 1, "line %" PRIu64 ", column %" PRIu64 ": %.180s", line,
		 column, err->msg);
}
