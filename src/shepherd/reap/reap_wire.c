/* What master and reapd say to each other. Jobs and the control part of an answer are attributes
 * (base/letters.h); links are binary, since a page may have thousands and the master looks at each
 * of them. */
#include "shepherd/reap/reap_wire.h"

#include "base/clock.h"
#include "base/cursor.h"
#include "base/hash.h"
#include "base/letters.h"
#include "bucket/bucket_attrs.h"
#include "fetch/kit.h"

#include <inttypes.h>

enum {
	TEXT_MOST = 256, /* bytes of the words of an answer */
	LINK_HEAD = 22,  /* bytes before the URL of a link */
	LINK_SITEMAP = 1 << 15,
};

static int line_addr(const struct letters *r, struct addr *ret, struct err *err)
{
	struct addr a;
	if (r->value.n >= ADDR_SHOWN || !addr_parse_port(r->value, 0, &a))
		return letters_wrong(r, err);
	*ret = a;
	return 0;
}

/* Jobs. */

void reap_job_write(const struct reaper_job *job, struct buf *out)
{
	char addr[ADDR_SHOWN];
	letters_add(out, 'U', job->url);
	letters_add(out, 'a', str_of(addr_print_port(&job->addr, addr)));
	letters_add(out, 'w', str_of(reaper_what_names[job->what]));
	letters_add_number(out, 't', (uint64_t)MAX(job->now_s, 0));
	letters_add_text(out, 'e', job->etag, ROBOT_ETAG_MAX);
	letters_add_text(out, 'l', job->last_modified, ROBOT_DATE_MAX);
	letters_add_text(out, 'C', job->md5, 32);
	buf_printf(out, "r%" PRId64 " %u\n", MIN(job->rule.delay_us, POLITE_RETRY_MAX_US),
		   MIN(MAX(job->rule.concurrent, 1), POLITE_CONCURRENT_MAX));
	if (job->rule.exempt)
		letters_add(out, 'x', STR("1"));
	letters_add_number(out, 'b', MIN(job->limits.body, BUCKET_DATA_MOST));
	letters_add_number(out, 'i', (uint64_t)job->limits.idle_us);
	letters_add_number(out, 'z', (uint64_t)job->limits.total_us);
	if (job->patience_us)
		letters_add_number(out, 'p', (uint64_t)job->patience_us);
	if (job->keep)
		letters_add(out, 'K', STR("1"));
}

/* Canonical, http or https: what it was made of does not matter, it is asked for as it is. */
static int job_read_url(const struct letters *r, struct reaper_job *job, struct err *err)
{
	char room[URL_MAX], strict[URL_STRICT_MAX + 1];
	struct url url, canon;
	if (url_parse(r->value, NULL, room, sizeof room, &url) != 0 || url.protocol == URL_FTP ||
	    url_canon(&url, true, strict, sizeof strict, &canon) != 0 ||
	    !str_eq(canon.href, r->value))
		return letters_wrong(r, err);
	job->url = r->value;
	job->fp = footprint_of(&canon);
	return 0;
}

static int job_read_rule(const struct letters *r, struct reaper_job *job, struct err *err)
{
	struct str rest = r->value, delay, concurrent;
	uint64_t us, n;
	if (str_cut(&rest, ' ', &delay) != 0 || str_cut(&rest, ' ', &concurrent) != 0 || rest.p ||
	    !str_u64(delay, &us) || us > POLITE_RETRY_MAX_US || !str_u64(concurrent, &n) || n < 1 ||
	    n > POLITE_CONCURRENT_MAX)
		return letters_wrong(r, err);
	job->rule.delay_us = (int64_t)us;
	job->rule.concurrent = (unsigned)n;
	return 0;
}

static int job_read_what(const struct letters *r, struct reaper_job *job, struct err *err)
{
	for (size_t i = 0; i < REAPER_WHATS; i++)
		if (str_is(r->value, reaper_what_names[i])) {
			job->what = (enum reaper_what)i;
			return 0;
		}
	return letters_wrong(r, err);
}

static int job_read_flag(const struct letters *r, bool *ret, struct err *err)
{
	*ret = true;
	return str_is(r->value, "1") ? 0 : letters_wrong(r, err);
}

