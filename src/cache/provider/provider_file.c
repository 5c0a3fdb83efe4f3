/* The provider's file: lines of text, since its owner should be able to see what it says. The list
 * is in its order, so that it is compared with what there is now by one pass; the sum in the last
 * line tells a file that was cut or changed by hand from a whole one. */
#include "cache/provider_file.h"

#include "base/fault.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/vec.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define HEAD "garner provider 1"

void provider_file_free(struct provider_file *f)
{
	if (f->password.n)
		explicit_bzero((char *)f->password.p, f->password.n);
	if (f->text.n)
		explicit_bzero(f->text.p, MIN(f->text.n, (size_t)4096));
	provider_list_free(&f->sent);
	arena_free(&f->arena);
	buf_free(&f->text);
}

uint32_t provider_source_origin(const struct provider_source *s)
{
	struct xxh64 h;
	struct str key = s->is_tree ? s->prefix : s->place;
	xxh64_begin(&h);
	xxh64_add(&h, s->is_tree ? "tree " : "list ", 5);
	xxh64_add(&h, key.p, key.n);
	uint32_t v = (uint32_t)xxh64_end(&h);
	return v ? v : 1;
}

int provider_file_remember(struct provider_file *f, const struct provider_source *s,
			   struct err *err)
{
	size_t at = 0;
	while (at < f->sources &&
	       provider_source_origin(&f->source[at]) != provider_source_origin(s))
		at++;
	if (at == PROVIDER_SOURCES)
		return err_set(err, ERR_USAGE, "more than %d trees and sitemaps", PROVIDER_SOURCES);
	f->sources = MAX(f->sources, at + 1);
	f->source[at] = (struct provider_source){
		.place = str_of(arena_text(&f->arena, s->place)),
		.prefix = str_of(arena_text(&f->arena, s->prefix)),
		.index = str_of(arena_text(&f->arena, s->index)),
		.is_tree = s->is_tree,
	};
	return 0;
}

/* Reading */

struct parsing {
	struct provider_file *file;
	const char *name;
	struct str rest;
	uint64_t line;
	struct err *err;
};

static int line_bad(struct parsing *p, const char *what)
{
	return err_set(p->err, ERR_DAMAGED,
		       "%s, line %" PRIu64
		       ": %s; restore it, or register again with --id and --password-file",
		       p->name, p->line, what);
}

static int line_next(struct parsing *p, struct str *ret)
{
	p->line++;
	if (p->rest.n == 0 || str_find_byte(p->rest, '\n') == p->rest.n)
		return line_bad(p, "the file ends here");
	(void)str_cut(&p->rest, '\n', ret);
	return 0;
}

static bool time_field(struct str text, int64_t *ret)
{
	uint64_t v;
	if (!str_u64(text, &v) || v > INT64_MAX / 2)
		return false;
	*ret = (int64_t)v;
	return true;
}

static bool source_line(struct provider_file *f, bool is_tree, struct str rest)
{
	struct provider_source s = {.is_tree = is_tree};
	struct err ignored;
	if (str_cut(&rest, '\t', &s.place) != 0 || !s.place.n)
		return false;
	if (is_tree && (str_cut(&rest, '\t', &s.prefix) != 0 || str_cut(&rest, '\t', &s.index)))
		return false;
	return rest.p == NULL && provider_file_remember(f, &s, &ignored) == 0;
}

static bool head_line(struct provider_file *f, struct str word, struct str value)
{
	if (value.n > PROVIDER_VALUE_MAX || str_find_byte(value, 0) < value.n)
		return false;
	if (str_is(word, "id"))
		return str_u64(value, &f->id);
	if (str_is(word, "seq"))
		return str_u64(value, &f->seq);
	if (str_is(word, "set"))
		return str_u64(value, &f->set);
	if (str_is(word, "at"))
		return time_field(value, &f->at_s);
	if (str_is(word, "scanned"))
		return time_field(value, &f->scanned_s);
	if (str_is(word, "tree") || str_is(word, "sitemap"))
		return source_line(f, str_is(word, "tree"), value);
	if (str_is(word, "mime")) {
		if (f->mimes == PROVIDER_MIMES)
			return false;
		f->mime[f->mimes++] = arena_str(&f->arena, value);
		return true;
	}
	struct str *text = str_is(word, "password") ? &f->password
			   : str_is(word, "secret") ? &f->secret
			   : str_is(word, "site")   ? &f->site
						    : NULL;
	if (text)
		*text = arena_str(&f->arena, value);
	return text != NULL;
}

