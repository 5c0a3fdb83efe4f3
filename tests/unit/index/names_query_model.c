/* Random queries of all types and limits over adversarial names, against a plain look at every
 * file: with one layer and with several, with hidden entries, with sites in any order, and without
 * an index. */
#include "../dice.h"
#include "../scratch.h"
#include "../unit.h"
#include "index/names/names_exec.h"

enum {
	SITES = 5,
	WORLDS = 8,
	EXPRESSIONS = 150, /* of a world */
	LINE_MOST = 70,
	LAYERS_MOST = 4,
	TEXTS_MOST = 64,
};

struct world_plain {
	struct str path, folded, folded_path;
};
struct world_site {
	struct str key, host;
	struct names_entry *file;
	struct world_plain *plain;
	size_t files;
};
struct world {
	size_t number;
	struct arena arena;
	struct world_site site[SITES];
	struct names_layer layer[LAYERS_MOST];
	struct names_reader reader;
	struct str text[TEXTS_MOST], equal; /* names that come again */
	size_t texts;
	struct names_reader *opened; /* of which the reader has all but the layers */
};

static struct str world_path(struct world *w, const struct names_entry *e)
{
	if (!e->dir.n)
		return e->name;
	char *p = arena_alloc(&w->arena, e->dir.n + 1 + e->name.n);
	memcpy(p, e->dir.p, e->dir.n);
	p[e->dir.n] = '/';
	memcpy(p + e->dir.n + 1, e->name.p, e->name.n);
	return (struct str){p, e->dir.n + 1 + e->name.n};
}

static uint64_t seed = 21;

static size_t roll_below(size_t n)
{
	return (size_t)(dice(&seed) >> 20) % n;
}

static bool roll_once_in(size_t n)
{
	return roll_below(n) == 0;
}

/* Names */

static const char *const units[] = {"a",        "b",
				    "A",        "B",
				    "k",        "s",
				    ".",        "-",
				    "1",        "\xc3\xa9",
				    "\xc3\x89", "\xe2\x84\xaa",
				    "\xc5\xbf", "\n",
				    "\\",       "\r",
				    "\xff",     "\xe2\x82",
				    "\xa9",     "\xc4\xb0",
				    "i",        "\xef\xbc\xa1",
				    " ",        "n"};

static struct str random_text(struct arena *arena, size_t most)
{
	struct buf b = BUF_INIT(1 << 17);
	size_t n = 1 + roll_below(most);
	size_t kinds = roll_once_in(3) ? ARRAY_LEN(units) : 3 + roll_below(6);
	for (size_t i = 0; i < n; i++) {
		if (roll_once_in(60))
			buf_add_byte(&b, 0);
		buf_add_text(&b, units[roll_below(kinds)]);
	}
	struct str s = arena_str(arena, buf_str(&b));
	buf_free(&b);
	return s;
}

static struct str long_text(struct arena *arena, size_t n)
{
	char *p = arena_alloc(arena, n);
	for (size_t i = 0; i < n; i++)
		p[i] = "abAB"[roll_below(4)];
	return (struct str){p, n};
}

static struct str random_name(struct world *w)
{
	if (w->equal.n && !roll_once_in(5))
		return w->equal;
	if (roll_once_in(300))
		return long_text(&w->arena, roll_once_in(2) ? 4095 : NAMES_NAME_MOST - 1);
	if (w->texts < TEXTS_MOST || roll_once_in(4)) {
		struct str s = random_text(&w->arena, 8);
		w->text[w->texts++ % TEXTS_MOST] = s;
		return s;
	}
	return w->text[roll_below(TEXTS_MOST)];
}

static struct str folded_text(struct world *w, struct str s)
{
	struct buf b = BUF_INIT(1 << 18);
	names_fold(s, &b);
	struct str folded = arena_str(&w->arena, buf_str(&b));
	buf_free(&b);
	return folded;
}

