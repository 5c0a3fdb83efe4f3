/* The worker: loads what libraries would open later, shuts the door, then reads document after
 * document out of its slots. Answers are held back for up to 20 ms and sent together, because
 * waking the owner costs as much as reading some kilobytes. */
#include "extract/cage_worker.h"
#include "base/clock.h"
#include "extract/cage_door.h"
#include "extract/cage_inner.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HOLD_US = 20000 }; /* how long an answer may wait for the next ones */

struct worker {
	struct extract *x;
	size_t body_max;
	const char *call[CAGE_SLOTS]; /* followed by the body */
	char *out[CAGE_SLOTS];
	struct cage_progress *progress;
	struct {
		struct cage_packet head;
		struct cage_answer answer[CAGE_SLOTS];
	} batch;          /* answers that were not sent yet */
	int64_t batch_us; /* since when */
	const struct cage_tricks *tricks;
};

static ssize_t packet_read(void *p, size_t n)
{
	return UNINTERRUPTED(read(CAGE_SOCKET_FD, p, n));
}

static int packet_send(const void *p, size_t n, struct err *err)
{
	ssize_t r = UNINTERRUPTED(write(CAGE_SOCKET_FD, p, n));
	return r == (ssize_t)n ? 0 : err_sys(err, "the owner's socket");
}

/* Calls and documents are read-only here; only the outputs can be written by both sides. */
static int map_slots(struct worker *w, struct err *err)
{
	for (size_t i = 0; i < CAGE_SLOTS; i++) {
		off_t at = (off_t)(i * cage_slot_size(w->body_max));
		size_t given = CAGE_CALL_ROOM + cage_body_room(w->body_max);
		void *p = mmap(NULL, given, PROT_READ, MAP_SHARED, CAGE_MEMORY_FD, at);
		void *q = mmap(NULL, CAGE_OUT, PROT_READ | PROT_WRITE, MAP_SHARED, CAGE_MEMORY_FD,
			       at + (off_t)given);
		if (p == MAP_FAILED || q == MAP_FAILED)
			return err_sys(err, "the owner's memory");
		w->call[i] = p;
		w->out[i] = q;
	}
	w->progress = mmap(NULL, CAGE_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, CAGE_MEMORY_FD,
			   (off_t)(CAGE_SLOTS * cage_slot_size(w->body_max)));
	if (w->progress == MAP_FAILED)
		return err_sys(err, "the owner's memory");
	close(CAGE_MEMORY_FD);
	return 0;
}

/* Reads a document of each kind, so that what libraries do at the first call is done while files
 * can still be opened. */
static void warm_up(struct worker *w)
{
	static const struct {
		const char *type;
		struct str body;
	} documents[] = {
		{"text/html", STR("<title>t</title><p>\xe9\xe8 na\xefve <a href=/x>l</a>")},
		{"", STR("\1\2\3\4")},
		{"", STR("prose")},
		{"text/xml", STR("<urlset><url><loc>http://a/</loc></url></urlset>")},
		{"text/plain; charset=shift_jis", STR("\x93\xfa")},
		{"image/png", STR("<html>")},
	};
	for (size_t i = 0; i < ARRAY_LEN(documents); i++) {
		struct extract_job job = {.url = STR("http://xn--bcher-kva.example/"),
					  .content_type = str_of(documents[i].type),
					  .body = documents[i].body};
		struct extract_result result;
		struct out out;
		out_begin(&out, w->out[0], CAGE_OUT, 0);
		extract_run(w->x, &job, &out, &result);
	}
}

/* Writes the list as offsets over the list itself: an entry is shorter than what it is made from.
 */
static void put_entries(struct out *out, char *memory)
{
	for (size_t i = 0; i < out->n; i++) {
		struct attr a = out->attr[i];
		struct cage_entry e = {(uint32_t)(a.value.p - memory), (uint32_t)a.value.n,
				       (unsigned char)a.name};
		memcpy(memory + i * sizeof e, &e, sizeof e);
	}
}

static uint32_t find_remark(const struct out *out, struct str remark)
{
	for (size_t i = 0; remark.n && i < out->n; i++)
		if (remark.p == out->attr[i].value.p + 2)
			return (uint32_t)i + 1;
	return 0;
}

static void fill_answer(struct cage_answer *a, const struct out *out,
			const struct extract_result *r)
{
	a->n = (uint32_t)out->n;
	a->type = r->type;
	a->charset_source = r->charset.source;
	a->flags = r->flags;
	a->side_n = out->side_n;
	a->text_n = out->text_n;
	a->bad_bytes = r->bad_bytes;
	a->tokens = r->tokens;
	a->links = r->links;
	a->links_left_out = r->links_left_out;
	a->remark = find_remark(out, r->remark);
	memcpy(a->media_type, r->media_type, sizeof a->media_type);
	snprintf(a->charset, sizeof a->charset, "%s", r->charset.name ? r->charset.name : "");
}