static int job_read_line(const struct letters *r, struct reaper_job *job, struct err *err)
{
	unsigned char md5[16];
	switch (r->letter) {
	case 'U':
		return job_read_url(r, job, err);
	case 'a':
		return line_addr(r, &job->addr, err) == 0 && job->addr.port ? 0
									    : letters_wrong(r, err);
	case 'w':
		return job_read_what(r, job, err);
	case 't':
		return letters_seconds(r, &job->now_s, err);
	case 'e':
		return letters_text(r, ROBOT_ETAG_MAX, &job->etag, err);
	case 'l':
		return letters_text(r, ROBOT_DATE_MAX, &job->last_modified, err);
	case 'C':
		job->md5 = r->value;
		return hex_parse(r->value, md5, sizeof md5) ? 0 : letters_wrong(r, err);
	case 'r':
		return job_read_rule(r, job, err);
	case 'b':
		return letters_number(r, BUCKET_DATA_MOST, &job->limits.body, err);
	case 'i':
		return letters_time(r, &job->limits.idle_us, err);
	case 'z':
		return letters_time(r, &job->limits.total_us, err);
	case 'p':
		return letters_time(r, &job->patience_us, err);
	case 'K':
		return job_read_flag(r, &job->keep, err);
	case 'x':
		return job_read_flag(r, &job->rule.exempt, err);
	default:
		return err_set(err, ERR_DAMAGED, "a job has no attribute %c", r->letter);
	}
}

int reap_job_read(struct str bytes, struct reaper_job *ret, struct err *err)
{
	struct letters r = {.rest = bytes, .what = "a job"};
	struct reaper_job job = {0};
	int rc;
	if (bytes.n > REAP_JOB_MAX)
		return err_set(err, ERR_DAMAGED, "a job of %zu bytes", bytes.n);
	while ((rc = letters_next(&r, err)) == 0)
		if (job_read_line(&r, &job, err) < 0)
			return -1;
	if (rc < 0 || letters_whole(&r, "Uawtrbiz", err) < 0)
		return -1;
	*ret = job;
	return 0;
}

/* Rules of a site. */

void reap_rules_write(const struct reaper_rules *rules, struct buf *out)
{
	buf_add_str(out, rules->site);
	buf_printf(out, "\n%d\n%" PRId64 "\n", rules->is_reachable, MAX(rules->until_us, 0));
	buf_add_str(out, rules->compiled);
}

int reap_rules_read(struct str bytes, struct reaper_rules *ret, struct err *err)
{
	struct str rest = bytes, site, allow, until;
	uint64_t until_us;
	if (bytes.n > REAP_RULES_MAX || str_cut(&rest, '\n', &site) != 0 ||
	    str_cut(&rest, '\n', &allow) != 0 || str_cut(&rest, '\n', &until) != 0 || !rest.p)
		return err_set(err, ERR_DAMAGED, "rules of %zu bytes: no head", bytes.n);
	if (site.n == 0 || site.n > URL_SITE_MAX || str_has_control(site) ||
	    !(str_is(allow, "0") || str_is(allow, "1")) || !str_u64(until, &until_us) ||
	    until_us > INT64_MAX / 2)
		return err_set(err, ERR_DAMAGED, "rules: not a head: '" STR_FMT "'",
			       STR_ARG(str_head(bytes, 80)));
	*ret = (struct reaper_rules){.site = site,
				     .is_reachable = allow.p[0] == '1',
				     .until_us = (int64_t)until_us,
				     .compiled = rest};
	return 0;
}

/* Answers. */

static const struct {
	char letter;
	size_t offset;
} answer_flags[] = {
	{'i', offsetof(struct reaper_answer, noindex)},
	{'f', offsetof(struct reaper_answer, nofollow)},
	{'u', offsetof(struct reaper_answer, unread)},
};

static bool *answer_flag(struct reaper_answer *a, size_t i)
{
	return (bool *)((char *)a + answer_flags[i].offset);
}

static void control_write(const struct reaper_answer *a, struct buf *out)
{
	struct reaper_answer copy = *a;
	char key[QKEY_TEXT], sum[33];
	buf_printf(out, "!%u ", a->code);
	letters_add_words(out, a->text, TEXT_MOST);
	buf_add_byte(out, '\n');
	letters_add(out, 'U', a->url);
	if (a->key)
		letters_add(out, 'k', str_of(qkey_print(a->key, key)));
	letters_add_number(out, 'h', a->download_ms);
	letters_add_seconds(out, 'd', a->ended_s);
	letters_add_seconds(out, 'D', a->downloaded_s);
	letters_add_seconds(out, 'J', a->changed_s);
	letters_add_time(out, 'g', a->ago_us);
	if (a->retry_after_us > 0)
		letters_add_time(out, 'W', a->retry_after_us);
	if (a->not_now_us > 0)
		letters_add_time(out, 'N', a->not_now_us);
	letters_add_number(out, 's', a->status);
	letters_add_text(out, 'T', a->type, ROBOT_MIME_MAX);
	hex_print(a->md5, sizeof a->md5, sum);
	letters_add(out, 'C', str_of(sum));
	letters_add_number(out, 'n', a->bytes);
	letters_add_text(out, 'L', a->location, URL_MAX);
	buf_add_byte(out, 'f');
	for (size_t i = 0; i < ARRAY_LEN(answer_flags); i++)
		if (*answer_flag(&copy, i))
			buf_add_byte(out, answer_flags[i].letter);
	buf_add_byte(out, '\n');
}

