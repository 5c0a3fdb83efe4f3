/* search-corpus DATA QUERIES DOCUMENTS ASKED: an index of made-up documents in a data directory, by
 * the collector, and queries that find some of them. Words have the frequencies that words have
 * (Zipf), documents are of 100 hosts, 600 words at the median, some of 20,000. */
#include "base/clock.h"
#include "broker/collector.h"
#include "made_words.h"

#include <stdio.h>
#include <stdlib.h>

enum { WORDS = 200000, STOP = 30, HOSTS = 100, LONGEST = 20000 };

static struct made_words words;

static double gauss(void)
{
	return sqrt(-2 * log(made_fraction(&words) + 1e-18)) *
	       cos(6.283185307179586 * made_fraction(&words));
}

struct made {
	struct source source;
	uint64_t next, documents;
	uint32_t word[LONGEST];
	size_t words;
	struct buf text, title, url;
};

static void make(struct made *m)
{
	m->words = (size_t)MIN(LONGEST, 20 + 600 * exp(0.8 * gauss()));
	buf_clear(&m->text);
	buf_clear(&m->title);
	buf_clear(&m->url);
	for (size_t i = 0; i < m->words; i++) {
		m->word[i] = made_word(&words);
		made_word_put(&m->text, m->word[i]);
		buf_add_text(&m->text, i % 90 == 89 ? ".\n" : i % 14 == 13 ? ". " : " ");
		if (i < 5) {
			made_word_put(&m->title, m->word[i]);
			buf_add_byte(&m->title, ' ');
		}
	}
	buf_printf(&m->url, "http://host%d.example/%llu/page.html",
		   (int)(made_draw(&words) % HOSTS), (unsigned long long)m->next);
}

/* The store is the struct itself; there is one reader and it never comes back. */
static int made_open(struct source **ret, const void *store, const struct source_cursor *from,
		     struct err *err)
{
	(void)from, (void)err;
	*ret = (struct source *)(uintptr_t)store;
	return 0;
}

static int made_next(struct source *s, struct arena *arena, struct source_change *ret,
		     struct err *err)
{
	struct made *m = (struct made *)s;
	(void)err;
	if (m->next == m->documents)
		return 1;
	m->next++;
	make(m);
	*ret = (struct source_change){
		SOURCE_UPDATE, STR(""), {.type = STR("FILE"), .url = buf_str(&m->url)}};
	soif_add(&ret->obj, arena, STR("Title"), buf_str(&m->title));
	soif_add(&ret->obj, arena, STR("Type"), m->next % 4 ? STR("HTML") : STR("Text"));
	soif_add(&ret->obj, arena, STR("Gatherer-Name"), STR("made"));
	soif_add(&ret->obj, arena, STR("Gatherer-Host"), STR("localhost"));
	soif_add(&ret->obj, arena, STR("Gatherer-Version"), STR("1"));
	soif_add(&ret->obj, arena, STR("Update-Time"), STR("1700000000"));
	soif_add(&ret->obj, arena, STR("Time-to-Live"), STR("4000000000"));
	soif_add(&ret->obj, arena, STR("Full-Text"), buf_str(&m->text));
	return 0;
}

static void made_cursor(struct source *s, struct source_cursor *ret)
{
	(void)s;
	*ret = (struct source_cursor){{1}};
}

static int made_wait_fd(struct source *s)
{
	(void)s;
	return -1;
}

static void made_close(struct source **s)
{
	*s = NULL;
}

static const struct source_ops made_ops = {"made",      made_open,    made_next,
					   made_cursor, made_wait_fd, made_close};

static uint32_t rare(const struct made *m)
{
	for (;;) {
		uint32_t word = m->word[made_draw(&words) % m->words];
		if (word >= STOP)
			return word;
	}
}

/* One to three words of a document, a phrase of it, words with a host or a type. */
static void put_query(FILE *to, struct made *m)
{
	CLEANUP(buf_free) struct buf q = BUF_INIT(4096);
	uint64_t kind = made_draw(&words) % 10;
	size_t at = made_draw(&words) % (m->words - 1);
	if (kind < 9)
		for (uint64_t i = 0; i <= kind / 3; i++) {
			made_word_put(&q, rare(m));
			buf_add_byte(&q, ' ');
		}
	else
		for (size_t i = at; i < at + 2; i++) {
			buf_add_text(&q, i == at ? "\"" : " ");
			made_word_put(&q, m->word[i]);
		}
	if (kind == 9)
		buf_add_byte(&q, '"');
	fprintf(to, "%s\t%s\t%s\n", buf_text(&q), kind == 3 ? "host7.example" : "",
		kind == 4 ? "HTML" : "");
}

int main(int argc, char **argv)
{
	static struct made m = {.source = {&made_ops},
				.text = BUF_INIT(1 << 20),
				.title = BUF_INIT(4096),
				.url = BUF_INIT(4096)};
	struct collector *c = NULL;
	struct err err;
	if (argc != 5)
		return 2;
	m.documents = strtoull(argv[3], NULL, 10);
	words = made_words_of(WORDS);
	struct collector_feed feed = {.name = "made", .ops = &made_ops, .store = &m};
	struct collector_options options = {.data = argv[1], .feeds = &feed, .n = 1};
	int rc = collector_open(&c, &options, &err);
	while (rc == 0)
		rc = collector_step(c, clock_mono_us(), &err);
	if (rc > 0 && (rc = collector_commit(c, &err)) == 0)
		while ((rc = collector_step(c, clock_mono_us(), &err)) == 0)
			; /* merges, as it does when nothing comes */
	collector_close(&c);
	if (rc < 0) {
		fprintf(stderr, "search-corpus: %s\n", err.msg);
		return 1;
	}
	FILE *to = fopen(argv[2], "w");
	for (long i = strtol(argv[4], NULL, 10); to && i > 0; i--) {
		make(&m);
		put_query(to, &m);
	}
	return to && fclose(to) == 0 ? 0 : 1;
}
