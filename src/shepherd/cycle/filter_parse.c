/* Filters, read: a line is words between blanks, so patterns may have & and : in them. A file that
 * has an error is refused whole, because a rule that is left out may be the one that keeps the
 * crawl out of where it must not be.
 *
 * The settings become rules like those of the file, with line numbers of their own and conditions
 * that nobody can write. */
#include "shepherd/cycle/filter_inner.h"

#include "base/ascii.h"
#include "base/file.h"
#include "base/nearest.h"
#include "base/vec.h"
#include "fetch/polite.h"
#include "net/addr.h"

#include <inttypes.h>
#include <sys/socket.h>

struct filter_reader {
	struct filter *f;
	uint32_t line;
	struct str rest;            /* of the line */
	bool ended;                 /* the colon after the conditions was there */
	bool has_rule;              /* one of the file */
	struct filter_site *values; /* of the rule that is read; NULL: none yet */
};

/* Words */

/* The next word. 1: there is none; a comment counts as the end. */
static int word_next(struct str *rest, struct str *ret)
{
	*rest = str_trim(*rest);
	if (rest->n == 0 || rest->p[0] == '#')
		return 1;
	size_t n = 0;
	while (n < rest->n && !ascii_is_blank(rest->p[n]))
		n++;
	*ret = str_head(*rest, n);
	*rest = str_from(*rest, n);
	return 0;
}

/* The same up to the colon that ends the conditions. */
static int word_before_colon(struct filter_reader *r, struct str *ret)
{
	struct str word;
	if (r->ended || word_next(&r->rest, &word) == 1)
		return 1;
	if (word.p[word.n - 1] == ':') {
		r->ended = true;
		word.n--;
	}
	*ret = word;
	return word.n ? 0 : 1;
}

static bool line_has_colon(struct str line)
{
	struct str word;
	while (word_next(&line, &word) == 0)
		if (word.p[word.n - 1] == ':')
			return true;
	return false;
}

/* In the filter's own text. */
static void word_to_lower(struct str word)
{
	str_lower(word, (char *)(uintptr_t)word.p);
}

/* Conditions. Their readers get the word after the name, or a slice of it that is wrong: 0: it is
 * read; 1: it is not what the condition expects; negative: err says more. */

static int scheme_read(struct filter_reader *r, struct str *word, struct cond *c, struct err *err)
{
	static const enum url_protocol protocols[] = {URL_HTTP, URL_HTTPS, URL_FTP};
	(void)r, (void)err;
	word_to_lower(*word);
	c->set = 0;
	for (size_t i = 0; i < ARRAY_LEN(protocols); i++)
		if (filter_glob(*word, str_of(url_protocol_name(protocols[i]))))
			c->set |= protocols[i];
	return c->set == 0;
}

static int host_read(struct filter_reader *r, struct str *word, struct cond *c, struct err *err)
{
	char shown[VALUE_SHOWN];
	bool address = word->n && word->p[0] == '[';
	(void)r, (void)c;
	if (word->n > FILTER_HOST_MAX)
		return err_set(err, ERR_USAGE, "host: '%s' is longer than %d bytes",
			       value_show(*word, shown), FILTER_HOST_MAX);
	for (size_t i = 0; i < word->n; i++)
		if (word->p[i] & 0x80)
			return err_set(err, ERR_USAGE,
				       "host: '%s' has letters that are not ASCII; write it as "
				       "garner url prints it (xn--...)",
				       value_show(*word, shown));
	word_to_lower(*word);
	return word->n == 0 || str_find_byte(*word, '/') < word->n ||
	       (!address && str_find_byte(*word, ':') < word->n);
}

static int port_read(struct filter_reader *r, struct str *word, struct cond *c, struct err *err)
{
	bool good = word->n > 0;
	(void)r, (void)c, (void)err;
	for (size_t i = 0; i < word->n; i++)
		good = good && (ascii_is_digit(word->p[i]) || word->p[i] == '*');
	return !good;
}

