/* Requests: what people ask of the crawl while it runs, as small files in the folder requests/ of
 * the crawl, each put there whole. The master takes them at its next checkpoint, and removes a file
 * only when what it asked for is kept. */
#pragma once
#include "base/err.h"
#include "base/str.h"

struct state;

/* URLs to be gathered, one a line. Durable when it returns 0. data: the data directory. */
int requests_add(const char *data, struct str lines, struct err *err);

struct requests;
struct requests *requests_new(const char *data);
void requests_free(struct requests **r);
bool requests_waiting(struct requests *r);
/* Makes contributions of those that wait, as many as a round has time for; the next one goes on
 * from there. What comes meanwhile may have to wait for the round behind the last of these. */
int requests_take(struct requests *r, struct state *st, struct err *err);
/* The state has them for good. Negative: a file cannot be read or removed; it is not looked at
 * again by this process. */
int requests_kept(struct requests *r, struct err *err);
