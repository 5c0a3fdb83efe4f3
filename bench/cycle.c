/* The cycle without its reap: plan, cork, merge, select and record over a state with 20 million
 * URLs ($URLS says how many, up to 180 million; 45 bytes each on disk, a few times over, removed at
 * the end), and a whole cycle over 1,000. Sizes of sites follow a power law, cut where the limits
 * of a site would have cut it; the index is as a crawl that has gone on for long would have left
 * it, so that select finds most URLs as it wants them. The journal has 1 % as many entries as there
 * are URLs, the contributions 5 %, of which two thirds are known already.
 *
 * Bytes are those of all reads and writes of the process (rchar and wchar of /proc/self/io),
 * whether or not they came from memory; time is CPU of all threads. URLs are http://sN.example/p/K
 * with their real footprints. */
#include "base/clock.h"
#include "base/hash.h"
#include "bigfile.h"
#include "bucket/bucket.h"
#include "disk/tree.h"
#include "shepherd/code.h"
#include "shepherd/crawl.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SITE_MEAN = 50, SITE_MOST = 100000, SITE_AWAKE = 50000, SMALL = 1000, ROUNDS = 9 };
enum module { PLAN, CORK, MERGE, SELECT, RECORD, MODULES };
static const char *const names[MODULES] = {"plan", "cork", "merge", "select", "record"};

struct big_site {
	uint64_t fp, first; /* how many URLs are in those with lower numbers */
	uint32_t number, size;
};

struct used {
	double cpu_s, wall_s;
	uint64_t bytes;
};

struct job {
	char data[1100], folder[1200]; /* folder: of the crawl, in the data directory */
	uint64_t urls;
	int64_t now_us;
	struct arena arena;
	struct {
		struct crawl_conf crawl;
	} conf;
	struct filter *filter;
	struct crawl crawl;
	struct states *s;
	struct state *st;
	struct buckets *buckets;
	struct big_site *site; /* by number */
	size_t sites;
	uint64_t *path; /* footprints of /p/K */
	uint32_t paths;
	double awake; /* share of the URLs that are wanted */
	struct used used[MODULES], all;
	uint64_t index_bytes;
};

static void must(int rc, const char *what, const struct err *err)
{
	if (rc != 0)
		bigfile_die(what, rc < 0 ? err : NULL);
}

static void say(const struct job *job, const char *what)
{
	if (job->urls > SMALL)
		fprintf(stderr, "  %s\n", what);
}

/* Sites and URLs */

static struct str site_host(uint64_t number, char ret[64])
{
	int n = snprintf(ret, 64, "s%" PRIu64 ".example", number);
	return (struct str){ret, (size_t)n};
}

static struct url_site site_called(uint64_t number, char room[64])
{
	return (struct url_site){URL_HTTP, 80, site_host(number, room)};
}

static uint64_t path_footprint(const struct job *job, uint64_t k)
{
	char text[64];
	if (k < job->paths)
		return job->path[k];
	int n = snprintf(text, sizeof text, "/p/%" PRIu64, k);
	return footprint_path((struct str){text, (size_t)n});
}

/* The first has the most, the n-th n^0.8 times less; all of them `urls`. */
static void make_sites(struct job *job)
{
	double sites = MAX((double)job->urls / SITE_MEAN, 1);
	double most = 0.2 * (double)job->urls / pow(sites, 0.2);
	uint64_t left = job->urls, first = 0;
	size_t room = 0;
	char name[64];
	for (uint32_t i = 0; left; i++) {
		uint64_t size = (uint64_t)ceil(most / pow(i + 1.0, 0.8));
		size = MIN(MIN(size, (uint64_t)SITE_MOST), left);
		if (i == room) {
			room = MAX(1024, 2 * room);
			job->site = mem_resize(job->site, room * sizeof *job->site);
		}
		job->site[job->sites++] = (struct big_site){footprint_site(site_called(i, name)),
							    first, i, (uint32_t)size};
		first += size;
		left -= size;
	}
	job->paths = job->site[0].size;
	uint64_t *path = mem_array(job->paths, sizeof *path);
	for (uint64_t k = 0; k < job->paths; k++) /* none is there yet: they are computed */
		path[k] = path_footprint(&(struct job){0}, k);
	job->path = path;
}