static int path_read(struct filter_reader *r, struct str *word, struct cond *c, struct err *err)
{
	(void)r, (void)c, (void)err;
	return word->n == 0 || (word->p[0] != '/' && word->p[0] != '*');
}

static int query_read(struct filter_reader *r, struct str *word, struct cond *c, struct err *err)
{
	(void)r, (void)c, (void)err;
	return word->n && word->p[0] == '?';
}

static int type_read(struct filter_reader *r, struct str *word, struct cond *c, struct err *err)
{
	(void)r, (void)c, (void)err;
	word_to_lower(*word);
	return str_find_byte(*word, '/') == word->n && str_find_byte(*word, '*') == word->n;
}

static int section_unknown(const struct filter *f, struct str name, struct err *err)
{
	char shown[VALUE_SHOWN];
	struct nearest near = {.wanted = name};
	for (size_t i = 0; i < f->sections; i++)
		nearest_try(&near, f->section[i].name);
	return err_set(err, ERR_USAGE,
		       "section: expected a section that a line above declares, got '%s'%s",
		       value_show(name, shown), nearest_words(&near));
}

static int section_read(struct filter_reader *r, struct str *word, struct cond *c, struct err *err)
{
	c->set = 0;
	for (size_t i = 0; i < r->f->sections; i++)
		if (filter_glob(*word, str_of(r->f->section[i].name)))
			c->set |= UINT64_C(1) << i;
	return c->set ? 0 : section_unknown(r->f, *word, err);
}

/* Of IPv6 servers a queue key has a hash of the /64 alone. */
static int net_fill(struct cond *c, const struct addr *a, uint64_t bits, struct err *err)
{
	static const uint8_t none[16];
	struct qkey_addr server = {.v6 = a->family == AF_INET6};
	uint64_t most = server.v6 ? 64 : 32;
	struct addr rest = *a;
	for (size_t i = 0; i < bits && i < 128; i++)
		rest.b[i / 8] &= (uint8_t) ~(0x80 >> i % 8);
	if (server.v6 && bits != most)
		return err_set(err, ERR_USAGE,
			       "net: expected a length of /64, got /%" PRIu64
			       "; of IPv6 servers only the /64 is known",
			       bits);
	if (bits > most)
		return err_set(err, ERR_USAGE, "net: expected a length of 0 to 32, got %" PRIu64,
			       bits);
	if (memcmp(rest.b, none, sizeof none) != 0)
		return err_set(err, ERR_USAGE,
			       "net: expected an address that is 0 after its first %" PRIu64
			       " bits",
			       bits);
	memcpy(server.b, a->b, sizeof server.b);
	c->net.key = qkey_of(&server, 0);
	c->net.mask = ~(UINT64_C(0xffff) << 32); /* whatever the port */
	if (!server.v6)
		c->net.mask &= ~(bits ? UINT64_C(0xffffffff) >> bits : UINT64_C(0xffffffff));
	return 0;
}

static int net_read(struct filter_reader *r, struct str *word, struct cond *c, struct err *err)
{
	size_t slash = str_find_byte(*word, '/');
	struct addr a;
	uint64_t bits = 0;
	(void)r;
	if (!addr_parse(str_head(*word, slash), &a) || a.scope ||
	    (slash < word->n && !str_u64(str_from(*word, slash + 1), &bits)))
		return 1;
	if (slash == word->n)
		bits = a.family == AF_INET ? 32 : 128;
	return net_fill(c, &a, bits, err);
}

/* The number may be a word of its own. */
static int above_read(struct filter_reader *r, struct str *word, struct cond *c, struct err *err)
{
	(void)err;
	if (word->n == 0 || word->p[0] != '>')
		return 1;
	*word = str_from(*word, 1);
	if (word->n == 0 && word_before_colon(r, word) == 1)
		return 1;
	return !str_u64(*word, &c->above);
}

