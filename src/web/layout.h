/* What all pages have: head, search box, foot, and the files that they load. */
#pragma once
#include "broker/broker.h"
#include "net/html.h"
#include "net/http.h"

struct layout_ask {
	struct str words, site, type; /* what the box and the filters show */
	struct query_options match;   /* how words are taken; stays when others are asked for */
	bool bare;                    /* nothing was asked yet: the box stands alone */
};

/* ask NULL: a page without a box, which can send nothing. */
void layout_begin(struct html *h, const char *title, const struct layout_ask *ask);
void layout_end(struct html *h);
/* Opens an element with a class, as the style sheet knows it. */
void layout_open(struct html *h, const char *element, const char *class);
/* A box to tick: sent with this value if it is. */
void layout_tick(struct html *h, const char *name, const char *value, const char *label, bool on);
/* A paragraph; one for each line of notes. */
void layout_note(struct html *h, const char *class, const char *text);
void layout_notes(struct html *h, struct str notes);
void layout_option(struct html *h, const char *value, const char *text, bool chosen);
void layout_hidden(struct html *h, const char *name, struct str value);

/* A field with its label. What is NULL is left out. */
struct layout_field {
	const char *type, *name, *label, *hint, *least, *list;
	struct str value;
};
void layout_field(struct html *h, const struct layout_field *f);
/* The field for what is searched, and its button. */
struct layout_box {
	const char *name, *label, *hint, *longest, *button;
	struct str value;
	bool focus;
};
void layout_box(struct html *h, const struct layout_box *b);
/* Between facts in a line. */
#define LAYOUT_DOT " · "

/* Handlers of the files below web/. */
int web_style(struct http_request *req, struct http_answer *ret, struct err *err);
int web_status_js(struct http_request *req, struct http_answer *ret, struct err *err);
