#include "shepherd/reap_inner.h"

#include "base/clock.h"
#include "base/hash.h"
#include "extract/out.h"
#include "shepherd/crawl_inner.h"

#include <inttypes.h>
#include <string.h>

enum { SEEN = 1 << 18 }; /* a power of two */

void reap_tell(struct reap_job *job, const struct verdict *v, uint64_t where)
{
	struct reap *r = job->reap;
	struct err err;
	struct journal_entry e = {
		.fp = job->entry.fp,
		.time_us = job->wall_us ? job->wall_us : clock_wall_us(),
		.op = v->op,
		.type = v->type,
		.status = v->status,
		.where = where,
		.due_s = v->due_s,
		.download_ms = job->download_ms,
		.qkey = job->qkey,
		.url = job->url.n ? job->url : STR("-"),
		.reason = str_of(v->reason),
	};
	if (state_journal(r->state, &e, &err) < 0)
		reap_fail(r, &err);
}

/* Whether a URL was contributed in this cycle: most links of a page are those of its neighbours. */
static bool is_seen(struct reap *r, struct footprint fp, bool by_hand)
{
	if (!r->seen)
		r->seen = mem_array(SEEN, sizeof *r->seen);
	struct seen *s = &r->seen[(fp.site ^ fp.path) & (SEEN - 1)];
	if (!by_hand && footprint_cmp(s->fp, fp) == 0)
		return true;
	s->fp = fp;
	return false;
}

void reap_contribute(struct reap_job *job, struct str text, unsigned flags)
{
	struct reap *r = job->reap;
	char room[URL_MAX], strict[URL_STRICT_MAX + 1];
	struct url url, canon;
	struct err err;
	if (url_parse(text, NULL, room, sizeof room, &url) != 0 || url.protocol == URL_FTP ||
	    url_canon(&url, true, strict, sizeof strict, &canon) != 0 ||
	    url_loops(url_target(&canon), NULL))
		return;
	struct contrib c = {
		.fp = footprint_of(&canon),
		.flags = (uint8_t)flags,
		.from = job->entry.fp,
		.url = canon.href,
	};
	bool by_hand = flags & ITEM_INITIAL;
	if (footprint_cmp(c.fp, job->entry.fp) == 0 || is_seen(r, c.fp, by_hand))
		return;
	if (!by_hand && r->o.conf->follow == CRAWL_SITE && !sites_get(r->sites, c.fp.site))
		return;
	if (state_contrib(r->state, &c, NULL, &err) < 0)
		reap_fail(r, &err);
	reap_count(r, REAP_LINKS, 1);
}

static struct str seconds(struct arena *arena, int64_t us)
{
	return str_of(arena_printf(arena, "%" PRId64, us / US_PER_S));
}

/* The header of the bucket that the document will have. */
static void make_header(struct reap_job *job, const struct robot_result *result, const char *md5)
{
	struct arena *arena = &job->arena;
	struct attrs *h = &job->header;
	const struct robot_head *head = result->head;
	attrs_add(h, arena, 'O', crawl_digits(job->entry.fp, arena));
	attrs_add(h, arena, 'U', job->url);
	attrs_add(h, arena, 'D', seconds(arena, job->wall_us));
	attrs_add(h, arena, 'J', seconds(arena, job->wall_us));
	if (result->last_modified_us >= 0)
		attrs_add(h, arena, 'L', seconds(arena, result->last_modified_us));
	if (head->etag[0])
		attrs_add(h, arena, REAP_ETAG, arena_str(arena, str_of(head->etag)));
	if (head->last_modified[0])
		attrs_add(h, arena, REAP_LAST_MODIFIED,
			  arena_str(arena, str_of(head->last_modified)));
	attrs_add(h, arena, REAP_MD5, arena_str(arena, str_of(md5)));
}

static struct str robots_of(const struct robot_tag *tag)
{
	bool noindex = tag->set & 1u << ROBOT_NOINDEX, nofollow = tag->set & 1u << ROBOT_NOFOLLOW;
	return noindex && nofollow ? STR("noindex,nofollow")
	       : noindex           ? STR("noindex")
	       : nofollow          ? STR("nofollow")
				   : STR("");
}

