/* The tables of what master and reapd say to each other, and what an answer has to be beyond its
 * form. Footprints of links are not sent: the master would have to compute them anyway, or one
 * reapd could put any URL under the footprint of another. */
#include "shepherd/reap/reap_wire.h"

#include "base/hash.h"
#include "bucket/bucket_attrs.h"
#include "fetch/kit.h"

#include <inttypes.h>

enum {
	SMALL_MAX = 256, /* bytes of a message of numbers */
	TEXT_MOST = 256, /* of the words of an answer */
	HEAD_MAX = 64 << 10,
};

static void addr_write(const void *member, struct buf *out)
{
	char text[ADDR_SHOWN];
	buf_add_text(out, addr_print_port(member, text));
}

static bool addr_read(struct str text, void *ret)
{
	struct addr a;
	if (text.n >= ADDR_SHOWN || !addr_parse_port(text, 0, &a) || a.port == 0)
		return false;
	*(struct addr *)ret = a;
	return true;
}

static void key_write(const void *member, struct buf *out)
{
	char text[QKEY_TEXT];
	if (*(const qkey *)member)
		buf_add_text(out, qkey_print(*(const qkey *)member, text));
}

static bool key_read(struct str text, void *ret)
{
	return qkey_parse(text, ret);
}

static const struct message_value addr_value = {addr_write, addr_read};
static const struct message_value key_value = {key_write, key_read};

#define M struct reap_message

/* The master's */

static const struct message_field of_tock[] = {
	{MESSAGE_NUMBER_AT(M, id, "tick", 0, UINT64_MAX), .must = true},
	{MESSAGE_SIGNED_AT(M, lease_us, "lease", 1, REAP_LEASE_MOST_US), .must = true},
};
static const struct message_field of_dict[] = {
	{MESSAGE_BYTES_AT(M, dict, "file", REAP_DICT_MAX)},
};
static const struct message_field of_rules[] = {
	{MESSAGE_TEXT_AT(M, rules.site, "site", URL_SITE_MAX), .must = true},
	{MESSAGE_FLAG_AT(M, rules.is_reachable, "reachable")},
	{MESSAGE_SIGNED_AT(M, rules.until_us, "for", 0, INT64_MAX / 2), .must = true},
	{MESSAGE_BYTES_AT(M, rules.compiled, "compiled", REAP_RULES_MAX)},
};
static const struct message_field of_job[] = {
	{MESSAGE_NUMBER_AT(M, id, "id", 1, UINT64_MAX), .must = true},
	{MESSAGE_TEXT_AT(M, job.url, "url", URL_STRICT_MAX), .must = true},
	{MESSAGE_OTHER_AT(M, job.addr, "address", &addr_value), .must = true},
	{MESSAGE_WORD_AT(M, job.what, "what", reaper_what_names, REAPER_WHATS), .must = true},
	{MESSAGE_FLAG_AT(M, job.refresh, "refresh")},
	{MESSAGE_SECONDS_AT(M, job.now_s, "now"), .must = true},
	{MESSAGE_TEXT_AT(M, job.etag, "etag", ROBOT_ETAG_MAX)},
	{MESSAGE_TEXT_AT(M, job.last_modified, "last-modified", ROBOT_DATE_MAX)},
	{MESSAGE_TEXT_AT(M, job.md5, "md5", 32)},
	{MESSAGE_SIGNED_AT(M, job.rule.delay_us, "delay", 0, POLITE_RETRY_MAX_US), .must = true},
	{MESSAGE_NUMBER_AT(M, job.rule.concurrent, "connections", 1, POLITE_CONCURRENT_MAX),
	 .must = true},
	{MESSAGE_FLAG_AT(M, job.rule.exempt, "exempt")},
	{MESSAGE_NUMBER_AT(M, job.limits.body, "body", 0, BUCKET_DATA_MOST), .must = true},
	{MESSAGE_TIME_AT(M, job.limits.idle_us, "idle"), .must = true},
	{MESSAGE_TIME_AT(M, job.limits.total_us, "total"), .must = true},
	{MESSAGE_TIME_AT(M, job.patience_us, "patience")},
	{MESSAGE_FLAG_AT(M, job.keep, "keep")},
};
static const struct message_field of_cancel[] = {
	{MESSAGE_NUMBER_AT(M, id, "id", 1, UINT64_MAX), .must = true},
};

/* The reapd's */

