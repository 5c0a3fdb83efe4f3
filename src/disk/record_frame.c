/* Frames and marks of record files: how a torn end is told from damage.
 *
 * Header: magic 8, version u32, framing u32, salt u64, zero u32, checksum u32.
 * Frame:  word u32, checksum u32, payload. Word: the payload's length, or MARK_WORD.
 * Mark:   word, checksum, salt u64, its own place u64, durable u64.
 *
 * The question. A reader meets a frame that is cut off or fails its checksum. There are two reasons
 * why one can be there, and they ask for the opposite. Either a crash left it: bytes that were
 * written but never synced, of which any part may be missing, also in the middle, because after a
 * power cut a later page can be on disk where an earlier one is not. Nobody was ever told that
 * these records were kept, and the end has to be cut off, without a hand, or the file could not be
 * used again. Or the frame was durable once and the disk has spoiled it. Then records that were
 * acknowledged lie in it and after it; to cut there would lose all of them silently, so it has to
 * be reported and left alone. The bytes of the frame itself look the same in both cases.
 *
 * The answer. Everything that goes to the file in one write begins with a mark, which says how many
 * bytes of the file were on disk before that write. A mark is therefore a witness for all that lies
 * before its `durable`: it was written only after the sync of those bytes had succeeded. So, of a
 * bad frame at X:
 *
 *   - some mark in the file says durable > X: X was synced. It is damage.
 *   - no mark says so: nothing in the file claims that X was kept. It is a torn end.
 *
 * `durable` never shrinks from one mark to the next (a cut removes the marks after it), so the last
 * mark of the file is the only one to ask.
 *
 *   header | mark 32 | a b c | mark 160 | d e f | mark 400 | g #### h
 *                                           ^                ^
 *                     bad here: 400 > place, damage          bad here: no mark says more, torn
 *
 * Finding the last mark. Frames after a bad one cannot be found by their lengths, so a mark must be
 * recognised from any byte on: it is searched for from the end backwards, by the salt of the file,
 * 8 random bytes made with it. A mark counts only where its own place stands in it and its checksum
 * fits; so neither a copy of one inside a payload nor a block that once belonged to another file is
 * taken for one. The checksums of records are seeded with the salt for the same reason.
 *
 * What opening costs. A writer believes the last mark: everything before `durable` is taken as it
 * is, and only what follows is read frame by frame, up to the first that is not complete, where the
 * file is cut. What lies between was complete but may have been in memory only, after a sync that
 * failed just before the last writer ended; it is written again and synced. A file that is closed
 * gets a last mark that covers all of it, so that the next opening reads 32 bytes.
 *
 * What this cannot see. The last batch that a killed writer synced has no mark after it yet. If it
 * is damaged too before anybody opens the file again, it is taken for a torn end. A second sync per
 * batch would close this gap and halve the rate of commits.
 *
 * A checksum of the whole file, or a length in the header, would need a write in place with every
 * commit; a mark costs 32 bytes at the place where the disk writes anyway. */
#include "disk/record_frame_inner.h"

#include "base/cursor.h"
#include "base/hash.h"

#include <inttypes.h>

enum { FRAMING = 1, WINDOW = 256 << 10, SEARCH = 64 << 10 };
#define IS_MARK UINT32_C(0x80000000)
#define MARK_WORD (IS_MARK | (FRAME_MARK - FRAME_HEAD))

static struct str bytes_of(const void *p, size_t n)
{
	return (struct str){p, n};
}

static void copy_out(struct buf *b, unsigned char *ret, size_t n)
{
	ENSURE(b->n == n && !b->over);
	memcpy(ret, b->p, n);
	buf_free(b);
}

static uint32_t frame_seed_of(uint64_t salt)
{
	unsigned char p[8];
	for (size_t i = 0; i < sizeof p; i++)
		p[i] = (unsigned char)(salt >> (8 * i));
	return crc32c(0, p, sizeof p);
}

void frame_header_make(const struct record_kind *kind, uint64_t salt,
		       unsigned char ret[RECORD_HEADER], struct frame_file *ret_file)
{
	struct buf b = BUF_INIT(RECORD_HEADER);
	buf_add(&b, kind->magic, FORMAT_MAGIC);
	put_u32le(&b, kind->version);
	put_u32le(&b, FRAMING);
	put_u64le(&b, salt);
	put_u32le(&b, 0);
	put_u32le(&b, crc32c(0, b.p, b.n));
	copy_out(&b, ret, RECORD_HEADER);
	*ret_file = (struct frame_file){.version = kind->version,
					.salt = salt,
					.seed = frame_seed_of(salt),
					.most = MIN(kind->most, (uint32_t)RECORD_MOST)};
	memcpy(ret_file->magic, kind->magic, FORMAT_MAGIC);
}

