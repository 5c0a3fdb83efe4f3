/* Hostile counters files. Of whatever is taken, the OpenMetrics text is well-formed, line by
 * line. */
#include "role/counters.h"
#include "base/arena.h"
#include "base/ascii.h"
#include "base/cursor.h"
#include "base/hash.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { COUNT_AT = 12, OUT_MAX = 8 << 20 };

static size_t word_length(struct str s)
{
	size_t n = 0;
	while (n < s.n && (ascii_is_alnum(s.p[n]) || s.p[n] == '_'))
		n++;
	return n;
}

/* name{name="value",...} number */
static void check_sample(struct str s, struct str family, bool total)
{
	size_t n = word_length(s);
	struct str name = str_head(s, n);
	ENSURE(str_starts(name, family));
	ENSURE(str_is(str_from(name, family.n), total ? "_total" : ""));
	s = str_from(s, n);
	do {
		ENSURE(s.n && (s.p[0] == '{' || s.p[0] == ','));
		s = str_from(s, 1);
		n = word_length(s);
		ENSURE(n > 0);
		s = str_from(s, n);
		ENSURE(str_starts(s, STR("=\"")));
		for (s = str_from(s, 2); s.n && s.p[0] != '"'; s = str_from(s, 1))
			if (s.p[0] == '\\') {
				s = str_from(s, 1);
				ENSURE(s.n && strchr("\\\"n", s.p[0]));
			}
		ENSURE(s.n);
		s = str_from(s, 1);
	} while (s.n && s.p[0] == ',');
	ENSURE(str_starts(s, STR("} ")));
	s = str_from(s, 2);
	ENSURE(s.n > 0);
	for (size_t i = 0; i < s.n; i++)
		ENSURE(strchr("0123456789.", s.p[i]) || (i == 0 && s.p[i] == '-' && !total));
}

/* "# TYPE name kind" begins a family, and families ascend. */
static void check_type(struct str s, struct str *family, bool *total)
{
	struct str name = str_head(s, word_length(s)), kind = str_from(s, name.n);
	ENSURE(str_cmp(*family, name) < 0);
	*total = str_is(kind, " counter");
	ENSURE(*total || str_is(kind, " gauge"));
	*family = name;
}

static void check_text(struct str text)
{
	struct str line, family = STR(""), type = STR("# TYPE "), help = STR("# HELP ");
	bool total = false;
	ENSURE(str_ends(text, STR("# EOF\n")));
	text = str_head(text, text.n - strlen("# EOF\n"));
	while (text.n && str_cut(&text, '\n', &line) == 0) {
		for (size_t i = 0; i < line.n; i++)
			ENSURE(line.p[i] >= ' ' && line.p[i] <= '~');
		if (str_starts(line, type))
			check_type(str_from(line, type.n), &family, &total);
		else if (str_starts(line, help))
			ENSURE(str_starts(str_from(line, help.n), family));
		else
			check_sample(line, family, total);
	}
}

static void check_file(struct str bytes)
{
	struct arena arena = ARENA_INIT(COUNTERS_ARENA);
	struct counters_view twice[2] = {0};
	struct err err;
	if (counters_parse(bytes, &arena, &twice[0], &err) == 0) {
		struct buf out = BUF_INIT(OUT_MAX);
		twice[1] = twice[0];
		counters_openmetrics(twice, 2, &out);
		ENSURE(!out.over);
		check_text(buf_str(&out));
		buf_free(&out);
	} else {
		ENSURE(err.code == ERR_DAMAGED && err.msg[0]);
	}
	arena_free(&arena);
}

/* As it is; and as a head that gets the checksum and the values which it lacks, because no chance
 * finds a checksum. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct str bytes = {(const char *)data, size};
	check_file(bytes);
	struct reader r = reader_of(str_from(bytes, COUNT_AT));
	uint32_t n = reader_u32le(&r);
	if (n > COUNTERS_MAX || size > COUNTERS_FILE_MAX / 2)
		return 0;
	struct buf file = BUF_INIT(COUNTERS_FILE_MAX);
	buf_add_str(&file, bytes);
	put_u32le(&file, crc32c(0, data, size));
	buf_fill(&file, 0, counters_values_at(file.n) - file.n);
	for (uint32_t i = 0; i < n; i++)
		put_u64le(&file, hash_u64(i) >> (i % 64));
	check_file(buf_str(&file));
	buf_free(&file);
	return 0;
}