static qkey site_key(const struct job *job, uint64_t number)
{
	uint64_t server = hash_u64(number) % (job->sites / 3 + 1);
	struct qkey_addr addr = {
		.b = {10, (uint8_t)(server >> 16), (uint8_t)(server >> 8), (uint8_t)server}};
	return qkey_of(&addr, 80);
}

/* What is known of the k-th URL of a site: a function of both. Those that sleep weigh less than all
 * others, as select leaves them. */
static struct index_item url_item(const struct job *job, const struct big_site *site, uint32_t k)
{
	uint64_t dice = hash_u64((uint64_t)site->number << 32 | k);
	uint32_t now_s = (uint32_t)(job->now_us / US_PER_S);
	uint32_t age = (uint32_t)(dice >> 8) % (uint32_t)(job->conf.crawl.refresh_us / US_PER_S);
	bool awake = (double)(dice >> 40 & 0xffff) < job->awake * 65536 && k < SITE_AWAKE;
	unsigned kind = (unsigned)(dice & 0xff);
	struct index_item item = {
		.fp = {site->fp, path_footprint(job, k)},
		.where = (site->first + k) % BUCKET_SPECIAL,
		.since_day = (uint16_t)(now_s / 86400 - 100),
		.type = kind < 12   ? ITEM_ZOMBIE
			: kind < 60 ? ITEM_NEW
				    : ITEM_GATHERED,
		.weight = (uint8_t)(80 + (dice >> 32) % 120),
		.flags = (dice >> 56) % 2 ? ITEM_WEIGHED : 0,
		.freq = 1,
	};
	if (!awake && item.type != ITEM_ZOMBIE) {
		item.type = ITEM_SLEEPING;
		item.code = CODE_SLEEPS + (k < SITE_AWAKE ? LIMIT_ACTIVE : LIMIT_SITE);
		item.weight = (uint8_t)((dice >> 32) % 60);
		item.freq = 0;
	}
	if (k == 0)
		item.flags |= ITEM_EQUIV;
	if (item.type == ITEM_GATHERED || item.type == ITEM_ZOMBIE) {
		item.code = item.type == ITEM_GATHERED ? CODE_OK : 2404;
		item.last_seen_s = now_s - age;
		item.stable_s = item.last_seen_s - (uint32_t)(dice >> 20) % 10000000;
	}
	if (item.type == ITEM_ZOMBIE) {
		item.where = ITEM_NOWHERE;
		item.freq = 0;
	}
	return item;
}

static int by_path(const void *a, const void *b)
{
	const struct index_item *x = a, *y = b;
	return (x->fp.path > y->fp.path) - (x->fp.path < y->fp.path);
}

static int by_site(const void *a, const void *b)
{
	const struct big_site *x = *(const struct big_site *const *)a,
			      *y = *(const struct big_site *const *)b;
	return (x->fp > y->fp) - (x->fp < y->fp);
}

static void write_site(struct job *job, const struct big_site *site, const struct index_item *item,
		       struct counted_writer *out)
{
	struct err err = {0};
	char name[64];
	struct site s = {.fp = site->fp,
			 .norm = site->fp,
			 .protocol = URL_HTTP,
			 .port = 80,
			 .host = site_host(site->number, name),
			 .qkey = site_key(job, site->number),
			 .download_ms = 200 + site->number % 800};
	for (uint32_t k = 0; k < site->size; k++) {
		bool off = item[k].type == ITEM_SLEEPING || item[k].type == ITEM_ZOMBIE;
		s.active += !off;
		s.inactive += off;
		s.gathered += item[k].type == ITEM_GATHERED;
		s.fresh += item[k].type == ITEM_NEW;
		s.demand += item[k].freq;
	}
	must(sites_write(out, &s, &err), "sites", &err);
}