static struct names_entry random_entry(struct world *w)
{
	static const char *const dirs[] = {
		"",        "",           "pub",    "pub/a",
		"pub/A/b", "x\ny",       "a\\b/k", "pub/\xc3\x89t\xc3\xa9",
		"b/\xff",  "pub/a/b/a/b"};
	struct names_entry e = {.name = random_name(w),
				.dir = str_of(dirs[roll_below(ARRAY_LEN(dirs))]),
				.kind = (enum names_kind)roll_below(NAMES_KINDS),
				.links = -1,
				.size = roll_once_in(5) ? -1 : (int64_t)roll_below(6) * 100,
				.time_s = roll_once_in(5) ? -1 : (int64_t)roll_below(50)};
	memcpy(e.mode,
	       e.kind == NAMES_DIR    ? "drwxr-xr-x"
	       : e.kind == NAMES_LINK ? "lrwxr-xr-x"
	       : e.kind == NAMES_FILE ? "-rw-r--r--"
				      : "srw-r--r--",
	       sizeof e.mode);
	return e;
}

/* Layers: each site has its entries in one of them; others are hidden. */

static void add_span(struct world *w, struct names_build *b, struct names_layer *layer,
		     uint32_t site)
{
	struct err err;
	uint32_t n = site == UINT32_MAX ? (uint32_t)roll_below(40) : (uint32_t)w->site[site].files;
	layer->span[layer->spans++] =
		(struct names_span){.site = site, .from = (uint32_t)names_build_entries(b), .n = n};
	layer->hidden += site == UINT32_MAX ? n : 0;
	for (uint32_t i = 0; i < n; i++) {
		struct str name = site == UINT32_MAX ? random_name(w) : w->site[site].file[i].name;
		assert_int_equal(0, names_build_add(b, name, &err));
	}
}

static void make_layers(struct world *w, size_t layers, bool backwards, bool hidden)
{
	struct err err;
	for (size_t l = 0; l < layers; l++) {
		char name[32];
		struct names_layer *layer = &w->layer[l];
		snprintf(name, sizeof name, "segment.%zu", l);
		*layer = (struct names_layer){
			.span = arena_array(&w->arena, SITES * 3, sizeof(struct names_span))};
		struct names_build *b = names_build_new(NAMES_MEMORY_MIN, scratch_dir);
		for (size_t i = 0; i < SITES; i++) {
			if (hidden && roll_once_in(3))
				add_span(w, b, layer, UINT32_MAX);
			if (i % layers == l)
				add_span(w, b, layer, (uint32_t)(backwards ? SITES - 1 - i : i));
		}
		if (names_build_write(b, scratch(name), &err) < 0 ||
		    names_segment_open(&layer->segment, scratch(name), &err) < 0)
			fail_msg("%s", err.msg);
		names_build_free(&b);
	}
	w->reader.layer = w->layer;
	w->reader.layers = layers;
}

/* The parts are those of an index. */
static void write_sites(struct world *w)
{
	struct err err;
	struct names_writer *writer = NULL;
	char *folder = arena_printf(&w->arena, "%s/world.%zu", scratch_dir, w->number);
	int rc = names_writer_open(&writer, folder, NULL, &err);
	for (size_t i = 0; i < SITES && rc == 0; i++) {
		struct names_site_spec spec = {.key = w->site[i].key, .url = STR("ftp://x/")};
		rc = names_begin(writer, &spec, &err);
		for (size_t k = 0; k < w->site[i].files && rc == 0; k++)
			rc = names_add(writer, &w->site[i].file[k], &err);
		if (rc == 0)
			rc = names_commit(writer, &err);
	}
	names_writer_close(&writer);
	if (rc < 0 || names_open(&w->opened, folder, &err) != 0)
		fail_msg("%s", err.msg);
	assert_int_equal(SITES, w->opened->sites);
	for (size_t i = 0; i < SITES; i++)
		assert_true(str_eq(w->opened->site[i].key, w->site[i].key));
	w->reader.site = w->opened->site;
	w->reader.parts = w->opened->parts;
	w->reader.sites = SITES;
}

