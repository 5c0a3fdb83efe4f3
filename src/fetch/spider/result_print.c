/* Results as JSON, and the names of the files that bodies are stored in. Scripts read both: fields
 * and names never change. */
#include "fetch/result_print.h"

#include "base/file.h"
#include "base/hash.h"
#include "base/rows.h"

#include <limits.h>

COL_NAMER(print_outcome, enum outcome, outcome_name)
COL_NAMER(print_cause, enum robot_cause, robot_cause_name)

static void print_url(const void *url, struct buf *out)
{
	url_show(*(const struct str *)url, out);
}

static void print_address(const void *addr, struct buf *out)
{
	char shown[ADDR_SHOWN];
	buf_add_text(out, addr_print(addr, shown));
}

#define H struct robot_head
static const struct column head_columns[] = {
	COL("status", H, status),
	COL("type", H, mime, .how = ROW_SOME),
	COL("charset", H, charset, .how = ROW_SOME),
	COL("etag", H, etag, .how = ROW_SOME),
	COL("last_modified", H, last_modified, .how = ROW_SOME),
};
#undef H
static const struct rows head_rows = {ROWS(struct robot_head, head_columns)};

struct told {
	struct str url, final_url;
	struct robot_result r;
	int status; /* the members from there on are only told of an answer */
	int64_t last_modified_s, retry_after_s;
	const char *directive[ROBOT_NDIRECTIVES];
	size_t directives;
	struct str doc_id;
	const char *file;
};
#define S struct told
#define ANSWERED COL_IF(S, status)
static const struct column told_columns[] = {
	COL_OF("url", S, url, print_url, .how = ROW_SOME),
	COL_OF("outcome", S, r.outcome, print_outcome),
	COL_OF("cause", S, r.cause, print_cause),
	COL("why", S, r.why, .how = ROW_SOME),
	COL("final_url", S, final_url, .how = ROW_SOME),
	COL("redirects", S, r.redirects, .how = ROW_SOME),
	COL("location", S, r.location, .how = ROW_SOME),
	COL_OF("address", S, r.addr, print_address, COL_IF(S, r.addr.family)),
	COL_POINTER(NULL, S, r.head, head_rows, ANSWERED),
	COL("last_modified_s", S, last_modified_s, .how = ROW_SOME | ROW_NEG, ANSWERED),
	COL("retry_after_s", S, retry_after_s, .how = ROW_SOME | ROW_NEG, ANSWERED),
	COL_LIST("robots", S, directive, directives, rows_texts, ANSWERED),
	COL("size", S, r.size, ANSWERED),
	COL("wire", S, r.wire, ANSWERED),
	COL("md5", S, r.md5, ANSWERED),
	COL("sha256", S, r.sha256, ANSWERED),
	COL("start", S, r.times.start_us, .unit = UNIT_TIME, .how = ROW_SOME),
	COL("resolve_us", S, r.times.resolve_us),
	COL("connect_us", S, r.times.connect_us),
	COL("first_us", S, r.times.first_us),
	COL("total_us", S, r.times.total_us),
	COL("doc_id", S, doc_id, .how = ROW_SOME),
	COL("file", S, file, .how = ROW_SOME),
};
static const struct rows told_rows = {ROWS(S, told_columns)};
#undef S

static int64_t seconds_of(int64_t us)
{
	return us < 0 ? -1 : us / US_PER_S;
}

void result_print_json(struct str url, const struct robot_result *r, struct str doc_id,
		       const char *file, struct buf *out)
{
	struct told told = {.url = url,
			    .final_url = str_eq(url, r->url) ? STR("") : r->url,
			    .r = *r,
			    .status = r->head->status,
			    .last_modified_s = seconds_of(r->last_modified_us),
			    .retry_after_s = seconds_of(r->head->retry_after_us),
			    .doc_id = doc_id,
			    .file = file};
	for (int i = 0; i < ROBOT_NDIRECTIVES; i++)
		if (r->head->tag.set & 1u << i)
			told.directive[told.directives++] =
				robot_directive_name((enum robot_directive)i);
	rows_json_line(&told_rows, &told, out);
}

/* Neither a file nor a folder may be called "." or "..". */
static void put_escaped(struct buf *b, struct str s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "-_.~,=@+";
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] && strchr(plain, s.p[i]) && !(i == 0 && s.p[i] == '.'))
			buf_add_byte(b, s.p[i]);
		else
			buf_printf(b, "%%%02X", (unsigned char)s.p[i]);
}

/* What "/" is called, and files that are not complete: no other document may be. A percent sign is
 * written as %25, so nothing else has such names. */
static void keep_apart(struct buf *name)
{
	struct str s = buf_str(name), end = str_from(s, s.n > 5 ? s.n - 5 : 0);
	char last = s.n ? s.p[s.n - 1] : 0;
	if (!str_is(s, "index") && !str_is(end, ".part"))
		return;
	name->n--;
	buf_printf(name, "%%%02X", (unsigned char)last);
}

void result_file_name(const char *folder, const struct url *url, struct buf *ret)
{
	enum { NAME_MAX_BYTES = 200 };
	CLEANUP(buf_free) struct buf name = BUF_INIT((size_t)4 * URL_TEXT_MAX);
	struct str target = str_from(url_target(url), 1);
	char hex[33];
	unsigned char sum[16];
	put_escaped(&name, target.n ? target : STR("index"));
	if (target.n)
		keep_apart(&name);
	if (name.n > NAME_MAX_BYTES) {
		md5(url_target(url), sum);
		hex_print(sum, sizeof sum, hex);
		name.n = NAME_MAX_BYTES - 33;
		buf_printf(&name, "~%s", hex);
	}
	buf_printf(ret, "%s/", folder);
	put_escaped(ret, url->host);
	/* one port goes without saying: that of http and that of https may differ in what they say
	 */
	if (url->port != url_default_port(URL_HTTPS))
		buf_printf(ret, ",%u", url->port);
	buf_printf(ret, "/%s", buf_text(&name));
}

int result_file_make(const char *folder, const struct url *url, char **ret_path, struct err *err)
{
	CLEANUP(buf_free) struct buf path = BUF_INIT(PATH_MAX);
	result_file_name(folder, url, &path);
	if (path.over)
		return err_set(err, ERR_USAGE, "%s: the path is too long", folder);
	char *slash = strrchr(path.p, '/');
	*slash = 0;
	int rc = dir_make_unsynced(path.p, 0777, err);
	*slash = '/';
	if (rc == 0)
		*ret_path = mem_text(path.p);
	return rc;
}
