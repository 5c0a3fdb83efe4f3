/* garner shep buckets: a bucket file at the command line. */
#include "cmd/shep_buckets.h"

#include "bucket/bucket.h"
#include "cmd/commands.h"

#define OPTION_FILE                                                                              \
	{'o',                                                                                    \
	 "FILE",                                                                                 \
	 {"objects", VALUE_PATH_AT(struct buckets_options, file),                                \
	  .help = "the bucket file; without it, that of the crawl in the data directory"}},      \
	{                                                                                        \
		0, "BITS",                                                                       \
		{                                                                                \
			"shift", VALUE_INT_AT(struct buckets_options, shift),                    \
				.fallback = "0", .min = 0, .max = BUCKET_SHIFT_MOST,             \
				.help = "alignment of a file that does not tell it, as a power " \
					"of "                                                    \
					"two; 0: 7"                                              \
		}                                                                                \
	}
#define OPTION_JSON                                                                         \
	{                                                                                   \
		'j', NULL,                                                                  \
		{                                                                           \
			"json", VALUE_BOOL_AT(struct buckets_options, json), .help = "JSON" \
		}                                                                           \
	}
#define OPTION(letter, name, member, text)                                                \
	{                                                                                 \
		letter, NULL,                                                             \
		{                                                                         \
			name, VALUE_BOOL_AT(struct buckets_options, member), .help = text \
		}                                                                         \
	}
#define OPTIONS(list)                                 \
	.options = list, .noptions = ARRAY_LEN(list), \
	.options_size = sizeof(struct buckets_options), .exits = exits, .nexits = ARRAY_LEN(exits)
#define EXAMPLES(list) .examples = list, .nexamples = ARRAY_LEN(list)

static const struct cmd_exit exits[] = {
	{1, "a bucket that was asked for is not there"},
	{ERR_DAMAGED, "the file, or a bucket in it, is damaged"},
	{ERR_BUSY, "somebody else has the file open in a way that excludes this"},
	{ERR_SYSTEM, "the file cannot be read or written"},
};

static const struct cmd_option list_options[] = {
	OPTION_FILE,
	OPTION('L', "all", all, "also the deleted ones"),
	OPTION_JSON,
};
static const struct cmd_example list_examples[] = {
	{"garner shep buckets list -L", "number, length and type of each, also of the deleted"},
};
static const struct command list_command = {
	.name = "list",
	.summary = "one line per bucket: number, length, type",
	.description = "Others may append meanwhile. What is damaged is named and passed over.",
	EXAMPLES(list_examples),
	OPTIONS(list_options),
	.run = shep_buckets_list,
};

static const struct cmd_option show_options[] = {
	OPTION_FILE,
	OPTION('r', "raw", raw, "the bytes as they are stored, nothing around them"),
	OPTION('v', "verbose", verbose, "before each a line with number, length and type"),
	OPTION_JSON,
};
static const struct cmd_example extract_examples[] = {
	{"garner shep buckets extract 1a2", "the attributes of bucket 000001a2"},
};
static const struct command get_command = {
	.name = "extract",
	.summary = "print buckets by their numbers",
	.description = "Attributes one a line, the name before the value, header first; a value of "
		       "several lines becomes several lines of the same name.",
	.args = "OID...",
	.args_help = "numbers as garner shep buckets list prints them",
	.min_args = 1,
	.max_args = -1,
	EXAMPLES(extract_examples),
	OPTIONS(show_options),
	.run = shep_buckets_extract,
};
static const struct cmd_example cat_examples[] = {
	{"garner shep buckets cat | garner shep buckets insert -o copy", "a copy, packed anew"},
};
static const struct command cat_command = {
	.name = "cat",
	.summary = "print all buckets",
	.description = "As extract does, each followed by an empty line.",
	EXAMPLES(cat_examples),
	OPTIONS(show_options),
	.run = shep_buckets_cat,
};

