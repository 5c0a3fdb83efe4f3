/* XML messages over expat. A message ends with its element: expat is stopped there and reset
 * (which keeps its memory), and the bytes after it are the next document. So the end of a message
 * is known with its last byte, and names that a hostile peer invents are forgotten with the
 * message.
 *
 * Prefixes are handled here, not by expat, since they outlive a document.
 *
 * expat 2.5 parses an incomplete token from its beginning whenever more bytes arrive, so a long
 * token in small pieces would cost quadratic time. After a long beginning, bytes are therefore
 * gathered until the token is complete or its length has doubled. Doubling alone would leave
 * complete messages unread, so token_ends() finds the end of a token, as far as that is needed. */
#include "net/xml.h"

#include "base/vec.h"
#include "net/xml_plain_inner.h"

#include <expat.h>
#include <sys/random.h>

enum {
	GATHER_MIN = 1024, /* a shorter beginning of a token is looked at again and again */
	URI_MAX = 1024,    /* bytes of a prefix, or of the name of a namespace */
	PIECE_MAX = 65536,
};

#define TOO_LONG "a tag, comment or instruction is too long"

/* A prefix, or "" for xmlns; and its URI before an element bound it to another. */
struct binding {
	char *prefix, *uri; /* "" and NULL: nothing */
};
struct shadow {
	unsigned depth;
	size_t at; /* which binding */
	char *uri; /* what it was; NULL: nothing */
};

/* Where in a stream: lines and columns from 0. */
struct place {
	uint64_t line, column;
	bool after_cr;
};

enum token_kind { TOKEN_TAG, TOKEN_COMMENT, TOKEN_INSTRUCTION, TOKEN_OTHER };

enum stream_state { STREAM_BETWEEN, STREAM_INSIDE, STREAM_SKIPPING, STREAM_OVER };

struct xml_stream {
	const struct xml_limits *limits;
	const struct xml_ops *ops;
	void *ctx;
	XML_Parser parser;
	unsigned long salt;
	enum stream_state state;
	bool ended; /* the message */
	bool stopped;
	unsigned depth;
	struct place at, message_at; /* after all bytes that were read; where the message began */
	uint64_t given, end; /* bytes of the message: that expat has; to its end or an error's */
	/* The token that is not complete: its bytes that expat has, those that wait, and what is
	 * known of it. */
	size_t unfinished;
	struct buf gathered;
	enum token_kind kind;
	char quote, last;
	size_t looked; /* bytes of it that were examined */
	struct binding *binding;
	size_t nbindings, binding_room;
	struct shadow *shadow;
	size_t nshadows, shadow_room;
	struct xml_attr *attr;
	size_t attr_room;
	struct xml_plain plain;
	bool is_plain; /* the message is not expat's */
};