static const struct cond_form {
	const char *name;
	enum cond_kind kind;
	bool of_sites; /* may decide outputs on sites */
	const char *expected;
	int (*read)(struct filter_reader *r, struct str *word, struct cond *c, struct err *err);
} forms[] = {
	{"any", COND_ANY, true, NULL, NULL},
	{"scheme", COND_SCHEME, true, "http, https, ftp or a pattern such as http*", scheme_read},
	{"host", COND_HOST, true, "a host such as example.org or *.example.org", host_read},
	{"port", COND_PORT, true, "a number or a pattern such as 80*", port_read},
	{"path", COND_PATH, false, "a pattern that begins with / or *", path_read},
	{"query", COND_QUERY, false, "a pattern without the question mark", query_read},
	{"type", COND_TYPE, false, "a media type such as text/html or image/*", type_read},
	{"section", COND_SECTION, false, "the name of a section", section_read},
	{"net", COND_NET, true, "a network such as 192.0.2.0/24 or 2001:db8::/64", net_read},
	{"key_sites", COND_KEY_SITES, true, "> and a number", above_read},
	{"depth", COND_DEPTH, false, "> and a number", above_read},
};

static const struct cond_form *form_find(struct str name, struct err *err)
{
	char shown[VALUE_SHOWN];
	struct nearest near = {.wanted = name};
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		if (str_is(name, forms[i].name))
			return &forms[i];
		nearest_try(&near, forms[i].name);
	}
	err_set(err, ERR_USAGE, "unknown condition '%s'%s%s", value_show(name, shown),
		nearest_words(&near),
		near.name[0] ? ""
			     : "; expected any, scheme, host, port, path, query, type, section, "
			       "net, key_sites or depth");
	return NULL;
}

static int cond_read(struct filter_reader *r, struct cond *c, struct err *err)
{
	char shown[VALUE_SHOWN];
	struct str word;
	if (word_before_colon(r, &word) == 1)
		return err_set(err, ERR_USAGE, "expected a condition such as host example.org");
	c->negated = word.p[0] == '!';
	word = str_from(word, c->negated);
	if (word.n == 0 && word_before_colon(r, &word) == 1)
		return err_set(err, ERR_USAGE, "expected a condition after !");
	const struct cond_form *form = form_find(word, err);
	if (!form)
		return -1;
	c->kind = form->kind;
	if (!form->read)
		return 0;
	if (word_before_colon(r, &word) == 1)
		return err_set(err, ERR_USAGE, "%s: expected %s after it, got nothing", form->name,
			       form->expected);
	if (str_is(word, "\"\""))
		word.n = 0;
	c->pattern = word;
	int rc = form->read(r, &word, c, err);
	return rc == 1 ? err_set(err, ERR_USAGE, "%s: expected %s, got '%s'", form->name,
				 form->expected, value_show(word, shown))
		       : rc;
}

/* Up to the colon. */
static int conds_read(struct filter_reader *r, struct err *err)
{
	struct filter *f = r->f;
	char shown[VALUE_SHOWN];
	for (r->ended = false;;) {
		struct cond c = {0};
		struct str word;
		if (cond_read(r, &c, err) < 0)
			return -1;
		*VEC_PUSH(f->cond, f->conds, f->cond_room) = c;
		if (word_before_colon(r, &word) == 1)
			break;
		if (!str_is(word, "&"))
			return err_set(err, ERR_USAGE,
				       "expected & or : after the condition, got '%s'",
				       value_show(word, shown));
	}
	return r->ended ? 0
			: err_set(err, ERR_USAGE,
				  "expected a colon after the conditions, and then outputs such as "
				  "reject");
}

/* Outputs */

