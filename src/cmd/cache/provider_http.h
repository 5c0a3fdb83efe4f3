/* HTTP for garner provider: a request that a person waits for, to a server that a person named, so
 * neither robots.txt nor a delay has a say in it. doc/protocols/providers.md has what is asked. */
#pragma once
#include "cmd/cache/provider.h"

#include <jansson.h>

/* Parameters of a form. */
void provider_param(struct buf *form, const char *name, struct str value);

/* "providers/ID/WHAT" below /api/, with the provider's id and password unless it is the one who
 * has none yet. form NULL: GET. *ret is an object, the caller's. ERR_REMOTE: no answer, or not one
 * that can be read, or it was refused, in the server's words. */
int provider_ask(const struct provider *p, const char *what, const struct buf *form, bool known,
		 json_t **ret, struct err *err);
/* The URL's body in pieces. ERR_REMOTE. */
int provider_get(const char *url, int64_t timeout_us,
		 int (*take)(void *ctx, struct str piece, struct err *err), void *ctx,
		 struct err *err);

/* Members of an answer; what is not there, or of another kind, is "" or 0. */
const char *json_text_of(const json_t *object, const char *name);
uint64_t json_number_of(const json_t *object, const char *name);
/* The answer as it came, for --json. */
void provider_print_json(const struct cmd_call *call, const json_t *answer);
