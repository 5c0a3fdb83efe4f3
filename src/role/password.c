/* Passwords by libargon2, which is loaded when one is first made or checked, as few commands need
 * it. A line is parsed here before the library sees it, since its parameters determine the memory
 * and time of a check. */
#include "role/password.h"

#include "base/ascii.h"
#include "base/library.h"

#include <argon2.h>
#include <stdio.h>
#include <sys/random.h>

/* What password_make() asks, and the most that a line may ask. */
enum { MAKE_KIB = 32 << 10, MAKE_PASSES = 2 };
enum { MOST_KIB = 64 << 10, MOST_PASSES = 8, MOST_LANES = 4 };
enum { SALT = 16, HASH = 32 };
/* Bytes that salt and hash of a line may have. */
enum { SALT_LEAST = 8, HASH_LEAST = 16, BYTES_MOST = 64 };

struct argon2_lib {
	__typeof__(argon2id_hash_encoded) *make;
	__typeof__(argon2id_verify) *verify;
	__typeof__(argon2_error_message) *message;
};

static int argon2_load(struct argon2_lib *ret, struct err *err)
{
	const struct library_function functions[] = {
		{"argon2id_hash_encoded", &ret->make},
		{"argon2id_verify", &ret->verify},
		{"argon2_error_message", &ret->message},
	};
	return library_load("libargon2.so.1", "passwords need the package libargon2-1", functions,
			    ARRAY_LEN(functions), err);
}

int password_make(struct str password, char ret[PASSWORD_LINE], struct err *err)
{
	struct argon2_lib lib;
	unsigned char salt[SALT];
	char line[PASSWORD_LINE];
	if (password.n == 0 || password.n > PASSWORD_MOST)
		return err_set(err, ERR_USAGE, "a password has 1 to %d bytes", PASSWORD_MOST);
	for (size_t i = 0; i < password.n; i++)
		if (ascii_is_blank(password.p[i]) || ascii_is_control(password.p[i]) ||
		    password.p[i] == '"')
			return err_set(err, ERR_USAGE,
				       "a password has no blanks, quotes and control characters");
	if (argon2_load(&lib, err) < 0)
		return -1;
	if (getrandom(salt, sizeof salt, 0) != (ssize_t)sizeof salt)
		return err_sys(err, "random bytes for a password");
	int rc = lib.make(MAKE_PASSES, MAKE_KIB, 1, password.p, password.n, salt, sizeof salt, HASH,
			  line, sizeof line);
	if (rc != ARGON2_OK)
		return err_set(err, ERR_SYSTEM, "the password cannot be hashed: %s",
			       lib.message(rc));
	memcpy(ret, line, sizeof line);
	return 0;
}

/* Reading a line */

static bool take_text(struct str *s, const char *text)
{
	struct str begin = str_of(text);
	if (!str_starts(*s, begin))
		return false;
	*s = str_from(*s, begin.n);
	return true;
}

/* A number as the library prints it, without zeroes before it. */
static bool take_number(struct str *s, uint64_t least, uint64_t most, uint64_t *ret)
{
	size_t n = 0;
	while (n < s->n && ascii_is_digit(s->p[n]))
		n++;
	if (n > 1 && s->p[0] == '0')
		return false;
	if (!str_u64(str_head(*s, n), ret) || *ret < least || *ret > most)
		return false;
	*s = str_from(*s, n);
	return true;
}

static int base64_value(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;
	return at ? (int)(at - digits) : -1;
}

/* Up to the end or a dollar sign: base64 without padding, and no bits that belong to no byte. */
static bool take_bytes(struct str *s, size_t least, size_t most)
{
	static const int unused_bits[] = {0, -1, 15, 3};
	size_t n = str_find_byte(*s, '$'), bytes = n * 3 / 4;
	int last = 0;
	ENSURE(s->p);
	for (size_t i = 0; i < n; i++) {
		last = base64_value(s->p[i]);
		if (last < 0)
			return false;
	}
	int unused = unused_bits[n % 4];
	*s = str_from(*s, n);
	return bytes >= least && bytes <= most && unused >= 0 && (last & unused) == 0;
}

int password_line_check(const char *line, struct err *err)
{
	struct str s = str_of(line);
	uint64_t kib, passes, lanes;
	if (s.n < PASSWORD_LINE && take_text(&s, "$argon2id$v=19$m=") &&
	    take_number(&s, 8, MOST_KIB, &kib) && take_text(&s, ",t=") &&
	    take_number(&s, 1, MOST_PASSES, &passes) && take_text(&s, ",p=") &&
	    take_number(&s, 1, MOST_LANES, &lanes) && kib >= 8 * lanes && take_text(&s, "$") &&
	    take_bytes(&s, SALT_LEAST, BYTES_MOST) && take_text(&s, "$") &&
	    take_bytes(&s, HASH_LEAST, BYTES_MOST) && s.n == 0)
		return 0;
	return err_set(err, ERR_USAGE,
		       "this is not a line as 'garner password' makes it ($argon2id$v=19$...)");
}

int password_check(const char *line, struct str password, struct err *err)
{
	struct argon2_lib lib;
	if (password_line_check(line, err) < 0 || argon2_load(&lib, err) < 0)
		return -1;
	if (password.n == 0 || password.n > PASSWORD_MOST)
		return 1;
	int rc = lib.verify(line, password.p, password.n);
	if (rc != ARGON2_OK && rc != ARGON2_VERIFY_MISMATCH)
		return err_set(err, ERR_SYSTEM, "the password cannot be checked: %s",
			       lib.message(rc));
	return rc == ARGON2_OK ? 0 : 1;
}
