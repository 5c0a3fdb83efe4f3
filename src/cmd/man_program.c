/* The page of garner itself, and all pages as files. */
#include "base/file.h"
#include "cmd/config_man.h"
#include "cmd/help.h"
#include "cmd/man.h"
#include "cmd/names.h"
#include "cmd/options.h"

enum { PATH_CAP = 4096 };

static void put_command(struct buf *out, const char *name, const char *summary)
{
	buf_printf(out, ".It Xr garner-%s 1\n", name);
	man_paragraph(out, str_of(summary));
}

static void put_roles(struct buf *out, const struct program *program)
{
	if (program->nroles == 0)
		return;
	buf_add_text(out, ".Ss Roles\nEach runs in the foreground;\n.Xr garner-up 1\n"
			  "supervises those that the configuration names.\n"
			  ".Bl -tag -width Ds\n");
	for (size_t i = 0; i < program->nroles; i++)
		put_command(out, program->roles[i]->name, program->roles[i]->summary);
	buf_add_text(out, ".El\n");
}

static void put_tools(struct buf *out, const struct program *program)
{
	buf_add_text(out, ".Ss Tools\n.Bl -tag -width Ds\n");
	for (size_t i = 0; i < program->ncommands; i++)
		put_command(out, program->commands[i]->name, program->commands[i]->summary);
	buf_add_text(out, ".El\n");
}

void man_program(const struct program *program, struct buf *out)
{
	buf_add_text(out, ".Dd " MAN_DATE "\n.Dt GARNER 1\n.Os\n.Sh NAME\n.Nm garner\n"
			  ".Nd gather what is worth finding, keep it, index it, serve it\n"
			  ".Sh SYNOPSIS\n.Nm\n.Op Ar OPTION...\n.Ar COMMAND\n.Op Ar ARGUMENT...\n"
			  ".Sh DESCRIPTION\n.Nm\nis one program with many roles and tools.\n"
			  "Each has a page of its own.\n"
			  "Called by the name of a role, by an old name of a command, or as\n"
			  ".Pa garner-COMMAND ,\nit behaves as that.\n");
	put_roles(out, program);
	put_tools(out, program);
	buf_add_text(out, ".Ss Options\n"
			  "All commands have these, before or behind their name:\n");
	man_options(out, cmd_globals, cmd_nglobals);
	buf_add_text(out, ".Sh ENVIRONMENT\n.Bl -tag -width Ds\n"
			  ".It Ev GARNER_KEY , Ev GARNER_SECTION_KEY\n"
			  "A setting, over the file; see\n.Xr garner.conf 5 .\n"
			  ".It Ev NO_COLOR\nIf it is set and not empty, nothing is printed bold.\n"
			  ".El\n");
	man_exits(out, cmd_all_exits, cmd_nall_exits);
	buf_add_text(out, ".Sh EXAMPLES\n");
	man_examples(out, program_examples, program_nexamples);
	buf_add_text(out, ".Sh SEE ALSO\n.Xr garner.conf 5\n");
}

static int write_page(const char *dir, const char *name, int section, const struct buf *page,
		      struct err *err)
{
	char path[PATH_CAP];
	int n = snprintf(path, sizeof path, "%s/man%d/%s.%d", dir, section, name, section);
	if (n < 0 || (size_t)n >= sizeof path)
		return err_set(err, ERR_USAGE, "%s: the path is too long", dir);
	ENSURE(!page->over);
	return file_replace(path, buf_str(page), 0644, err);
}

static int write_command(const char *dir, const struct command *command, struct buf *page,
			 struct err *err)
{
	char name[128];
	snprintf(name, sizeof name, "garner-%s", command->name);
	buf_clear(page);
	man_command(command, command->name, page);
	return write_page(dir, name, 1, page, err);
}

static int write_commands(const struct program *program, const char *dir, struct buf *page,
			  struct err *err)
{
	for (size_t i = 0; i < program->ncommands; i++)
		if (write_command(dir, program->commands[i], page, err) < 0)
			return -1;
	int rc = 0;
	struct arena arena = ARENA_INIT(1 << 20);
	for (size_t i = 0; i < program->nroles && rc == 0; i++)
		rc = write_command(dir, cmd_of_role(program->roles[i], &arena), page, err);
	arena_free(&arena);
	return rc;
}

static int write_config(const struct program *program, const char *dir, struct buf *page,
			struct err *err)
{
	const struct config_section *sections[CMD_SECTIONS_MAX];
	size_t n = cmd_sections(program, sections, ARRAY_LEN(sections));
	buf_clear(page);
	config_man(sections, n, page);
	return write_page(dir, "garner.conf", 5, page, err);
}

static int make_folders(const char *dir, struct err *err)
{
	static const char *const names[] = {"man1", "man5"};
	char path[PATH_CAP];
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		int n = snprintf(path, sizeof path, "%s/%s", dir, names[i]);
		if (n < 0 || (size_t)n >= sizeof path)
			return err_set(err, ERR_USAGE, "%s: the path is too long", dir);
		if (dir_make(path, 0755, err) < 0)
			return -1;
	}
	return 0;
}

int man_write(const struct program *program, const char *dir, struct err *err)
{
	struct buf page = BUF_INIT(HELP_MOST);
	int rc = make_folders(dir, err);
	if (rc == 0) {
		man_program(program, &page);
		rc = write_page(dir, "garner", 1, &page, err);
	}
	if (rc == 0)
		rc = write_commands(program, dir, &page, err);
	if (rc == 0)
		rc = write_config(program, dir, &page, err);
	buf_free(&page);
	return rc;
}
