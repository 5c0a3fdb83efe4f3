/* The bytes that libmicrohttpd receives from a connection (http_intake.c). For the HTTP server
 * only. A program that serves HTTP exports its recv() (src/net/meson.build). */
#pragma once
#include "base/buf.h"
#include "base/err.h"
#include "net/http_head.h"

struct http_intake {
	struct http_head head;
	struct buf held; /* what came, but was not handed on */
	size_t ready;    /* of it may go */
	bool told;       /* of a head that is refused */
	bool asked;      /* libmicrohttpd does receive through it */
};

/* Whether libmicrohttpd will find our recv(). */
int http_intake_check(struct err *err);
/* From here on the descriptor's bytes go through it; memory: what a head may cost at most. */
void http_intake_begin(struct http_intake *in, int fd, size_t memory);
void http_intake_end(struct http_intake *in, int fd); /* before the descriptor is closed */
/* This request stands for a head that was refused: in->head says why. */
bool http_intake_refused(const struct http_intake *in, struct str target);