/* How many of the links are sent, and their bytes. */
static size_t links_that_fit(const struct reaper_answer *a, size_t *ret_bytes)
{
	size_t n = 0, bytes = 0;
	for (; n < a->links && n < REAP_LINKS_MOST; n++) {
		size_t more = LINK_HEAD + a->link[n].url.n;
		if (bytes + more > REAP_LINKS_MAX)
			break;
		bytes += more;
	}
	*ret_bytes = bytes;
	return n;
}

static void links_write(const struct reaper_answer *a, size_t n, struct buf *out)
{
	for (size_t i = 0; i < n; i++) {
		const struct reaper_link *l = &a->link[i];
		ENSURE(l->url.n <= URL_STRICT_MAX);
		put_u64le(out, l->fp.site);
		put_u64le(out, l->fp.path);
		put_u32le(out, l->changed_s);
		put_u16le(out, (uint16_t)(l->url.n | (l->is_sitemap ? LINK_SITEMAP : 0)));
		buf_add_str(out, l->url);
	}
}

void reap_answer_write(const struct reaper_answer *a, struct buf *out)
{
	CLEANUP(buf_free) struct buf control = BUF_INIT(REAP_CONTROL_MAX);
	size_t bytes, n = links_that_fit(a, &bytes);
	struct str body = str_head(a->body, REAP_BODY_MAX);
	control_write(a, &control);
	buf_printf(out, "done %" PRIu64 " %zu %08" PRIx32 " %zu %zu %zu\n", a->id, control.n,
		   a->bucket_type, a->bucket.n, bytes, body.n);
	buf_add_str(out, buf_str(&control));
	buf_add_str(out, a->bucket);
	links_write(a, n, out);
	buf_add_str(out, body);
}

static bool part_size(struct str text, uint64_t most, uint64_t *ret)
{
	return str_u64(text, ret) && *ret <= most;
}

int reap_parts_read(const struct str *arg, size_t n, struct reap_parts *ret, struct err *err)
{
	struct reap_parts p;
	unsigned char type[4];
	if (n != 6 || !str_u64(arg[0], &p.id) || !part_size(arg[1], REAP_CONTROL_MAX, &p.control) ||
	    !hex_parse(arg[2], type, sizeof type) ||
	    !part_size(arg[3], BUCKET_DATA_MOST, &p.bucket) ||
	    !part_size(arg[4], REAP_LINKS_MAX, &p.links) ||
	    !part_size(arg[5], REAP_BODY_MAX, &p.body))
		return err_set(err, ERR_DAMAGED, "an answer whose parts cannot be so large");
	p.bucket_type = (uint32_t)type[0] << 24 | (uint32_t)type[1] << 16 | type[2] << 8 | type[3];
	*ret = p;
	return 0;
}

static int answer_read_code(const struct letters *r, struct reaper_answer *a, struct err *err)
{
	struct str text = r->value, digits;
	uint64_t code;
	if (str_cut(&text, ' ', &digits) != 0 || !str_u64(digits, &code) || code >= CODE_END ||
	    text.n > TEXT_MOST)
		return letters_wrong(r, err);
	a->code = (uint16_t)code;
	a->text = text.p ? text : STR("");
	return 0;
}

static int answer_read_flags(const struct letters *r, struct reaper_answer *a, struct err *err)
{
	for (size_t at = 0; at < r->value.n; at++) {
		size_t i = 0;
		while (i < ARRAY_LEN(answer_flags) && answer_flags[i].letter != r->value.p[at])
			i++;
		if (i == ARRAY_LEN(answer_flags) || *answer_flag(a, i))
			return letters_wrong(r, err);
		*answer_flag(a, i) = true;
	}
	return 0;
}

static int answer_read_small(const struct letters *r, struct reaper_answer *a, struct err *err)
{
	uint64_t v = 0;
	if (letters_number(r, r->letter == 's' ? 999 : UINT32_MAX, &v, err) < 0)
		return -1;
	if (r->letter == 's')
		a->status = (uint16_t)v;
	else
		a->download_ms = (uint32_t)v;
	return 0;
}

