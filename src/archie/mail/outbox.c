/* Putting mails into the outbox. What waits is counted anew by the names in the folder each time:
 * there is no state that could be wrong after a crash. Two who put at the same instant may pass the
 * limit by one each. */
#include "archie/mail/outbox_inner.h"

#include "archie/archie_conf.h"
#include "archie/daily.h"
#include "archie/mail/mail_parts.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/file.h"
#include "base/rows.h"
#include "disk/small_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/random.h>

static const struct column fields[] = {
	COL("from", struct outbox_file, from),
	COL("to", struct outbox_file, to),
	COL("message", struct outbox_file, message),
};
const struct rows outbox_fields = {ROWS(struct outbox_file, fields), .what = "a mail"};

const struct format outbox_format = {
	.name = "outbox",
	.file = "outbox/*.mail",
	.magic = "GARNEROB",
	.version = 1,
	.help = "a mail that waits to be sent",
	.remedy = "remove it; that mail is lost",
	.fields = &outbox_fields,
};

/* For the texts that the address of ours is read out of, and for the address. */
enum { OWN_MEMORY = SHELL_TEXTS_MOST + (64 << 10) };

struct outbox {
	char *data, *folder;
	const struct archie_conf *conf;
	const struct mail_conf *mail_conf;
	uint64_t disk_free;
};

/* Names */

void outbox_name_print(const struct outbox_name *name, char ret[OUTBOX_NAME_MOST])
{
	snprintf(ret, OUTBOX_NAME_MOST,
		 "%010" PRIu64 ".%03" PRIu64 ".%010" PRIu64 ".%010" PRIu64 ".%" PRIu64 ".mail",
		 name->due_s, name->tries, name->born_s, name->random, name->size);
}

bool outbox_name_parse(struct str text, struct outbox_name *ret)
{
	uint64_t v[5];
	struct str part;
	for (size_t i = 0; i < ARRAY_LEN(v); i++)
		if (str_cut(&text, '.', &part) != 0 || !str_u64(part, &v[i]))
			return false;
	*ret = (struct outbox_name){v[0], v[1], v[2], v[3], v[4]};
	return str_is(text, "mail");
}

void outbox_folder(const char *data, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s/archie/outbox", data);
}

/* Beginning and end */

struct outbox *outbox_new(const char *data, const struct config *config, uint64_t disk_free)
{
	struct outbox *o = mem_alloc(sizeof *o);
	char folder[PATH_MAX];
	outbox_folder(data, folder);
	*o = (struct outbox){.data = mem_text(data),
			     .folder = mem_text(folder),
			     .conf = config_get(config, &archie_section),
			     .mail_conf = config_get(config, &mail_section),
			     .disk_free = disk_free};
	return o;
}

void outbox_free(struct outbox **o)
{
	if (!*o)
		return;
	mem_free(&(*o)->data);
	mem_free(&(*o)->folder);
	mem_free(o);
}

const char *outbox_data(const struct outbox *o)
{
	return o->data;
}

const char *outbox_via(const struct outbox *o)
{
	return o->mail_conf->via;
}

const char *outbox_login(const struct outbox *o)
{
	return o->mail_conf->login;
}

/* Putting */

int outbox_waiting(const char *data, struct outbox_waits *ret, struct err *err)
{
	struct dir dir;
	struct outbox_name name;
	const char *text;
	char folder[PATH_MAX];
	*ret = (struct outbox_waits){0};
	outbox_folder(data, folder);
	int rc = dir_init_own(&dir, folder, err);
	if (rc != 0)
		return MIN(rc, 0);
	while (dir_next(&dir, &text) == 0) {
		if (!outbox_name_parse(str_of(text), &name))
			continue;
		ret->since_s = ret->mails++ ? MIN(ret->since_s, name.born_s) : name.born_s;
		ret->tries = MAX(ret->tries, name.tries);
		ret->bytes += name.size;
	}
	dir_done(&dir);
	return 0;
}

/* Whether so many more may wait. */
static int has_room(struct outbox *o, size_t mails, uint64_t bytes, struct err *err)
{
	struct outbox_waits w;
	if (dir_make(o->folder, DIR_MODE, err) < 0 ||
	    archie_has_room(o->folder, o->disk_free, err) < 0 ||
	    outbox_waiting(o->data, &w, err) < 0)
		return -1;
	if (w.mails + mails <= OUTBOX_MAILS_MOST && w.bytes + bytes <= OUTBOX_BYTES_MOST)
		return 0;
	return err_set(err, ERR_BUSY, "too many mails wait to be sent; try again later");
}

