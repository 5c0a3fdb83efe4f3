/* What ls -l prints, in the forms of many systems: with and without a group, of several words too;
 * devices; sizes for people; an inode and blocks in front. Two more that begin like it: NetPresenz
 * of the Macintosh and NetWare. And modes in octal, which some servers print.
 *
 * The date is the landmark: the words before it are counted from both ends, and everything after
 * it is the name. It is looked for from the left, after a word that can be a size, so that a name
 * that looks like a line again changes nothing. */
#include "base/ascii.h"
#include "extract/listing_inner.h"

enum { WORDS_MOST = 24 };

/* Sizes */

static int64_t unit_of(char c)
{
	static const char units[] = "BKMGTPE";
	const char *unit = c ? strchr(units, c == 'k' ? 'K' : c) : NULL;
	return unit ? INT64_C(1) << 10 * (unit - units) : 0;
}

/* The digits of a size; returns how many bytes they take. */
static size_t size_digits(struct str s, bool commas, int64_t *ret, bool *ret_over)
{
	size_t n = 0;
	int64_t v = 0;
	*ret_over = false;
	for (; n < s.n; n++) {
		if (commas && s.p[n] == ',' && n)
			continue;
		if (!ascii_is_digit(s.p[n]))
			break;
		*ret_over |= __builtin_mul_overflow(v, 10, &v) ||
			     __builtin_add_overflow(v, s.p[n] - '0', &v);
	}
	*ret = v;
	return n;
}

/* What follows the whole units: ".5", in parts of a unit, rounded down. */
static size_t size_fraction(struct str s, int64_t unit, int64_t *ret)
{
	size_t n = 1;
	__extension__ typedef unsigned __int128 wide;
	wide v = 0, scale = 1;
	*ret = 0;
	if (s.n < 2 || (s.p[0] != '.' && s.p[0] != ',') || !ascii_is_digit(s.p[1]))
		return 0;
	for (; n < s.n && ascii_is_digit(s.p[n]); n++)
		if (n <= 9) { /* finer parts are no bytes */
			v = v * 10 + (unsigned)(s.p[n] - '0');
			scale *= 10;
		}
	*ret = (int64_t)(v * (wide)unit / scale);
	return n;
}

bool listing_size_read(struct str word, bool commas, int64_t *ret)
{
	int64_t whole, part = 0;
	bool over;
	size_t n = size_digits(word, commas, &whole, &over);
	if (n == 0 || over)
		return false;
	if (n == word.n) {
		*ret = whole;
		return true;
	}
	int64_t unit = unit_of(word.p[word.n - 1]);
	if (unit == 0)
		return false;
	n += size_fraction(str_head(str_from(word, n), word.n - n - 1), unit, &part);
	if (n + 1 != word.n || __builtin_mul_overflow(whole, unit, &whole) ||
	    __builtin_add_overflow(whole, part, &whole))
		return false;
	*ret = whole;
	return true;
}

/* Whether a word may be a size, or the last part of one: "531", "33.5k", "3,12". */
static bool is_size_like(struct str word)
{
	char last = word.p[word.n - 1];
	return ascii_is_digit(word.p[0]) && (ascii_is_digit(last) || unit_of(last));
}

/* Fields */

/* The words before the date, and the date. */
struct fields {
	struct str word[WORDS_MOST];
	size_t n;
	int64_t time_s;
	size_t end; /* after the date */
};

static bool is_clock(struct str word)
{
	struct listing_time t;
	return word.n >= 4 && ascii_is_digit(word.p[0]) && listing_clock_read(word, &t) == word.n;
}

/* There are at least `least` words before the date. */
static int fields_read(const struct listing_seen *seen, struct str line, size_t at, size_t least,
		       struct fields *ret, enum listing_why *ret_why)
{
	ret->n = 0;
	for (;;) {
		at = listing_skip_blanks(line, at);
		if (at == line.n) {
			*ret_why = WHY_NO_DATE;
			return -1;
		}
		if (ret->n >= least && is_size_like(ret->word[ret->n - 1])) {
			int rc = listing_date_read(&seen->dates, line, at, &ret->end, &ret->time_s);
			*ret_why = WHY_DATE;
			if (rc <= 0)
				return rc;
		}
		size_t end = listing_skip_word(line, at);
		struct str word = str_range(line.p + at, line.p + end);
		*ret_why = ret->n == WORDS_MOST ? WHY_MANY_FIELDS : WHY_NO_DATE;
		if (ret->n == WORDS_MOST ||
		    is_clock(word)) /* a date there was, and is unreadable */
			return -1;
		ret->word[ret->n++] = word;
		at = end;
	}
}

/* Several words as they were written. */
static struct str words_join(const struct fields *f, size_t from, size_t to)
{
	if (from >= to)
		return (struct str){0};
	const struct str *last = &f->word[to - 1];
	return str_range(f->word[from].p, last->p + last->n);
}