static int answer_read_line(const struct letters *r, struct reaper_answer *a, struct err *err)
{
	switch (r->letter) {
	case '!':
		return answer_read_code(r, a, err);
	case 'U':
		return letters_text(r, URL_STRICT_MAX, &a->url, err);
	case 'k':
		return qkey_parse(r->value, &a->key) ? 0 : letters_wrong(r, err);
	case 'd':
		return letters_seconds(r, &a->ended_s, err);
	case 'D':
		return letters_seconds(r, &a->downloaded_s, err);
	case 'J':
		return letters_seconds(r, &a->changed_s, err);
	case 'h':
	case 's':
		return answer_read_small(r, a, err);
	case 'g':
		return letters_time(r, &a->ago_us, err);
	case 'W':
		return letters_time(r, &a->retry_after_us, err);
	case 'N':
		return letters_time(r, &a->not_now_us, err);
	case 'T':
		return letters_text(r, ROBOT_MIME_MAX, &a->type, err);
	case 'C':
		return hex_parse(r->value, a->md5, sizeof a->md5) ? 0 : letters_wrong(r, err);
	case 'n':
		return letters_number(r, UINT32_MAX, &a->bytes, err);
	case 'L':
		return letters_text(r, URL_MAX, &a->location, err);
	case 'f':
		return answer_read_flags(r, a, err);
	default:
		return err_set(err, ERR_DAMAGED, "an answer has no attribute %c", r->letter);
	}
}

static int control_read(struct str bytes, struct reaper_answer *a, struct err *err)
{
	struct letters r = {.rest = bytes, .what = "an answer"};
	int rc;
	a->ago_us = -1;
	while ((rc = letters_next(&r, err)) == 0)
		if (answer_read_line(&r, a, err) < 0)
			return -1;
	return rc < 0 ? -1 : letters_whole(&r, "!UhsCnf", err);
}

static bool link_next(struct reader *r, struct reaper_link *ret)
{
	ret->fp.site = reader_u64le(r);
	ret->fp.path = reader_u64le(r);
	ret->changed_s = reader_u32le(r);
	uint16_t n = reader_u16le(r);
	ret->is_sitemap = n & LINK_SITEMAP;
	n &= LINK_SITEMAP - 1;
	ret->url = reader_bytes(r, n);
	return !r->bad && n > 0 && n <= URL_STRICT_MAX && !str_has_control(ret->url);
}

/* Counted first, so that the array is as large as it has to be. */
static int links_read(struct str bytes, struct arena *arena, struct reaper_answer *a,
		      struct err *err)
{
	struct reader r = reader_of(bytes);
	struct reaper_link link;
	size_t n = 0;
	for (; reader_left(&r); n++)
		if (n == REAP_LINKS_MOST || !link_next(&r, &link))
			return err_set(err, ERR_DAMAGED, "an answer: link %zu cannot be read", n);
	struct reaper_link *list = n ? arena_array(arena, n, sizeof *list) : NULL;
	r = reader_of(bytes);
	for (size_t i = 0; i < n; i++)
		ENSURE(link_next(&r, &list[i]));
	a->link = list;
	a->links = n;
	return 0;
}

int reap_answer_read(const struct reap_parts *parts, struct str bytes, struct arena *arena,
		     struct reaper_answer *ret, struct err *err)
{
	struct reaper_answer a = {.id = parts->id, .bucket_type = parts->bucket_type};
	struct reader r = reader_of(bytes);
	struct str control = reader_bytes(&r, parts->control);
	a.bucket = reader_bytes(&r, parts->bucket);
	struct str links = reader_bytes(&r, parts->links);
	a.body = reader_bytes(&r, parts->body);
	if (r.bad || reader_left(&r))
		return err_set(err, ERR_DAMAGED, "an answer of %zu bytes, not as many as its parts",
			       bytes.n);
	if (control_read(control, &a, err) < 0 || links_read(links, arena, &a, err) < 0)
		return -1;
	*ret = a;
	return 0;
}

/* Whether a reaper can have come to this: reap alone says what is not here. */
static bool code_of_reaper(uint16_t code)
{
	static const uint16_t named[] = {
		CODE_OK,         CODE_REDIRECT, CODE_NOT_MODIFIED,  CODE_SAME,
		CODE_CONNECTION, CODE_PROXY,    CODE_NO_ANSWER_DNS, CODE_NO_HOST,
		CODE_BROKEN_DNS, CODE_ADDRESS,  CODE_NOINDEX,       CODE_NOWHERE,
		CODE_ROBOTS,
	};
	for (size_t i = 0; i < ARRAY_LEN(named); i++)
		if (code == named[i])
			return true;
	bool temporary = code >= CODE_TEMPORARY + 400 && code < CODE_TEMPORARY + 600;
	bool permanent = code >= CODE_PERMANENT + 400 && code < CODE_PERMANENT + 600;
	return temporary || permanent;
}

