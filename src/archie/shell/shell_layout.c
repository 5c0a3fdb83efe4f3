/* The layout of answers: byte for byte that of version 3.5 of the old server, or of 3.0. Programs
 * read these columns, so a value that the listing does not have is written in a form that keeps
 * them: a size of 0, modes without a permission, a dash for a time.
 *
 * Times are local for people, and UTC for programs. */
#include "archie/shell/shell_inner.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

const char *const shell_format_words[SHELL_FORMATS + 1] = {"verbose", "terse",  "machine",
							   "url",     "silent", NULL};

enum { TIME_ROOM = 64 };

/* "16:03 17 Jul 1993", 17 columns. */
static const char *local_time(int64_t at_s, char ret[TIME_ROOM])
{
	time_t t = (time_t)at_s;
	struct tm tm;
	if (at_s < 0 || !localtime_r(&t, &tm) ||
	    strftime(ret, TIME_ROOM, "%H:%M %e %h %Y", &tm) == 0)
		snprintf(ret, TIME_ROOM, "%17s", "-");
	return ret;
}

/* "19930717160300Z" */
static const char *zulu_time(int64_t at_s, char ret[TIME_ROOM])
{
	time_t t = (time_t)at_s;
	struct tm tm;
	if (at_s < 0 || !gmtime_r(&t, &tm) || strftime(ret, TIME_ROOM, "%Y%m%d%H%M%SZ", &tm) == 0)
		snprintf(ret, TIME_ROOM, "%014dZ", 0);
	return ret;
}

/* "117523", or "117523 bytes" as the old server was told it. */
static const char *size_text(const struct shell_listing *l, int64_t size, char ret[TIME_ROOM])
{
	snprintf(ret, TIME_ROOM, "%" PRId64 "%s", MAX(size, 0),
		 l->layout == SHELL_3_0 ? " bytes" : "");
	return ret;
}

static const char *mode_text(const struct names_entry *file, char ret[11])
{
	static const char letters[NAMES_KINDS] = {'-', 'd', 'l', '-'};
	if (file->mode[0])
		snprintf(ret, 11, "%.10s", file->mode);
	else
		snprintf(ret, 11, "%c---------", letters[file->kind]);
	return ret;
}

static void verbose_host(struct shell_listing *l, const struct archie_row *row, struct buf *out)
{
	char t[TIME_ROOM];
	bool old = l->layout == SHELL_3_0;
	buf_printf(out, "%sHost " STR_FMT "%s(" STR_FMT ")\nLast updated %s\n", old ? "" : "\n\n",
		   STR_ARG(row->host), old ? "    " : "\t", STR_ARG(row->address),
		   local_time(row->listed_s, t));
}

static void verbose_file(struct shell_listing *l, const struct archie_row *row, struct str path,
			 struct buf *out)
{
	const struct names_entry *file = &row->file;
	char t[TIME_ROOM], size[TIME_ROOM], mode[11];
	struct str folder = str_head(path, MAX(path.n - file->name.n - 1, (size_t)1));
	bool other_host = !l->any || !str_eq(l->host, row->host);
	if (other_host)
		verbose_host(l, row, out);
	if (other_host || !str_eq(l->folder, folder))
		buf_printf(out, "\n    Location: " STR_FMT "\n", STR_ARG(folder));
	buf_printf(out, "      %s    %s %13s  %12s  " STR_FMT "\n",
		   file->kind == NAMES_DIR ? "DIRECTORY" : "FILE", mode_text(file, mode),
		   size_text(l, file->size, size), local_time(file->time_s, t),
		   STR_ARG(file->name));
	l->host = row->host;
	l->folder = folder;
}

/* A slash at its end was what 3.0 told a directory by. */
static const char *folder_mark(const struct shell_listing *l, const struct names_entry *file)
{
	return l->layout == SHELL_3_0 && file->kind == NAMES_DIR ? "/" : "";
}