#define S struct filter_site
const struct value_spec filter_site_specs[FILTER_OUTPUTS] = {
	[FILTER_SOFT_LIMIT] = {"soft_limit", VALUE_INT_AT(S, soft_limit), NULL, 0, UINT32_MAX},
	[FILTER_HARD_LIMIT] = {"hard_limit", VALUE_INT_AT(S, hard_limit), NULL, 0, UINT32_MAX},
	[FILTER_FRESH_LIMIT] = {"fresh_limit", VALUE_INT_AT(S, fresh_limit), NULL, 0, UINT32_MAX},
	[FILTER_MIN_DELAY] = {"min_delay", VALUE_TIME_AT(S, min_delay_us), NULL, 0, 86400e6},
	[FILTER_MAX_CONN] = {"max_conn", VALUE_INT_AT(S, max_conn), NULL, 1, POLITE_CONCURRENT_MAX},
	[FILTER_QUEUE_BONUS] = {"queue_bonus", VALUE_INT_AT(S, queue_bonus), NULL, 0, 2e9},
	[FILTER_SELECT_BONUS] = {"select_bonus", VALUE_BOOL_AT(S, select_bonus)},
	[FILTER_REFRESH_SCHEMA] = {"refresh_schema"},
	[FILTER_REFRESH_BOOST] = {"refresh_boost", VALUE_REAL_AT(S, refresh_boost), NULL, 0.01,
				  100},
};
#undef S

static const struct value_spec share_spec = {NULL, VALUE_REAL, .max = 1};

static int schema_add(struct str field, struct schema *s, struct err *err)
{
	size_t colon = str_find_byte(field, ':');
	char shown[VALUE_SHOWN];
	uint64_t freq;
	if (colon == field.n || !str_u64(str_head(field, colon), &freq) || freq < 2 || freq > 255)
		return err_set(err, ERR_USAGE,
			       "expected FREQUENCY:SHARE such as 4:0.3, with a frequency of 2 to "
			       "255, got '%s'",
			       value_show(field, shown));
	if (s->n == SCHEMA_MOST)
		return err_set(err, ERR_USAGE, "expected at most %d frequencies", SCHEMA_MOST);
	if (s->n && s->freq[s->n - 1] <= freq)
		return err_set(err, ERR_USAGE,
			       "expected falling frequencies, got %" PRIu64 " after %u", freq,
			       s->freq[s->n - 1]);
	if (value_parse(&share_spec, str_from(field, colon + 1), NULL, &s->share[s->n], err) < 0)
		return err_in(err, "share of %" PRIu64, freq);
	s->freq[s->n++] = (uint8_t)freq;
	return 0;
}

int schema_parse(struct str text, struct schema *ret, struct err *err)
{
	struct schema s = {0};
	double sum = 0;
	while (text.n) {
		size_t n = 0;
		while (n < text.n && !ascii_is_space(text.p[n]) && text.p[n] != ',')
			n++;
		if (n && schema_add(str_head(text, n), &s, err) < 0)
			return -1;
		text = str_from(text, n + 1);
	}
	for (unsigned i = 0; i < s.n; i++)
		sum += s.share[i];
	if (s.n == 0)
		return err_set(err, ERR_USAGE, "expected frequencies such as 4:0.3, got none");
	if (sum > 1 + 1e-9)
		return err_set(err, ERR_USAGE, "expected shares of together at most 1, got %g",
			       sum);
	*ret = s;
	return 0;
}

static int schema_read(struct filter_reader *r, struct str text, struct err *err)
{
	struct schema *schema = arena_alloc(&r->f->arena, sizeof *schema);
	r->values->schema = schema;
	return schema_parse(text, schema, err);
}

static int value_read(struct filter_reader *r, struct output *o, struct str text, struct err *err)
{
	const struct value_spec *spec = &filter_site_specs[o->kind];
	struct arena *arena = &r->f->arena;
	if (!r->values)
		r->values = arena_alloc(arena, sizeof *r->values);
	o->values = r->values;
	int rc = o->kind == FILTER_REFRESH_SCHEMA ? schema_read(r, text, err)
						  : value_parse(spec, text, arena, r->values, err);
	return rc < 0 ? err_in(err, "%s", spec->name) : 0;
}

static int section_find(const struct filter *f, struct str name, int64_t *ret, struct err *err)
{
	for (size_t i = 0; i < f->sections; i++)
		if (str_is(name, f->section[i].name)) {
			*ret = (int64_t)i;
			return 0;
		}
	return section_unknown(f, name, err);
}

