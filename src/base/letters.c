/* Lines of a letter and a value: the reader keeps a bit for each letter that has come, and hands
 * out slices. */
#include "base/letters.h"

void letters_add(struct buf *out, char letter, struct str value)
{
	buf_add_byte(out, letter);
	buf_add_str(out, value);
	buf_add_byte(out, '\n');
}

void letters_add_number(struct buf *out, char letter, uint64_t v)
{
	char digits[STR_DECIMAL_MAX];
	letters_add(out, letter, (struct str){digits, str_decimal(digits, v)});
}

void letters_add_seconds(struct buf *out, char letter, int64_t s)
{
	if (s > 0)
		letters_add_number(out, letter, (uint64_t)MIN(s, (int64_t)UINT32_MAX));
}

void letters_add_time(struct buf *out, char letter, int64_t us)
{
	if (us >= 0)
		letters_add_number(out, letter, (uint64_t)MIN(us, LETTERS_TIME_MAX_US));
}

void letters_add_text(struct buf *out, char letter, struct str value, size_t most)
{
	if (value.n && value.n <= most && !str_has_control(value))
		letters_add(out, letter, value);
}

void letters_add_words(struct buf *out, struct str words, size_t most)
{
	struct str text = str_utf8_head(words, most);
	for (size_t i = 0; i < text.n; i++) /* by the rule of the reader */
		buf_add_byte(out, str_has_control((struct str){text.p + i, 1}) ? ' ' : text.p[i]);
}

int letters_wrong(const struct letters *r, struct err *err)
{
	return err_set(err, ERR_DAMAGED, "%s: attribute %c cannot be '" STR_FMT "'", r->what,
		       r->letter, STR_ARG(str_head(r->value, 80)));
}

bool letters_seen(const struct letters *r, char letter)
{
	return r->seen[letter / 32] >> letter % 32 & 1;
}

int letters_next(struct letters *r, struct err *err)
{
	if (r->rest.n == 0)
		return 1;
	size_t n = str_find_byte(r->rest, '\n');
	char letter = r->rest.p[0];
	if (n == r->rest.n || n == 0 || letter < '!' || letter > '~')
		return err_set(err, ERR_DAMAGED, "%s: not lines of a letter and a value", r->what);
	r->letter = letter;
	r->value = (struct str){r->rest.p + 1, n - 1};
	r->rest = str_from(r->rest, n + 1);
	if (letters_seen(r, letter))
		return err_set(err, ERR_DAMAGED, "%s: attribute %c twice", r->what, letter);
	r->seen[letter / 32] |= UINT32_C(1) << letter % 32;
	return str_has_control(r->value) ? letters_wrong(r, err) : 0;
}

int letters_number(const struct letters *r, uint64_t most, uint64_t *ret, struct err *err)
{
	uint64_t v;
	if (!str_u64(r->value, &v) || v > most)
		return letters_wrong(r, err);
	*ret = v;
	return 0;
}

int letters_time(const struct letters *r, int64_t *ret, struct err *err)
{
	uint64_t v = 0;
	if (letters_number(r, LETTERS_TIME_MAX_US, &v, err) < 0)
		return -1;
	*ret = (int64_t)v;
	return 0;
}

int letters_seconds(const struct letters *r, int64_t *ret, struct err *err)
{
	uint64_t v = 0;
	if (letters_number(r, UINT32_MAX, &v, err) < 0)
		return -1;
	*ret = (int64_t)v;
	return 0;
}

int letters_text(const struct letters *r, size_t most, struct str *ret, struct err *err)
{
	if (r->value.n == 0 || r->value.n > most)
		return letters_wrong(r, err);
	*ret = r->value;
	return 0;
}

int letters_whole(const struct letters *r, const char *letters, struct err *err)
{
	for (; *letters; letters++)
		if (!letters_seen(r, *letters))
			return err_set(err, ERR_DAMAGED, "%s: attribute %c is missing", r->what,
				       *letters);
	return 0;
}
