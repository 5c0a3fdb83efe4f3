/* What is in a bucket: attributes, those of the header and those of the body, in the encoding that
 * its type names. The header is read without the body: Shepherd's modules need U and O only, and
 * those stand there. Also the packing of bodies with zstd, with dictionaries per size class that
 * are kept in a file next to the buckets (PATH.dict).
 *
 * The header of what we write ends in an attribute '#', a checksum over the whole bucket; it is
 * made and checked here and never shown. */
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
/* dict_path: the dictionaries, read when first needed; NULL: none. */
struct bucket_packer *bucket_packer_new(const char *dict_path);
void bucket_packer_free(struct bucket_packer **p);

/* Appends to `out` what a bucket holds: v3.3, or v3.3 with zstd where that saves an eighth of the
 * bucket; *ret_type says which. packer NULL: never packed. ERR_USAGE: more than BUCKET_DATA_MOST,
 * or a name that is not printable. */
int bucket_encode(struct bucket_packer *packer, const struct attrs *header,
		  const struct attrs *body, struct buf *out, uint32_t *ret_type, struct err *err);
/* The same of a body that is encoded already (what bucket_body() gives, or nothing). */
int bucket_encode_raw(struct bucket_packer *packer, const struct attrs *header, struct str body,
		      struct buf *out, uint32_t *ret_type, struct err *err);

/* The header only: touches no byte of the body. The values lie in `data`. *ret_rest, where not
 * NULL: the body as it is stored. A plain (v2) bucket has no header. ERR_DAMAGED names the byte. */
int bucket_header(uint32_t type, struct str data, struct arena *arena, struct attrs *ret,
		  struct str *ret_rest, struct err *err);
/* The body, unpacked into the arena where it was packed. packer NULL: packed ones are refused. */
int bucket_body(struct bucket_packer *packer, uint32_t type, struct str data, struct arena *arena,
		struct str *ret, struct err *err);
/* Header and body. */
int bucket_decode(struct bucket_packer *packer, uint32_t type, struct str data, struct arena *arena,
		  struct attrs *ret_header, struct attrs *ret_body, struct err *err);

/* Whether all bytes are as they were written. 0: they are. 1: nobody knows, it has no checksum (all
 * that we write have one), but its attributes can be parsed. ERR_DAMAGED: they are not. Does not
 * unpack. */
int bucket_check(uint32_t type, struct str data, struct err *err);

/* Whether its body can be unpacked, as far as that is a matter of dictionaries. ERR_DAMAGED: its
 * own is lost. *ret_id: the number of its dictionary, 0: it needs none. */
int bucket_needs(struct bucket_packer *packer, uint32_t type, struct str data, uint32_t *ret_id,
		 struct err *err);

/* Encode and append; read and decode, in one. */
int bucket_put(struct buckets *b, struct bucket_packer *packer, const struct attrs *header,
	       const struct attrs *body, uint32_t *ret_oid, struct err *err);
int bucket_get(struct buckets *b, struct bucket_packer *packer, uint32_t oid, struct arena *arena,
	       struct attrs *ret_header, struct attrs *ret_body, struct err *err);

/* Trains a dictionary for each size class from what is in the file, and keeps those that make the
 * samples smaller by a twentieth than the one in use. *ret_kept: how many. They are on disk before
 * anything is packed with them; others find them when they meet a bucket packed with one. */
int bucket_train(struct buckets *b, struct bucket_packer *packer, unsigned *ret_kept,
		 struct err *err);

/* Bytes that the parts of a bucket may take from an arena, for ARENA_INIT(). */
enum { BUCKET_ARENA = 512 << 20 };
/* PATH.dict, in the arena. */
const char *bucket_dict_path(struct arena *arena, const char *path);

extern const struct format bucket_dict_format;