static int output_unknown(struct str name, struct err *err)
{
	char shown[VALUE_SHOWN];
	struct nearest near = {.wanted = name};
	nearest_try(&near, "reject");
	nearest_try(&near, "accept");
	nearest_try(&near, "section");
	for (size_t i = 0; i < FILTER_OUTPUTS; i++)
		nearest_try(&near, filter_site_specs[i].name);
	return err_set(err, ERR_USAGE, "unknown output '%s'%s%s", value_show(name, shown),
		       nearest_words(&near),
		       near.name[0] ? ""
				    : "; expected reject, accept, section=, or one on sites such "
				      "as min_delay=");
}

static int output_read(struct filter_reader *r, struct str word, struct output *o, struct err *err)
{
	size_t equals = str_find_byte(word, '=');
	struct str name = str_head(word, equals), value = str_from(word, equals + 1);
	bool flag = str_is(name, "reject") || str_is(name, "accept");
	o->kind = flag ? OUT_REJECT : str_is(name, "section") ? OUT_SECTION : 0;
	while (!flag && o->kind < FILTER_OUTPUTS && !str_is(name, filter_site_specs[o->kind].name))
		o->kind++;
	if (!flag && o->kind == FILTER_OUTPUTS)
		return output_unknown(name, err);
	if (flag && equals < word.n)
		return err_set(err, ERR_USAGE, "expected just " STR_FMT ", without a value",
			       STR_ARG(name));
	if (!flag && equals == word.n)
		return err_set(err, ERR_USAGE, "expected " STR_FMT "= and a value", STR_ARG(name));
	if (flag) {
		o->number = str_is(name, "reject");
		return 0;
	}
	return o->kind == OUT_SECTION ? section_find(r->f, value, &o->number, err)
				      : value_read(r, o, value, err);
}

static int outputs_read(struct filter_reader *r, struct err *err)
{
	struct filter *f = r->f;
	struct str word;
	unsigned seen = 0;
	r->values = NULL;
	while (word_next(&r->rest, &word) == 0) {
		struct output o = {0};
		char shown[VALUE_SHOWN];
		if (output_read(r, word, &o, err) < 0)
			return -1;
		if (seen >> o.kind & 1)
			return err_set(err, ERR_USAGE,
				       "expected each output once, got '%s' after another such",
				       value_show(word, shown));
		seen |= 1u << o.kind;
		*VEC_PUSH(f->output, f->outputs, f->output_room) = o;
	}
	return seen ? 0
		    : err_set(err, ERR_USAGE, "expected outputs after the colon, such as reject");
}

/* Rules */

/* Outputs on sites need conditions on sites. */
static int rule_fits(const struct filter *f, const struct rule *r, struct err *err)
{
	size_t output = 0, cond = 0, form = 0;
	while (output < r->noutputs && f->output[r->outputs + output].kind >= FILTER_OUTPUTS)
		output++;
	if (output == r->noutputs)
		return 0;
	for (; cond < r->nconds; cond++) {
		for (form = 0; forms[form].kind != f->cond[r->conds + cond].kind;)
			form++;
		if (!forms[form].of_sites)
			return err_set(err, ERR_USAGE,
				       "%s= is about whole sites, and %s is not: expected only "
				       "any, scheme, host, port, net and key_sites before it",
				       filter_site_specs[f->output[r->outputs + output].kind].name,
				       forms[form].name);
	}
	return 0;
}

/* Of all conditions and outputs from these on. */
static struct rule *rule_add(struct filter *f, uint32_t line, size_t conds, size_t outputs)
{
	struct rule *r = VEC_PUSH(f->rule, f->rules, f->rule_room);
	*r = (struct rule){
		.line = line,
		.conds = (uint32_t)conds,
		.outputs = (uint32_t)outputs,
		.nconds = (uint16_t)(f->conds - conds),
		.noutputs = (uint16_t)(f->outputs - outputs),
	};
	return r;
}

