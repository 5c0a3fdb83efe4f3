/* Sessions: which message may come when, and what it must contain. A set is read as it arrives; all
 * other messages are small.
 *
 * expat remembers the names of elements and attributes until the end of a document, and a set may
 * have gigabytes. So unknown names are counted, and a peer that invents more and more is refused.
 */
#include "cache/uns/lococa_inner.h"

#include "base/hash.h"
#include "role/password.h"

#include <inttypes.h>
#include <stdio.h>

struct lococa_shared *lococa_shared_new(const struct cache_conf *cache, uint64_t set_max,
					uint64_t set_bytes)
{
	struct lococa_shared *s = mem_alloc(sizeof *s);
	s->cache = cache;
	s->set_max = set_max;
	s->set_bytes = set_bytes;
	s->element = BUF_INIT(ELEMENT_MAX);
	return s;
}

void lococa_shared_free(struct lococa_shared **s)
{
	if (!*s)
		return;
	buf_free(&(*s)->element);
	mem_free(s);
}

static void session_fail(struct lococa *l, unsigned code, const char *text)
{
	if (l->is_stopped)
		return;
	lococa_stop(l);
	l->ops->error(l->ctx, code, text);
}

static void password_wipe(struct lococa *l)
{
	if (l->password)
		explicit_bzero(l->password, strlen(l->password));
	mem_free(&l->password);
}

bool lococa_learn_name(struct lococa *l, struct str name)
{
	uint64_t hash = hash64(name);
	for (size_t i = 0; i < l->nnames; i++)
		if (l->name[i] == hash)
			return true;
	if (l->nnames == NAMES_MAX)
		return false;
	l->name[l->nnames++] = hash;
	return true;
}

/* Messages. */

static void keep_prefix(struct lococa *l, const struct xml_tag *tag)
{
	if (tag->prefix.n > PREFIX_MAX) {
		session_fail(l, CACHE_SYNTAX, "the prefix of a message is too long");
		return;
	}
	snprintf(l->prefix, sizeof l->prefix, STR_FMT "%s", STR_ARG(tag->prefix),
		 tag->prefix.n ? ":" : "");
}

static void begin_set(struct lococa *l, const struct xml_tag *tag)
{
	struct str what = xml_attr(tag, "set", NULL), empty = xml_attr(tag, "empty", NULL);
	struct str urlprefix = xml_attr(tag, "urlprefix", NULL);
	l->state = LOCOCA_SET;
	l->limits.message_max = SIZE_MAX; /* the set has limits of its own */
	l->is_full = str_is(what, "full");
	l->may_be_empty = str_is(empty, "yes");
	if (!l->is_full && !str_is(what, "partial"))
		session_fail(l, CACHE_SYNTAX, "set= has to be \"full\" or \"partial\"");
	else if (empty.n && !l->may_be_empty && !str_is(empty, "no"))
		session_fail(l, CACHE_SYNTAX, "empty= has to be \"yes\" or \"no\"");
	else if (urlprefix.n > LOCOCA_URLPREFIX_MAX)
		session_fail(l, CACHE_SYNTAX, "urlprefix= is too long");
	if (l->is_stopped)
		return;
	l->urlprefix = str_dup(urlprefix);
	l->urlprefix_n = urlprefix.n;
	l->ops->set(l->ctx, l->is_full);
}

static void begin_receipts(struct lococa *l, const struct xml_tag *tag)
{
	bool is_there;
	struct str set = xml_attr(tag, "set", &is_there);
	l->is_receipts = true;
	l->receipts_of = 0;
	if (is_there &&
	    (!str_u64(set, &l->receipts_of) || l->receipts_of == 0 || l->receipts_of > INT64_MAX))
		session_fail(l, CACHE_SYNTAX, "set= has to be the number of a set");
}

static void begin_message(struct lococa *l, const struct xml_tag *tag)
{
	l->is_init = l->is_receipts = false;
	l->providers = 0;
	if (!str_is(tag->uri, CACHE_NAMESPACE)) {
		session_fail(l, CACHE_SYNTAX,
			     "a message has to be of the namespace " CACHE_NAMESPACE);
		return;
	}
	keep_prefix(l, tag);
	if (l->is_stopped)
		return;
	if (l->state == LOCOCA_INIT && str_is(tag->name, "init"))
		l->is_init = true;
	else if (l->state == LOCOCA_INIT)
		session_fail(l, CACHE_SYNTAX, "the first message has to be init");
	else if (l->state == LOCOCA_OPEN && str_is(tag->name, "receipts"))
		begin_receipts(l, tag);
	else if (l->state == LOCOCA_OPEN && str_is(tag->name, "set"))
		begin_set(l, tag);
	else
		session_fail(l, CACHE_SYNTAX, "this message may not be said here");
}

static bool is_ours(const struct xml_tag *tag, const char *name)
{
	return (tag->uri.n == 0 || str_is(tag->uri, CACHE_NAMESPACE)) && str_is(tag->name, name);
}