/* Its path is in `ret`. */
static int write_mail(struct outbox *o, const struct mail *mail, char ret[PATH_MAX],
		      struct err *err)
{
	CLEANUP(buf_free) struct buf message = BUF_INIT(MAIL_MESSAGE_MOST);
	CLEANUP(buf_free) struct buf payload = BUF_INIT(OUTBOX_FILE_MOST);
	CLEANUP(buf_free) struct buf bytes = BUF_INIT(OUTBOX_FILE_MOST + SMALL_FILE_HEAD);
	struct outbox_file file;
	struct outbox_name name = {0};
	char text[OUTBOX_NAME_MOST];
	uint32_t random;
	int64_t now_us = clock_sane_us(clock_wall_us());
	if (mail_compose(mail, now_us, &message, err) < 0)
		return -1;
	snprintf(file.from, sizeof file.from, STR_FMT, STR_ARG(mail->from));
	snprintf(file.to, sizeof file.to, STR_FMT, STR_ARG(mail->to));
	file.message = buf_str(&message);
	rows_write(&outbox_fields, &file, &payload);
	small_file_seal(&outbox_format, buf_str(&payload), &bytes);
	if (getrandom(&random, sizeof random, 0) != sizeof random)
		return err_sys(err, "random bytes");
	name.due_s = name.born_s = (uint64_t)(now_us / US_PER_S);
	name.random = random;
	name.size = bytes.n;
	outbox_name_print(&name, text);
	if (snprintf(ret, PATH_MAX, "%s/%s", o->folder, text) >= PATH_MAX)
		return err_set(err, ERR_USAGE, "%s: a path that is too long", o->folder);
	FAULT("outbox.put");
	int rc = file_replace(ret, buf_str(&bytes), 0640, err);
	FAULT("outbox.kept");
	return rc;
}

/* Read anew for each mail, which is rare and is synced: so all who put have the same name on it,
 * whatever texts they have read themselves. */
static struct str own_address(const struct outbox *o, struct arena *arena)
{
	CLEANUP(buf_free) struct buf ignored = BUF_INIT(1 << 20);
	struct shell_texts texts;
	char errors[ARCHIE_ERRORS_MOST];
	shell_texts_read(o->data, arena, &texts, &ignored);
	return texts.mail_from.n ? texts.mail_from
				 : arena_str(arena, str_of(archie_errors(o->conf, errors)));
}

static int put_one(struct outbox *o, const struct mail *mail, struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(OWN_MEMORY);
	char path[PATH_MAX];
	struct mail m = *mail;
	if (!m.from.n)
		m.from = own_address(o, &arena);
	return write_mail(o, &m, path, err);
}

int outbox_put(struct outbox *o, const struct mail *mail, struct err *err)
{
	if (has_room(o, 1, mail->text.n, err) < 0)
		return -1;
	return put_one(o, mail, err);
}

static void daily_folder(const struct outbox *o, char ret[PATH_MAX])
{
	snprintf(ret, PATH_MAX, "%s/archie", o->data);
}

struct put_paths {
	char path[MAIL_PARTS_MOST + 1][PATH_MAX];
	size_t n;
};

static int put_parts(struct outbox *o, struct mail_parts *parts, struct mail *m,
		     struct put_paths *paths, struct err *err)
{
	CLEANUP(buf_free) struct buf subject = BUF_INIT(MAIL_VALUE_MOST);
	if (has_room(o, parts->n, parts->text.n, err) < 0)
		return -1;
	while (mail_parts_next(parts, &subject, &m->text) == 0) {
		m->subject = buf_str(&subject);
		ENSURE(paths->n < ARRAY_LEN(paths->path));
		if (write_mail(o, m, paths->path[paths->n], err) < 0)
			return -1;
		paths->n++;
	}
	return 0;
}