/* "-" for what is not known. */
static bool known_field(struct provider_url *url, struct str text, uint8_t bit)
{
	if (str_is(text, "-"))
		return false;
	url->has |= bit;
	return true;
}

static const char *url_line(struct provider_list *l, struct str line)
{
	enum { C, MIME, MTIME, SIZE, MD5, ORIGIN, FIELDS };
	struct str f[FIELDS];
	struct provider_url url = {0};
	uint64_t origin;
	for (size_t i = 0; i < FIELDS; i++)
		if (str_cut(&line, '\t', &f[i]) != 0)
			return "expected seven fields";
	url.c = f[C];
	url.mime = f[MIME];
	url.more = line;
	if (!f[C].n || f[C].n > PROVIDER_URL_MAX || !f[MIME].n || f[MIME].n > PROVIDER_MIME_MAX)
		return "a URL or type that is none";
	if (line.n > PROVIDER_MORE_MAX || str_has_control(line) ||
	    str_find_byte(line, '<') < line.n || str_find_byte(line, '>') < line.n ||
	    (line.n && line.p[0] != ' ') || !str_utf8(line))
		return "attributes that are none";
	if (known_field(&url, f[MTIME], PROVIDER_MTIME) && !time_field(f[MTIME], &url.mtime_s))
		return "a time that is none";
	if (known_field(&url, f[SIZE], PROVIDER_SIZE) && !str_u64(f[SIZE], &url.size))
		return "a size that is none";
	if (known_field(&url, f[MD5], PROVIDER_MD5) && !hex_parse(f[MD5], url.md5, sizeof url.md5))
		return "a sum that is none";
	if (!str_u64(f[ORIGIN], &origin) || origin > UINT32_MAX)
		return "an origin that is none";
	url.origin = (uint32_t)origin;
	if (l->n && provider_url_cmp(&l->url[l->n - 1], &url) >= 0)
		return "it is not in its order";
	if (l->n && str_eq(l->url[l->n - 1].mime, url.mime))
		url.mime = l->url[l->n - 1].mime;
	*VEC_PUSH(l->url, l->n, l->room) = url;
	return NULL;
}

static int parse_head(struct parsing *p, uint64_t *ret_urls)
{
	struct str line, word;
	if (line_next(p, &line) < 0)
		return -1;
	if (!str_is(line, HEAD))
		return line_bad(p, "expected \"" HEAD "\"");
	for (;;) {
		if (line_next(p, &line) < 0)
			return -1;
		(void)str_cut(&line, ' ', &word);
		if (str_is(word, "urls"))
			break;
		if (!head_line(p->file, word, line))
			return line_bad(p, "not a line of such a file");
	}
	if (!str_u64(line, ret_urls) || *ret_urls > PROVIDER_URLS_MOST)
		return line_bad(p, "a number that is none");
	return 0;
}

static int parse_end(struct parsing *p, struct str text)
{
	struct str line;
	char sum[17];
	snprintf(sum, sizeof sum, "%016" PRIx64, xxh64(str_head(text, text.n - p->rest.n)));
	if (line_next(p, &line) < 0)
		return -1;
	if (!str_starts(line, STR("end ")) || !str_is(str_from(line, 4), sum) || p->rest.n)
		return line_bad(p, "the sum is not that of what is there");
	return 0;
}

int provider_file_parse(struct provider_file *f, struct str text, const char *name, struct err *err)
{
	struct parsing p = {.file = f, .name = name, .rest = text, .err = err};
	struct str line;
	uint64_t n;
	if (parse_head(&p, &n) < 0)
		return -1;
	for (uint64_t i = 0; i < n; i++) {
		if (line_next(&p, &line) < 0)
			return -1;
		const char *bad = url_line(&f->sent, line);
		if (bad)
			return line_bad(&p, bad);
	}
	return parse_end(&p, text);
}

/* The password is in it. */
static int file_private(const char *path, struct err *err)
{
	struct stat st;
	if (lstat(path, &st) < 0)
		return errno == ENOENT ? 1 : err_sys(err, "%s", path);
	if (st.st_uid != geteuid())
		return err_set(err, ERR_USAGE, "%s belongs to another user", path);
	if (st.st_mode & 077)
		return err_set(err, ERR_USAGE,
			       "%s has the password, but others may read it; chmod 600 mends that",
			       path);
	return 0;
}

int provider_file_load(struct provider_file *f, const char *path, struct err *err)
{
	int rc = file_private(path, err);
	if (rc == 0)
		rc = file_slurp_own(path, &f->text, err);
	if (rc == 0)
		rc = provider_file_parse(f, buf_str(&f->text), path, err);
	return rc;
}

