/* The common parts of the pages of all roles: head, foot, parts of forms, and the files that they
 * load. */
#pragma once
#include "net/html.h"
#include "net/http.h"

struct layout_link {
	const char *href, *text;
};

/* The beginning of a page, up to its header, which stays open; class: of the header, or NULL. */
void layout_begin(struct html *h, const char *title, const char *class);
/* The name of garner, which leads to the first page; is_heading: it is the page's heading too. */
void layout_home(struct html *h, bool is_heading);
/* Ends the header; the content of the page follows. */
void layout_main(struct html *h);
/* The foot, with links, and the end of the page. */
void layout_end(struct html *h, const struct layout_link *links, size_t n);
/* Opens an element with a class, as the style sheet knows it. */
void layout_open(struct html *h, const char *element, const char *class);
/* A box to tick: sent with this value if it is. class: of its label, or NULL. */
void layout_tick(struct html *h, const char *class, const char *name, const char *value,
		 const char *label, bool on);
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
int layout_style(struct http_request *req, struct http_answer *ret, struct err *err);
int layout_status_js(struct http_request *req, struct http_answer *ret, struct err *err);
