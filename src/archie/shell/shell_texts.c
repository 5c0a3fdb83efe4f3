/* Texts of the shell: the files in archie/etc, and built-in ones. All are read before a session
 * begins, because its process may open nothing. Variables of the rc name some of the files, so the
 * rc is run once to learn their names. */
#include "archie/shell/shell_inner.h"

#include "base/beneath.h"
#include "base/embed.h"
#include "net/mail.h"

#include <archie/shell_texts_sum.h> /* made by meson.build: changes with the files */
#include <limits.h>
#include <stdio.h>

EMBED(own_help, GARNER_SOURCE "/src/archie/shell/shell_help.txt");
EMBED(own_mail_help, GARNER_SOURCE "/etc/archie/email.help");

struct str shell_own_help(void)
{
	return str_range(own_help_begin, own_help_end);
}

struct str shell_own_mail_help(void)
{
	return str_range(own_mail_help_begin, own_mail_help_end);
}

struct reading {
	char folder[PATH_MAX]; /* archie/etc */
	struct arena *arena;
	struct buf *warnings;
};

static int slurp_file(const struct reading *r, struct str name, struct str *ret, struct err *err)
{
	struct file f = FILE_INIT;
	uint64_t size;
	size_t n = 0;
	if (!str_starts(name, STR("etc/")))
		return err_set(err, ERR_USAGE, "the name does not begin with etc/");
	int rc = beneath_read(r->folder, str_from(name, 4), &f, err);
	if (rc != 0)
		return rc;
	rc = file_size(&f, &size, err);
	if (rc == 0 && size > SHELL_TEXT_MOST)
		rc = err_set(err, ERR_USAGE, "more than %d bytes", SHELL_TEXT_MOST);
	if (rc == 0) {
		char *text = arena_alloc(r->arena, size + 1);
		rc = file_read(&f, text, size, 0, &n, err);
		*ret = (struct str){text, n};
	}
	file_drop(&f);
	return rc;
}

/* 1: the usual text holds, since there is no such file or it cannot be read. */
static int read_text(const struct reading *r, struct str name, struct str *ret)
{
	struct err err;
	int rc = name.n ? slurp_file(r, name, ret, &err) : 1;
	if (rc < 0)
		buf_printf(r->warnings, STR_FMT ": %s; it is left out\n", STR_ARG(name), err.msg);
	return rc == 0 ? 0 : 1;
}

/* Warnings of a file with its name before each. */
static void add_warnings(const struct reading *r, const char *file, struct buf *lines)
{
	struct str rest = buf_str(lines), line;
	while (rest.n && str_cut(&rest, '\n', &line) == 0)
		buf_printf(r->warnings, "%s: " STR_FMT "\n", file, STR_ARG(line));
	buf_clear(lines);
}

static bool print_nothing(void *ctx, struct str text, enum shell_text what)
{
	(void)ctx, (void)text, (void)what;
	return true;
}

static struct str read_mail_from(const struct reading *r, struct shell *s)
{
	struct str from = shell_var_text(s, VAR_MAIL_FROM);
	if (from.n && !mail_is_address(from)) {
		buf_add_text(r->warnings, "etc/archierc: `mail_from' is not an address; it is left "
					  "out\n");
		return STR("");
	}
	return from.n ? arena_str(r->arena, from) : STR("");
}

void shell_texts_read(const char *data, struct arena *arena, struct shell_texts *ret,
		      struct buf *warnings)
{
	static const struct shell_ops ops = {.print = print_nothing};
	CLEANUP(buf_free) struct buf lines = BUF_INIT(1 << 20);
	struct reading r = {.arena = arena, .warnings = warnings};
	char archie[PATH_MAX];
	*ret = (struct shell_texts){0};
	snprintf(archie, sizeof archie, "%s/archie", data);
	snprintf(r.folder, sizeof r.folder, "%s/archie/etc", data);
	read_text(&r, STR("etc/archierc"), &ret->rc);
	struct shell *s = shell_new_warned(
		&(struct shell_options){.mode = SHELL_INTERACTIVE, .texts = ret, .ops = &ops},
		&lines);
	add_warnings(&r, "etc/archierc", &lines);
	ret->mail_from = read_mail_from(&r, s);
	read_text(&r, shell_var_text(s, VAR_MOTD_FILE), &ret->motd);
	read_text(&r, shell_var_text(s, VAR_SERVERS_FILE), &ret->servers);
	read_text(&r, shell_var_text(s, VAR_EMAIL_HELP_FILE), &ret->mail_help);
	read_text(&r, shell_var_text(s, VAR_MAN_ASCII_FILE), &ret->man_ascii);
	read_text(&r, shell_var_text(s, VAR_MAN_ROFF_FILE), &ret->man_roff);
	ret->domains = domains_read(archie, arena, &lines);
	add_warnings(&r, "etc/ardomains.cf", &lines);
	shell_free(&s);
}
