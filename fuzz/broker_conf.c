/* broker.conf: whatever stands in it, it is refused with a line, or gives each setting at most
 * once, as text that can stand after -s; and a comment before it moves lines and changes nothing
 * else. */
#include "cmd/index/broker_conf.h"

#include <stdio.h>

enum { SETTINGS = 8 };

static int hash_nothing(struct str password, char ret[PASSWORD_LINE], struct err *err)
{
	(void)err;
	snprintf(ret, PASSWORD_LINE, "$argon2id$%zu", password.n);
	return 0;
}

static size_t key_length(const char *set)
{
	const char *equals = strchr(set, '=');
	ENSURE(equals && equals > set);
	return (size_t)(equals - set);
}

static void look_at_said(const struct role_said *said)
{
	ENSURE(said->n <= SETTINGS);
	for (size_t i = 0; i < said->n; i++) {
		const char *set = said->said[i].set;
		ENSURE(strncmp(said->said[i].where, "f:", 2) == 0 && !strchr(set, '\n'));
		for (size_t k = 0; k < i; k++)
			ENSURE(key_length(set) != key_length(said->said[k].set) ||
			       strncmp(set, said->said[k].set, key_length(set)) != 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct broker_conf_ask ask = {.path = "f", .listen = "[::1]:1", .hash = hash_nothing};
	struct arena arena = ARENA_INIT((size_t)1 << 26);
	struct buf warnings = BUF_INIT((size_t)1 << 20), text = BUF_INIT((size_t)1 << 24);
	struct role_said said = {0}, again = {0};
	struct err err = {0};
	int rc = broker_conf_parse((struct str){(const char *)data, size}, &ask, &arena, &said,
				   &warnings, &err);
	ENSURE(rc == 0 || (rc < 0 && strncmp(err.msg, "f:", 2) == 0));
	look_at_said(&said);
	buf_add_text(&text, "# and so on\n");
	buf_add_str(&text, (struct str){(const char *)data, size});
	if (!text.over && !(size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0)) {
		ENSURE(broker_conf_parse(buf_str(&text), &ask, &arena, &again, &warnings, &err) ==
		       rc);
		ENSURE(again.n == said.n);
		for (size_t i = 0; i < said.n; i++)
			ENSURE(strcmp(said.said[i].set, again.said[i].set) == 0);
	}
	buf_free(&warnings);
	buf_free(&text);
	arena_free(&arena);
	return 0;
}
