/* Requests of the broker's port: whatever a client sends, what is kept are slices of it within
 * their bounds, and a request written anew from what was read is read as the same. */
#include "broker/request.h"

#include "base/buf.h"
#include "index/query.h"

static bool is_inside(struct str part, struct str line)
{
	return part.n == 0 || (part.p >= line.p && part.p + part.n <= line.p + line.n);
}

static void print_flags(const struct request *r, struct buf *out)
{
	buf_printf(out, "%s%s%s%s", r->matchword ? "#INDEX Matchword " : "",
		   r->insensitive ? "#index case insenstive " : "", r->opaque ? "#Opaque " : "",
		   r->desc ? "#desc " : "");
	for (uint32_t i = 0; i < r->attributes; i++) {
		buf_add_text(out, "#attribute ");
		buf_add_str(out, r->attribute[i]);
		buf_add_byte(out, '\t');
	}
	buf_printf(out, "#index error %u #index maxfiles %u ", (unsigned)r->errors, r->results);
	if (r->best)
		buf_add_text(out, "#index best ");
	if (r->lifetime_s)
		buf_printf(out, "#lifetime %u ", r->lifetime_s);
	if (r->kind == REQUEST_BULK)
		buf_printf(out, "#since %u ", r->since_s);
	buf_add_text(out, "#end ");
	buf_add_str(out, r->all ? STR("#ALLB") : r->query);
}

static void check_same(const struct request *a, const struct request *b)
{
	ENSURE(a->desc == b->desc && a->opaque == b->opaque && a->insensitive == b->insensitive &&
	       a->matchword == b->matchword && a->best == b->best && a->all == b->all);
	ENSURE(a->errors == b->errors && a->results == b->results &&
	       a->lifetime_s == b->lifetime_s && a->since_s == b->since_s);
	ENSURE(a->attributes == b->attributes && str_eq(a->query, b->query));
	for (uint32_t i = 0; i < a->attributes; i++)
		ENSURE(str_eq(a->attribute[i], b->attribute[i]));
}

static void check_query(const struct request *r, struct str line)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(SIZE_MAX);
	struct request again;
	struct err err;
	ENSURE(r->results >= 1 && r->results <= REQUEST_RESULTS_MOST);
	ENSURE(r->errors <= QUERY_ERRORS_MOST && r->attributes <= REQUEST_ATTRIBUTES);
	ENSURE(r->all ? r->query.n == 0 : r->query.n > 0 && is_inside(r->query, line));
	for (uint32_t i = 0; i < r->attributes; i++)
		ENSURE(r->attribute[i].n && is_inside(r->attribute[i], line));
	print_flags(r, &text);
	ENSURE(request_parse(r->kind, buf_str(&text), 6, &again, &err) == 0);
	check_same(r, &again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str line = {(const char *)data, size};
	struct request r;
	struct err err;
	for (int kind = REQUEST_USER; kind <= REQUEST_ADMIN; kind++) {
		if (request_parse((enum request_kind)kind, line, 6, &r, &err) < 0) {
			ENSURE(err.code == ERR_USAGE && err.msg[0]);
			continue;
		}
		ENSURE(r.kind == (enum request_kind)kind);
		if (kind != REQUEST_ADMIN) {
			check_query(&r, line);
			continue;
		}
		ENSURE(r.password.n && is_inside(r.password, line) && is_inside(r.rest, line));
		ENSURE(r.command.n && r.command.p[0] == '#' && is_inside(r.command, line));
	}
	return 0;
}