static void make_world(struct world *w, size_t number)
{
	static const char *const keys[SITES] = {"a.b.au-1.1.1.1", "b.au-1.1.1.2",
						"ftp.b.nz,2121-1.1.1.3", "xb.au-1.1.1.4",
						"z-1.1.1.5"};
	static const char *const hosts[SITES] = {"a.b.au", "b.au", "ftp.b.nz", "xb.au", "z"};
	*w = (struct world){.arena = ARENA_INIT(SIZE_MAX), .number = number};
	if (number == 1)
		w->equal = STR("ReadMe.\xc3\x89");
	for (size_t i = 0; i < SITES; i++) {
		struct world_site *s = &w->site[i];
		s->key = str_of(keys[i]);
		s->host = str_of(hosts[i]);
		s->files = roll_below(i == 4 ? 4 : LINE_MOST);
		s->file = arena_array(&w->arena, s->files, sizeof *s->file);
		s->plain = arena_array(&w->arena, s->files, sizeof *s->plain);
		for (size_t k = 0; k < s->files; k++) {
			s->file[k] = random_entry(w);
			s->plain[k].path = world_path(w, &s->file[k]);
			s->plain[k].folded = folded_text(w, s->file[k].name);
			s->plain[k].folded_path = folded_text(w, s->plain[k].path);
		}
	}
	write_sites(w);
	make_layers(w, number % 4 == 0 || number == 2 ? 1 : 1 + roll_below(LAYERS_MOST),
		    number % 3 == 2, number % 2 == 1);
}

static void free_world(struct world *w)
{
	for (size_t i = 0; i < w->reader.layers; i++)
		names_segment_close(&w->layer[i].segment);
	names_close(&w->opened);
	arena_free(&w->arena);
}

/* Queries */

static struct str any_name(struct world *w)
{
	for (;;) {
		struct world_site *s = &w->site[roll_below(SITES)];
		if (s->files)
			return s->file[roll_below(s->files)].name;
	}
}

static struct str part_of(struct world *w, struct str s)
{
	size_t most = roll_once_in(6) ? 2000 : 6, n = 1 + roll_below(MIN(s.n, most));
	size_t from = roll_below(s.n - n + 1);
	struct str part = {s.p + from, n};
	if (!roll_once_in(3))
		return part;
	/* the case of some letters is changed */
	char *p = arena_text(&w->arena, part);
	for (size_t i = 0; i < n; i++)
		if (((p[i] | 0x20) >= 'a' && (p[i] | 0x20) <= 'z') && roll_once_in(2))
			p[i] ^= 0x20;
	return (struct str){p, n};
}

/* An expression that is UTF-8, of pieces that have something to do with names. */
static struct str random_expression(struct world *w, bool ed)
{
	static const char *const extended[] = {
		"a",  "b",  "A",        "\\.", "1",    ".",       ".*", "[ab]",  "[^a]", "(ab|k)",
		"B?", "b+", "\xc3\xa9", "\\W", "s{2}", "(a|A|b)", "-",  "[0-9]", "a+b",  "[bB]+a"};
	static const char *const classic[] = {"a",  "b",     "A",    "\\.", "1",        ".",
					      ".*", "[ab]",  "[^a]", "b*",  "\xc3\xa9", "s\\{2\\}",
					      "-",  "[0-9]", "[]a]", "k"};
	struct buf b = BUF_INIT(1 << 12);
	size_t n = roll_below(6);
	if (roll_once_in(4))
		buf_add_byte(&b, '^');
	for (size_t i = 0; i < n; i++)
		buf_add_text(&b, ed ? classic[roll_below(ARRAY_LEN(classic))]
				    : extended[roll_below(ARRAY_LEN(extended))]);
	if (roll_once_in(4))
		buf_add_byte(&b, '$');
	if (!ed && roll_once_in(6))
		buf_add_text(&b, "|\\.b");
	struct str s = arena_str(&w->arena, buf_str(&b));
	buf_free(&b);
	return s;
}

