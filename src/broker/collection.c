/* Collection.conf, read line by line. A file with a bad line is taken without it: points have
 * nothing to do with each other, and one that was mistyped must not stop the rest. */
#include "broker/collection.h"

#include "base/ascii.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/value.h"
#include "net/addr.h"

#include <stdarg.h>
#include <stdio.h>

enum { NAME_MAX_BYTES = 253, FIRST_BROKER = 4, LAST_TYPE = 7 };

struct collection_reader {
	struct collection *to;
	struct arena *arena;
	const char *path;
	unsigned line;
	uint64_t hash[COLLECTION_POINTS]; /* of host and port */
};

static void PRINTF_LIKE(2, 3) add_problem(struct collection_reader *r, const char *fmt, ...)
{
	char what[512];
	va_list ap;
	if (r->to->nproblems == COLLECTION_PROBLEMS)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof what, fmt, ap);
	va_end(ap);
	r->to->problem[r->to->nproblems++] = arena_printf(
		r->arena, "%s:%u: %s; the line is passed over", r->path, r->line, what);
}

static bool is_name(struct str s)
{
	if (s.n == 0 || s.n > NAME_MAX_BYTES || s.p[0] == '.' || s.p[0] == '-' ||
	    str_find(s, STR("..")) < s.n)
		return false;
	for (size_t i = 0; i < s.n; i++)
		if (!ascii_is_alnum(s.p[i]) && s.p[i] != '-' && s.p[i] != '.' && s.p[i] != '_')
			return false;
	return true;
}

/* One form for each host, so that one that is named twice is seen. */
static bool read_host(struct str field, char ret[NAME_MAX_BYTES + 1])
{
	struct addr addr;
	_Static_assert((int)ADDR_SHOWN <= (int)NAME_MAX_BYTES, "an address fits");
	bool brackets = field.n > 2 && field.p[0] == '[' && str_ends(field, STR("]"));
	struct str host = brackets ? (struct str){field.p + 1, field.n - 2} : field;
	if (addr_parse(host, &addr)) {
		(void)addr_print(&addr, ret);
		return true;
	}
	if (!is_name(field))
		return false;
	if (str_ends(field, STR(".")))
		field.n--;
	str_lower(field, ret);
	ret[field.n] = 0;
	return true;
}

/* NULL, or the one that has the same host and port. */
static const struct collection_point *same_point(const struct collection_reader *r,
						 const char *host, uint16_t port, uint64_t hash)
{
	for (size_t i = 0; i < r->to->n; i++) {
		const struct collection_point *p = &r->to->point[i];
		if (r->hash[i] == hash && p->port == port && strcmp(p->host, host) == 0)
			return p;
	}
	return NULL;
}

static void add_point(struct collection_reader *r, const char *host, uint16_t port, uint64_t type)
{
	uint64_t hash = hash64_seeded(str_of(host), port);
	const struct collection_point *same = same_point(r, host, port, hash);
	if (same) {
		add_problem(r, "%s port %u is in line %u already", host, port, same->line);
		return;
	}
	if (r->to->n == COLLECTION_POINTS) {
		add_problem(r, "more than %d collection points", COLLECTION_POINTS);
		return;
	}
	r->hash[r->to->n] = hash;
	r->to->point[r->to->n++] =
		(struct collection_point){.host = arena_text(r->arena, str_of(host)),
					  .port = port,
					  .full = type == 0 || type == 2,
					  .compressed = type == 2 || type == 3,
					  .line = r->line};
}

static void read_line(struct collection_reader *r, struct str line)
{
	char shown[VALUE_SHOWN], host[NAME_MAX_BYTES + 1];
	uint64_t port, type;
	if (line.n > COLLECTION_LINE) {
		add_problem(r, "%zu bytes long, more than %d", line.n, COLLECTION_LINE);
		return;
	}
	struct str host_field = str_word(&line), port_field = str_word(&line),
		   type_field = str_word(&line), filter = str_trim(line);
	if (host_field.n == 0 || host_field.p[0] == '#')
		return;
	if (!read_host(host_field, host))
		add_problem(r, "'%s' is neither a name nor an address",
			    value_show(host_field, shown));
	else if (!str_u64(port_field, &port) || port == 0 || port > UINT16_MAX)
		add_problem(r, "expected a port from 1 to 65535 after the host, got '%s'",
			    value_show(port_field, shown));
	else if (!str_u64(type_field, &type) || type > LAST_TYPE)
		add_problem(r, "expected a type from 0 to 7 after the port, got '%s'",
			    value_show(type_field, shown));
	else if (type >= FIRST_BROKER)
		add_problem(r, "type %u collects from a broker, which is not there yet",
			    (unsigned)type);
	else if (!str_is(filter, "--"))
		add_problem(r,
			    "expected -- after the type, since only types 6 and 7 have a filter, "
			    "got '%s'",
			    value_show(filter, shown));
	else
		add_point(r, host, (uint16_t)port, type);
}

void collection_parse(struct str text, const char *path, struct arena *arena,
		      struct collection *ret)
{
	struct str line;
	*ret = (struct collection){
		.point = arena_array(arena, COLLECTION_POINTS, sizeof *ret->point),
		.problem = arena_array(arena, COLLECTION_PROBLEMS, sizeof *ret->problem)};
	struct collection_reader *r = mem_alloc(sizeof *r);
	*r = (struct collection_reader){.to = ret, .arena = arena, .path = path};
	if (str_starts(text, STR("\xef\xbb\xbf")))
		text = str_from(text, 3);
	while (str_cut(&text, '\n', &line) == 0) {
		r->line++;
		read_line(r, line);
	}
	mem_free(&r);
}

int collection_read(const char *path, struct arena *arena, struct collection *ret, struct err *err)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(COLLECTION_FILE);
	int rc = file_slurp(path, &text, err);
	if (rc == 0)
		collection_parse(buf_str(&text), path, arena, ret);
	return rc;
}