/* The closed state that all begins with. */
static void make_known(struct job *job)
{
	struct err err = {0};
	struct url_index_writer *index = NULL;
	struct counted_writer sites;
	struct index_item *item = mem_array(job->site[0].size, sizeof *item);
	const struct big_site **sorted = mem_array(job->sites, sizeof *sorted);
	for (size_t i = 0; i < job->sites; i++)
		sorted[i] = &job->site[i];
	qsort(sorted, job->sites, sizeof *sorted, by_site);
	must(state_index_create(job->st, &index, &err), "index", &err);
	must(state_sites_create(job->st, &sites, &err), "sites", &err);
	for (size_t i = 0; i < job->sites; i++) {
		for (uint32_t k = 0; k < sorted[i]->size; k++)
			item[k] = url_item(job, sorted[i], k);
		qsort(item, sorted[i]->size, sizeof *item, by_path);
		for (uint32_t k = 0; k < sorted[i]->size; k++)
			url_index_put(index, &item[k]);
		write_site(job, sorted[i], item, &sites);
	}
	must(state_index_put(job->st, &index, &err), "index", &err);
	must(state_sites_finish(job->st, &sites, &err), "sites", &err);
	mem_free(&item);
	mem_free(&sorted);
}

/* What a reap finds */

static const struct big_site *site_of_url(const struct job *job, uint64_t n)
{
	size_t from = 0, to = job->sites;
	while (to - from > 1) {
		size_t middle = (from + to) / 2;
		if (job->site[middle].first <= n)
			from = middle;
		else
			to = middle;
	}
	return &job->site[from];
}

static void find_entry(struct job *job, uint64_t n)
{
	struct err err = {0};
	char text[128];
	uint64_t dice = hash_u64(n ^ 0x5a5a5a5a), url = dice % job->urls;
	const struct big_site *site = site_of_url(job, url);
	uint32_t k = (uint32_t)(url - site->first);
	struct index_item item = url_item(job, site, k);
	bool update = item.type != ITEM_GATHERED || (dice >> 50) % 2;
	bool failed = (dice >> 52) % 10 == 0;
	int length = snprintf(text, sizeof text, "http://s%u.example/p/%u", site->number, k);
	struct journal_entry e = {
		.fp = item.fp,
		.time_us = job->now_us + (int64_t)n,
		.op = failed   ? CHANGE_NONE
		      : update ? CHANGE_UPDATE
			       : CHANGE_REFRESH,
		.type = failed ? ITEM_TEMPORARY : ITEM_GATHERED,
		.code = failed ? 1500 : CODE_OK,
		.where = failed || !update ? ITEM_NOWHERE : url % BUCKET_SPECIAL,
		.download_ms = (uint32_t)(dice >> 40) % 2000,
		.url = {text, (size_t)length},
	};
	must(state_journal(job->st, &e, &err), "journal", &err);
	if ((dice >> 54) % 8)
		return;
	e = journal_of_key(site->fp, site_key(job, site->number), e.time_us);
	must(state_journal(job->st, &e, &err), "journal", &err);
}

/* A link: to a URL that is known, to another of such a site, or to a new site. */
static void find_link(struct job *job, uint64_t n)
{
	struct err err = {0};
	char text[128], name[64];
	uint64_t dice = hash_u64(n ^ 0xa5a5a5a5), url = dice % job->urls;
	const struct big_site *site = site_of_url(job, url);
	uint64_t k = url - site->first, number = site->number, fp = site->fp;
	if ((dice >> 50) % 100 < 30)
		k = site->size + (dice >> 40) % (site->size / 4 + 1);
	else if ((dice >> 50) % 100 < 33) {
		number = job->sites + (dice >> 32) % (job->sites / 50 + 1);
		fp = footprint_site(site_called(number, name));
	}
	int length =
		snprintf(text, sizeof text, "http://s%" PRIu64 ".example/p/%" PRIu64, number, k);
	struct contrib c = {
		.fp = {fp, path_footprint(job, k)},
		.from = {job->site[0].fp, job->path[0]},
		.weight = (uint8_t)(64 + (dice >> 20) % 64),
		.url = {text, (size_t)length},
	};
	must(state_contrib(job->st, &c, NULL, &err), "contrib", &err);
}