/* Writing */

static void put_line(struct buf *out, const char *word, struct str value)
{
	if (value.n)
		buf_printf(out, "%s " STR_FMT "\n", word, STR_ARG(value));
}

static void put_number(struct buf *out, const char *word, uint64_t v)
{
	if (v)
		buf_printf(out, "%s %" PRIu64 "\n", word, v);
}

static void put_head(const struct provider_file *f, struct buf *out)
{
	put_number(out, "id", f->id);
	put_line(out, "password", f->password);
	put_line(out, "secret", f->secret);
	put_line(out, "site", f->site);
	put_number(out, "seq", f->seq);
	put_number(out, "at", (uint64_t)f->at_s);
	put_number(out, "scanned", (uint64_t)f->scanned_s);
	put_number(out, "set", f->set);
	for (size_t i = 0; i < f->mimes; i++)
		put_line(out, "mime", f->mime[i]);
	for (size_t i = 0; i < f->sources; i++) {
		const struct provider_source *s = &f->source[i];
		buf_printf(out, s->is_tree ? "tree " STR_FMT : "sitemap " STR_FMT,
			   STR_ARG(s->place));
		if (s->is_tree)
			buf_printf(out, "\t" STR_FMT "\t" STR_FMT, STR_ARG(s->prefix),
				   STR_ARG(s->index));
		buf_add_byte(out, '\n');
	}
}

static void put_url(const struct provider_url *url, struct buf *out)
{
	char hex[33] = "-";
	buf_add_str(out, url->c);
	buf_add_byte(out, '\t');
	buf_add_str(out, url->mime);
	if (url->has & PROVIDER_MTIME)
		buf_printf(out, "\t%" PRId64, url->mtime_s);
	else
		buf_add_text(out, "\t-");
	if (url->has & PROVIDER_SIZE)
		buf_printf(out, "\t%" PRIu64, url->size);
	else
		buf_add_text(out, "\t-");
	if (url->has & PROVIDER_MD5)
		hex_print(url->md5, sizeof url->md5, hex);
	buf_printf(out, "\t%s\t%" PRIu32 "\t", hex, url->origin);
	buf_add_str(out, url->more);
	buf_add_byte(out, '\n');
}

void provider_file_print(const struct provider_file *f, struct buf *out)
{
	buf_add_text(out, HEAD "\n");
	put_head(f, out);
	buf_printf(out, "urls %zu\n", f->sent.n);
	for (size_t i = 0; i < f->sent.n; i++)
		put_url(&f->sent.url[i], out);
	uint64_t sum = xxh64(buf_str(out));
	buf_printf(out, "end %016" PRIx64 "\n", sum);
}

int provider_file_save(const struct provider_file *f, const char *path, struct err *err)
{
	struct buf out = BUF_INIT((size_t)16 << 30);
	provider_file_print(f, &out);
	FAULT("provider.save");
	int rc = out.over ? err_set(err, ERR_USAGE, "%s would be larger than 16 GB", path)
			  : file_replace(path, buf_str(&out), 0600, err);
	FAULT("provider.saved");
	explicit_bzero(out.p, MIN(out.n, (size_t)4096));
	buf_free(&out);
	return rc;
}

/* The format: what `garner dump` shows has neither password nor secret. */

static bool provider_claims(struct str head)
{
	return str_eq(head, str_head(STR(HEAD), 12));
}

static int provider_print(const char *path, struct printer *p, struct err *err)
{
	struct provider_file f = PROVIDER_FILE_INIT;
	int rc = provider_file_load(&f, path, err);
	if (rc == 0) {
		f.password = f.password.n ? STR("(there is one)") : STR("");
		f.secret = f.secret.n ? STR("(there is one)") : STR("");
		put_head(&f, &p->out);
		for (size_t i = 0; i < f.sent.n; i++) {
			put_url(&f.sent.url[i], &p->out);
			printer_step(p);
		}
		f.password = f.secret = (struct str){0};
	}
	provider_file_free(&f);
	return rc;
}

static int provider_verify(const char *path, struct err *err)
{
	struct provider_file f = PROVIDER_FILE_INIT;
	int rc = provider_file_load(&f, path, err);
	provider_file_free(&f);
	return rc;
}

const struct format provider_format = {
	.name = "provider-file",
	.file = "provider",
	.claims = provider_claims,
	.help = "who a provider of a cache is, and what it has sent of each URL",
	.remedy = "write a new one by garner provider register --id --password-file, and send a "
		  "full set",
	.print = provider_print,
	.verify = provider_verify,
};