/* Bucket, body and links come only with what was gathered; and of a page comes one of them. */
static const char *answer_wrong_parts(const struct reaper_answer *a, const struct reaper_job *job)
{
	bool gathered = a->code == CODE_OK && a->not_now_us == 0;
	if (a->bucket.n && (!gathered || job->what == REAPER_SITEMAP))
		return "a bucket where there is none";
	if (a->body.n && (!gathered || job->what != REAPER_ROBOTS))
		return "a body where there is none";
	if (a->links && !gathered && a->code != CODE_NOINDEX)
		return "links where there are none";
	if (gathered && !a->bucket.n && job->what != REAPER_SITEMAP)
		return "a document without a bucket";
	if (a->code == CODE_NOT_MODIFIED && !job->etag.n && !job->last_modified.n)
		return "not modified, which was not asked";
	if (a->code == CODE_SAME && !job->md5.n)
		return "the same as a copy that there is not";
	if (a->location.n && a->code != CODE_REDIRECT && a->code != CODE_NOWHERE)
		return "a target where there is no redirect";
	return NULL;
}

static bool is_seconds(struct str text, int64_t s)
{
	uint64_t v;
	return str_u64(text, &v) && v == (uint64_t)s;
}

static int check_bucket(const struct reaper_answer *a, const struct reaper_job *job,
			struct bucket_packer *packer, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(BUCKET_ARENA);
	struct attrs header = {0};
	struct footprint fp;
	uint32_t dict;
	if (a->bucket_type != BUCKET_V33 && (a->bucket_type != BUCKET_V33_ZSTD || !packer))
		return err_set(err, ERR_DAMAGED, "its bucket has type %08" PRIx32, a->bucket_type);
	int rc = bucket_check(a->bucket_type, a->bucket, err);
	if (rc == 1)
		return err_set(err, ERR_DAMAGED, "its bucket has no checksum");
	if (rc < 0 || bucket_header(a->bucket_type, a->bucket, &arena, &header, NULL, err) < 0 ||
	    (packer && bucket_needs(packer, a->bucket_type, a->bucket, &dict, err) < 0)) {
		err->code = ERR_DAMAGED;
		return err_in(err, "its bucket");
	}
	if (!str_eq(attrs_get(&header, 'U'), job->url))
		return err_set(err, ERR_DAMAGED, "its bucket is of another URL");
	if (!footprint_parse(attrs_get(&header, 'O'), &fp) || footprint_cmp(fp, job->fp) != 0)
		return err_set(err, ERR_DAMAGED, "its bucket has another footprint");
	if (!is_seconds(attrs_get(&header, 'D'), a->downloaded_s) ||
	    !is_seconds(attrs_get(&header, 'J'), a->changed_s))
		return err_set(err, ERR_DAMAGED, "its bucket has another D or J");
	return 0;
}

/* A document has both times, and it came before the request had ended; nothing else has them. */
static const char *answer_wrong_times(const struct reaper_answer *a, int64_t from_s,
				      int64_t until_s)
{
	if (a->ended_s && (a->ended_s < from_s || a->ended_s > until_s))
		return "it ended at a time at which the job was not out";
	if (a->bucket.n && (a->downloaded_s < from_s || a->downloaded_s > a->ended_s))
		return "a document that came at a time at which the job was not out";
	if (a->bucket.n && a->changed_s > a->downloaded_s)
		return "a document that changed after it came";
	if (!a->bucket.n && (a->downloaded_s || a->changed_s))
		return "times of a document where there is none";
	return NULL;
}

int reap_answer_check(const struct reaper_answer *a, const struct reaper_job *job, int64_t until_s,
		      struct bucket_packer *packer, struct err *err)
{
	const char *wrong = answer_wrong_parts(a, job);
	if (!wrong)
		wrong = answer_wrong_times(a, job->now_s, until_s);
	if (!str_eq(a->url, job->url))
		return err_set(err, ERR_DAMAGED, "it is about another URL");
	if (!code_of_reaper(a->code))
		return err_set(err, ERR_DAMAGED, "no reaper comes to code %u", a->code);
	if (a->key && a->key != kit_qkey(&job->addr))
		return err_set(err, ERR_DAMAGED, "it asked another server");
	if (wrong)
		return err_set(err, ERR_DAMAGED, "%s (code %u)", wrong, a->code);
	return a->bucket.n ? check_bucket(a, job, packer, err) : 0;
}
