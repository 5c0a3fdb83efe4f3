/* A bulk transfer of everything: a registry and a document store of a million objects of about 1 KB
 * ($OBJECTS says how many; removed at the end), whose words have the frequencies that words have,
 * and how many megabytes of SOIF a second of CPU makes of them. */
#include "base/clock.h"
#include "bigfile.h"
#include "broker/bulk_inner.h"
#include "broker/registry.h"
#include "disk/tree.h"
#include "made_words.h"

#include <inttypes.h>

enum { COMMIT_EVERY = 10000, WORDS = 60000, TEXT = 900, PIECE = 256 << 10, REPEATS = 3 };

struct job {
	char data[1200];
	uint64_t objects;
	uint64_t bytes; /* of the last transfer */
	struct buf text, piece;
	struct made_words words;
};

static void must_work(int rc, const char *what, const struct err *err)
{
	if (rc != 0)
		bigfile_die(what, err);
}

static void object_put(struct job *job, struct registry *r, struct docstore *docs, uint64_t i)
{
	struct arena arena = ARENA_INIT(1 << 20);
	struct err err = {0};
	uint32_t now_s = (uint32_t)(1700000000 + i / COMMIT_EVERY);
	buf_clear(&job->text);
	while (job->text.n < TEXT) {
		made_word_put(&job->text, made_word(&job->words));
		buf_add_byte(&job->text, ' ');
	}
	struct str text = buf_str(&job->text);
	struct str md5 =
		str_of(arena_printf(&arena, "%032" PRIx64, (i + 1) * UINT64_C(0x9e3779b97f4a7c15)));
	struct registry_object o = {
		.url = str_of(arena_printf(
			&arena, "http://www%" PRIu64 ".example.com/some/path/page%" PRIu64 ".html",
			i % 10007, i)),
		.gatherer_name = STR("garner crawl"),
		.gatherer_host = STR("crawler.example.com"),
		.gatherer_version = STR("0.1.0"),
		.md5 = md5,
		.description = str_head(text, 60),
		.oid = registry_new_oid(r),
		.point = 1,
		.update_time_s = now_s,
		.last_modification_time_s = now_s - 86400,
		.refresh_rate_s = SOIF_REFRESH_RATE_S,
		.time_to_live_s = SOIF_TIME_TO_LIVE_S,
		.stored_s = now_s};
	struct str now = str_of(arena_printf(&arena, "%" PRIu32, now_s));
	const struct soif_attr attr[] = {{STR("Type"), STR("HTML")},
					 {STR("Title"), str_head(text, 40)},
					 {STR("Description"), o.description},
					 {STR("File-Size"), STR("901")},
					 {STR("Update-Time"), now},
					 {STR("Last-Modification-Time"), now},
					 {STR("Refresh-Rate"), STR("604800")},
					 {STR("Time-to-Live"), STR("2419200")},
					 {STR("Gatherer-Name"), o.gatherer_name},
					 {STR("Gatherer-Host"), o.gatherer_host},
					 {STR("Gatherer-Version"), o.gatherer_version},
					 {STR("MD5"), md5},
					 {STR("Full-Text"), text}};
	struct soif obj = {.type = STR("FILE"), .url = o.url};
	for (size_t k = 0; k < ARRAY_LEN(attr); k++)
		soif_add(&obj, &arena, attr[k].name, attr[k].value);
	must_work(docstore_put(docs, o.oid, &obj, &err), "docstore", &err);
	must_work(registry_put(r, &o, (int64_t)now_s * US_PER_S, &err), "registry", &err);
	arena_free(&arena);
}

static void make_objects(struct job *job)
{
	struct registry *r = NULL;
	struct docstore *docs = NULL;
	struct docstore_mark mark = {0};
	struct registry_options options = {0};
	struct err err = {0};
	char path[1400];
	snprintf(path, sizeof path, "%s/broker", job->data);
	if (mkdir(job->data, 0700) != 0 || mkdir(path, 0700) != 0)
		bigfile_die(path, NULL);
	must_work(registry_open(&r, path, &options, NULL, &err), "registry", &err);
	snprintf(path, sizeof path, "%s/broker/docs", job->data);
	must_work(docstore_open(&docs, path, NULL, NULL, &err), "docstore", &err);
	(void)registry_point(r, "crawl");
	for (uint64_t i = 0; i < job->objects; i++) {
		object_put(job, r, docs, i);
		if ((i + 1) % COMMIT_EVERY && i + 1 < job->objects)
			continue;
		must_work(docstore_sync(docs, &mark, &err), "docstore", &err);
		must_work(registry_commit(r, &mark, &err), "registry", &err);
	}
	registry_close(&r);
	docstore_close(&docs);
}

static int transfer(void *ctx)
{
	struct job *job = ctx;
	struct bulk *b = NULL;
	struct err err = {0};
	int rc;
	must_work(bulk_open(&b, &(struct bulk_options){.data = job->data}, &err), "bulk", &err);
	job->bytes = 0;
	do {
		buf_clear(&job->piece);
		rc = bulk_make(b, PIECE, &job->piece, &err);
		job->bytes += job->piece.n;
	} while (rc == 0);
	if (rc < 0)
		bigfile_die("bulk", &err);
	bool all = bulk_objects(b) == job->objects;
	bulk_free(&b);
	return all ? 0 : -1;
}

int main(void)
{
	struct bench b = bench_begin("broker");
	static struct job job = {.text = BUF_INIT(1 << 20), .piece = BUF_INIT(1 << 20)};
	struct err err = {0};
	const char *objects = getenv("OBJECTS");
	job.objects = objects ? strtoull(objects, NULL, 10) : UINT64_C(1000000) * (uint64_t)b.scale;
	snprintf(job.data, sizeof job.data, "%s/bulk-bench", bigfile_folder());
	(void)tree_remove(job.data, &err);
	job.words = made_words_of(WORDS);
	make_objects(&job);
	struct bench_time t = bench_measure(transfer, &job, REPEATS);
	bench_row(&b, "bulk", "objects", (double)job.objects, t);
	bench_figure(&b, "bulk_mb_per_cpu_s", (double)job.bytes / 1e6 / t.cpu_s, "MB/cpu-s");
	bench_figure(&b, "bulk_object_bytes", (double)job.bytes / (double)job.objects,
		     "bytes/object");
	buf_free(&job.text);
	buf_free(&job.piece);
	(void)tree_remove(job.data, &err);
	return bench_end(&b);
}