static const struct cmd_option insert_options[] = {
	OPTION_FILE,
	OPTION('u', "unpacked", unpacked, "leave bodies as they are (v3.3 without zstd)"),
	OPTION(0, "anyway", anyway, "also beside states; then run garner shep recover --rebuild"),
};
static const struct cmd_example insert_examples[] = {
	{"garner shep buckets insert pages.txt", "appends, and prints the new numbers"},
};
static const struct command insert_command = {
	.name = "insert",
	.summary = "append buckets that are given as text",
	.description = "Buckets are separated by empty lines; each line is an attribute, its first "
		       "character the name. The first O and U go into the header. All of them are "
		       "appended, or none. Beside states it is refused: they would not know them.",
	.args = "[FILE...]",
	.args_help = "texts; none or -: standard input",
	.max_args = -1,
	EXAMPLES(insert_examples),
	OPTIONS(insert_options),
	.run = shep_buckets_insert,
};

static const struct cmd_option plain_options[] = {OPTION_FILE};
static const struct cmd_example delete_examples[] = {
	{"garner shep buckets delete 1a2 1b0", "these are gone; shakedown gives the space back"},
};
static const struct command delete_command = {
	.name = "delete",
	.summary = "delete buckets",
	.args = "OID...",
	.args_help = "numbers as garner shep buckets list prints them",
	.min_args = 1,
	.max_args = -1,
	EXAMPLES(delete_examples),
	OPTIONS(plain_options),
	.run = shep_buckets_delete,
};

static const struct cmd_option audit_options[] = {
	OPTION_FILE,
	OPTION('v', "verbose", verbose, "name also those that have no checksum"),
	OPTION_JSON,
};
static const struct cmd_example audit_examples[] = {
	{"garner shep buckets audit", "what is wrong, each with number, place and reason"},
};
static const struct command audit_command = {
	.name = "audit",
	.summary = "read everything and name what is damaged",
	.description = "Others may append meanwhile: the file is read as far as the last "
		       "checkpoint of the crawl, or as far as it is whole where there is none. Of "
		       "a file that is shaken down meanwhile it is the one from before.",
	EXAMPLES(audit_examples),
	OPTIONS(audit_options),
	.run = shep_buckets_audit,
};
static const struct cmd_example fix_examples[] = {
	{"garner shep buckets fix", "the file is whole again, without what was damaged"},
};
static const struct command fix_command = {
	.name = "fix",
	.summary = "audit, and mend",
	.description = "What is no bucket becomes a deleted one, a damaged one is deleted, a torn "
		       "end is cut off. Nobody else may have the file open.",
	EXAMPLES(fix_examples),
	OPTIONS(audit_options),
	.run = shep_buckets_fix,
};
static const struct cmd_example quick_examples[] = {
	{"garner shep buckets quick || garner shep buckets fix", "as at every start"},
};
static const struct command quick_command = {
	.name = "quick",
	.summary = "look at both ends of the file only",
	.description = "While somebody appends, its end is that of the last checkpoint.",
	EXAMPLES(quick_examples),
	OPTIONS(plain_options),
	.run = shep_buckets_quick,
};

static const struct cmd_option shake_options[] = {
	OPTION_FILE,
	OPTION('t', "train", train, "make new dictionaries first, where they pay"),
	OPTION('p', "repack", repack, "pack bodies anew"),
	OPTION(0, "anyway", anyway, "also beside states; then run garner shep recover"),
	OPTION('v', "verbose", verbose, "say what came of it"),
};
static const struct cmd_example shake_examples[] = {
	{"garner shep buckets shakedown -o copy", "prints old and new numbers"},
};
static const struct command shake_command = {
	.name = "shakedown",
	.summary = "give the space of deleted buckets back",
	.description = "Writes the file anew without them and prints, for each bucket that is "
		       "left, its old and its new number.",
	EXAMPLES(shake_examples),
	OPTIONS(shake_options),
	.run = shep_buckets_shakedown,
};
static const struct cmd_example train_examples[] = {
	{"garner shep buckets train", "bodies are packed with them from now on"},
};
static const struct command train_command = {
	.name = "train",
	.summary = "make dictionaries for packing, where they pay",
	EXAMPLES(train_examples),
	OPTIONS(plain_options),
	.run = shep_buckets_train,
};

static const struct command *const subs[] = {
	&list_command,  &get_command, &cat_command,   &insert_command, &delete_command,
	&audit_command, &fix_command, &quick_command, &shake_command,  &train_command,
};
const struct command shep_buckets_command = {
	.name = "buckets",
	.summary = "list, print, change, check and shake down a bucket file",
	.description =
		"A bucket holds what was gathered of one page: attributes, those of a header "
		"and those of a body. It is known by its number.",
	CMD_SUBS(subs),
};
