/* Which sites look like mirrors: those whose front pages have the same text.
 *
 * Front pages are met in the order of footprints and sorted twice, in bounded memory. First by
 * site without its "www.": those with one name are one site for the crawl, and the page of the name
 * without "www." speaks for it, so that no site gets into two classes. Then by text, and within one
 * text by what makes a site fit to stand for its class; so the first of a class is its head, and
 * classes are printed as they come, however large one is. */
#include "shepherd/equivalence.h"

#include "base/cursor.h"
#include "base/hash.h"
#include "bucket/bucket.h"
#include "bucket/bucket_attrs.h"
#include "disk/sort.h"

#include <inttypes.h>

enum { MD5_SIZE = 16, PIECE = 64 << 10, SITE_KEY_MOST = URL_SITE_MAX + 16 };

struct proposing {
	struct buckets *buckets;
	struct bucket_packer *packer;
	struct arena arena;
	struct digest *digest;
	struct sort *by_site, *by_text;
	struct buf key, out;
	void (*emit)(void *ctx, struct str piece);
	void *ctx;
	struct equiv_proposal *sum;
};

static const enum url_protocol protocols[] = {URL_HTTPS, URL_HTTP, URL_FTP}; /* best first */

/* A site as bytes that sort as sites are fit to stand for a class: length of the host, host,
 * protocol, port. */
static void site_put_key(struct buf *out, struct url_site site)
{
	uint8_t rank = 0;
	while (protocols[rank] != site.protocol)
		ENSURE(++rank < ARRAY_LEN(protocols));
	put_u16be(out, (uint16_t)site.host.n);
	buf_add_str(out, site.host);
	put_u8(out, rank);
	put_u16be(out, site.port);
}

static struct url_site site_take_key(struct reader *r)
{
	struct url_site site = {.host = reader_bytes(r, reader_u16be(r))};
	site.protocol = protocols[reader_u8(r) % ARRAY_LEN(protocols)];
	site.port = reader_u16be(r);
	return site;
}

/* The digest of the text of a page. 1: it has too little, or its bucket is not there. */
static int page_digest(struct proposing *p, const struct index_item *item,
		       unsigned char ret[MD5_SIZE], struct err *err)
{
	struct attrs header, body;
	struct footprint fp;
	size_t n = 0;
	arena_clear(&p->arena);
	int rc = bucket_get(p->buckets, p->packer, (uint32_t)item->where, &p->arena, &header, &body,
			    err);
	if (rc < 0 && err->code == ERR_SYSTEM)
		return -1;
	if (rc || !footprint_parse(attrs_get(&header, 'O'), &fp) ||
	    footprint_cmp(fp, item->fp) != 0) {
		p->sum->lost++;
		return 1;
	}
	for (size_t i = 0; i < body.n; i++)
		if (body.a[i].name == 'X') {
			digest_add(p->digest, body.a[i].value.p, body.a[i].value.n);
			n += body.a[i].value.n;
		}
	ENSURE(digest_end(p->digest, ret, MD5_SIZE) == MD5_SIZE);
	if (n < EQUIV_TEXT_LEAST) {
		p->sum->lacking++;
		return 1;
	}
	p->sum->pages++;
	return 0;
}

/* A site with "www." twice cannot be in the file. */
static int propose_page(struct proposing *p, const struct site *site, const struct index_item *item,
			struct err *err)
{
	unsigned char text[MD5_SIZE];
	struct url_site own = site_name(site);
	struct url_site bare = equiv_site(NULL, own);
	if (!url_site_eq(equiv_site(NULL, bare), bare))
		return 0;
	int rc = page_digest(p, item, text, err);
	if (rc)
		return MIN(rc, 0);
	buf_clear(&p->key);
	site_put_key(&p->key, bare);
	put_u8(&p->key, !url_site_eq(bare, own));
	buf_add_str(&p->key, (struct str){(const char *)text, sizeof text});
	return sort_add(p->by_site, buf_str(&p->key), err);
}

/* All front pages. Sites and index are read in step. */
static int propose_pages(struct proposing *p, struct state *st, struct err *err)
{
	const uint64_t root = footprint_path(STR("/"));
	const struct url_index *index;
	struct sites_scan *sites = NULL;
	struct url_index_scan *items = NULL;
	const struct site *site;
	struct index_item item;
	int rc = state_index(st, &index, err);
	if (rc == 0)
		rc = state_sites_scan(st, &sites, err);
	if (rc == 0)
		rc = url_index_scan(&items, index, (struct footprint){0}, err);
	while (rc == 0 && (rc = url_index_next(items, &item, err)) == 0) {
		if (item.fp.path != root || item.type != ITEM_GATHERED ||
		    !index_item_has_bucket(&item) || item.where >= BUCKET_SPECIAL)
			continue;
		rc = sites_scan_find(sites, item.fp.site, &site, err);
		rc = rc == 0 ? propose_page(p, site, &item, err) : MIN(rc, 0);
	}
	sites_scan_free(&sites);
	url_index_scan_free(&items);
	return MIN(rc, 0);
}