static bool has_word(struct str list, const char *word)
{
	struct str item;
	while (list.p && str_cut(&list, ',', &item) == 0)
		if (str_is(item, word))
			return true;
	return false;
}

/* What the page says about itself to robots. */
static void directives(const struct attrs *body, bool *ret_noindex, bool *ret_nofollow)
{
	*ret_noindex = *ret_nofollow = false;
	for (size_t i = 0; i < body->n; i++) {
		struct doc_meta meta;
		if (body->a[i].name != 'M' || !meta_parse(body->a[i].value, &meta) ||
		    meta.tag != META_ROBOTS)
			continue;
		*ret_noindex |= has_word(meta.text, "noindex");
		*ret_nofollow |= has_word(meta.text, "nofollow");
	}
}

static void contribute_all(struct reap_job *job, const struct attrs *body)
{
	for (size_t i = 0; i < body->n; i++) {
		char name = body->a[i].name;
		struct doc_link link;
		if ((name == 'R' || name == 'F') && link_parse(name, body->a[i].value, &link) &&
		    !link.flags)
			reap_contribute(job, link.url, 0);
	}
}

/* Its links count as if they had been found now: what they lead to may have been forgotten. */
static void contribute_old(struct reap_job *job)
{
	struct attrs header, body;
	struct err err;
	bool noindex, nofollow;
	if (bucket_decode(job->reap->packer, job->old.type, job->old.data, &job->arena, &header,
			  &body, &err) < 0)
		return; /* what cannot be read any more has no links */
	directives(&body, &noindex, &nofollow);
	if (!nofollow)
		contribute_all(job, &body);
}

void reap_unchanged(struct reap_job *job, const struct robot_head *head)
{
	bool noindex = head->tag.set & 1u << ROBOT_NOINDEX;
	struct verdict v = {
		.op = CHANGE_REFRESH, .type = ITEM_GATHERED, .status = (uint16_t)head->status};
	if (noindex)
		reap_judge_noindex(&job->entry, &v);
	if (!(head->tag.set & 1u << ROBOT_NOFOLLOW))
		contribute_old(job);
	reap_tell(job, &v, ITEM_NOWHERE);
	reap_count(job->reap, noindex ? REAP_NOINDEX : REAP_UNCHANGED, 1);
	reap_job_done(job);
}

void reap_document(struct reap_job *job, const struct robot_result *result)
{
	const struct robot_head *head = result->head;
	char md5[33];
	hex_print(result->md5, sizeof result->md5, md5);
	if (str_eq(job->md5, str_of(md5))) {
		reap_unchanged(job, head);
		return;
	}
	make_header(job, result, md5);
	if (head->mime[0])
		job->content_type =
			str_of(arena_printf(&job->arena, "%s%s%s", head->mime,
					    head->charset[0] ? "; charset=" : "", head->charset));
	job->robots = robots_of(&head->tag);
	job->status = (uint16_t)head->status;
	reap_parse(job);
}

void reap_parsed(struct reap_job *job, const struct attrs *body)
{
	struct reap *r = job->reap;
	bool noindex, nofollow, old = job->entry.flags & PLAN_REFRESH;
	struct verdict v = {.op = CHANGE_UPDATE, .type = ITEM_GATHERED, .status = job->status};
	uint32_t oid;
	struct err err;
	uint64_t where = ITEM_NOWHERE;
	directives(body, &noindex, &nofollow);
	if (!nofollow)
		contribute_all(job, body);
	if (noindex) {
		reap_judge_noindex(&job->entry, &v);
	} else if (bucket_put(r->buckets, r->packer, &job->header, body, &oid, &err) == 0) {
		where = oid;
	} else if (err.code == ERR_USAGE) { /* too large to be kept: as if it were not there */
		v.type = ITEM_ZOMBIE;
		v.op = old ? CHANGE_DELETE : CHANGE_NONE;
		snprintf(v.reason, sizeof v.reason, "%.190s", err.msg);
	} else {
		reap_fail(r, &err);
	}
	reap_tell(job, &v, where);
	reap_count(r, noindex ? REAP_NOINDEX : old ? REAP_CHANGED : REAP_NEW, 1);
	reap_job_done(job);
}
