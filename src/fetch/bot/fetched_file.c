/* Files that robots fetched, recognized by their place. Files of a botm have names of a certain
 * form; the folder of a spider has a results.jsonl. If someone sends results to the data directory
 * itself, the folders of hosts lie next to ours: there, a name without a dot or port is not taken
 * for a host. */
#include "fetch/fetched_file.h"

#include "base/file.h"
#include "fetch/bot/botm_names.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

static bool has_mode(struct str folder, const char *name, mode_t mode)
{
	char path[PATH_MAX];
	struct stat st;
	int n = snprintf(path, sizeof path, STR_FMT "/%s", STR_ARG(folder), name);
	return n > 0 && (size_t)n < sizeof path && stat(path, &st) == 0 &&
	       (st.st_mode & S_IFMT) == mode;
}

/* The path without its last part; *ret_name: that. */
static struct str path_above(struct str path, struct str *ret_name)
{
	size_t n = str_after_last(path, '/');
	*ret_name = str_from(path, n);
	return str_head(path, n ? n - 1 : 0);
}

/* FOLDER/NNNNNN/NNN, and whatever lies in a botm's usual folder. */
static bool is_of_botm(const char *path)
{
	struct str name, sub;
	struct str folder = path_above(path_above(str_of(path), &name), &sub);
	struct botm_name ignored;
	return strstr(path, "/cache/files/") || strstr(path, "/cache/files@") ||
	       (folder.n && botm_name_parse(str_from(str_of(path), folder.n + 1), &ignored));
}

/* FOLDER/HOST/NAME or FOLDER/HOST,PORT/NAME (fetch/result_print.h). */
static bool is_of_spider(const char *path)
{
	struct str name, host;
	struct str folder = path_above(path_above(str_of(path), &name), &host);
	if (!has_mode(folder, "results.jsonl", S_IFREG))
		return false;
	return str_find_byte(host, '.') < host.n || str_find_byte(host, ',') < host.n ||
	       !has_mode(folder, "run", S_IFDIR);
}

static bool is_fetched(const char *path)
{
	return is_of_botm(path) || is_of_spider(path);
}

static bool fetched_claims(struct str head)
{
	(void)head;
	return false;
}

static int fetched_print(const char *path, struct printer *p, struct err *err)
{
	char bytes[16 << 10];
	struct file f = FILE_INIT;
	size_t n = 0;
	int rc = file_open(&f, path, O_RDONLY | O_NONBLOCK, 0, err);
	for (uint64_t at = 0; rc == 0; at += n) {
		rc = file_read(&f, bytes, sizeof bytes, at, &n, err);
		if (rc < 0 || n == 0)
			break;
		buf_add(&p->out, bytes, n);
		printer_step(p);
	}
	file_drop(&f);
	return rc;
}

static int fetched_verify(const char *path, struct err *err)
{
	(void)path, (void)err;
	return 0;
}

const struct format fetched_format = {
	.name = "fetched",
	.claims = fetched_claims,
	.placed = is_fetched,
	.help = "what a robot fetched, as it came",
	.print = fetched_print,
	.verify = fetched_verify,
};