/* The first record of each site goes on, with the text before the site. */
static int propose_sites(struct proposing *p, struct err *err)
{
	CLEANUP(buf_free) struct buf last = BUF_INIT(SITE_KEY_MOST);
	struct str rec;
	int rc;
	while ((rc = sort_next(p->by_site, &rec, err)) == 0) {
		struct str site = str_head(rec, rec.n - MD5_SIZE - 1);
		if (str_eq(site, buf_str(&last)))
			continue;
		buf_clear(&last);
		buf_add_str(&last, site);
		buf_clear(&p->key);
		buf_add_str(&p->key, str_from(rec, rec.n - MD5_SIZE));
		buf_add_str(&p->key, site);
		if (sort_add(p->by_text, buf_str(&p->key), err) < 0)
			return -1;
	}
	return MIN(rc, 0);
}

static void propose_flush(struct proposing *p, size_t more_than)
{
	if (p->out.n <= more_than)
		return;
	p->emit(p->ctx, buf_str(&p->out));
	buf_clear(&p->out);
}

/* A line of a site, given as text and site. */
static void propose_line(struct proposing *p, struct str rec, const char *indent)
{
	char text[URL_SITE_MAX + 32];
	struct reader r = reader_of(str_from(rec, MD5_SIZE));
	struct str site = url_site_print(site_take_key(&r), text, sizeof text);
	buf_printf(&p->out, "%s" STR_FMT "/\n", indent, STR_ARG(site));
	p->sum->sites++;
}

static void propose_head(struct proposing *p, struct str rec)
{
	char hex[2 * MD5_SIZE + 1];
	hex_print((const unsigned char *)rec.p, MD5_SIZE, hex);
	buf_printf(&p->out, "\n# the text of their front pages is the same, MD5 %s\n", hex);
	propose_line(p, rec, "");
	p->sum->classes++;
}

/* The head of a class is printed when a second site of it comes. */
static int propose_classes(struct proposing *p, struct err *err)
{
	CLEANUP(buf_free) struct buf head = BUF_INIT(SITE_KEY_MOST + MD5_SIZE);
	bool printed = false;
	struct str rec;
	int rc;
	while ((rc = sort_next(p->by_text, &rec, err)) == 0) {
		if (!str_eq(str_head(buf_str(&head), MD5_SIZE), str_head(rec, MD5_SIZE))) {
			buf_clear(&head);
			buf_add_str(&head, rec);
			printed = false;
			continue;
		}
		if (!printed)
			propose_head(p, buf_str(&head));
		printed = true;
		propose_line(p, rec, "\t");
		propose_flush(p, PIECE);
	}
	return MIN(rc, 0);
}

static int propose_all(struct proposing *p, struct state *st, struct err *err)
{
	buf_add_text(&p->out,
		     "# Sites that look like mirrors of one another. Look through them: "
		     "what stands here is\n# crawled once, and the other sites are not.\n");
	if (propose_pages(p, st, err) < 0 || propose_sites(p, err) < 0 ||
	    propose_classes(p, err) < 0)
		return -1;
	buf_printf(&p->out,
		   "\n# %" PRIu64 " classes with %" PRIu64 " sites. %" PRIu64
		   " front pages were compared; left out were %" PRIu64
		   " with less than\n# %d bytes of text and %" PRIu64
		   " whose bucket could not be read.\n",
		   p->sum->classes, p->sum->sites, p->sum->pages, p->sum->lacking, EQUIV_TEXT_LEAST,
		   p->sum->lost);
	propose_flush(p, 0);
	return 0;
}

int equiv_propose(struct state *st, struct buckets *buckets, const char *folder, uint64_t memory,
		  void (*emit)(void *ctx, struct str piece), void *ctx, struct equiv_proposal *ret,
		  struct err *err)
{
	struct sort_spec spec = {.memory = memory / 2, .folder = folder};
	struct proposing p = {.buckets = buckets,
			      .arena = ARENA_INIT(BUCKET_ARENA),
			      .digest = digest_new("md5"),
			      .key = BUF_INIT(SITE_KEY_MOST + MD5_SIZE),
			      .out = BUF_INIT((size_t)PIECE * 2),
			      .emit = emit,
			      .ctx = ctx,
			      .sum = ret};
	*ret = (struct equiv_proposal){0};
	p.packer = bucket_packer_new(bucket_dict_path(&p.arena, bucket_path(buckets)));
	int rc = sort_new(&p.by_site, &spec, err);
	if (rc == 0)
		rc = sort_new(&p.by_text, &spec, err);
	if (rc == 0)
		rc = propose_all(&p, st, err);
	sort_free(&p.by_site);
	sort_free(&p.by_text);
	bucket_packer_free(&p.packer);
	digest_free(&p.digest);
	arena_free(&p.arena);
	buf_free(&p.key);
	buf_free(&p.out);
	return rc;
}
