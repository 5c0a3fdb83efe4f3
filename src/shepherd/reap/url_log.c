/* The URL log. Written with O_APPEND and in whole lines, so that a file may have several writers.
 * Where a write was cut short (no room on the disk, a crash) the next one begins a line of its
 * own. */
#include "shepherd/reap/url_log.h"

#include "base/clock.h"
#include "base/file.h"
#include "shepherd/code.h"
#include "url/url.h"

#include <fcntl.h>
#include <inttypes.h>

/* A line is shorter: a URL, each byte of it escaped, and the rest. */
enum { LINE_MOST = 3 * URL_MAX + 512 };

struct url_log {
	struct file file;
	struct buf lines, shown;
	bool torn;       /* nobody knows whether the file ends with a line */
	bool failed;     /* so did the last write */
	struct err told; /* why, until somebody asks */
};

static int log_open_file(const char *path, struct file *ret, struct err *err)
{
	return file_open(ret, path, O_RDWR | O_CREAT | O_APPEND, 0640, err);
}

int url_log_open(struct url_log **ret, const char *path, struct err *err)
{
	struct file file;
	if (log_open_file(path, &file, err) < 0)
		return -1;
	struct url_log *log = mem_alloc(sizeof *log);
	*log = (struct url_log){
		.file = file,
		.lines = BUF_INIT(URL_LOG_BUFFER + LINE_MOST),
		.shown = BUF_INIT(URL_MAX),
		.torn = true,
	};
	*ret = log;
	return 0;
}

/* Whether a line that was not ended stands at the end of the file. */
static int log_is_torn(const struct url_log *log, bool *ret, struct err *err)
{
	uint64_t size;
	char last = '\n';
	size_t n;
	if (file_size(&log->file, &size, err) < 0 ||
	    (size && file_read(&log->file, &last, 1, size - 1, &n, err) < 0))
		return -1;
	*ret = last != '\n';
	return 0;
}

static int log_write(struct url_log *log, struct err *err)
{
	bool torn = false;
	if (log->torn && log_is_torn(log, &torn, err) < 0)
		return -1;
	if (torn && file_write(&log->file, "\n", 1, 0, err) < 0)
		return -1;
	log->torn = true; /* until all of it is there */
	if (file_write(&log->file, log->lines.p, log->lines.n, 0, err) < 0)
		return -1;
	log->torn = false;
	return 0;
}

static void log_empty(struct url_log *log)
{
	struct err err;
	if (log->lines.n == 0)
		return;
	bool failed = log_write(log, &err) < 0;
	if (failed && !log->failed)
		log->told = err;
	log->failed = failed;
	buf_clear(&log->lines);
}

int url_log_flush(struct url_log *log, struct err *err)
{
	if (!log)
		return 0;
	log_empty(log);
	if (log->told.code == ERR_NONE)
		return 0;
	*err = log->told;
	log->told = (struct err){0};
	return err_then(err, "lines of the URL log are lost");
}

int url_log_reopen(struct url_log *log, struct err *err)
{
	struct file file;
	if (!log)
		return 0;
	int rc = url_log_flush(log, err);
	if (log_open_file(log->file.path, &file, err) < 0)
		return -1;
	file_drop(&log->file);
	log->file = file;
	log->torn = true;
	return rc;
}

void url_log_close(struct url_log **plog)
{
	struct url_log *log = *plog;
	if (!log)
		return;
	log_empty(log);
	file_drop(&log->file);
	buf_free(&log->lines);
	buf_free(&log->shown);
	mem_free(plog);
}

/* Lines */

/* Whose fault it is. What the operator's own machines did not do is ours. */
static char line_letter(uint16_t code)
{
	if (code_class(code) == CODE_CLASS_OK)
		return 'I';
	enum robot_cause cause = code_cause(code);
	return cause == ROBOT_CAUSE_SINK || cause == ROBOT_CAUSE_PROXY ? 'E' : 'w';
}

/* "2026-11-16 05:20:01" */
static void line_put_time(struct buf *out, int64_t wall_us)
{
	struct buf text = BUF_INIT(64);
	time_print(&text, wall_us, 0);
	struct str s = buf_str(&text);
	size_t day = str_find_byte(s, 'T');
	buf_add_str(out, str_head(s, day));
	buf_add_byte(out, ' ');
	buf_add_str(out, str_head(str_from(s, day + 1), strlen("05:20:01")));
	buf_free(&text);
}

/* Canonical URLs have nothing to escape; others may stand in old buckets. */
static void line_put_url(struct url_log *log, struct str url)
{
	buf_clear(&log->shown);
	url_show(str_head(url, URL_MAX), &log->shown);
	struct str s = buf_str(&log->shown);
	size_t from = 0;
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c > ' ' && c < 0x7f)
			continue;
		buf_add(&log->lines, s.p + from, i - from);
		buf_printf(&log->lines, "%%%02X", c);
		from = i + 1;
	}
	buf_add_str(&log->lines, str_from(s, from));
}

/* Port, server and channel; the last is always 0 here. */
static void line_put_key(struct buf *out, uint16_t port, qkey key)
{
	char text[QKEY_TEXT];
	struct str s = str_of(qkey_print(key, text));
	buf_printf(out, "q=%u:", port);
	if (qkey_kind(key) == QKEY_RESOLVED && !qkey_is_v6(key))
		buf_printf(out, "%08x", (uint32_t)key);
	else
		buf_add_str(out, str_head(s, str_find_byte(s, ':')));
	buf_add_text(out, ":0");
}

void url_log_add(struct url_log *log, const struct url_log_line *line)
{
	char words[CODE_TEXT];
	if (!log)
		return;
	struct buf *out = &log->lines;
	buf_printf(out, "%c ", line_letter(line->code));
	line_put_time(out, line->wall_us);
	buf_add_byte(out, ' ');
	line_put_url(log, line->url);
	buf_printf(out, ": %04u %s [%.64s:%" PRIu64 "%s] t=%" PRIu32 " ", line->code,
		   code_text(line->code, words), line->reaper, line->id, line->refresh ? "*" : "",
		   line->took_ms);
	line_put_key(out, line->port, line->key);
	if (line->retries)
		buf_printf(out, " [r=%u]", line->retries);
	buf_add_byte(out, '\n');
	if (out->n >= URL_LOG_BUFFER)
		log_empty(log);
}