static void section_default(struct filter *f)
{
	if (f->sections == 0)
		f->section[f->sections++] = (struct filter_section){.name = "other", .share = 1};
}

static int rule_read(struct filter_reader *r, struct err *err)
{
	struct filter *f = r->f;
	size_t conds = f->conds, outputs = f->outputs;
	section_default(f);
	r->has_rule = true;
	if (conds_read(r, err) < 0 || outputs_read(r, err) < 0 ||
	    rule_fits(f, rule_add(f, r->line, conds, outputs), err) < 0)
		return -1;
	filter_file_rule(f);
	return 0;
}

/* Sections */

static int section_name(const struct filter_reader *r, struct str name, struct err *err)
{
	const struct filter *f = r->f;
	char shown[VALUE_SHOWN];
	bool good = name.n < NEAREST_NAME;
	for (size_t i = 0; i < name.n; i++)
		good = good && (ascii_is_alnum(name.p[i]) || name.p[i] == '-' || name.p[i] == '_');
	if (!good)
		return err_set(err, ERR_USAGE,
			       "section: expected a name of letters, digits, - and _, got '%s'",
			       value_show(name, shown));
	for (size_t i = 0; i < f->sections; i++)
		if (str_is(name, f->section[i].name))
			return err_set(err, ERR_USAGE,
				       "section: '%s' is there twice; first in line %u",
				       value_show(name, shown), f->section_line[i]);
	return 0;
}

static int section_values(struct filter_reader *r, struct filter_section *s, struct err *err)
{
	char shown[VALUE_SHOWN];
	struct str word;
	uint64_t bonus;
	if (word_next(&r->rest, &word) == 1)
		return err_set(err, ERR_USAGE,
			       "section: expected its share of the space after the name, 0 to 1");
	if (value_parse(&share_spec, word, NULL, &s->share, err) < 0)
		return err_in(err, "section: share");
	if (word_next(&r->rest, &word) == 1)
		return 0;
	if ((word.p[0] != '+' && word.p[0] != '-') || !str_u64(str_from(word, 1), &bonus) ||
	    bonus > 255)
		return err_set(err, ERR_USAGE,
			       "section: expected a bonus of -255 to +255, got '%s'",
			       value_show(word, shown));
	s->bonus = word.p[0] == '-' ? -(int)bonus : (int)bonus;
	if (word_next(&r->rest, &word) == 0)
		return err_set(err, ERR_USAGE,
			       "section: expected nothing after the bonus, got '%s'",
			       value_show(word, shown));
	return 0;
}

static int section_declare(struct filter_reader *r, struct err *err)
{
	struct filter *f = r->f;
	struct filter_section s = {0};
	struct str word;
	if (r->has_rule)
		return err_set(err, ERR_USAGE,
			       "section: expected before the first rule; or a "
			       "colon, if this is a rule");
	if (f->sections == FILTER_SECTIONS)
		return err_set(err, ERR_USAGE, "section: expected at most %d of them",
			       FILTER_SECTIONS);
	if (word_next(&r->rest, &word) == 1)
		return err_set(err, ERR_USAGE, "section: expected a name and a share, got nothing");
	if (section_name(r, word, err) < 0 || section_values(r, &s, err) < 0)
		return -1;
	s.name = arena_text(&f->arena, word);
	f->section_line[f->sections] = r->line;
	f->section[f->sections++] = s;
	return 0;
}

/* Settings, as rules */

static void setting_end(struct filter *f, uint32_t line, size_t conds, size_t outputs)
{
	(void)rule_add(f, line, conds, outputs);
	filter_file_rule(f);
}