static struct str random_path(struct world *w)
{
	struct buf b = BUF_INIT(1 << 18);
	struct world_site *s = &w->site[roll_below(SITES - 1)];
	if (s->files) {
		const struct names_entry *e = &s->file[roll_below(s->files)];
		buf_add_str(&b, e->dir);
		if (e->dir.n)
			buf_add_byte(&b, '/');
		buf_add_str(&b, e->name);
	} else {
		buf_add_text(&b, "pub/a");
	}
	struct str path = arena_str(&w->arena, str_head(buf_str(&b), NAMES_PATTERN_MOST));
	buf_free(&b);
	return path;
}

static void random_limits(struct names_query *q)
{
	static const struct str sites[] = {{"b.au", 4},
					   {"z-1.1.1.5", 9},
					   {"FTP.B.NZ", 8},
					   {"ftp.b.nz,2121-1.1.1.3", 21},
					   {"nobody", 6}};
	static const struct str domains[] = {{"au", 2}, {".B.au", 5}, {"nz", 2}, {"b.nz", 4}};
	static const struct str components[] = {
		{"A", 1}, {"pub", 3}, {"x\ny", 3}, {"ab", 2}, {"", 0}};
	if (roll_once_in(6)) {
		q->site = &sites[roll_below(4)];
		q->sites = 1 + (uint32_t)roll_below(2);
	}
	if (roll_once_in(8)) {
		q->domain = &domains[roll_below(3)];
		q->domains = 1 + (uint32_t)roll_below(2);
	}
	if (roll_once_in(8)) {
		q->component = &components[roll_below(4)];
		q->components = 1 + (uint32_t)roll_below(2);
	}
	if (roll_once_in(8))
		q->kinds = (unsigned)roll_below(16);
	q->has_size_min = roll_once_in(12);
	q->has_size_max = roll_once_in(12);
	q->size_min = (int64_t)roll_below(5) * 100;
	q->size_max = (int64_t)roll_below(5) * 100;
	q->has_time_min = roll_once_in(12);
	q->has_time_max = roll_once_in(12);
	q->time_min = (int64_t)roll_below(50);
	q->time_max = (int64_t)roll_below(50);
}

struct expression {
	struct str pattern;
	enum names_syntax syntax;
	struct rx *rx;
	struct rx_run *run;
	enum names_ed kind;
	struct str text;
};

static struct names_query random_query(struct world *w, const struct expression *list,
				       const struct expression **ret)
{
	struct names_query q = {.type = (enum names_type)roll_below(NAMES_WHATIS),
				.path = roll_once_in(5),
				.maxhits = roll_once_in(4) ? 0 : 1 + roll_below(20),
				.maxmatch = roll_once_in(5) ? 1 + roll_below(4) : 0,
				.maxhitspm = roll_once_in(5) ? 1 + roll_below(4) : 0,
				.offset = roll_once_in(5) ? roll_below(12) : 0,
				.reverse = roll_once_in(2),
				.mirrors = roll_once_in(6),
				.count = roll_once_in(3),
				.no_files = roll_once_in(4)};
	/* an expression takes as long to compile as ten others to be answered */
	if ((q.type == NAMES_REGEX || q.type == NAMES_EXACT_REGEX) && roll_once_in(2))
		q.type = NAMES_SUB;
	if (roll_once_in(3))
		q.sort = (enum names_sort)roll_below(5);
	if (roll_once_in(2))
		random_limits(&q);
	*ret = NULL;
	if (q.type == NAMES_REGEX || q.type == NAMES_EXACT_REGEX) {
		*ret = &list[roll_below(EXPRESSIONS)];
		q.pattern = (*ret)->pattern;
		q.syntax = (*ret)->syntax;
		return q;
	}
	struct str name = q.path ? random_path(w) : any_name(w);
	bool whole = q.type == NAMES_EXACT || roll_once_in(6);
	q.pattern = str_head(name, NAMES_PATTERN_MOST);
	if (!whole)
		q.pattern = roll_once_in(8) ? random_text(&w->arena, 3) : part_of(w, name);
	if (roll_once_in(100))
		q.pattern = STR("");
	return q;
}