static void make_found(struct job *job)
{
	uint64_t entries = MAX(job->urls / 100, 1), links = job->urls / 20;
	for (uint64_t n = 0, k = 0; n < entries; n++) {
		find_entry(job, n);
		for (; k < links * (n + 1) / entries; k++)
			find_link(job, k);
	}
}

/* Measuring */

static uint64_t bytes_moved(void)
{
	struct err err = {0};
	struct buf b = BUF_INIT(4096);
	uint64_t read = 0, written = 0;
	must(file_slurp("/proc/self/io", &b, &err), "/proc/self/io", &err);
	struct str rest = buf_str(&b), line;
	while (str_cut(&rest, '\n', &line) == 0) {
		if (str_starts(line, STR("rchar: ")))
			(void)!str_u64(str_from(line, 7), &read);
		if (str_starts(line, STR("wchar: ")))
			(void)!str_u64(str_from(line, 7), &written);
	}
	buf_free(&b);
	return read + written;
}

static struct used used_now(void)
{
	return (struct used){bench_cpu_s(), bench_wall_s(), bytes_moved()};
}

static void used_add(struct used *to, const struct used *from)
{
	struct used now = used_now();
	to->cpu_s += now.cpu_s - from->cpu_s;
	to->wall_s += now.wall_s - from->wall_s;
	to->bytes += now.bytes - from->bytes;
}

/* The cycle. What leads into a phase counts for the module before it; states are made and opened in
 * between, which counts for the cycle alone. */

static void clone_newest(struct job *job, bool contrib, enum phase phase)
{
	struct err err = {0};
	struct state *from = NULL;
	struct used before = used_now();
	state_free(&job->st);
	must(state_open(&from, job->s, "current", &err), "open", &err);
	must(state_clone(&job->st, from, contrib, job->now_us, &err), "clone", &err);
	must(state_enter(job->st, phase, NULL, job->now_us, &err), "enter", &err);
	state_free(&from);
	used_add(&job->all, &before);
}

static int run_select(struct job *job, struct err *err)
{
	struct selected selected = {0};
	int rc = crawl_select(job->st, &job->crawl, true, &selected, err);
	if (rc == 0 && selected.braked)
		bigfile_die("the brake stopped select", NULL);
	return rc;
}

static int run_module(struct job *job, enum module m, struct err *err)
{
	struct planned planned = {0};
	struct merged merged = {0};
	uint64_t made = 0;
	struct crawl *c = &job->crawl;
	switch (m) {
	case PLAN:
		return crawl_plan(job->st, c, true, &planned, err);
	case CORK:
		return crawl_cork(job->st, c, err);
	case MERGE:
		return crawl_merge(job->st, c, &merged, err);
	case SELECT:
		return run_select(job, err);
	case RECORD:
		return crawl_record(job->st, c, &made, err);
	default:
		return 0;
	}
}

static void measure_module(struct job *job, enum module m, enum phase next)
{
	struct err err = {0};
	struct used before = used_now();
	job->crawl.buckets = m >= MERGE ? job->buckets : NULL;
	say(job, names[m]);
	must(run_module(job, m, &err), names[m], &err);
	must(state_enter(job->st, next, job->buckets, job->now_us, &err), "enter", &err);
	used_add(&job->used[m], &before);
	used_add(&job->all, &before);
}

static void run_equiv(struct job *job)
{
	struct err err = {0};
	struct used before = used_now();
	uint64_t changed = 0;
	must(crawl_equiv(job->st, &job->crawl, &changed, &err), "equiv", &err);
	must(state_enter(job->st, PHASE_SELECT, job->buckets, job->now_us, &err), "enter", &err);
	used_add(&job->all, &before);
}