int frame_header_read(const unsigned char header[RECORD_HEADER], const struct record_kind *kind,
		      const char *path, struct frame_file *ret, struct err *err)
{
	struct reader r = reader_of(bytes_of(header, RECORD_HEADER));
	struct str magic = reader_bytes(&r, FORMAT_MAGIC);
	uint32_t version = reader_u32le(&r), framing = reader_u32le(&r);
	uint64_t salt = reader_u64le(&r);
	reader_skip(&r, 4);
	uint32_t sum = reader_u32le(&r);
	if (kind && !str_is(magic, kind->magic))
		return err_set(err, ERR_DAMAGED, "%s: does not begin with the magic %s", path,
			       kind->magic);
	if (sum != crc32c(0, header, RECORD_HEADER - 4))
		return err_set(err, ERR_DAMAGED, "%s: the header is damaged", path);
	if (framing != FRAMING || (kind && version != kind->version))
		return err_set(err, ERR_USAGE,
			       "%s: version %" PRIu32 ", framing %" PRIu32
			       "; this program knows version %" PRIu32 ", framing %d",
			       path, version, framing, kind ? kind->version : version, FRAMING);
	*ret = (struct frame_file){.version = version,
				   .salt = salt,
				   .seed = frame_seed_of(salt),
				   .most = kind ? MIN(kind->most, (uint32_t)RECORD_MOST)
						: (uint32_t)RECORD_MOST};
	memcpy(ret->magic, magic.p, FORMAT_MAGIC);
	return 0;
}

bool frame_unfinished(const unsigned char *bytes, size_t n, const struct record_kind *kind)
{
	static const unsigned char zeroes[RECORD_HEADER];
	if (n > RECORD_HEADER || memcmp(bytes, zeroes, n) == 0)
		return n <= RECORD_HEADER;
	return n < RECORD_HEADER &&
	       (!kind || memcmp(bytes, kind->magic, MIN(n, (size_t)FORMAT_MAGIC)) == 0);
}

static void put_le(unsigned char *p, uint64_t v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (unsigned char)(v >> (8 * i));
}

static uint64_t get_le(const unsigned char *p, size_t n)
{
	uint64_t v = 0;
	for (size_t i = 0; i < n; i++)
		v |= (uint64_t)p[i] << (8 * i);
	return v;
}

void frame_head_make(const struct frame_file *file, struct str payload,
		     unsigned char ret[FRAME_HEAD])
{
	put_le(ret, payload.n, 4);
	put_le(ret + 4, crc32c(crc32c(file->seed, ret, 4), payload.p, payload.n), 4);
}

void frame_mark_make(const struct frame_file *file, struct frame_mark mark,
		     unsigned char ret[FRAME_MARK])
{
	put_le(ret, MARK_WORD, 4);
	put_le(ret + 8, file->salt, 8);
	put_le(ret + 16, mark.at, 8);
	put_le(ret + 24, mark.durable, 8);
	put_le(ret + 4, crc32c(crc32c(file->seed, ret, 4), ret + 8, FRAME_MARK - 8), 4);
}

/* Whether these bytes are a mark that belongs at this place. */
static bool mark_read(const struct frame_file *file, const unsigned char p[FRAME_MARK], uint64_t at,
		      struct frame_mark *ret)
{
	struct frame_mark mark = {get_le(p + 16, 8), get_le(p + 24, 8)};
	unsigned char want[FRAME_MARK];
	frame_mark_make(file, mark, want);
	if (memcmp(p, want, FRAME_MARK) != 0 || mark.at != at || mark.durable > at ||
	    mark.durable < RECORD_HEADER)
		return false;
	*ret = mark;
	return true;
}

/* The last mark in bytes that lie at `at` in the file. */
static bool mark_last_in(const struct frame_file *file, struct str bytes, uint64_t at,
			 struct frame_mark *ret)
{
	unsigned char salt[8];
	put_le(salt, file->salt, sizeof salt);
	bool found = false;
	size_t from = FRAME_HEAD;
	while (from < bytes.n) {
		size_t hit = from + str_find(str_from(bytes, from), bytes_of(salt, sizeof salt));
		size_t start = hit - FRAME_HEAD;
		if (hit >= bytes.n || bytes.n - start < FRAME_MARK)
			break;
		found |= mark_read(file, (const unsigned char *)bytes.p + start, at + start, ret);
		from = hit + 1;
	}
	return found;
}