/* HOST, [V6], HOST:PORT, [V6]:PORT */
static void setting_no_delay(struct filter *f, struct str item)
{
	static const struct filter_site at_once = {.max_conn = POLITE_CONCURRENT_MAX};
	size_t conds = f->conds, outputs = f->outputs, end = item.n;
	struct str host = arena_str(&f->arena, item);
	struct cond port = {.kind = COND_USUAL_PORT};
	while (end > 0 && ascii_is_digit(host.p[end - 1]))
		end--;
	if (end > 1 && end < host.n && host.p[end - 1] == ':' &&
	    (host.p[0] != '[' || host.p[end - 2] == ']')) {
		port = (struct cond){.kind = COND_PORT, .pattern = str_from(host, end)};
		host = str_head(host, end - 1);
	}
	if (host.n == 0 || host.n > FILTER_HOST_MAX)
		return; /* no host is called so */
	word_to_lower(host);
	*VEC_PUSH(f->cond, f->conds, f->cond_room) =
		(struct cond){.kind = COND_HOST, .pattern = host};
	*VEC_PUSH(f->cond, f->conds, f->cond_room) = port;
	*VEC_PUSH(f->output, f->outputs, f->output_room) =
		(struct output){.kind = FILTER_MIN_DELAY, .values = &at_once};
	*VEC_PUSH(f->output, f->outputs, f->output_room) =
		(struct output){.kind = FILTER_MAX_CONN, .values = &at_once};
	setting_end(f, FILTER_BY_NO_DELAY, conds, outputs);
}

/* What fits the condition is rejected. */
static void setting_reject(struct filter *f, uint32_t line, struct cond cond)
{
	size_t conds = f->conds, outputs = f->outputs;
	*VEC_PUSH(f->cond, f->conds, f->cond_room) = cond;
	*VEC_PUSH(f->output, f->outputs, f->output_room) =
		(struct output){.kind = OUT_REJECT, .number = 1};
	setting_end(f, line, conds, outputs);
}

static void settings_add(struct filter *f, const struct filter_defaults *defaults)
{
	for (size_t i = 0; i < defaults->no_delay.n; i++)
		setting_no_delay(f, str_of(defaults->no_delay.item[i]));
	if (!defaults->follow_all)
		setting_reject(f, FILTER_BY_SETTING,
			       (struct cond){.kind = COND_KNOWN, .negated = true});
	if (defaults->max_depth)
		setting_reject(f, FILTER_BY_DEPTH,
			       (struct cond){.kind = COND_DEPTH, .above = defaults->max_depth});
}

/* The file */

static int line_read(struct filter_reader *r, struct str line, struct err *err)
{
	struct str word;
	r->rest = line;
	if (word_next(&r->rest, &word) == 1)
		return 0;
	if (line.n > FILTER_LINE_MAX)
		return err_set(err, ERR_USAGE, "expected at most %d bytes in a line, got %zu",
			       FILTER_LINE_MAX, line.n);
	if (str_has_control(str_trim(line)))
		return err_set(err, ERR_USAGE, "expected text, got a control character");
	if (str_is(word, "section") && !line_has_colon(line))
		return section_declare(r, err);
	r->rest = line;
	return rule_read(r, err);
}

int filter_parse(struct str text, const char *name, const struct filter_defaults *defaults,
		 struct filter **ret, struct err *err)
{
	if (text.n > FILTER_FILE_MAX)
		return err_set(err, ERR_USAGE, "%s: expected at most %d bytes, got %zu", name,
			       FILTER_FILE_MAX, text.n);
	struct filter *f = mem_alloc(sizeof *f);
	struct filter_reader r = {.f = f};
	struct str line;
	f->arena = ARENA_INIT((size_t)16 * FILTER_FILE_MAX);
	f->name = mem_text(name);
	text.p = f->text = str_dup(text);
	settings_add(f, defaults);
	while (str_cut(&text, '\n', &line) == 0) {
		r.line++;
		if (line_read(&r, line, err) < 0) {
			err_in(err, "%s:%u", name, r.line);
			filter_free(&f);
			return -1;
		}
	}
	section_default(f);
	*ret = f;
	return 0;
}

int filter_load(const char *path, const struct filter_defaults *defaults, struct filter **ret,
		struct err *err)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(FILTER_FILE_MAX);
	if (file_slurp(path, &text, err) < 0)
		return -1;
	return filter_parse(buf_str(&text), path, defaults, ret, err);
}