static void run_cycle(struct job *job)
{
	struct err err = {0};
	clone_newest(job, false, PHASE_PLAN);
	measure_module(job, PLAN, PHASE_REAP);
	say(job, "making a journal and contributions");
	make_found(job);
	must(state_enter(job->st, PHASE_CORK, NULL, job->now_us, &err), "enter", &err);
	measure_module(job, CORK, PHASE_CORKED);
	clone_newest(job, true, PHASE_MERGE);
	measure_module(job, MERGE, PHASE_EQUIV);
	run_equiv(job);
	measure_module(job, SELECT, PHASE_RECORD);
	measure_module(job, RECORD, PHASE_CLOSED);
}

/* A crawl of so many URLs */

static void job_settings(struct job *job)
{
	static const struct value_spec specs[] = {CRAWL_SPECS(struct job, conf.crawl)};
	struct err err = {0};
	struct filter_defaults defaults = {.follow_all = true};
	value_defaults(specs, ARRAY_LEN(specs), &job->arena, job);
	struct crawl_conf *conf = &job->conf.crawl;
	conf->follow = CRAWL_ALL;
	must(filter_parse(STR(""), "filter", &defaults, &job->filter, &err), "filter", &err);
	job->crawl = (struct crawl){.conf = conf,
				    .filter = job->filter,
				    .delay_us = 10 * US_PER_S,
				    .concurrent = 1,
				    .cycle_us = conf->cycle_us,
				    .now_us = job->now_us};
	must(schema_parse(str_of(conf->refresh_schema), &job->crawl.schema, &err), "schema", &err);
	/* somewhat fewer than may be awake, so that select has room for new ones */
	job->awake = MIN(0.9, 0.95 * (double)conf->active_max / (double)job->urls);
}

static void job_begin(struct job *job, uint64_t urls, const char *name)
{
	struct err err = {0};
	const struct bucket_options append = {.mode = BUCKET_APPEND};
	struct stat st;
	*job = (struct job){.urls = urls, .now_us = clock_wall_us(), .arena = ARENA_INIT(64 << 20)};
	snprintf(job->data, sizeof job->data, "%s/%s", bigfile_folder(), name);
	snprintf(job->folder, sizeof job->folder, "%s/shepherd", job->data);
	(void)tree_remove(job->data, &err);
	if (mkdir(job->data, 0777) != 0)
		bigfile_die(job->data, NULL);
	must(states_init(job->folder, 0, job->now_us, &err), "init", &err);
	must(states_open(&job->s, job->folder, true, &err), "open", &err);
	must(bucket_open(&job->buckets, states_path(job->s, &job->arena, "objects"), &append, &err),
	     "buckets", &err);
	job_settings(job);
	say(job, "making the index and the site list");
	make_sites(job);
	clone_newest(job, false, PHASE_MERGE);
	make_known(job);
	must(state_enter(job->st, PHASE_CLOSED, job->buckets, job->now_us, &err), "close", &err);
	if (stat(state_path(job->st, &job->arena, "index"), &st) != 0)
		bigfile_die("index", NULL);
	job->index_bytes = (uint64_t)st.st_size;
	job->all = (struct used){0};
}

static void job_end(struct job *job)
{
	struct err err = {0};
	state_free(&job->st);
	bucket_drop(&job->buckets);
	states_close(&job->s);
	filter_free(&job->filter);
	mem_free(&job->site);
	mem_free(&job->path);
	arena_free(&job->arena);
	(void)tree_remove(job->data, &err);
}

/* How long a plain copy of the index takes. */
static double copy_wall_s(struct job *job)
{
	const char *from = state_path(job->st, &job->arena, "index");
	char to[1300];
	snprintf(to, sizeof to, "%s/copy", job->folder);
	say(job, "copying the index");
	double before = bench_wall_s();
	bigfile_copy(&from, 1, to);
	double wall = bench_wall_s() - before;
	unlink(to);
	return wall;
}

/* How long `garner why` takes, as users call it; the longest of ROUNDS calls. What it says is
 * not looked at. */