/* From the end backwards, in pieces that overlap by less than a mark. */
int frame_last_mark(const struct file *f, const struct frame_file *file, uint64_t from, uint64_t to,
		    struct frame_mark *ret, struct err *err)
{
	char *piece = mem_alloc(SEARCH);
	int rc = 1;
	for (uint64_t end = to; rc == 1 && end > from && end - from >= FRAME_MARK;) {
		uint64_t start = end - MIN(end - from, (uint64_t)SEARCH);
		size_t n = 0;
		if (file_read(f, piece, (size_t)(end - start), start, &n, err) < 0)
			rc = -1;
		else if (mark_last_in(file, bytes_of(piece, n), start, ret))
			rc = 0;
		end = start > from ? start + FRAME_MARK - 1 : from;
	}
	mem_free(&piece);
	return rc;
}

enum look { LOOK_RECORD, LOOK_MARK, LOOK_MORE, LOOK_BAD };

/* What is at the beginning of these bytes; *ret_n: its length, or for LOOK_MORE the bytes needed.
 */
static enum look frame_look_at(const struct frame_file *file, struct str bytes, uint64_t at,
			       size_t *ret_n)
{
	const unsigned char *p = (const unsigned char *)bytes.p;
	*ret_n = FRAME_HEAD;
	if (bytes.n < FRAME_HEAD)
		return LOOK_MORE;
	uint32_t word = (uint32_t)get_le(p, 4);
	if (word != MARK_WORD && word > file->most)
		return LOOK_BAD;
	*ret_n = word == MARK_WORD ? (size_t)FRAME_MARK : FRAME_HEAD + (size_t)word;
	if (bytes.n < *ret_n)
		return LOOK_MORE;
	struct frame_mark mark;
	if (word == MARK_WORD)
		return mark_read(file, p, at, &mark) ? LOOK_MARK : LOOK_BAD;
	uint32_t sum = crc32c(crc32c(file->seed, p, 4), p + FRAME_HEAD, word);
	return sum == (uint32_t)get_le(p + 4, 4) ? LOOK_RECORD : LOOK_BAD;
}

static struct str scan_window(const struct frame_scan *s)
{
	if (s->at < s->base || s->at - s->base > s->n)
		return bytes_of("", 0);
	return str_from(bytes_of(s->window, s->n), (size_t)(s->at - s->base));
}

/* Reads from `at` on, at least `need` bytes if the file has them: what a frame claims is only
 * believed as far as the file goes. */
static int scan_fill(struct frame_scan *s, size_t need, struct err *err)
{
	uint64_t size;
	s->n = 0;
	if (file_size(s->f, &size, err) < 0)
		return -1;
	if (size < s->at || size - s->at < need)
		return 1;
	size_t want = MAX(need, (size_t)WINDOW);
	if (s->cap < want) {
		mem_free(&s->window);
		s->window = mem_alloc(want);
		s->cap = want;
	}
	s->base = s->at;
	return file_read(s->f, s->window, s->cap, s->at, &s->n, err);
}

/* A window may be older than the file; only what was read just now is bad. */
static int scan_look(struct frame_scan *s, enum look *ret, size_t *ret_n, struct err *err)
{
	bool fresh = false;
	for (;;) {
		*ret = frame_look_at(s->file, scan_window(s), s->at, ret_n);
		if (*ret == LOOK_RECORD || *ret == LOOK_MARK || (fresh && *ret == LOOK_BAD))
			return 0;
		size_t have = scan_window(s).n;
		int rc = scan_fill(s, *ret == LOOK_MORE ? *ret_n : FRAME_HEAD, err);
		if (rc)
			return rc;
		if (fresh && *ret == LOOK_MORE && scan_window(s).n <= have)
			return 1;
		fresh = true;
	}
}

int frame_next(struct frame_scan *s, struct record *ret, struct err *err)
{
	for (;;) {
		enum look what = LOOK_BAD;
		size_t n;
		int rc = scan_look(s, &what, &n, err);
		if (rc == 0 && what == LOOK_BAD)
			rc = 1;
		if (rc) {
			frame_forget_from(s, 0);
			return rc;
		}
		struct str bytes = scan_window(s);
		uint64_t at = s->at;
		s->at += n;
		if (what == LOOK_MARK)
			continue;
		ret->payload = str_range(bytes.p + FRAME_HEAD, bytes.p + n);
		ret->place = (struct record_place){at, s->at};
		return 0;
	}
}

void frame_forget_from(struct frame_scan *s, uint64_t at)
{
	s->n = at > s->base ? (size_t)MIN((uint64_t)s->n, at - s->base) : 0;
}

void frame_scan_done(struct frame_scan *s)
{
	mem_free(&s->window);
}