bool listing_name_read(struct listing_seen *seen, struct str line, size_t at, struct str *ret)
{
	size_t from = listing_skip_blanks(line, at), blanks = from - at;
	bool only_blanks = from == line.n;
	if (blanks == 0 || (only_blanks && (seen->separator == 0 || blanks <= seen->separator)))
		return false;
	if (seen->separator == 0 || blanks < seen->separator)
		seen->separator = blanks;
	*ret = str_from(line, at + seen->separator);
	return true;
}

/* "3,  12", "3,12" or a number: of how many words; 0: it is none of these. */
static size_t device_words(const struct fields *f)
{
	struct str last = f->word[f->n - 1];
	size_t comma = str_find_byte(last, ',');
	int64_t v;
	if (comma < last.n)
		return listing_size_read(str_head(last, comma), false, &v) &&
				       listing_size_read(str_from(last, comma + 1), false, &v)
			       ? 1
			       : 0;
	if (!listing_size_read(last, false, &v))
		return 0;
	if (f->n < 2)
		return 1;
	struct str before = f->word[f->n - 2];
	if (before.p[before.n - 1] != ',')
		return 1;
	return listing_size_read(str_head(before, before.n - 1), false, &v) ? 2 : 0;
}

/* Sets the size; returns how many words it takes, 0: it is none. */
static size_t size_words(const struct fields *f, struct listing_entry *e)
{
	if (e->mode[0] == 'b' || e->mode[0] == 'c') {
		e->size = 0;
		return device_words(f);
	}
	return listing_size_read(f->word[f->n - 1], false, &e->size) ? 1 : 0;
}

/* Modes */

static enum listing_kind kind_of(char letter)
{
	return letter == '-'   ? LISTING_FILE
	       : letter == 'd' ? LISTING_DIR
	       : letter == 'l' ? LISTING_LINK
			       : LISTING_OTHER;
}

static bool is_type_letter(char c)
{
	switch (c) {
	case '-':
	case 'b':
	case 'c':
	case 'd':
	case 'l':
	case 'p':
	case 's':
	case 'y':
	case 'D':
	case 'F':
	case 'L':
		return true;
	default:
		return false;
	}
}

static bool is_execute_letter(char c)
{
	return c == '-' || c == 'x' || c == 's' || c == 'S' || c == 'l' || c == 't' || c == 'T';
}

/* Whether a line begins with a mode; *ret_end is the offset after it and what may follow it. */
static bool mode_read(struct str line, size_t *ret_end)
{
	if (line.n < 11 || !is_type_letter(line.p[0]))
		return false;
	for (size_t i = 1; i < 10; i += 3)
		if ((line.p[i] != 'r' && line.p[i] != '-') ||
		    (line.p[i + 1] != 'w' && line.p[i + 1] != '-') ||
		    !is_execute_letter(line.p[i + 2]))
			return false;
	size_t end = 10;
	if (line.p[end] == '+' || line.p[end] == '@' || line.p[end] == '.')
		end++;
	*ret_end = end;
	/* a number of links may be glued to it */
	return end < line.n && (line.p[end] == ' ' || ascii_is_digit(line.p[end]));
}

/* NetPresenz: the bytes of both forks and their sum; of a folder what is in it. Its first column is
 * far to the right, or others alone may read: three numbers can also be links, owner and size. */
static bool is_netpresenz(const struct fields *f, const struct listing_entry *e, const char *line)
{
	int64_t resource, data, total, sum;
	if (e->kind == LISTING_DIR)
		return f->n == 2 && str_is(f->word[0], "folder");
	if (f->n != 3 || !listing_size_read(f->word[0], false, &resource) ||
	    !listing_size_read(f->word[1], false, &data) ||
	    !listing_size_read(f->word[2], false, &total) ||
	    __builtin_add_overflow(resource, data, &sum) || sum != total)
		return false;
	size_t column = (size_t)(f->word[0].p + f->word[0].n - line);
	return column >= 18 || memcmp(e->mode + 1, "------", 6) == 0;
}

static bool number_read(struct str word, int64_t *ret)
{
	uint64_t v;
	if (!str_u64(word, &v) || v > INT64_MAX)
		return false;
	*ret = (int64_t)v;
	return true;
}

/* What may be dropped from a line, so that it is read as Unix: all before `at`. */
static int unix_read_from(struct listing_seen *seen, struct str line, size_t at,
			  struct listing_entry *e, enum listing_why *ret_why)
{
	struct str rest = str_from(line, at);
	struct fields f;
	size_t end;
	if (!mode_read(rest, &end))
		return 1;
	memcpy(e->mode, rest.p, sizeof e->mode);
	e->kind = kind_of(e->mode[0]);
	if (fields_read(seen, rest, end, 2, &f, ret_why) < 0)
		return -1;
	e->time_s = f.time_s;
	size_t sized = size_words(&f, e);
	if (sized == 0) {
		*ret_why = WHY_SIZE;
		return -1;
	}
	if (!is_netpresenz(&f, e, rest.p)) {
		if (f.n < sized + 1 || !number_read(f.word[0], &e->links)) {
			*ret_why = f.n < sized + 1 ? WHY_FEW_FIELDS : WHY_LINKS;
			return -1;
		}
		e->owner = words_join(&f, 1, MIN((size_t)2, f.n - sized));
		e->group = words_join(&f, 2, f.n - sized);
	}
	*ret_why = WHY_NO_NAME;
	return listing_name_read(seen, rest, f.end, &e->name) ? 0 : -1;
}