static void take_provider(struct lococa *l, const struct xml_tag *tag)
{
	struct str id = xml_attr(tag, "id", NULL), password = xml_attr(tag, "passwd", NULL);
	uint64_t number;
	l->providers++;
	password_wipe(l);
	l->id[0] = '\0';
	if (id.n < sizeof l->id && str_u64(id, &number))
		snprintf(l->id, sizeof l->id, STR_FMT, STR_ARG(id));
	l->password = str_dup(str_head(password, PASSWORD_MOST + 1));
}

static void take_row(struct lococa *l, const struct xml_tag *tag)
{
	struct notice n;
	struct row_said said = {.code = CACHE_SYNTAX, .text = "not an element of a set"};
	if (++l->rows > l->shared->set_max) {
		session_fail(l, CACHE_QUOTA, "the set has too many URLs");
		return;
	}
	int rc = 1;
	if (tag->depth == 1 && is_ours(tag, "url"))
		rc = lococa_row(l, tag, &n, &said);
	else if (!lococa_learn_name(l, tag->name))
		rc = -1;
	if (rc == 0) {
		l->received++;
		l->ops->notice(l->ctx, &n);
		return;
	}
	if (rc < 0) {
		session_fail(l, CACHE_SYNTAX, "too many names that mean nothing here");
		return;
	}
	buf_clear(&l->shared->element);
	lococa_print_wrong(tag, &said, &l->shared->element);
	l->ops->wrong(l->ctx, buf_str(&l->shared->element));
	if (said.is_named && l->is_full && !l->is_stopped) {
		l->named++;
		l->ops->notice(l->ctx, &n);
	}
}

/* The stream. */

static void on_start(void *ctx, const struct xml_tag *tag)
{
	struct lococa *l = ctx;
	if (l->is_stopped)
		return;
	if (tag->depth == 0)
		begin_message(l, tag);
	else if (l->state == LOCOCA_SET)
		take_row(l, tag);
	else if (l->is_init && tag->depth == 1 && is_ours(tag, "provider"))
		take_provider(l, tag);
}

static void end_init(struct lococa *l)
{
	uint64_t id = 0;
	if (l->providers != 1) {
		session_fail(l, CACHE_SYNTAX, "init needs one element provider");
		return;
	}
	if (!str_u64(str_of(l->id), &id))
		id = 0;
	l->state = LOCOCA_ASKED;
	l->ops->init(l->ctx, id, str_of(l->password));
	password_wipe(l);
}

/* A full set whose rows name no URL, because all are unreadable, counts as empty: it would remove
 * all that is stored. */
static void end_set(struct lococa *l)
{
	if (l->is_full && l->received + l->named == 0 && !l->may_be_empty) {
		session_fail(l, CACHE_SYNTAX,
			     "a full set without a URL is taken only with empty=\"yes\"");
		return;
	}
	l->state = LOCOCA_WHOLE;
	lococa_stop(l);
	l->ops->whole(l->ctx, l->received);
}

static void on_end(void *ctx, const struct xml_tag *tag)
{
	struct lococa *l = ctx;
	if (l->is_stopped || tag->depth > 0)
		return;
	if (l->is_init)
		end_init(l);
	else if (l->is_receipts)
		l->ops->receipts(l->ctx, l->receipts_of);
	else
		end_set(l);
}

static void on_error(void *ctx, const struct err *err, uint64_t line, uint64_t column)
{
	char text[256];
	snprintf(text, sizeof text, "line %" PRIu64 ", column %" PRIu64 ": %.180s", line, column,
		 err->msg);
	session_fail(ctx, CACHE_SYNTAX, text);
}

struct lococa *lococa_new(struct lococa_shared *shared, const struct lococa_ops *ops, void *ctx)
{
	struct lococa *l = mem_alloc(sizeof *l);
	*l = (struct lococa){
		.shared = shared,
		.ops = ops,
		.ctx = ctx,
		.prefix = "lococa:",
		.limits = {.depth = 4,
			   .attrs = 64,
			   .token_max = LOCOCA_INIT_MAX,
			   .message_max = LOCOCA_INIT_MAX,
			   .bindings = 16},
	};
	return l;
}

void lococa_free(struct lococa **lp)
{
	struct lococa *l = *lp;
	if (!l)
		return;
	xml_stream_free(&l->xml);
	password_wipe(l);
	mem_free(&l->urlprefix);
	mem_free(lp);
}

void lococa_stop(struct lococa *l)
{
	l->is_stopped = true;
	if (l->xml)
		xml_stream_stop(l->xml);
}

bool lococa_in_set(const struct lococa *l)
{
	return l->state == LOCOCA_SET;
}

/* Not all of a set's bytes are URLs. */
static void count_bytes(struct lococa *l, size_t n)
{
	if (l->state != LOCOCA_SET)
		return;
	l->bytes += n;
	if (l->bytes > l->shared->set_bytes)
		session_fail(l, CACHE_QUOTA, "the set has too many bytes");
}

void lococa_put(struct lococa *l, struct str bytes, size_t *ret_n)
{
	static const struct xml_ops ops = {.start = on_start, .end = on_end, .error = on_error};
	*ret_n = bytes.n;
	if (l->is_stopped)
		return;
	if (!l->xml)
		l->xml = xml_stream_new(&l->limits, &ops, l);
	if (xml_stream_put_message(l->xml, bytes, ret_n) < 0)
		*ret_n = bytes.n;
	count_bytes(l, *ret_n);
}
