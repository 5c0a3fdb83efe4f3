/* A result of the robot as attributes (base/letters.h). Of the head that is what a judge of the
 * answer needs; fields that only the transfer needed, such as codings, are not sent. */
#include "fetch/result_wire.h"

#include "base/hash.h"
#include "base/letters.h"

#include <inttypes.h>
#include <stdio.h>

enum { STATUS_MOST = 999, REDIRECTS_MOST = 1000 };

/* Writing. */

static void write_head(const struct robot_head *h, struct buf *out)
{
	letters_add_number(out, 's', (uint64_t)MAX(h->status, 0));
	letters_add_text(out, 'T', str_of(h->mime), ROBOT_MIME_MAX);
	letters_add_text(out, 'E', str_of(h->charset), ROBOT_CHARSET_MAX);
	letters_add_text(out, 'e', str_of(h->etag), ROBOT_ETAG_MAX);
	letters_add_text(out, 'l', str_of(h->last_modified), ROBOT_DATE_MAX);
	letters_add_time(out, 'W', h->retry_after_us);
	if (h->length >= 0)
		letters_add_number(out, 'n', (uint64_t)h->length);
	letters_add_number(out, 'x', h->tag.set);
	letters_add_seconds(out, 'v', h->tag.unavailable_after_us / US_PER_S);
}

static void write_times(const struct robot_result *r, struct result_now now, struct buf *out)
{
	const struct robot_times *t = &r->times;
	if (t->start_us)
		letters_add_time(out, 't', MAX(now.wall_us - t->start_us, 0));
	if (r->sent_us)
		letters_add_time(out, 'g', MAX(now.mono_us - r->sent_us, 0));
	letters_add_time(out, 'i', t->resolve_us);
	letters_add_time(out, 'j', t->connect_us);
	letters_add_time(out, 'f', t->first_us);
	letters_add_time(out, 'z', t->total_us);
	letters_add_time(out, 'D', r->delay_us);
	if (r->not_now_us > 0)
		letters_add_time(out, 'N', r->not_now_us);
}

void result_write(const struct robot_result *r, struct result_now now, struct buf *out)
{
	char addr[ADDR_SHOWN], hex[65];
	letters_add(out, 'o', str_of(outcome_name(r->outcome)));
	letters_add(out, 'c', str_of(robot_cause_name(r->cause)));
	buf_add_byte(out, 'w');
	letters_add_words(out, str_of(r->why), 256);
	buf_add_byte(out, '\n');
	letters_add_text(out, 'U', r->url, URL_TEXT_MAX);
	letters_add_text(out, 'R', r->location, URL_MAX);
	if (r->addr.family)
		letters_add(out, 'a', str_of(addr_print_port(&r->addr, addr)));
	letters_add_number(out, 'r', MIN(r->redirects, REDIRECTS_MOST));
	letters_add_number(out, 'b', r->size);
	letters_add_number(out, 'B', r->wire);
	hex_print(r->md5, sizeof r->md5, hex);
	letters_add(out, 'C', str_of(hex));
	hex_print(r->sha256, sizeof r->sha256, hex);
	letters_add(out, 'S', str_of(hex));
	letters_add_seconds(out, 'L', r->last_modified_us / US_PER_S);
	if (r->reused)
		letters_add(out, 'k', STR("1"));
	write_head(r->head, out);
	write_times(r, now, out);
}

/* Reading. */

static int read_cause(const struct letters *in, enum robot_cause *ret, struct err *err)
{
	for (int i = 0; i < ROBOT_NCAUSES; i++)
		if (str_is(in->value, robot_cause_name((enum robot_cause)i))) {
			*ret = (enum robot_cause)i;
			return 0;
		}
	return letters_wrong(in, err);
}

static int read_addr(const struct letters *in, struct addr *ret, struct err *err)
{
	struct addr a;
	if (in->value.n >= ADDR_SHOWN || !addr_parse_port(in->value, 0, &a))
		return letters_wrong(in, err);
	*ret = a;
	return 0;
}

/* What a header had, into its room; most leaves room for the NUL. */
static int read_field(const struct letters *in, size_t most, char *ret, struct err *err)
{
	if (!robot_can_send(in->value, most))
		return letters_wrong(in, err);
	memcpy(ret, in->value.p, in->value.n);
	ret[in->value.n] = 0;
	return 0;
}

static int read_digest(const struct letters *in, unsigned char *ret, size_t n, struct err *err)
{
	return hex_parse(in->value, ret, n) ? 0 : letters_wrong(in, err);
}

static int read_int(const struct letters *in, uint64_t most, int64_t *ret, struct err *err)
{
	uint64_t v = 0;
	if (letters_number(in, most, &v, err) < 0)
		return -1;
	*ret = (int64_t)v;
	return 0;
}

static int read_date(const struct letters *in, int64_t *ret_us, struct err *err)
{
	int64_t s = 0;
	if (letters_seconds(in, &s, err) < 0)
		return -1;
	*ret_us = s * US_PER_S;
	return 0;
}

