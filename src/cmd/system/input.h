/* Input of commands: the files in their arguments; without any, or for "-", standard input. */
#pragma once
#include "cmd/command.h"

/* Takes the next piece; an empty one marks the end of each input. A result other than 0 stops the
 * reading and is returned: negative with err, or 1 without a message, such as when the output
 * cannot be written, which every command reports at its end. */
typedef int cmd_piece_fn(void *ctx, const char *name, struct str piece, struct err *err);
/* Takes whole lines without their end; `line` counts from 1. */
typedef int cmd_line_fn(void *ctx, const char *name, uint64_t line, struct str text,
			struct err *err);

/* One file, or standard input for "-". */
int cmd_read_path(const char *path, cmd_piece_fn *take, void *ctx, struct err *err);
int cmd_read_path_lines(const char *path, size_t most, cmd_line_fn *take, void *ctx,
			struct err *err);
/* Reads the arguments from first_arg on. */
int cmd_read(const struct cmd_call *call, int first_arg, cmd_piece_fn *take, void *ctx,
	     struct err *err);
/* Fails at a line longer than `most` bytes. */
int cmd_read_lines(const struct cmd_call *call, int first_arg, size_t most, cmd_line_fn *take,
		   void *ctx, struct err *err);

/* The same for those who take pieces: cmd_split() is a cmd_piece_fn whose ctx is one of these. */
struct cmd_lines {
	cmd_line_fn *take;
	void *ctx;
	uint64_t line;
	size_t most;
	bool cut;         /* of a longer line its first most + 1 bytes are taken; else it fails */
	bool nul;         /* lines end in a NUL byte, not in a newline */
	bool raw;         /* a CR before the newline belongs to the line */
	struct buf begun; /* a line of which the end has not come yet; its limit is most + 1 */
};
int cmd_split(void *lines, const char *name, struct str piece, struct err *err);