/* A plain look at every file. */

struct plain_hit {
	uint32_t site;
	uint64_t line, mirrors, number;
	const struct names_entry *file;
	struct str folded, path;
};

static struct plain_hit plain[SITES * LINE_MOST];
static size_t plains;

static bool contains(struct str text, struct str part)
{
	return part.n == 0 || memmem(text.p, text.n, part.p, part.n);
}

static bool plain_matches(const struct names_query *q, enum names_type type,
			  const struct expression *x, struct str folded_pattern, struct str text,
			  struct str folded)
{
	switch (type) {
	case NAMES_EXACT:
		return str_eq(text, q->pattern);
	case NAMES_SUB:
	case NAMES_EXACT_SUB:
		return contains(folded, folded_pattern);
	case NAMES_SUBCASE:
	case NAMES_EXACT_SUBCASE:
		return contains(text, q->pattern);
	default:
		if (x->kind == NAMES_ED_TEXT)
			return contains(text, x->text);
		return x->kind == NAMES_ED_RX && rx_matches(x->run, text);
	}
}

static bool list_has(const struct str *list, uint32_t n, struct str s)
{
	for (uint32_t i = 0; i < n; i++)
		if (str_eq_nocase(list[i], s))
			return true;
	return false;
}

static bool plain_fits(const struct names_query *q, const struct world_site *site,
		       const struct names_entry *e)
{
	bool below = q->domains == 0, component = q->components == 0;
	struct str dot = {NULL, 0}, rest = e->dir.n ? e->dir : dot, part;
	for (uint32_t i = 0; i < q->domains; i++) {
		struct str d = q->domain[i];
		if (d.p[0] == '.')
			d = str_from(d, 1);
		char tail[64], host[64];
		snprintf(tail, sizeof tail, "." STR_FMT, STR_ARG(d));
		snprintf(host, sizeof host, "." STR_FMT, STR_ARG(site->host));
		for (char *p = tail; *p; p++)
			*p = *p >= 'A' && *p <= 'Z' ? (char)(*p | 0x20) : *p;
		below |= str_ends(str_of(host), str_of(tail));
	}
	if (!below || (q->sites && !list_has(q->site, q->sites, site->host) &&
		       !list_has(q->site, q->sites, site->key)))
		return false;
	component |= list_has(q->component, q->components, e->name);
	while (str_cut(&rest, '/', &part) == 0)
		component |= list_has(q->component, q->components, part);
	if (!component || (q->kinds && !(q->kinds >> e->kind & 1)))
		return false;
	if ((q->has_size_min && (e->size < 0 || e->size < q->size_min)) ||
	    (q->has_size_max && (e->size < 0 || e->size > q->size_max)))
		return false;
	return !((q->has_time_min && (e->time_s < 0 || e->time_s < q->time_min)) ||
		 (q->has_time_max && (e->time_s < 0 || e->time_s > q->time_max)));
}

static int compare_plain(const void *a, const void *b)
{
	const struct plain_hit *x = a, *y = b;
	int order = str_cmp(x->folded, y->folded);
	order = order ? order : (int)x->site - (int)y->site;
	return order ? order : (x->line > y->line) - (x->line < y->line);
}

static const struct names_query *sort_query;
static struct world *sort_world;

static int compare_sorted(const void *a, const void *b)
{
	const struct plain_hit *x = a, *y = b;
	int order = 0;
	if (sort_query->sort == NAMES_BY_NAME)
		order = str_cmp(x->file->name, y->file->name);
	if (sort_query->sort == NAMES_BY_HOST) {
		order = str_cmp(sort_world->site[x->site].host, sort_world->site[y->site].host);
		order = order ? order : str_cmp(x->path, y->path);
	}
	if (sort_query->sort == NAMES_BY_SIZE)
		order = (x->file->size < y->file->size) - (x->file->size > y->file->size);
	if (sort_query->sort == NAMES_BY_TIME)
		order = (x->file->time_s < y->file->time_s) - (x->file->time_s > y->file->time_s);
	order = sort_query->reverse ? -order : order;
	return order ? order : (x->number > y->number) - (x->number < y->number);
}