static double why_wall_s(struct job *job)
{
	const char *build = getenv("BUILD");
	char garner[1200], data[1200], url[64];
	posix_spawn_file_actions_t aside;
	double most = 0;
	snprintf(garner, sizeof garner, "%s/garner", build ? build : "build/release");
	snprintf(data, sizeof data, "data=%s", job->data);
	char *const args[] = {garner, "-s", data, "why", url, NULL};
	posix_spawn_file_actions_init(&aside);
	posix_spawn_file_actions_addopen(&aside, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	say(job, "asking why");
	for (size_t i = 0; i < ROUNDS; i++) {
		const struct big_site *site = &job->site[job->sites / ROUNDS * i];
		pid_t pid;
		int status = -1;
		snprintf(url, sizeof url, "http://s%u.example/p/%u", site->number, site->size / 2);
		double before = bench_wall_s();
		if (posix_spawn(&pid, garner, &aside, NULL, args, environ) != 0 ||
		    waitpid(pid, &status, 0) != pid || status != 0)
			bigfile_die("garner why", NULL);
		most = MAX(most, bench_wall_s() - before);
	}
	posix_spawn_file_actions_destroy(&aside);
	return most;
}

static void bench_big(struct bench *bench, uint64_t urls)
{
	static struct job job;
	struct used sum = {0};
	job_begin(&job, urls, "cycle-bench");
	printf("  %" PRIu64 " URLs on %zu sites, the index has %.0f MB\n", job.urls, job.sites,
	       (double)job.index_bytes / 1e6);
	double copy_s = copy_wall_s(&job);
	run_cycle(&job);
	for (enum module m = 0; m < MODULES; m++) {
		const struct used *u = &job.used[m];
		char name[64];
		double ns = u->cpu_s * 1e9 / (double)job.urls;
		double bytes = (double)u->bytes / (double)job.index_bytes;
		printf("  %-8s cpu %8.2f s, wall %8.2f s, %6.1f ns a URL, %5.2f times the index "
		       "read and written\n",
		       names[m], u->cpu_s, u->wall_s, ns, bytes);
		snprintf(name, sizeof name, "%s_ns_per_url", names[m]);
		bench_figure(bench, name, ns, "ns");
		sum.cpu_s += u->cpu_s;
		sum.wall_s += u->wall_s;
		sum.bytes += u->bytes;
	}
	printf("  a plain copy of the index takes %.2f s, these five %.2f s\n", copy_s, sum.wall_s);
	bench_figure(bench, "urls", (double)job.urls, "URLs");
	bench_figure(bench, "ns_per_url", sum.cpu_s * 1e9 / (double)job.urls, "ns");
	bench_ratio(bench, "bytes", (double)sum.bytes / (double)job.index_bytes);
	bench_ratio(bench, "wall_to_copy", sum.wall_s / copy_s);
	bench_figure(bench, "why_ms", why_wall_s(&job) * 1e3, "ms");
	job_end(&job);
}

/* With all that a cycle does but reap: also the clones, the phases and their syncs. */
static void bench_small(struct bench *bench)
{
	static struct job job;
	double cpu[ROUNDS];
	job_begin(&job, SMALL, "cycle-small");
	run_cycle(&job);
	for (unsigned i = 0; i < ROUNDS; i++) {
		job.all = (struct used){0};
		job.now_us += 60 * US_PER_S;
		job.crawl.now_us = job.now_us;
		run_cycle(&job);
		cpu[i] = job.all.cpu_s;
	}
	double median = bench_median(cpu, ROUNDS);
	printf("  a cycle over %d URLs without its reap: cpu %.2f ms (median of %d, the least "
	       "%.2f)\n",
	       SMALL, median * 1e3, ROUNDS, cpu[0] * 1e3);
	bench_figure(bench, "small_ms", median * 1e3, "ms");
	job_end(&job);
}

int main(void)
{
	struct bench bench = bench_begin("cycle");
	const char *urls = getenv("URLS");
	uint64_t n = urls ? strtoull(urls, NULL, 10) : UINT64_C(20000000) * (uint64_t)bench.scale;
	if (n < SMALL || n > 180000000) {
		fprintf(stderr, "bench: URLS is from %d to 180000000\n", SMALL);
		return 2;
	}
	bench_small(&bench);
	bench_big(&bench, n);
	return bench_end(&bench);
}