static bool is_white(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* CR LF, CR and LF end a line, as they do for expat; a character is a column. */
static void place_pass(struct place *at, struct str bytes)
{
	for (size_t i = 0; i < bytes.n; i++) {
		unsigned char c = (unsigned char)bytes.p[i];
		if (c == '\n' && at->after_cr)
			at->column = 0;
		else if (c == '\n' || c == '\r')
			at->line++, at->column = 0;
		else
			at->column += (c & 0xc0) != 0x80;
		at->after_cr = c == '\r';
	}
}

/* Errors. */

static void stream_error(struct xml_stream *x, struct place at, const char *text)
{
	struct err err = {0};
	err_set(&err, ERR_USAGE, "%s", text);
	x->state = STREAM_OVER;
	x->ops->error(x->ctx, &err, at.line + 1, at.column + 1);
}

/* Where expat is: at the beginning of the current token, or at the error. */
static struct place parser_place(const struct xml_stream *x)
{
	uint64_t line = XML_GetCurrentLineNumber(x->parser);
	uint64_t column = XML_GetCurrentColumnNumber(x->parser);
	return (struct place){.line = x->message_at.line + line - 1,
			      .column = line == 1 ? x->message_at.column + column : column};
}

static void refuse_here(struct xml_stream *x, const char *text)
{
	int64_t at = XML_GetCurrentByteIndex(x->parser);
	if (x->state != STREAM_INSIDE || x->ended)
		return;
	if (x->is_plain) {
		stream_error(x, x->message_at, text);
		return;
	}
	x->end = (uint64_t)(MAX(at, 0) + XML_GetCurrentByteCount(x->parser));
	stream_error(x, parser_place(x), text);
	(void)XML_StopParser(x->parser, XML_FALSE); /* may be over already */
}

/* Prefixes. */

static struct binding *binding_find(const struct xml_stream *x, struct str prefix)
{
	for (size_t i = 0; i < x->nbindings; i++)
		if (str_is(prefix, x->binding[i].prefix))
			return &x->binding[i];
	return NULL;
}

static bool bind_prefix(struct xml_stream *x, struct str prefix, const char *uri)
{
	struct binding *b = binding_find(x, prefix);
	if (strlen(uri) > URI_MAX || prefix.n > URI_MAX) {
		refuse_here(x, "a prefix or the name of its namespace is too long");
		return false;
	}
	if (!b && x->nbindings >= x->limits->bindings) {
		refuse_here(x, "too many prefixes are bound");
		return false;
	}
	struct shadow s = {.depth = x->depth};
	if (!b) {
		b = VEC_PUSH(x->binding, x->nbindings, x->binding_room);
		*b = (struct binding){.prefix = str_dup(prefix)};
	}
	s.at = (size_t)(b - x->binding);
	s.uri = b->uri;
	b->uri = mem_text(uri);
	/* at the top of a message, and the first time, a prefix is bound for good */
	if (prefix.n == 0 || (s.uri && x->depth))
		*VEC_PUSH(x->shadow, x->nshadows, x->shadow_room) = s;
	else
		mem_free(&s.uri);
	return true;
}

static void unbind_down_to(struct xml_stream *x, unsigned depth)
{
	while (x->nshadows && x->shadow[x->nshadows - 1].depth >= depth) {
		struct shadow *s = &x->shadow[--x->nshadows];
		mem_free(&x->binding[s->at].uri);
		x->binding[s->at].uri = s->uri;
	}
}

/* Returns the name after "xmlns:", or "" for xmlns itself; false: neither. */
static bool binds_prefix(struct str name, struct str *ret)
{
	if (!str_starts(name, STR("xmlns")))
		return false;
	*ret = str_from(name, 5);
	if (ret->n == 0)
		return true;
	if (ret->p[0] != ':')
		return false;
	*ret = str_from(*ret, 1);
	return true;
}

/* Prefix, name and namespace of an element. */
static bool tag_of(struct xml_stream *x, const char *name, struct xml_tag *ret)
{
	struct str whole = str_of(name);
	size_t colon = str_find_byte(whole, ':');
	*ret = (struct xml_tag){
		.uri = STR(""), .prefix = STR(""), .name = whole, .depth = x->depth};
	if (colon < whole.n) {
		ret->prefix = str_head(whole, colon);
		ret->name = str_from(whole, colon + 1);
	}
	const struct binding *b = binding_find(x, ret->prefix);
	if (b && b->uri)
		ret->uri = str_of(b->uri);
	if (colon < whole.n && (ret->uri.n == 0 || ret->prefix.n == 0 || ret->name.n == 0 ||
				str_find_byte(ret->name, ':') < ret->name.n)) {
		refuse_here(x, "the prefix of an element was never bound");
		return false;
	}
	return true;
}

/* expat. */

static bool token_fits(struct xml_stream *x)
{
	if (x->state == STREAM_INSIDE &&
	    (size_t)XML_GetCurrentByteCount(x->parser) > x->limits->token_max)
		refuse_here(x, TOO_LONG);
	return x->state == STREAM_INSIDE;
}

static void XMLCALL on_start(void *ctx, const char *name, const char **attributes)
{
	struct xml_stream *x = ctx;
	struct xml_tag tag;
	struct str prefix;
	size_t n = 0, given = (size_t)XML_GetSpecifiedAttributeCount(x->parser) / 2;
	if (!token_fits(x))
		return;
	if (x->depth >= x->limits->depth) {
		refuse_here(x, "elements are nested too deeply");
		return;
	}
	if (given > x->limits->attrs) {
		refuse_here(x, "an element has too many attributes");
		return;
	}
	VEC_ROOM(x->attr, x->attr_room, given + 1);
	for (; attributes[0]; attributes += 2) {
		struct str key = str_of(attributes[0]);
		if (!binds_prefix(key, &prefix))
			x->attr[n++] = (struct xml_attr){key, str_of(attributes[1])};
		else if (!bind_prefix(x, prefix, attributes[1]))
			return;
	}
	if (!tag_of(x, name, &tag))
		return;
	tag.attr = x->attr;
	tag.n = n;
	x->depth++;
	x->ops->start(x->ctx, &tag);
}

static void XMLCALL on_end(void *ctx, const char *name)
{
	struct xml_stream *x = ctx;
	struct xml_tag tag;
	if (!token_fits(x))
		return;
	x->depth--;
	if (!tag_of(x, name, &tag))
		return;
	if (x->depth == 0) {
		x->end = (uint64_t)(XML_GetCurrentByteIndex(x->parser) +
				    XML_GetCurrentByteCount(x->parser));
		x->ended = true;
		XML_StopParser(x->parser, XML_TRUE);
	}
	x->ops->end(x->ctx, &tag);
	unbind_down_to(x, x->depth);
}

static void XMLCALL on_text(void *ctx, const char *p, int n)
{
	struct xml_stream *x = ctx;
	if (x->state == STREAM_INSIDE)
		x->ops->text(x->ctx, (struct str){p, (size_t)n});
}

static void XMLCALL on_comment(void *ctx, const char *text)
{
	(void)text;
	(void)token_fits(ctx);
}

static void XMLCALL on_instruction(void *ctx, const char *target, const char *data)
{
	(void)target, (void)data;
	(void)token_fits(ctx);
}

static void XMLCALL on_doctype(void *ctx, const char *name, const char *system_id,
			       const char *public_id, int internal)
{
	(void)name, (void)system_id, (void)public_id, (void)internal;
	refuse_here(ctx, "a DOCTYPE is not taken");
}

static void message_begin(struct xml_stream *x)
{
	XML_Parser p = x->parser;
	if (XML_ParserReset(p, "UTF-8") != XML_TRUE)
		die("expat does not begin anew");
	XML_SetHashSalt(p, x->salt); /* else expat asks the kernel for one, each time */
	XML_SetUserData(p, x);
	XML_SetElementHandler(p, on_start, on_end);
	if (x->ops->text)
		XML_SetCharacterDataHandler(p, on_text);
	XML_SetCommentHandler(p, on_comment);
	XML_SetProcessingInstructionHandler(p, on_instruction);
	XML_SetStartDoctypeDeclHandler(p, on_doctype);
	x->state = STREAM_INSIDE;
	x->is_plain = x->ended = false;
	x->depth = 0;
	x->message_at = x->at;
	x->given = x->end = 0;
	x->unfinished = 0;
	buf_clear(&x->gathered);
	unbind_down_to(x, 0); /* of one that did not end */
}

/* The token that is not complete. */

static void token_begin(struct xml_stream *x)
{
	x->kind = TOKEN_TAG;
	x->quote = x->last = 0;
	x->looked = 0;
}

/* Looks at more bytes of it; whether it might end in them. A tag, the only one that anybody waits
 * for, ends with > outside of quotes; of the others the usual > inside of them is told apart. */
static bool token_ends(struct xml_stream *x, struct str bytes)
{
	bool ends = false;
	for (size_t i = 0; i < bytes.n; i++) {
		char c = bytes.p[i];
		if (x->looked == 1 && c == '?')
			x->kind = TOKEN_INSTRUCTION;
		else if (x->looked == 1 && c == '!')
			x->kind = TOKEN_OTHER;
		else if (x->looked == 2 && x->kind == TOKEN_OTHER && c == '-')
			x->kind = TOKEN_COMMENT;
		else if (x->kind == TOKEN_TAG && x->quote)
			x->quote = c == x->quote ? 0 : x->quote;
		else if (x->kind == TOKEN_TAG && (c == '"' || c == '\''))
			x->quote = c;
		else if (c == '>' && x->kind == TOKEN_COMMENT)
			ends |= x->last == '-';
		else if (c == '>' && x->kind == TOKEN_INSTRUCTION)
			ends |= x->last == '?';
		else
			ends |= c == '>' || c == ';';
		x->last = c;
		x->looked++;
	}
	return ends;
}

/* After expat has read a piece: what it left over. */
static void token_follow(struct xml_stream *x, struct str piece, bool looked_at)
{
	int64_t done = XML_GetCurrentByteIndex(x->parser);
	size_t left = (size_t)(x->given - (uint64_t)MAX(done, 0));
	if (left <= piece.n) { /* it began in this piece */
		token_begin(x);
		(void)token_ends(x, str_from(piece, piece.n - left));
	} else if (!looked_at) {
		(void)token_ends(x, piece);
	}
	x->unfinished = left;
	if (left > x->limits->token_max)
		refuse_here(x, TOO_LONG);
}

/* Bytes of the message. */
static void message_put(struct xml_stream *x, struct str piece)
{
	bool gathers = x->unfinished >= GATHER_MIN;
	if (gathers) {
		bool ends = token_ends(x, piece);
		buf_add_str(&x->gathered, piece);
		if (!ends && x->gathered.n < x->unfinished &&
		    x->unfinished + x->gathered.n <= x->limits->token_max)
			return;
		piece = buf_str(&x->gathered);
	}
	enum XML_Status status = XML_Parse(x->parser, piece.p, (int)piece.n, 0);
	x->given += piece.n;
	if (status == XML_STATUS_ERROR)
		refuse_here(x, XML_ErrorString(XML_GetErrorCode(x->parser)));
	if (x->state == STREAM_INSIDE && !x->ended)
		token_follow(x, piece, gathers);
	buf_clear(&x->gathered);
}

/* expat takes a message that begins as UTF-16 does for that, whatever it was told. How many of the
 * bytes may be read; `before` of the message were before them. */
static size_t utf8_bytes(uint64_t before, struct str bytes)
{
	for (size_t i = 0; i < bytes.n && before + i < 2; i++) {
		unsigned char c = (unsigned char)bytes.p[i];
		if (c == 0 || (before + i == 0 && c >= 0xfe))
			return i;
	}
	return bytes.n;
}

/* Returns how many of the bytes it has taken. */
static size_t message_read(struct xml_stream *x, struct str bytes)
{
	uint64_t before = x->given + x->gathered.n;
	size_t n = MIN(bytes.n, MIN(PIECE_MAX, x->limits->message_max - (size_t)before));
	n = utf8_bytes(before, str_head(bytes, n));
	if (n == 0) {
		bool full = before == x->limits->message_max;
		x->end = before;
		stream_error(x, x->at, full ? "a message is too long" : "not UTF-8");
		return 0;
	}
	message_put(x, str_head(bytes, n));
	if (x->ended && x->state == STREAM_INSIDE)
		x->state = STREAM_BETWEEN;
	if (x->state != STREAM_INSIDE) /* what is after x->end was not read */
		n = x->end > before ? (size_t)MIN(x->end - before, n) : 0;
	return n;
}

/* One that is plain, all of it; returns its bytes, which have no line end. 0: it is not. */
static size_t plain_read(struct xml_stream *x, struct str bytes)
{
	struct xml_tag tag;
	size_t n;
	if (xml_plain_read(&x->plain, bytes, x->limits, &tag, &n) != 0)
		return 0;
	x->state = STREAM_INSIDE;
	x->is_plain = true;
	x->ended = false;
	x->message_at = x->at;
	x->at = (struct place){.line = x->at.line, .column = x->at.column + n};
	x->ops->start(x->ctx, &tag);
	if (x->state != STREAM_INSIDE)
		return n;
	x->ended = true;
	tag.n = 0;
	x->ops->end(x->ctx, &tag);
	if (x->state == STREAM_INSIDE)
		x->state = STREAM_BETWEEN;
	return n;
}

static size_t line_skip(struct xml_stream *x, struct str bytes)
{
	size_t n = 0;
	while (n < bytes.n && bytes.p[n] != '\n' && bytes.p[n] != '\r')
		n++;
	if (n < bytes.n)
		x->state = STREAM_BETWEEN;
	return n;
}

/* Takes some of the bytes, which it returns; whether a message has ended with them. */
static size_t stream_step(struct xml_stream *x, struct str bytes, bool *ret_ended)
{
	size_t n = 0;
	*ret_ended = false;
	if (x->state == STREAM_BETWEEN && (n = plain_read(x, bytes)) > 0) {
		*ret_ended = true;
		return n;
	}
	if (x->state == STREAM_SKIPPING) {
		n = line_skip(x, bytes);
	} else if (x->state == STREAM_INSIDE) {
		n = message_read(x, bytes);
		*ret_ended = x->state == STREAM_BETWEEN;
	} else if (is_white(bytes.p[0])) {
		n = 1;
	} else {
		message_begin(x);
	}
	place_pass(&x->at, str_head(bytes, n));
	return n;
}

int xml_stream_put_message(struct xml_stream *x, struct str bytes, size_t *ret_n)
{
	bool has_ended = false;
	size_t n = 0;
	while (n < bytes.n && x->state != STREAM_OVER && !has_ended)
		n += stream_step(x, str_from(bytes, n), &has_ended);
	*ret_n = n;
	return x->state == STREAM_OVER ? -1 : 0;
}

int xml_stream_put(struct xml_stream *x, struct str bytes)
{
	size_t n;
	int rc = x->state == STREAM_OVER ? -1 : 0;
	while (bytes.n && (rc = xml_stream_put_message(x, bytes, &n)) == 0)
		bytes = str_from(bytes, n);
	return rc;
}

void xml_stream_resync(struct xml_stream *x)
{
	if (x->state == STREAM_OVER && !x->stopped)
		x->state = STREAM_SKIPPING;
}

void xml_stream_refuse(struct xml_stream *x, const char *text)
{
	refuse_here(x, text);
}

void xml_stream_stop(struct xml_stream *x)
{
	x->state = STREAM_OVER;
	x->stopped = true;
	(void)XML_StopParser(x->parser, XML_FALSE);
}

struct xml_stream *xml_stream_new(const struct xml_limits *limits, const struct xml_ops *ops,
				  void *ctx)
{
	struct xml_stream *x = mem_alloc(sizeof *x);
	x->limits = limits;
	x->ops = ops;
	x->ctx = ctx;
	x->parser = XML_ParserCreate("UTF-8");
	if (!x->parser)
		die("out of memory");
	if (getrandom(&x->salt, sizeof x->salt, 0) != sizeof x->salt || x->salt == 0)
		x->salt = 1;
	x->gathered = BUF_INIT(limits->token_max + PIECE_MAX);
	x->plain.values = BUF_INIT(limits->token_max);
	return x;
}

void xml_stream_free(struct xml_stream **xp)
{
	struct xml_stream *x = *xp;
	if (!x)
		return;
	unbind_down_to(x, 0);
	for (size_t i = 0; i < x->nbindings; i++) {
		mem_free(&x->binding[i].prefix);
		mem_free(&x->binding[i].uri);
	}
	mem_free(&x->binding);
	mem_free(&x->shadow);
	mem_free(&x->attr);
	buf_free(&x->gathered);
	buf_free(&x->plain.values);
	XML_ParserFree(x->parser);
	mem_free(xp);
}

/* Attributes, and writing. */

struct str xml_attr(const struct xml_tag *tag, const char *name, bool *ret_there)
{
	struct str want = str_of(name);
	for (size_t i = 0; i < tag->n; i++) {
		if (str_eq(tag->attr[i].name, want)) {
			if (ret_there)
				*ret_there = true;
			return tag->attr[i].value;
		}
	}
	if (ret_there)
		*ret_there = false;
	return STR("");
}

/* Bytes at the beginning of s that stand for themselves. */
static size_t plain_bytes(struct str s)
{
	size_t n = 0;
	while (n < s.n) {
		unsigned char c = (unsigned char)s.p[n];
		if (c < ' ' || c >= 0x7f || c == '<' || c == '>' || c == '&' || c == '"' ||
		    c == '\'')
			break;
		n++;
	}
	return n;
}

/* XML 1.0 has no U+FFFE and U+FFFF, and expat reads neither. */
static size_t char_held(struct str s)
{
	size_t n = str_utf8_char(s);
	if (n == 3 && (memcmp(s.p, "\xef\xbf\xbe", 3) == 0 || memcmp(s.p, "\xef\xbf\xbf", 3) == 0))
		return 0;
	return n;
}

void xml_escape(struct buf *out, struct str text)
{
	while (text.n) {
		size_t n = plain_bytes(text);
		buf_add(out, text.p, n);
		text = str_from(text, n);
		if (text.n == 0)
			break;
		unsigned char c = (unsigned char)text.p[0];
		n = 1;
		if (c == '&')
			buf_add_text(out, "&amp;");
		else if (c == '<')
			buf_add_text(out, "&lt;");
		else if (c == '>')
			buf_add_text(out, "&gt;");
		else if (c == '"')
			buf_add_text(out, "&quot;");
		else if (c == '\'')
			buf_add_text(out, "&apos;");
		else if (c == '\t' || c == '\n' || c == '\r')
			buf_printf(out, "&#%d;", c);
		else if (c >= ' ' && (n = char_held(text)) > 0)
			buf_add(out, text.p, n);
		else {
			buf_add_text(out, "\xef\xbf\xbd");
			n = 1;
		}
		text = str_from(text, n);
	}
}

void xml_add_attr(struct buf *out, const char *name, struct str value)
{
	buf_add_byte(out, ' ');
	buf_add_text(out, name);
	buf_add_text(out, "=\"");
	xml_escape(out, value);
	buf_add_byte(out, '"');
}

void xml_add_number(struct buf *out, const char *name, uint64_t value)
{
	char digits[STR_DECIMAL_MAX];
	xml_add_attr(out, name, (struct str){digits, str_decimal(digits, value)});
}