/* Of the share of both, or of none. */
static int take_mails(struct outbox *o, struct str to, struct str asker, size_t n, struct err *err)
{
	char folder[PATH_MAX];
	uint32_t most = (uint32_t)o->conf->mails_per_day, mails = (uint32_t)n;
	int64_t now_us = clock_wall_us();
	struct err ignored;
	daily_folder(o, folder);
	int rc = daily_take(folder, DAILY_MAILS, asker, mails, most, now_us, err);
	if (rc != 0)
		return rc < 0 ? rc : err_set(err, ERR_BUSY, "too many mails today; try tomorrow");
	rc = daily_take(folder, DAILY_MAILS, to, mails, most, now_us, err);
	if (rc != 0)
		(void)daily_give_back(folder, DAILY_MAILS, asker, mails, now_us, &ignored);
	return rc == 1 ? err_set(err, ERR_BUSY, "too many mails to this address today") : rc;
}

static void give_mails_back(struct outbox *o, struct str to, struct str asker, size_t n)
{
	char folder[PATH_MAX];
	struct err ignored;
	int64_t now_us = clock_wall_us();
	daily_folder(o, folder);
	(void)daily_give_back(folder, DAILY_MAILS, asker, (uint32_t)n, now_us, &ignored);
	(void)daily_give_back(folder, DAILY_MAILS, to, (uint32_t)n, now_us, &ignored);
}

int outbox_put_output(struct outbox *o, const struct shell_mail *mail, struct str asker,
		      struct err *err)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(OWN_MEMORY);
	struct mail m = {.from = own_address(o, &arena), .to = mail->to, .answers = true};
	struct mail_parts parts;
	struct err ignored;
	if (mail_parts_init(&parts, mail, err) < 0)
		return -1;
	int rc = take_mails(o, mail->to, asker, parts.n, err);
	if (rc == 0) {
		struct put_paths *paths = mem_alloc(sizeof *paths);
		rc = put_parts(o, &parts, &m, paths, err);
		while (rc < 0 && paths->n > 0)
			(void)file_remove(paths->path[--paths->n], &ignored);
		mem_free(&paths);
		if (rc < 0)
			give_mails_back(o, mail->to, asker, parts.n);
	}
	mail_parts_done(&parts);
	return rc;
}

/* Requests for new sites */

bool outbox_is_host(struct str host)
{
	if (!host.n || host.n > 255 || host.p[0] == '-')
		return false;
	for (size_t i = 0; i < host.n; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:",
			    host.p[i]) ||
		    !host.p[i])
			return false;
	return true;
}

int outbox_take_new_site(struct outbox *o, struct str asker, struct err *err)
{
	char folder[PATH_MAX];
	daily_folder(o, folder);
	int rc = daily_take(folder, DAILY_NEW_SITES, asker, 1, OUTBOX_NEW_SITES_A_DAY,
			    clock_wall_us(), err);
	if (rc == 1)
		return err_set(err, ERR_BUSY, "%d requests a day are enough; try again tomorrow",
			       OUTBOX_NEW_SITES_A_DAY);
	return rc;
}

void outbox_give_new_site_back(struct outbox *o, struct str asker)
{
	char folder[PATH_MAX];
	struct err ignored;
	daily_folder(o, folder);
	(void)daily_give_back(folder, DAILY_NEW_SITES, asker, 1, clock_wall_us(), &ignored);
}

int outbox_put_taken_site(struct outbox *o, struct str host, struct str reply_to, struct err *err)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(1024);
	struct mail m = {
		.to = str_of(o->conf->master), .reply_to = reply_to, .subject = STR("addnewsite")};
	if (has_room(o, 1, 1024, err) < 0)
		return -1;
	buf_printf(&text, "addnewsite " STR_FMT "\n", STR_ARG(host));
	m.text = buf_str(&text);
	return put_one(o, &m, err);
}

int outbox_put_new_site(struct outbox *o, struct str host, struct str reply_to, struct str asker,
			struct err *err)
{
	if (!o->conf->master[0])
		return err_set(err, ERR_USAGE, "this server knows no master for requests");
	if (!outbox_is_host(host))
		return err_set(err, ERR_USAGE, "not the name of a host");
	if (reply_to.n && !mail_is_address(reply_to))
		return err_set(err, ERR_USAGE, "not an address of a mailbox");
	if (has_room(o, 1, 1024, err) < 0 || outbox_take_new_site(o, asker, err) < 0)
		return -1;
	return outbox_put_taken_site(o, host, reply_to, err);
}

const char *outbox_told(const struct err *err)
{
	return err->code == ERR_USAGE || err->code == ERR_BUSY
		       ? err->msg
		       : "the server cannot keep it now; try again later";
}
