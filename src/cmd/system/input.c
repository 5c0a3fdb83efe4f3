/* Files and standard input, in pieces or lines. Lines are split here, so that every command has
 * the same limits and names places in the same way. */
#include "cmd/system/input.h"

#include "base/file.h"

#include <fcntl.h>
#include <unistd.h>

enum { PIECE = 256 << 10 };

static int read_all(const struct file *f, const char *name, cmd_piece_fn *take, void *ctx,
		    struct err *err)
{
	char *piece = mem_resize(NULL, PIECE);
	size_t got = 0;
	int rc;
	do {
		rc = file_read_next(f, piece, PIECE, &got, err);
		if (rc == 0)
			rc = take(ctx, name, (struct str){piece, got}, err);
	} while (rc == 0 && got > 0);
	mem_free(&piece);
	return rc;
}

int cmd_read_path(const char *path, cmd_piece_fn *take, void *ctx, struct err *err)
{
	static char input[] = "standard input";
	const struct file standard = {.fd = STDIN_FILENO, .path = input};
	struct file f;
	if (strcmp(path, "-") == 0)
		return read_all(&standard, input, take, ctx, err);
	int rc = file_open(&f, path, O_RDONLY, 0, err);
	if (rc)
		return rc < 0 ? rc : err_set(err, ERR_USAGE, "%s: no such file", path);
	rc = read_all(&f, path, take, ctx, err);
	file_drop(&f);
	return rc;
}

int cmd_read(const struct cmd_call *call, int first_arg, cmd_piece_fn *take, void *ctx,
	     struct err *err)
{
	if (first_arg >= call->argc)
		return cmd_read_path("-", take, ctx, err);
	int rc = 0;
	for (int i = first_arg; i < call->argc && rc == 0; i++)
		rc = cmd_read_path(call->argv[i], take, ctx, err);
	return rc;
}

static void add_to_line(struct cmd_lines *l, struct str text)
{
	buf_add_str(&l->begun, l->cut ? str_head(text, l->most + 1 - l->begun.n) : text);
}

static int take_line(struct cmd_lines *l, const char *name, struct str text, struct err *err)
{
	add_to_line(l, text);
	l->line++;
	if (!l->cut && (l->begun.over || l->begun.n > l->most))
		return err_set(err, ERR_USAGE, "%s:%llu: a line longer than %zu bytes", name,
			       (unsigned long long)l->line, l->most);
	struct str line = buf_str(&l->begun);
	if (!l->raw && str_ends(line, STR("\r")))
		line.n--;
	int rc = l->take(l->ctx, name, l->line, line, err);
	buf_clear(&l->begun);
	return rc;
}

int cmd_split(void *ctx, const char *name, struct str piece, struct err *err)
{
	struct cmd_lines *l = ctx;
	if (piece.n == 0) {
		int rc = l->begun.n ? take_line(l, name, piece, err) : 0;
		l->line = 0;
		return rc;
	}
	for (size_t end; (end = str_find_byte(piece, l->nul ? 0 : '\n')) < piece.n;) {
		int rc = take_line(l, name, str_head(piece, end), err);
		if (rc)
			return rc;
		piece = str_from(piece, end + 1);
	}
	add_to_line(l, piece);
	return l->begun.over ? take_line(l, name, STR(""), err) : 0;
}

int cmd_read_path_lines(const char *path, size_t most, cmd_line_fn *take, void *ctx,
			struct err *err)
{
	struct cmd_lines l = {.take = take, .ctx = ctx, .most = most, .begun = BUF_INIT(most + 1)};
	int rc = cmd_read_path(path, cmd_split, &l, err);
	buf_free(&l.begun);
	return rc;
}

int cmd_read_lines(const struct cmd_call *call, int first_arg, size_t most, cmd_line_fn *take,
		   void *ctx, struct err *err)
{
	struct cmd_lines l = {.take = take, .ctx = ctx, .most = most, .begun = BUF_INIT(most + 1)};
	int rc = cmd_read(call, first_arg, cmd_split, &l, err);
	buf_free(&l.begun);
	return rc;
}
