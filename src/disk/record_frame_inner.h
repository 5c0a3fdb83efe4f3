/* How record files look in bytes, for record.c and its tests only: a header, then frames, which are
 * records and marks. record_frame.c says what marks are for. */
#pragma once
#include "base/file.h"
#include "disk/record.h"

enum { FRAME_HEAD = 8, FRAME_MARK = 32 };

struct frame_file {
	char magic[FORMAT_MAGIC + 1];
	uint32_t version;
	uint64_t salt;
	uint32_t seed; /* of all checksums: follows from the salt */
	uint32_t most; /* bytes in one record */
};

struct frame_mark {
	uint64_t at, durable;
};

void frame_header_make(const struct record_kind *kind, uint64_t salt,
		       unsigned char ret[RECORD_HEADER], struct frame_file *ret_file);
/* kind NULL: any. ERR_DAMAGED; ERR_USAGE: sound, but another version of garner wrote it. */
int frame_header_read(const unsigned char header[RECORD_HEADER], const struct record_kind *kind,
		      const char *path, struct frame_file *ret, struct err *err);

/* Whether a file that is just this long was left by somebody who had begun to make it: it has part
 * of a header, or zeroes where one should be. */
bool frame_unfinished(const unsigned char *bytes, size_t n, const struct record_kind *kind);

void frame_head_make(const struct frame_file *file, struct str payload,
		     unsigned char ret[FRAME_HEAD]);
void frame_mark_make(const struct frame_file *file, struct frame_mark mark,
		     unsigned char ret[FRAME_MARK]);

/* The last mark that lies within these bytes of the file. 1: there is none. */
int frame_last_mark(const struct file *f, const struct frame_file *file, uint64_t from, uint64_t to,
		    struct frame_mark *ret, struct err *err);

/* Reads frame by frame: the payload stays valid until the next call. */
struct frame_scan {
	const struct file *f;
	const struct frame_file *file;
	uint64_t at;  /* the frame that comes next */
	char *window; /* bytes of the file from `base` on */
	size_t n, cap;
	uint64_t base;
};

/* Steps over marks. 1: there is no complete frame at `at`; another call looks again. */
int frame_next(struct frame_scan *s, struct record *ret, struct err *err);
/* Discards everything buffered from this place on. */
void frame_forget_from(struct frame_scan *s, uint64_t at);
void frame_scan_done(struct frame_scan *s);