static const struct message_field of_hello[] = {
	{MESSAGE_NUMBER_AT(M, version, "version", 0, UINT32_MAX), .must = true},
	{MESSAGE_NUMBER_AT(M, capacity, "capacity", 1, REAP_CAPACITY_MOST), .must = true},
};
static const struct message_field of_tick[] = {
	{MESSAGE_NUMBER_AT(M, id, "tick", 1, UINT64_MAX), .must = true},
};
static const struct message_field of_busy[] = {
	{MESSAGE_NUMBER_AT(M, id, "id", 0, UINT64_MAX)},
};
static const struct message_field of_done[] = {
	{MESSAGE_NUMBER_AT(M, id, "id", 1, UINT64_MAX), .must = true},
	{MESSAGE_NUMBER_AT(M, answer.code, "code", 0, CODE_END - 1), .must = true},
	{MESSAGE_SAID_AT(M, answer.text, "text", TEXT_MOST)},
	{MESSAGE_TEXT_AT(M, answer.url, "url", URL_STRICT_MAX), .must = true},
	{MESSAGE_OTHER_AT(M, answer.key, "key", &key_value)},
	{MESSAGE_NUMBER_AT(M, answer.status, "status", 0, 999)},
	{MESSAGE_TIME_AT(M, answer.ago_us, "ago"), .none = -1},
	{MESSAGE_NUMBER_AT(M, answer.download_ms, "took", 0, UINT32_MAX)},
	{MESSAGE_SECONDS_AT(M, answer.ended_s, "ended")},
	{MESSAGE_SECONDS_AT(M, answer.downloaded_s, "downloaded")},
	{MESSAGE_SECONDS_AT(M, answer.changed_s, "changed")},
	{MESSAGE_TIME_AT(M, answer.retry_after_us, "retry-after")},
	{MESSAGE_TIME_AT(M, answer.not_now_us, "not-now")},
	{MESSAGE_TEXT_AT(M, answer.location, "location", URL_MAX)},
	{MESSAGE_TEXT_AT(M, answer.type, "type", ROBOT_MIME_MAX)},
	{MESSAGE_NUMBER_AT(M, answer.bytes, "bytes", 0, UINT32_MAX)},
	{MESSAGE_HASH_AT(M, answer.md5, "md5"), .must = true},
	{MESSAGE_FLAG_AT(M, answer.noindex, "noindex")},
	{MESSAGE_FLAG_AT(M, answer.nofollow, "nofollow")},
	{MESSAGE_FLAG_AT(M, answer.unread, "unread")},
	{MESSAGE_NUMBER_AT(M, answer.bucket_type, "bucket-type", 0, UINT32_MAX)},
	{MESSAGE_BYTES_AT(M, answer.bucket, "bucket", BUCKET_DATA_MOST)},
	{MESSAGE_BYTES_AT(M, answer.body, "robots", REAP_BODY_MAX)},
	{MESSAGE_ITEMS_AT(M, links, "links", REAP_LINKS_MOST)},
};

#define L struct reaper_link
static const struct message_field of_link[] = {
	{MESSAGE_TEXT_AT(L, url, "url", URL_STRICT_MAX), .must = true},
	{MESSAGE_NUMBER_AT(L, changed_s, "changed", 0, UINT32_MAX)},
	{MESSAGE_FLAG_AT(L, is_sitemap, "sitemap")},
};
const struct message_item reap_link_item = {"a link", sizeof(L), of_link, ARRAY_LEN(of_link)};

static const struct message master_says[] = {
	/* the first begins the session */
	MESSAGE("tock", REAP_TOCK, SMALL_MAX, of_tock),
	MESSAGE("job", REAP_JOB, HEAD_MAX, of_job),
	MESSAGE("rules", REAP_RULES, REAP_RULES_MAX + HEAD_MAX, of_rules),
	MESSAGE("dict", REAP_DICT, REAP_DICT_MAX + SMALL_MAX, of_dict),
	MESSAGE("cancel", REAP_CANCEL, SMALL_MAX, of_cancel),
};
static const struct message reapd_says[] = {
	MESSAGE("done", REAP_DONE, REAP_ANSWER_MAX, of_done),
	MESSAGE("tick", REAP_TICK, SMALL_MAX, of_tick),
	MESSAGE("busy", REAP_BUSY, SMALL_MAX, of_busy),
	MESSAGE("hello", REAP_HELLO, SMALL_MAX, of_hello),
};
const struct message_wire reap_of_stranger = {master_says, 1, sizeof(M)};
const struct message_wire reap_of_master = {master_says, ARRAY_LEN(master_says), sizeof(M)};
const struct message_wire reap_of_reapd = {reapd_says, ARRAY_LEN(reapd_says), sizeof(M)};

/* Canonical, http or https: what it was made of does not matter, it is asked for as it is. */
bool reap_url_check(struct str text, struct footprint *ret)
{
	char room[URL_MAX], strict[URL_STRICT_MAX + 1];
	struct url url, canon;
	if (url_parse(text, NULL, room, sizeof room, &url) != 0 || url.protocol == URL_FTP ||
	    url_canon(&url, true, strict, sizeof strict, &canon) != 0 || !str_eq(canon.href, text))
		return false;
	*ret = footprint_of(&canon);
	return true;
}

int reap_job_check(struct reaper_job *job, struct err *err)
{
	unsigned char md5[16];
	if (!reap_url_check(job->url, &job->fp))
		return err_set(err, ERR_DAMAGED, "a job: not a canonical URL: " STR_FMT,
			       STR_ARG(str_head(job->url, 200)));
	if (job->md5.n && !hex_parse(job->md5, md5, sizeof md5))
		return err_set(err, ERR_DAMAGED, "a job: md5 is not 32 digits");
	return 0;
}

void reap_answer_write(const struct reaper_answer *a, struct buf *out)
{
	CLEANUP(buf_free) struct buf links = BUF_INIT(REAP_LINKS_MAX);
	struct reap_message m = {.id = a->id, .answer = *a};
	m.answer.body = str_head(a->body, REAP_BODY_MAX);
	for (; m.links.n < MIN(a->links, (size_t)REAP_LINKS_MOST); m.links.n++) {
		size_t whole = links.n;
		message_item_write(&reap_link_item, &a->link[m.links.n], &links);
		if (links.over) { /* further ones are left out */
			links.n = whole;
			break;
		}
	}
	m.links.bytes = buf_str(&links);
	message_write(&reap_of_reapd, REAP_DONE, &m, out);
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