int listing_unix_read(struct listing_seen *seen, struct str line, struct listing_entry *e,
		      enum listing_why *ret_why)
{
	return unix_read_from(seen, line, 0, e, ret_why);
}

/* ls -is: an inode and blocks, or one of them, in front. */
int listing_prefixed_read(struct listing_seen *seen, struct str line, struct listing_entry *e,
			  enum listing_why *ret_why)
{
	size_t at = listing_skip_blanks(line, 0);
	for (int i = 0; i < 2 && at < line.n && ascii_is_digit(line.p[at]); i++) {
		size_t end = listing_skip_word(line, at);
		int64_t v;
		if (!listing_size_read(str_range(line.p + at, line.p + end), false, &v))
			return 1;
		at = listing_skip_blanks(line, end);
		int rc = unix_read_from(seen, line, at, e, ret_why);
		if (rc != 1)
			return rc;
	}
	return 1;
}

/* "d[RWCEMFA] supervisor            512       Jan 16 18:53    login"; later ones have a blank after
 * the letter. The rights are not those of Unix. */
int listing_netware_read(struct listing_seen *seen, struct str line, struct listing_entry *e,
			 enum listing_why *ret_why)
{
	struct fields f;
	if (line.n < 4 || (line.p[0] != '-' && line.p[0] != 'd'))
		return 1;
	size_t at = line.p[1] == ' ' ? 2 : 1, end = at + 1;
	if (line.p[at] != '[')
		return 1;
	while (end < line.n && (ascii_is_upper(line.p[end]) || line.p[end] == '-'))
		end++;
	if (end + 1 >= line.n || line.p[end] != ']' || line.p[end + 1] != ' ')
		return 1;
	e->kind = kind_of(line.p[0]);
	if (fields_read(seen, line, end + 1, 1, &f, ret_why) < 0)
		return -1;
	*ret_why = WHY_SIZE;
	if (size_words(&f, e) == 0)
		return -1;
	e->time_s = f.time_s;
	e->owner = words_join(&f, 0, MIN((size_t)1, f.n - 1));
	e->group = words_join(&f, 1, f.n - 1);
	*ret_why = WHY_NO_NAME;
	return listing_name_read(seen, line, f.end, &e->name) ? 0 : -1;
}

/* Modes in octal */

static char type_of_bits(unsigned mode)
{
	static const char types[16] = {[001] = 'p', [002] = 'c', [004] = 'd', [006] = 'b',
				       [010] = '-', [012] = 'l', [014] = 's'};
	return mode >> 12 < sizeof types ? types[mode >> 12] : 0;
}

/* As ls prints it. */
static void mode_print(unsigned mode, char ret[10])
{
	static const char rights[] = "rwxrwxrwx";
	ret[0] = type_of_bits(mode);
	for (unsigned i = 0; i < 9; i++)
		ret[1 + i] = mode & (0400u >> i) ? rights[i] : '-';
	if (mode & 04000)
		ret[3] = mode & 0100 ? 's' : 'S';
	if (mode & 02000)
		ret[6] = mode & 0010 ? 's' : 'S';
	if (mode & 01000)
		ret[9] = mode & 0001 ? 't' : 'T';
}

static bool octal_read(struct str word, unsigned *ret)
{
	unsigned v = 0;
	if (word.n < 5 || word.n > 7)
		return false;
	for (size_t i = 0; i < word.n; i++) {
		if (word.p[i] < '0' || word.p[i] > '7')
			return false;
		v = v * 8 + (unsigned)(word.p[i] - '0');
	}
	*ret = v;
	return true;
}

/* "0100644   500  101   12345    123456789       f": mode, owner, group, size, seconds. */
int listing_numeric_read(struct listing_seen *seen, struct str line, struct listing_entry *e,
			 enum listing_why *ret_why)
{
	struct str word[5];
	size_t at = 0;
	unsigned mode;
	if (line.n == 0 || !ascii_is_digit(line.p[0]))
		return 1;
	for (size_t i = 0; i < ARRAY_LEN(word); i++) {
		size_t end = listing_skip_word(line, at);
		word[i] = str_range(line.p + at, line.p + end);
		if (word[i].n == 0 || !ascii_is_digit(word[i].p[0]))
			return 1;
		at = i + 1 < ARRAY_LEN(word) ? listing_skip_blanks(line, end) : end;
	}
	if (!octal_read(word[0], &mode))
		return 1;
	if (!type_of_bits(mode)) {
		*ret_why = WHY_MODE;
		return -1;
	}
	mode_print(mode, e->mode);
	e->kind = kind_of(e->mode[0]);
	e->owner = word[1];
	e->group = word[2];
	if (!number_read(word[3], &e->size) || !number_read(word[4], &e->time_s)) {
		*ret_why = WHY_SIZE;
		return -1;
	}
	*ret_why = WHY_NO_NAME;
	return listing_name_read(seen, line, at, &e->name) ? 0 : -1;
}