static void drop_mirrors(void)
{
	size_t kept = 0;
	for (size_t i = 0; i < plains; i++) {
		size_t k = 0;
		while (k < kept &&
		       !(plain[k].file->size == plain[i].file->size && plain[i].file->size >= 0 &&
			 str_eq(plain[k].file->name, plain[i].file->name)))
			k++;
		if (k < kept)
			plain[k].mirrors++;
		else
			plain[kept++] = plain[i];
	}
	plains = kept;
}

static void limit_names(const struct names_query *q)
{
	size_t kept = 0;
	for (size_t i = 0; i < plains; i++) {
		size_t before = 0, names = 0;
		for (size_t k = 0; k < kept; k++) {
			bool first = true;
			before += str_eq(plain[k].file->name, plain[i].file->name);
			for (size_t j = 0; j < k && first; j++)
				first = !str_eq(plain[j].file->name, plain[k].file->name);
			names += first;
		}
		if ((q->maxmatch && before == 0 && names >= q->maxmatch) ||
		    (q->maxhitspm && before >= q->maxhitspm))
			continue;
		plain[kept++] = plain[i];
	}
	plains = kept;
}

static uint64_t look_plainly(struct world *w, const struct names_query *q, enum names_type type,
			     const struct expression *x)
{
	struct str folded = folded_text(w, q->pattern);
	plains = 0;
	for (uint32_t s = 0; s < SITES; s++)
		for (size_t i = 0; i < w->site[s].files; i++) {
			const struct names_entry *e = &w->site[s].file[i];
			const struct world_plain *p = &w->site[s].plain[i];
			if (!plain_fits(q, &w->site[s], e) ||
			    !plain_matches(q, type, x, folded, q->path ? p->path : e->name,
					   q->path ? p->folded_path : p->folded))
				continue;
			plain[plains++] = (struct plain_hit){.site = s,
							     .line = i,
							     .file = e,
							     .path = p->path,
							     .folded = p->folded};
		}
	uint64_t total = plains;
	qsort(plain, plains, sizeof *plain, compare_plain);
	if (q->mirrors)
		drop_mirrors();
	if (q->maxmatch || q->maxhitspm)
		limit_names(q);
	for (size_t i = 0; i < plains; i++)
		plain[i].number = i;
	sort_query = q;
	sort_world = w;
	if (q->sort)
		qsort(plain, plains, sizeof *plain, compare_sorted);
	return total;
}

/* Both */

static void fail_query(const struct names_query *q, const char *what)
{
	fail_msg("%s: %s '" STR_FMT "'%s syntax %d sort %d reverse %d maxhits %d maxmatch %d "
		 "maxhitspm %d offset %d mirrors %d count %d sites %u domains %u components %u "
		 "kinds %u data %d",
		 what, names_type_words[q->type], STR_ARG(q->pattern), q->path ? " by path" : "",
		 q->syntax, q->sort, q->reverse, (int)q->maxhits, (int)q->maxmatch,
		 (int)q->maxhitspm, (int)q->offset, q->mirrors, q->count, q->sites, q->domains,
		 q->components, q->kinds,
		 q->has_size_min + q->has_size_max + q->has_time_min + q->has_time_max);
}