/* Cuts the next text off, which has that length. */
static struct str cut_text(struct str *rest, size_t n)
{
	struct str text = str_head(*rest, n);
	*rest = str_from(*rest, n);
	return text;
}

static int batch_send(struct worker *w, struct err *err)
{
	size_t n = sizeof w->batch.head + w->batch.head.n * sizeof w->batch.answer[0];
	if (w->batch.head.n == 0)
		return 0;
	int rc = packet_send(&w->batch, n, err);
	w->batch.head.n = 0;
	return rc;
}

static struct extract_job job_of(const char *slot)
{
	struct cage_call call;
	struct str rest = {slot + sizeof call, CAGE_HEADER_MAX};
	memcpy(&call, slot, sizeof call);
	struct extract_job job = {.body = {slot + CAGE_CALL_ROOM, call.body_n},
				  .settings = {call.links_max, call.noscript != 0}};
	job.url = cut_text(&rest, call.url_n);
	job.content_type = cut_text(&rest, call.content_type_n);
	job.charset = cut_text(&rest, call.charset_n);
	job.robots = cut_text(&rest, call.robots_n);
	return job;
}

static int do_call(struct worker *w, uint32_t slot, struct err *err)
{
	struct extract_result r;
	struct out out;
	struct extract_job job = job_of(w->call[slot]);
	if (job.body.n > w->body_max)
		return err_set(err, ERR_USAGE, "a document of %zu bytes", job.body.n);
	w->progress->slot = slot;
	out_begin(&out, w->out[slot], CAGE_OUT, 0);
	extract_run(w->x, &job, &out, &r);
	if (w->tricks && w->tricks->after_read)
		w->tricks->after_read(&job, &out, &r);
	if (w->batch.head.n == 0)
		w->batch_us = clock_mono_us();
	struct cage_answer *a = &w->batch.answer[w->batch.head.n++];
	*a = (struct cage_answer){.slot = slot};
	fill_answer(a, &out, &r);
	put_entries(&out, w->out[slot]);
	return w->batch.head.n == CAGE_SLOTS || clock_mono_us() - w->batch_us > HOLD_US
		       ? batch_send(w, err)
		       : 0;
}

static int do_packet(struct worker *w, const struct cage_calls *calls, size_t size, struct err *err)
{
	if (size < sizeof calls->head ||
	    size != sizeof calls->head + calls->head.n * sizeof calls->slot[0])
		return err_set(err, ERR_USAGE, "a packet of %zu bytes", size);
	for (uint32_t i = 0; i < calls->head.n; i++) {
		if (calls->slot[i] >= CAGE_SLOTS)
			return err_set(err, ERR_USAGE, "a packet that makes no sense");
		if (do_call(w, calls->slot[i], err) < 0)
			return -1;
	}
	return batch_send(w, err);
}

static int serve_owner(struct worker *w, struct err *err)
{
	struct cage_calls calls;
	for (;;) {
		if (w->tricks && w->tricks->before_wait)
			w->tricks->before_wait();
		ssize_t n = packet_read(&calls, sizeof calls);
		if (n == 0)
			return 0;
		if (n < 0)
			return err_sys(err, "the owner's socket");
		if (do_packet(w, &calls, (size_t)n, err) < 0)
			return -1;
	}
}

int cage_work(size_t body_max, size_t memory, const struct cage_tricks *tricks, struct err *err)
{
	struct worker w = {.x = extract_new(),
			   .body_max = body_max,
			   .tricks = tricks,
			   .batch.head.magic = CAGE_MAGIC};
	struct cage_hello hello = {.magic = CAGE_MAGIC};
	if (map_slots(&w, err) < 0) {
		extract_free(&w.x);
		return -1;
	}
	if (extract_load_all(w.x, err) < 0)
		snprintf(hello.remark, sizeof hello.remark, "%.*s", (int)sizeof hello.remark - 1,
			 err->msg);
	warm_up(&w);
	door_silence();
	hello.locks = door_shut(memory, (struct door_ends){CAGE_SOCKET_FD, CAGE_SOCKET_FD});
	int rc = packet_send(&hello, sizeof hello, err);
	if (rc == 0)
		rc = serve_owner(&w, err);
	extract_free(&w.x);
	return rc;
}