static void url_file(const struct archie_row *row, struct str path, struct buf *out)
{
	char t[TIME_ROOM];
	struct str url = row->url;
	while (url.n && url.p[url.n - 1] == '/')
		url.n--;
	buf_add_text(out, "\n  ");
	if (url.n)
		buf_add_str(out, url);
	else
		buf_printf(out, "ftp://" STR_FMT STR_FMT, STR_ARG(row->host), STR_ARG(path));
	buf_printf(out, "\n\t\tDate: %s      Size: %" PRId64 " bytes\n",
		   local_time(row->file.time_s, t), MAX(row->file.size, 0));
}

void shell_layout_file(struct shell_listing *l, const struct archie_row *row, struct buf *out)
{
	const struct names_entry *file = &row->file;
	struct str path = archie_row_path(row, l->arena);
	char t[TIME_ROOM], size[TIME_ROOM], mode[11];
	switch (l->format) {
	case FORMAT_TERSE:
		buf_printf(out, STR_FMT "  %s %7s " STR_FMT "%s\n", STR_ARG(row->host),
			   local_time(file->time_s, t), size_text(l, file->size, size),
			   STR_ARG(path), folder_mark(l, file));
		break;
	case FORMAT_MACHINE:
		buf_printf(out, "%s " STR_FMT " %s %s " STR_FMT "%s\n", zulu_time(file->time_s, t),
			   STR_ARG(row->host), size_text(l, file->size, size),
			   mode_text(file, mode), STR_ARG(path), folder_mark(l, file));
		break;
	case FORMAT_URL:
		url_file(row, path, out);
		break;
	default:
		verbose_file(l, row, path, out);
	}
	l->any = true;
}

void shell_layout_site(enum shell_format format, const struct archie_row *row, struct buf *out)
{
	char t[TIME_ROOM];
	char host[256], address[64];
	snprintf(host, sizeof host, STR_FMT, STR_ARG(row->host));
	snprintf(address, sizeof address, STR_FMT, STR_ARG(row->address));
	if (format == FORMAT_MACHINE)
		buf_printf(out, "%s %s\n", host, zulu_time(row->listed_s, t));
	else if (format == FORMAT_TERSE)
		buf_printf(out, "%s %s\n", host, address);
	else
		buf_printf(out, "%-40s %15s     %17s\n", host, address,
			   local_time(row->listed_s, t));
}

/* Descriptions: words until the line is full, and the next line begins where they did. */
void shell_layout_whatis(const struct archie_row *row, unsigned cols, struct buf *out)
{
	enum { NAME_COLS = 25, INDENT = NAME_COLS + 1 };
	struct str rest = row->text, word;
	if (rest.n == 0) {
		buf_printf(out, STR_FMT "\n", STR_ARG(row->file.name));
		return;
	}
	size_t at = MAX(row->file.name.n, (size_t)NAME_COLS) + 1;
	buf_printf(out, "%-*.*s ", NAME_COLS, STR_ARG(row->file.name));
	bool first = true;
	while (str_cut(&rest, ' ', &word) == 0) {
		if (word.n == 0)
			continue;
		size_t width = str_utf8_count(word);
		if (!first && at + 1 + width > cols) {
			buf_printf(out, "\n%*s", INDENT, "");
			at = INDENT;
		} else if (!first) {
			buf_add_byte(out, ' ');
			at++;
		}
		buf_add_str(out, word);
		at += width;
		first = false;
	}
	buf_add_byte(out, '\n');
}

void shell_layout_domains(enum shell_format format, const struct domains *d, struct buf *out)
{
	buf_add_text(out, "Pseudo-domains known to this server:\n\n");
	for (size_t i = 0; i < d->n; i++) {
		const struct domain *one = &d->domain[i];
		if (format == FORMAT_TERSE)
			buf_printf(out, "%-40.*s " STR_FMT "\n", STR_ARG(one->text),
				   STR_ARG(one->name));
		else
			buf_printf(out, "%-15.*s %-20.*s " STR_FMT "\n", STR_ARG(one->name),
				   STR_ARG(one->text), STR_ARG(one->members));
	}
}
