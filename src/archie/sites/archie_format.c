/* Formats of the files of archie/ that have no header of ours: text that people write (the site
 * list, descriptions), and bytes of others (listings). They are recognised by their paths before
 * their first bytes are looked at, because a listing may begin with anything.
 *
 * Text has no checksum. Invalid lines are reported as notes, since all other lines count; a file
 * without a single valid line is damaged. */
#include "archie/archie_format.h"

#include "archie/sites/sites_inner.h"
#include "archie/whatis.h"
#include "base/clock.h"
#include "base/file.h"

#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>

enum { SHOWN = 200 };

static bool fits_place(const char *path, const char *const *pattern, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (fnmatch(pattern[i], path, FNM_PATHNAME) == 0)
			return true;
	return false;
}

/* The end of a path, from the last folder of this name on. */
static const char *from_archie(const char *path)
{
	static const char folder[] = "/archie/";
	const char *found = "", *at = path;
	while ((at = strstr(at, folder)))
		found = at += sizeof folder - 2;
	return found;
}

static bool no_head(struct str head)
{
	(void)head;
	return false;
}

static void put_shown(struct str text, struct buf *out)
{
	for (size_t i = 0; i < text.n; i++) {
		unsigned char c = (unsigned char)text.p[i];
		if ((c < ' ' && c != '\t') || c == 0x7f)
			buf_printf(out, "\\x%02x", c);
		else
			buf_add_byte(out, (char)c);
	}
	buf_add_byte(out, '\n');
}

/* Text, as it is. */
static int print_lines(const char *path, size_t most, struct printer *p, struct err *err)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(most);
	int rc = file_slurp(path, &text, err);
	struct str rest = buf_str(&text), line;
	while (rc == 0 && rest.n && str_cut(&rest, '\n', &line) == 0) {
		put_shown(line, &p->out);
		printer_step(p);
	}
	return rc;
}

/* What becomes of a file in which `bad` lines mean nothing, the first of which is why. */
static int judge_lines(const char *path, uint64_t good, uint64_t bad, const char *why,
		       struct err *err)
{
	if (bad == 0)
		return 0;
	if (good == 0)
		return err_set(err, ERR_DAMAGED, "%s: not one line of it means anything: %s", path,
			       why);
	(void)err_set(err, ERR_NONE,
		      "%s: %" PRIu64 " of its lines mean nothing and are skipped: %s", path, bad,
		      why);
	return FORMAT_NOTED;
}

/* The site list */

static bool is_list(const char *path)
{
	static const char *const places[] = {"/sites", "/sites.local", "/public/sites",
					     "/master/sites.local"};
	return fits_place(from_archie(path), places, ARRAY_LEN(places));
}

static int print_list(const char *path, struct printer *p, struct err *err)
{
	return print_lines(path, ARCHIE_LIST_MOST, p, err);
}

static int verify_list(const char *path, struct err *err)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(ARCHIE_LIST_MOST);
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(SIZE_MAX);
	bool local = str_ends(str_of(path), STR(".local"));
	struct sites_list l;
	int rc = file_slurp(path, &text, err);
	if (rc != 0)
		return rc;
	sites_list_parse(buf_str(&text), local ? "sites.local" : "sites", local, &arena, &l);
	return judge_lines(path, l.n + l.npatterns, l.problems, l.problems ? l.problem[0] : "",
			   err);
}

const struct format archie_sites_format = {
	.name = "archie-sites",
	.claims = no_head,
	.placed = is_list,
	.help = "which archives are indexed",
	.remedy = "mend it, or for archie/sites: garner archie sites get URL",
	.print = print_list,
	.verify = verify_list,
};

/* Descriptions */

static bool is_whatis(const char *path)
{
	return strcmp(from_archie(path), "/whatis") == 0;
}

static int print_whatis(const char *path, struct printer *p, struct err *err)
{
	return print_lines(path, WHATIS_FILE_MOST, p, err);
}

static int verify_whatis(const char *path, struct err *err)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(WHATIS_FILE_MOST);
	char why[80] = "";
	uint64_t number = 0, good = 0, bad = 0;
	int rc = file_slurp(path, &text, err);
	struct str rest = buf_str(&text), line;
	if (rc != 0)
		return rc;
	while (rest.n && str_cut(&rest, '\n', &line) == 0) {
		size_t tab = str_find_byte(line, '\t');
		bool fits = tab > 0 && tab < line.n && tab <= WHATIS_NAME_MOST &&
			    !memchr(line.p, 0, line.n);
		number++;
		good += fits;
		bad += !fits;
		if (!fits && bad == 1)
			snprintf(why, sizeof why,
				 "line %" PRIu64 " is not a name, TAB and a description", number);
	}
	return judge_lines(path, good, bad, why, err);
}

const struct format whatis_format = {
	.name = "whatis",
	.claims = no_head,
	.placed = is_whatis,
	.help = "descriptions of programs",
	.remedy = "mend it, or remove it and garner archie whatis import FILE",
	.print = print_whatis,
	.verify = verify_whatis,
};

/* Listings */

static bool is_listing(const char *path)
{
	static const char *const places[] = {"/lslr/*",
					     "/failed/*",
					     "/tmp/*",
					     "/errors/*",
					     "/master/lslr/*",
					     "/master/failed/*",
					     "/master/tmp/*",
					     "/newsites/dry-run/lslr/*",
					     "/newsites/dry-run/failed/*",
					     "/newsites/dry-run/tmp/*"};
	return fits_place(from_archie(path), places, ARRAY_LEN(places));
}

static const char *packing_of(struct str head)
{
	return str_starts(head, STR("\x1f\x8b")) ? "gzip"
	       : str_starts(head, STR("\xfd"
				      "7zXZ"))
		       ? "xz"
	       : str_starts(head, STR("\x1f\x9d")) ? "compress"
						   : "not packed";
}

static int print_listing(const char *path, struct printer *p, struct err *err)
{
	CLEANUP(file_drop) struct file f = FILE_INIT;
	char room[SHOWN];
	struct stat st;
	size_t got;
	int rc = file_open(&f, path, O_RDONLY | O_NONBLOCK, 0, err);
	if (rc != 0)
		return rc;
	if (file_read(&f, room, sizeof room, 0, &got, err) < 0)
		return -1;
	if (fstat(f.fd, &st) != 0)
		return err_sys(err, "%s", path);
	struct str head = {room, got};
	buf_printf(&p->out, "%" PRId64 " bytes, %s, made ", (int64_t)st.st_size, packing_of(head));
	time_print(&p->out, (int64_t)st.st_mtime * US_PER_S, 0);
	buf_add_text(&p->out, "; its beginning:\n");
	put_shown(str_head(head, str_find_byte(head, '\n')), &p->out);
	return 0;
}

const struct format archie_listing_format = {
	.name = "archie-listing",
	.claims = no_head,
	.placed = is_listing,
	.help = "a listing as a server sent it, or why it could not be used",
	.print = print_listing,
};
