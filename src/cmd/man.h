/* Pieces of man pages. */
#pragma once
#include "cmd/command.h"

/* Of this version, so that a page built twice is the same. */
#define MAN_DATE "November 15, 2026"

void man_paragraph(struct buf *out, struct str text);
void man_options(struct buf *out, const struct cmd_option *list, size_t n);
void man_examples(struct buf *out, const struct cmd_example *list, size_t n);
void man_exits(struct buf *out, const struct cmd_exit *list, size_t n); /* a section */
