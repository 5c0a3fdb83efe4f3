/* The common parts of the pages of all roles: head, foot, parts of forms, and the files that they
 * load. */
#pragma once
#include "net/html.h"
#include "net/http.h"

struct layout_link {
	const char *href, *text;
};

/* Begins a page and its header, which stays open. class: of the header; may be NULL. */
void layout_begin(struct html *h, const char *title, const char *class);
/* Writes the name of garner as a link to the first page. is_heading: it is also the heading. */
void layout_home(struct html *h, bool is_heading);
/* Closes the header and opens the main part of the page. */
void layout_main(struct html *h);
/* Closes the main part, writes the foot with these links, and ends the page. */
void layout_end(struct html *h, const struct layout_link *links, size_t n);
/* Opens an element with a class of the style sheet; NULL: without. */
void layout_open(struct html *h, const char *element, const char *class);
/* Writes a check box that sends `value`, and its label. class: of the label; may be NULL. */
void layout_tick(struct html *h, const char *class, const char *name, const char *value,
		 const char *label, bool on);
/* Writes a paragraph; layout_notes() writes one for each line. */
void layout_note(struct html *h, const char *class, const char *text);
void layout_notes(struct html *h, struct str notes);
void layout_option(struct html *h, const char *value, const char *text, bool chosen);
void layout_hidden(struct html *h, const char *name, struct str value);

/* An input field with its label. Members that are NULL are left out. */
struct layout_field {
	const char *type, *name, *label, *hint, *least, *list;
	struct str value;
};
void layout_field(struct html *h, const struct layout_field *f);
/* A search field and its button. */
struct layout_box {
	const char *name, *label, *hint, *longest, *button;
	struct str value;
	bool focus;
};
void layout_box(struct html *h, const struct layout_box *b);
/* Separates the facts of a line. */
#define LAYOUT_DOT " · "

/* Handlers that serve web/style.css and web/status.js. */
int layout_style(struct http_request *req, struct http_answer *ret, struct err *err);
int layout_status_js(struct http_request *req, struct http_answer *ret, struct err *err);
