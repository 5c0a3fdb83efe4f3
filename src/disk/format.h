/* File formats: one table of everything that garner keeps on disk. Each file begins with eight
 * bytes of magic and a version (older formats than ours have something else, which they claim by);
 * each format has a printer, a verifier and a page in doc/formats/. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

struct record_kind;
struct rows;

enum { FORMAT_MAGIC = 8 };

/* Where a file is printed to, piece by piece. The end of `out` is flushed by format_print(). */
struct printer {
	struct buf out;
	void (*emit)(void *ctx, struct str);
	void *ctx;
	const char *part; /* print only this part of the file, such as a table; NULL: all */
};
/* Flushes `out` if it holds enough. Call it every few lines. */
void printer_step(struct printer *p);

struct format {
	const char *name; /* "counters" */
	/* A shell pattern for the last parts of the path ("docs/table" has two) that no other
	 * format uses. It identifies a file whose first bytes are damaged. NULL: names vary. */
	const char *file;
	char magic[FORMAT_MAGIC + 1];
	uint32_t version; /* the one we write; a little-endian u32 after the magic */
	/* Replaces magic and version: whether a file that begins with these bytes (at most 12) has
	 * this format. NULL: compare the magic. */
	bool (*claims)(struct str head);
	/* Whether files at this absolute path have this format, whatever their bytes; called
	 * before the file is read. NULL: the path does not matter. */
	bool (*placed)(const char *path);
	const char *help;   /* what such a file holds */
	const char *remedy; /* how to repair a damaged one; follows "; " in messages */
	/* For the two common layouts: a record file of this kind (disk/record.h), or if NULL a
	 * small file (disk/small_file.h). A payload is printed by its fields or, if these are not
	 * enough, by show(), which appends it to `out` without a newline (ERR_DAMAGED: the payload
	 * is invalid). Both NULL: as bytes. */
	const struct record_kind *records;
	const struct rows *fields;
	int (*show)(struct str payload, struct buf *out, struct err *err);
	/* For formats with their own layout, or whose payloads depend on each other. Both return 1
	 * if the file does not exist. Without verify(), a file is sound if it can be printed;
	 * verify() may return FORMAT_NOTED. */
	bool has_parts; /* print() accepts the name of a part */
	int (*print)(const char *path, struct printer *p, struct err *err);
	int (*verify)(const char *path, struct err *err);
};

/* Prints the file at path for people and passes the text to emit, piece by piece. */
int format_print(const struct format *f, const char *path, void (*emit)(void *ctx, struct str),
		 void *ctx, struct err *err);
/* Prints one part of a file whose format has parts. */
int format_print_part(const struct format *f, const char *path, const char *part,
		      void (*emit)(void *ctx, struct str), void *ctx, struct err *err);
/* Appends printable bytes as they are and others as \xNN; long texts are cut. */
void format_put_bytes(struct str s, struct buf *out);
/* Sound, except for leftovers of a killed writer that the next one repairs; err names them. */
enum { FORMAT_NOTED = 2 };
/* 0: sound; FORMAT_NOTED; negative: err names the place and the reason (ERR_DAMAGED). */
int format_verify(const struct format *f, const char *path, struct err *err);
/* What the caller knows about a record file. */
struct records_known {
	uint64_t length; /* bytes that were durable once; 0: unknown */
	bool closed;     /* no longer written: it ends there, or as a closed file does */
};
/* For verifiers of formats that know more about their record files: checks all frames, all
 * payloads, and how the file ends. */
enum { RECORDS_WRITTEN = 3 }; /* sound so far; a process is writing it */
int records_verify(const struct format *f, const char *path, const struct records_known *known,
		   struct err *err);
/* Appends "; " and the remedy to the message, if the format has a remedy. */
void format_advise(const struct format *f, struct err *err);

/* Identifies a file by its path, then by its first bytes, then by its name. 0: *ret is its format;
 * 1: not one of ours; negative: it could not be read, or has a version that this program does not
 * know (ERR_DAMAGED). If its head is truncated, *ret is set and the code is ERR_DAMAGED. */
int format_of(const struct format *const *table, size_t n, const char *path,
	      const struct format **ret, struct err *err);