/* A time that was so long ago is never 0, which means none. */
static int read_ago(const struct letters *in, int64_t now_us, int64_t *ret_us, struct err *err)
{
	int64_t ago_us = 0;
	if (letters_time(in, &ago_us, err) < 0)
		return -1;
	*ret_us = MAX(now_us - ago_us, 1);
	return 0;
}

static int read_head(const struct letters *in, struct robot_head *h, struct err *err)
{
	uint64_t v = 0;
	switch (in->letter) {
	case 's':
		if (letters_number(in, STATUS_MOST, &v, err) < 0)
			return -1;
		h->status = (int)v;
		h->is_complete = v > 0;
		return 0;
	case 'T':
		return read_field(in, ROBOT_MIME_MAX, h->mime, err);
	case 'E':
		return read_field(in, ROBOT_CHARSET_MAX, h->charset, err);
	case 'e':
		return read_field(in, ROBOT_ETAG_MAX, h->etag, err);
	case 'l':
		return read_field(in, ROBOT_DATE_MAX, h->last_modified, err);
	case 'W':
		return letters_time(in, &h->retry_after_us, err);
	case 'n':
		return read_int(in, INT64_MAX, &h->length, err);
	case 'x':
		if (letters_number(in, (1u << ROBOT_NDIRECTIVES) - 1, &v, err) < 0)
			return -1;
		h->tag.set = (unsigned)v;
		return 0;
	case 'v':
		return read_date(in, &h->tag.unavailable_after_us, err);
	default:
		return err_set(err, ERR_DAMAGED, "a result has no attribute %c", in->letter);
	}
}

static int read_times(const struct letters *in, struct result_now now, struct robot_result *r,
		      struct robot_head *h, struct err *err)
{
	switch (in->letter) {
	case 't':
		return read_ago(in, now.wall_us, &r->times.start_us, err);
	case 'g':
		return read_ago(in, now.mono_us, &r->sent_us, err);
	case 'i':
		return letters_time(in, &r->times.resolve_us, err);
	case 'j':
		return letters_time(in, &r->times.connect_us, err);
	case 'f':
		return letters_time(in, &r->times.first_us, err);
	case 'z':
		return letters_time(in, &r->times.total_us, err);
	case 'D':
		return letters_time(in, &r->delay_us, err);
	case 'N':
		return letters_time(in, &r->not_now_us, err);
	default:
		return read_head(in, h, err);
	}
}

static int read_line(const struct letters *in, struct result_now now, struct result_room *room,
		     struct robot_result *r, struct err *err)
{
	uint64_t v = 0;
	switch (in->letter) {
	case 'o':
		return outcome_parse(in->value, &r->outcome) ? 0 : letters_wrong(in, err);
	case 'c':
		return read_cause(in, &r->cause, err);
	case 'w':
		if (in->value.n >= sizeof room->why)
			return letters_wrong(in, err);
		snprintf(room->why, sizeof room->why, STR_FMT, STR_ARG(in->value));
		return 0;
	case 'U':
		return letters_text(in, URL_TEXT_MAX, &r->url, err);
	case 'R':
		return letters_text(in, URL_MAX, &r->location, err);
	case 'a':
		return read_addr(in, &r->addr, err);
	case 'r':
		if (letters_number(in, REDIRECTS_MOST, &v, err) < 0)
			return -1;
		r->redirects = (unsigned)v;
		return 0;
	case 'b':
		return letters_number(in, INT64_MAX, &r->size, err);
	case 'B':
		return letters_number(in, INT64_MAX, &r->wire, err);
	case 'C':
		return read_digest(in, r->md5, sizeof r->md5, err);
	case 'S':
		return read_digest(in, r->sha256, sizeof r->sha256, err);
	case 'L':
		return read_date(in, &r->last_modified_us, err);
	case 'k':
		r->reused = true;
		return str_is(in->value, "1") ? 0 : letters_wrong(in, err);
	default:
		return read_times(in, now, r, &room->head, err);
	}
}

int result_read(struct str bytes, struct result_now now, struct result_room *room,
		struct robot_result *ret, struct err *err)
{
	struct letters in = {.rest = bytes, .what = "a result"};
	struct robot_result r = {.last_modified_us = -1, .delay_us = -1};
	int rc;
	if (bytes.n > DOCINDEX_HEAD_MAX)
		return err_set(err, ERR_DAMAGED, "a result of %zu bytes", bytes.n);
	*room = (struct result_room){
		.head = {.retry_after_us = -1, .length = -1, .tag.unavailable_after_us = -1}};
	while ((rc = letters_next(&in, err)) == 0)
		if (read_line(&in, now, room, &r, err) < 0)
			return -1;
	if (rc < 0 || letters_whole(&in, "ocsbC", err) < 0)
		return -1;
	r.why = room->why;
	r.head = &room->head;
	*ret = r;
	return 0;
}