static void compare_hits(const struct names_query *q, const struct names_hits *hits, uint64_t total,
			 bool scanned)
{
	size_t from = MIN((size_t)q->offset, plains), n = plains - from;
	if (q->maxhits)
		n = MIN(n, (size_t)q->maxhits);
	if (hits->cut || hits->scanned != scanned)
		fail_query(q, "cut or scanned");
	if (hits->exact ? hits->total != total : hits->total > total || hits->total < n)
		fail_query(q, "the total is wrong");
	if (q->count && !hits->exact)
		fail_query(q, "the total is not exact");
	if (hits->n != n)
		fail_query(q, hits->n > n ? "too many hits" : "too few hits");
	for (size_t i = 0; i < n; i++) {
		const struct plain_hit *p = &plain[from + i];
		const struct names_hit *h = &hits->hit[i];
		if (h->site != p->site || h->line != p->line || h->mirrors != p->mirrors ||
		    !str_eq(h->file.name, p->file->name))
			fail_query(q, "another hit");
		if (!q->no_files &&
		    (!str_eq(h->file.dir, p->file->dir) || h->file.size != p->file->size ||
		     h->file.time_s != p->file->time_s || h->file.kind != p->file->kind))
			fail_query(q, "another file");
	}
}

static void check_query(struct world *w, const struct expression *list)
{
	struct err err;
	struct names_hits hits;
	const struct expression *x;
	struct arena_mark mark = arena_mark(&w->arena);
	struct arena arena = ARENA_INIT(SIZE_MAX);
	struct names_query q = random_query(w, list, &x);
	bool both = q.type >= NAMES_EXACT_SUB;
	uint64_t total = look_plainly(w, &q, both ? NAMES_EXACT : q.type, x);
	if (both && total == 0)
		total = look_plainly(w, &q, q.type, x);
	if (names_query(&w->reader, &q, &arena, &hits, NULL, &err) < 0)
		fail_msg("%s", err.msg);
	compare_hits(&q, &hits, total, false);
	if (roll_once_in(4)) {
		size_t layers = w->reader.layers;
		w->reader.layers = 0;
		if (names_query(&w->reader, &q, &arena, &hits, NULL, &err) < 0)
			fail_msg("%s", err.msg);
		compare_hits(&q, &hits, total, true);
		w->reader.layers = layers;
	}
	arena_free(&arena);
	arena_reset(&w->arena, mark);
}

static void make_expressions(struct world *w, struct expression *list)
{
	struct err err;
	size_t at;
	struct buf b = BUF_INIT(1 << 16);
	for (size_t i = 0; i < EXPRESSIONS; i++) {
		struct expression *x = &list[i];
		x->syntax = i % 3 ? NAMES_EXTENDED : NAMES_ED;
		x->pattern = random_expression(w, x->syntax == NAMES_ED);
		x->text = x->pattern;
		x->kind = NAMES_ED_RX;
		if (x->syntax == NAMES_ED) {
			if (names_ed(x->pattern, &b, &x->kind, &at, &err) < 0)
				fail_msg("'" STR_FMT "': %s", STR_ARG(x->pattern), err.msg);
			x->text = arena_str(&w->arena, buf_str(&b));
		}
		if (x->kind != NAMES_ED_RX)
			continue;
		if (rx_compile_name(&x->rx, x->text, &at, &err) < 0)
			fail_msg("'" STR_FMT "': %s", STR_ARG(x->text), err.msg);
		x->run = rx_run_new(x->rx);
	}
	buf_free(&b);
}

static void random_queries_agree_with_a_plain_look(void **state)
{
	(void)state;
#if defined(__SANITIZE_ADDRESS__)
	size_t queries = unit_thorough() ? 50000 : 1000, step = unit_thorough() ? 1 : 5;
#else
	size_t queries = unit_thorough() ? 50000 : 2500, step = 1;
#endif
	for (size_t i = 0; i < WORLDS; i += step) {
		struct world *w = mem_alloc(sizeof *w);
		struct expression *list = mem_array(EXPRESSIONS, sizeof *list);
		make_world(w, i);
		make_expressions(w, list);
		for (size_t k = 0; k < queries / WORLDS; k++)
			check_query(w, list);
		for (size_t k = 0; k < EXPRESSIONS; k++) {
			rx_run_free(&list[k].run);
			rx_free(&list[k].rx);
		}
		mem_free(&list);
		free_world(w);
		mem_free(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_queries_agree_with_a_plain_look),
	};
	return cmocka_run_group_tests(tests, scratch_make_in_memory, scratch_done);
}
