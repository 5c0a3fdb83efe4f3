/* The contents of a bucket: attributes of a header and of a body, in the encoding that its type
 * names. The header can be read without the body: most modules of the crawl need only U and O,
 * which are in it. Also packs bodies with zstd, with a dictionary for each size class in a file
 * next to the buckets (PATH.dict).
 *
 * The header of every bucket we write ends in the attribute '#', a checksum of the whole bucket. It
 * is made and checked here, and never returned. */
#pragma once
#include "base/attrs.h"
#include "base/buf.h"
#include "base/err.h"
#include "disk/format.h"

/* In the header of a bucket without a body: when its URL became known, seconds since 1970. */
enum { BUCKET_ADDED = 'a' };

struct buckets;

/* Packers: zstd and the dictionaries of one bucket file. Belongs to one thread. */
struct bucket_packer;
/* dict_path: file of dictionaries, read when first needed; NULL: none. */
struct bucket_packer *bucket_packer_new(const char *dict_path);
void bucket_packer_free(struct bucket_packer **p);

/* Appends the encoded attributes to `out`: as v3.3, or packed with zstd if that saves an eighth of
 * the bucket; *ret_type says which. packer NULL: never packs. ERR_USAGE: more than BUCKET_DATA_MOST
 * bytes, or a name that is not printable. */
int bucket_encode(struct bucket_packer *packer, const struct attrs *header,
		  const struct attrs *body, struct buf *out, uint32_t *ret_type, struct err *err);
/* The same with a body that is already encoded (from bucket_body(), or empty). */
int bucket_encode_raw(struct bucket_packer *packer, const struct attrs *header, struct str body,
		      struct buf *out, uint32_t *ret_type, struct err *err);

/* Decodes only the header, without touching the body. The values point into `data`. *ret_rest, if
 * not NULL: the body as stored. A plain (v2) bucket has no header. ERR_DAMAGED names the byte. */
int bucket_header(uint32_t type, struct str data, struct arena *arena, struct attrs *ret,
		  struct str *ret_rest, struct err *err);
/* The body; if it was packed, unpacked into the arena. packer NULL: refuses packed bodies. */
int bucket_body(struct bucket_packer *packer, uint32_t type, struct str data, struct arena *arena,
		struct str *ret, struct err *err);
/* Header and body. */
int bucket_decode(struct bucket_packer *packer, uint32_t type, struct str data, struct arena *arena,
		  struct attrs *ret_header, struct attrs *ret_body, struct err *err);

/* Verifies the checksum, without unpacking. 0: it is right. 1: there is none (all buckets that we
 * write have one), but the attributes can be parsed. ERR_DAMAGED: it is wrong. */
int bucket_check(uint32_t type, struct str data, struct err *err);

/* Whether the dictionary that the body was packed with is known. ERR_DAMAGED: it is lost. *ret_id:
 * its number; 0: the body needs none. */
int bucket_needs(struct bucket_packer *packer, uint32_t type, struct str data, uint32_t *ret_id,
		 struct err *err);

/* Encode and append; read and decode, in one. */
int bucket_put(struct buckets *b, struct bucket_packer *packer, const struct attrs *header,
	       const struct attrs *body, uint32_t *ret_oid, struct err *err);
int bucket_get(struct buckets *b, struct bucket_packer *packer, uint32_t oid, struct arena *arena,
	       struct attrs *ret_header, struct attrs *ret_body, struct err *err);

/* Trains a dictionary for each size class on the buckets of the file, and keeps those that make the
 * samples a twentieth smaller than the one in use. *ret_kept: how many. They are durable before
 * anything is packed with them; other processes read them when they meet a bucket that needs one.
 */
int bucket_train(struct buckets *b, struct bucket_packer *packer, unsigned *ret_kept,
		 struct err *err);

/* Limit of an arena that holds the parts of one bucket, for ARENA_INIT(). */
enum { BUCKET_ARENA = 512 << 20 };
/* PATH.dict, in the arena. */
const char *bucket_dict_path(struct arena *arena, const char *path);

extern const struct format bucket_dict_format;
