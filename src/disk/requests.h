/* Requests: what people ask of a role while it runs or rests, as small files of lines in a folder,
 * each put there whole. The role takes them in rounds, and removes a file only when what it asked
 * for is kept; killed in between, it takes them again. */
#pragma once
#include "base/err.h"
#include "base/str.h"

/* kind: what is asked for, the end of the file's name: "add". Durable when it returns 0. */
int requests_add(const char *folder, const char *kind, struct str lines, struct err *err);

struct requests;
struct requests *requests_new(const char *folder, const char *kind);
void requests_free(struct requests **r);
bool requests_waiting(struct requests *r);
/* Hands over each line of those that wait, trimmed and not empty, as many files as a round has time
 * for; the next round goes on from there. What comes meanwhile may have to wait for the round after
 * the last of these. Negative: fn failed; the file is taken again. */
typedef int requests_fn(void *ctx, struct str line, struct err *err);
int requests_take(struct requests *r, requests_fn *fn, void *ctx, struct err *err);
/* All that was taken is kept for good. Negative: a file cannot be read or removed, or is a link; it
 * is not looked at again by this process. */
int requests_kept(struct requests *r, struct err *err);
