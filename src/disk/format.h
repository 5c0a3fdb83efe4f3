/* File formats: one table of everything that garner keeps on disk. Each file begins with eight
 * bytes of magic and a version (older formats than ours have something else, which they claim by);
 * each format has a printer, a verifier and a page in doc/formats/. */
#pragma once
#include "base/buf.h"
#include "base/err.h"

struct record_kind;
struct rows;

enum { FORMAT_MAGIC = 8 };

/* Where a file is printed to, piece by piece. What is left in `out` is handed over at the end. */
struct printer {
	struct buf out;
	void (*emit)(void *ctx, struct str);
	void *ctx;
	const char *part; /* print only this part of the file, such as a table; NULL: all */
};
/* Hands over what has come together, if it is worth it: call it after a line or a few. */
void printer_step(struct printer *p);

struct format {
	const char *name; /* "counters" */
	/* What such a file is called, and nothing else is: a pattern of the shell for the last
	 * parts of its path ("docs/table" has two). By it a file is known whose first bytes are
	 * damaged. NULL: names vary. */
	const char *file;
	char magic[FORMAT_MAGIC + 1];
	uint32_t version; /* the one we write; a little-endian u32 after the magic */
	/* Instead of magic and version: whether a file with these first bytes (12, or all there
	 * are) is one. NULL: the magic tells. */
	bool (*claims)(struct str head);
	/* Whether a file is one by the place where it lies, whatever its bytes are; asked before
	 * they are looked at. The path is absolute. NULL: no place tells. */
	bool (*placed)(const char *path);
	const char *help;   /* what such a file holds */
	const char *remedy; /* what to do when one is damaged, as a sentence goes on after ";" */
	/* How files of the two common layouts are printed and verified: a record file of this kind
	 * (disk/record.h), or with NULL a small file (disk/small_file.h). What a payload says is
	 * told by its fields or, where these cannot, by a function that appends it to `out` for
	 * people, without a line's end (ERR_DAMAGED: it cannot be). Both NULL: as bytes. */
	const struct record_kind *records;
	const struct rows *fields;
	int (*show)(struct str payload, struct buf *out, struct err *err);
	/* Formats with a layout of their own, or with more to check than payloads one by one. Both
	 * return 1 where there is no such file. A file that can be printed is sound, unless there
	 * is a verifier that knows better, and may say FORMAT_NOTED. */
	bool has_parts; /* print() knows parts by name */
	int (*print)(const char *path, struct printer *p, struct err *err);
	int (*verify)(const char *path, struct err *err);
};

/* Prints the file at path for people, in pieces handed to emit. */
int format_print(const struct format *f, const char *path, void (*emit)(void *ctx, struct str),
		 void *ctx, struct err *err);
/* The same of one part of a file whose format has parts. */
int format_print_part(const struct format *f, const char *path, const char *part,
		      void (*emit)(void *ctx, struct str), void *ctx, struct err *err);
/* Appends what can be seen as it is, all else as \xNN, of long ones the beginning. */
void format_put_bytes(struct str s, struct buf *out);
/* Sound, but with something that a killed writer leaves and the next one mends; err says what. */
enum { FORMAT_NOTED = 2 };
/* 0: sound. FORMAT_NOTED. Negative: err names the place and the reason; ERR_DAMAGED. */
int format_verify(const struct format *f, const char *path, struct err *err);
/* What others know of a record file. */
struct records_known {
	uint64_t length; /* bytes that were durable once; 0: nobody knows */
	bool closed;     /* it is not written any more: it ends there, or as one that was closed */
};
/* For the verifiers of formats whose record files others know something of: all frames, all
 * payloads, and how the file ends. */
enum { RECORDS_WRITTEN = 3 }; /* sound so far: somebody is writing it */
int records_verify(const struct format *f, const char *path, const struct records_known *known,
		   struct err *err);
/* Puts "; " and the remedy after the message of a failure, where the format knows one. */
void format_advise(const struct format *f, struct err *err);

/* Looks at the place of a file, at its first bytes, and where they say nothing at its name. 0: *ret
 * is its
 * format; 1: none of ours; negative: could not be read, or ours in a version that this program does
 * not know (ERR_DAMAGED). One that is cut in its head is ERR_DAMAGED, too, but *ret is set. */
int format_of(const struct format *const *table, size_t n, const char *path,
	      const struct format **ret, struct err *err);
