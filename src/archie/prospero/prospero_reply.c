/* Replies of Prospero. A link is one line and lines of attributes after it. It is written to the
 * end of the text, and removed again if the dialect cannot express it. Version 1 quotes names only
 * and splits words at blanks; version 5 quotes everything, but no value may contain a line feed. */
#include "archie/prospero/prospero.h"

#include "archie/ng_vars.h"
#include "archie/prospero/ardp.h"

#include <inttypes.h>
#include <stdio.h>

enum {
	PATHS_MOST = 4 << 20,
	LINK_USUAL = 256,  /* bytes of a link with its attributes */
	REST_USUAL = 1024, /* and of what is no link */
};

/* A reply being written: where, and of which list. */
struct writing {
	struct prospero_reply *r;
	const struct prospero_list *list;
	struct buf *out;
	struct arena paths;
	size_t begin; /* of the link */
	size_t line;  /* of its last line */
	bool v5, bad; /* this link cannot be expressed */
};

static void add_text(struct writing *w, struct str text)
{
	buf_add(w->out, text.p, text.n);
}

static void add_number(struct writing *w, uint64_t v)
{
	char text[STR_DECIMAL_MAX];
	buf_add(w->out, text, str_decimal(text, v));
}

static void end_line(struct writing *w)
{
	buf_add_byte(w->out, '\n');
	if (w->out->n - w->line > ARDP_TEXT_MOST)
		w->bad = true;
	w->line = w->out->n;
}

/* Every byte of a reply is looked at by these two, without branches: many at a time. */

/* What stands for itself: neither quotes nor what is below # or above ~. */
static bool is_plain(struct str word)
{
	bool quoted = false;
	for (size_t i = 0; i < word.n; i++)
		quoted |= (word.p[i] < '#') | (word.p[i] > '~') | (word.p[i] == '\'');
	return word.n && !quoted;
}

static bool has_below(struct str word, unsigned char least)
{
	bool has = false;
	for (size_t i = 0; i < word.n; i++)
		has |= ((unsigned char)word.p[i] < least) | (word.p[i] == 0x7f);
	return has;
}

/* A word with quotes where it needs them. */
static void add_quoted(struct writing *w, struct str word)
{
	struct str rest = word;
	size_t n;
	if (is_plain(word)) {
		add_text(w, word);
		return;
	}
	if (has_below(word, w->v5 ? ' ' : ' ' + 1))
		w->bad = true;
	buf_add_byte(w->out, '\'');
	while ((n = str_find_byte(rest, '\'')) < rest.n) {
		add_text(w, str_head(rest, n + 1));
		buf_add_byte(w->out, '\'');
		rest = str_from(rest, n + 1);
	}
	add_text(w, rest);
	buf_add_byte(w->out, '\'');
}

/* A word that version 1 takes as it stands. */
static void add_word(struct writing *w, struct str word)
{
	if (w->v5) {
		add_quoted(w, word);
		return;
	}
	if (!word.n || has_below(word, ' ' + 1))
		w->bad = true;
	add_text(w, word);
}

/* Links */

/* The line of a link; path: on the host. */
static void link_begin(struct writing *w, struct str target, struct str name, struct str host,
		       struct str path)
{
	w->begin = w->line = w->out->n;
	w->bad = false;
	add_text(w, w->v5 ? STR("LINK  L ") : STR("LINK L "));
	add_text(w, target);
	add_text(w, STR(" "));
	add_quoted(w, name);
	add_text(w, STR(" INTERNET-D "));
	add_word(w, host);
	add_text(w, STR(" ASCII "));
	add_word(w, path);
	add_text(w, w->v5 ? STR(" 0") : STR(" 0 0"));
	end_line(w);
}

/* One to ourselves; part: of its path, one after the other. */
static void link_begin_own(struct writing *w, struct str target, struct str name,
			   const struct str *part, size_t parts)
{
	CLEANUP(buf_free) struct buf path = BUF_INIT((size_t)4 * NAMES_NAME_MOST);
	for (size_t i = 0; i < parts; i++)
		buf_add_str(&path, part[i]);
	link_begin(w, target, name, w->r->server, buf_str(&path));
}

static void link_end(struct writing *w)
{
	if (w->bad || w->out->over) {
		w->out->n = w->begin;
		w->out->over = false;
		w->r->left_out++;
	} else {
		w->r->links++;
	}
}

/* An attribute of the link, its name with its class as version 5 has it before it. */
static void attribute_begin(struct writing *w, struct str class, struct str name)
{
	if (w->v5) {
		add_text(w, STR("ATTRIBUTE CACHED "));
		add_text(w, class);
		add_text(w, name);
		add_text(w, STR(" SEQUENCE "));
	} else {
		add_text(w, STR("LINK-INFO CACHED "));
		add_text(w, name);
		add_text(w, STR(" ASCII "));
	}
}
#define APPLICATION STR("APPLICATION ")
#define INTRINSIC STR("INTRINSIC ")

static void attribute_time(struct writing *w, struct str class, struct str name, int64_t time_s)
{
	if (time_s == -1)
		return;
	attribute_begin(w, class, name);
	ng_time_print(w->out, time_s);
	end_line(w);
}

static void attribute_address(struct writing *w, struct str address)
{
	if (!address.n)
		return;
	attribute_begin(w, APPLICATION, STR("AR_H_IP_ADDR"));
	add_word(w, address);
	end_line(w);
}

static void attribute_size(struct writing *w, int64_t size)
{
	if (size < 0)
		return;
	attribute_begin(w, INTRINSIC, STR("SIZE"));
	add_text(w, w->v5 ? STR("'") : STR(""));
	add_number(w, (uint64_t)size);
	add_text(w, w->v5 ? STR(" bytes'") : STR(" bytes"));
	end_line(w);
}

static void attribute_mode(struct writing *w, const struct names_entry *file)
{
	struct str mode = {file->mode, sizeof file->mode};
	if (!mode.p[0] || has_below(mode, ' ' + 1))
		return;
	attribute_begin(w, INTRINSIC, STR("UNIX-MODES"));
	add_word(w, mode);
	end_line(w);
}

static void file_attributes(struct writing *w, const struct archie_row *row)
{
	const struct names_entry *file = &row->file;
	attribute_address(w, row->address);
	if (w->v5) {
		attribute_size(w, file->size);
		attribute_mode(w, file);
	}
	attribute_time(w, INTRINSIC, STR("LAST-MODIFIED"), file->time_s);
	attribute_time(w, APPLICATION, STR("AR_H_LAST_MOD"), row->listed_s);
	if (!w->v5) {
		attribute_size(w, file->size);
		attribute_mode(w, file);
	}
}

/* A directory is a link to ourselves, with one slash between host and path. */
static void put_folder(struct writing *w, const struct archie_row *row)
{
	const struct names_entry *file = &row->file;
	const struct str part[] = {
		STR("ARCHIE/HOST/"), row->host, STR("/"), file->dir, str_of(file->dir.n ? "/" : ""),
		file->name};
	link_begin_own(w, STR("DIRECTORY"), file->name, part, ARRAY_LEN(part));
}

static void put_external(struct writing *w, const struct archie_row *row)
{
	link_begin(w, w->v5 ? STR("EXTERNAL") : STR("EXTERNAL(AFTP,BINARY)"), row->file.name,
		   row->host, archie_row_path(row, &w->paths));
	if (w->v5) {
		add_text(w, STR("ATTRIBUTE LINK FIELD ACCESS-METHOD AFTP '' '' '' '' BINARY"));
		end_line(w);
	}
}

/* A file is fetched by anonymous FTP: these clients know no other way that a server can tell. */
static void put_file(struct writing *w, const struct archie_row *row)
{
	bool folder = row->file.kind == NAMES_DIR;
	if (!folder && row->url.n && !str_starts(row->url, STR("ftp:"))) {
		w->r->left_out++;
		w->r->not_ftp++;
		return;
	}
	if (folder)
		put_folder(w, row);
	else
		put_external(w, row);
	if (w->list->attributes)
		file_attributes(w, row);
	link_end(w);
}

/* A name alone: a link to the search for it. */
static void put_name(struct writing *w, struct str name)
{
	const struct prospero_list *l = w->list;
	char match[100];
	snprintf(match, sizeof match, "ARCHIE/MATCH(%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",0,=)/",
		 l->maxhits, l->maxmatch, l->maxhitspm);
	link_begin_own(w, STR("DIRECTORY"), name, (const struct str[]){str_of(match), name}, 2);
	link_end(w);
}

static void put_site(struct writing *w, const struct archie_row *row)
{
	link_begin_own(w, STR("DIRECTORY"), row->host,
		       (const struct str[]){STR("ARCHIE/HOST/"), row->host}, 2);
	if (w->list->attributes) {
		attribute_address(w, row->address);
		attribute_time(w, APPLICATION, STR("AR_H_LAST_MOD"), row->listed_s);
	}
	link_end(w);
}

/* Texts that are not places: an object with its contents, which version 1 does not have. */
static void put_object(struct writing *w, struct str folder, struct str name, struct str second,
		       struct str third)
{
	link_begin_own(w, STR("OBJECT"), name, (const struct str[]){folder, name}, 2);
	attribute_begin(w, INTRINSIC, STR("CONTENTS"));
	add_quoted(w, name);
	buf_add_byte(w->out, ' ');
	add_quoted(w, second);
	if (third.p) {
		buf_add_byte(w->out, ' ');
		add_quoted(w, third);
	}
	end_line(w);
	w->bad = w->bad || !w->v5;
	link_end(w);
}

/* Answers */

void prospero_reply_init(struct prospero_reply *r, const struct prospero_request *request,
			 struct str server)
{
	*r = (struct prospero_reply){
		.request = request, .server = server, .warnings = BUF_INIT((size_t)64 << 10)};
	for (size_t i = 0; i < request->lists; i++)
		r->body[i] = BUF_INIT(PROSPERO_REPLY_MOST / PROSPERO_LISTS_MOST);
}

static struct writing writing_of(struct prospero_reply *r, size_t list)
{
	return (struct writing){.r = r,
				.list = &r->request->list[list],
				.out = &r->body[list],
				.paths = ARENA_INIT(PATHS_MOST),
				.v5 = r->request->version == 5};
}

static void put_warning(struct buf *out, const char *kind, struct str text)
{
	buf_printf(out, "WARNING %s " STR_FMT "\n", kind,
		   STR_ARG(str_head(text, PROSPERO_WARNING_MOST)));
}

/* Reserves memory for n bytes at once, within the limit. */
static void make_room(struct buf *out, size_t n)
{
	(void)buf_room(out, MIN(n, out->max - out->n));
}

static void put_row(struct writing *w, const struct archie_row *row, struct str *before)
{
	struct str name = row->file.name, wanted = w->list->component;
	switch (w->list->kind) {
	case PROSPERO_SITES:
		put_site(w, row);
		break;
	case PROSPERO_WHATIS:
		put_object(w, STR("ARCHIE/WHATIS/"), name, row->text, (struct str){0});
		break;
	default:
		if (wanted.n && !str_eq(name, wanted))
			break;
		if (!w->list->names)
			put_file(w, row);
		else if (!str_eq(name, *before))
			put_name(w, name);
		*before = name;
	}
}

void prospero_reply_answer(struct prospero_reply *r, size_t list, const struct archie_answer *a)
{
	struct writing w = writing_of(r, list);
	struct str before = {0};
	uint64_t links = r->links + r->left_out;
	make_room(w.out, a->n * LINK_USUAL);
	for (size_t i = 0; i < a->n; i++) {
		put_row(&w, &a->row[i], &before);
		arena_clear(&w.paths);
	}
	if (r->links + r->left_out == links)
		add_text(&w, STR("NONE-FOUND\n"));
	if (a->cut)
		put_warning(&r->warnings, "MESSAGE",
			    STR("not all of it is here: there may be more"));
	arena_free(&w.paths);
}

void prospero_reply_domains(struct prospero_reply *r, size_t list, const struct domains *d)
{
	struct writing w = writing_of(r, list);
	uint64_t links = r->links + r->left_out;
	for (size_t i = 0; i < d->n; i++) {
		const struct domain *one = &d->domain[i];
		if (!w.list->component.n || str_eq_nocase(w.list->component, one->name))
			put_object(&w, STR("ARCHIE/DOMAIN/"), one->name, one->members,
				   one->text.n ? one->text : STR(""));
	}
	if (r->links + r->left_out == links)
		add_text(&w, STR("NONE-FOUND\n"));
}

void prospero_reply_refusal(struct prospero_reply *r, size_t list, enum archie_refusal why,
			    const char *text)
{
	const struct prospero_list *l = &r->request->list[list];
	struct buf *out = &r->body[list];
	struct str said = str_head(str_of(text), PROSPERO_WARNING_MOST);
	if (l->failure)
		buf_printf(out, "FAILURE %s\n", l->failure);
	else if (why == ARCHIE_BAD)
		buf_printf(out, "ERROR " STR_FMT "\n", STR_ARG(said));
	else if (why == ARCHIE_EMPTY && l->kind == PROSPERO_FOLDER)
		buf_printf(out, "FAILURE NOT-FOUND " STR_FMT "\n", STR_ARG(said));
	else
		buf_printf(out, "FAILURE SERVER-FAILED " STR_FMT "\n", STR_ARG(said));
}

/* The message of the day in one line, as far as it fits into a packet. */
static void put_motd(struct str motd, struct buf *out)
{
	static const char before[] = "PARAMETER VALUE MOTD '";
	size_t begin = out->n;
	motd = str_trim(motd);
	if (!motd.n) {
		buf_add_text(out, "PARAMETER NOTSET MOTD\n");
		return;
	}
	buf_add_text(out, before);
	/* a quote is two bytes; with the last one and the end of the line it has to fit */
	for (size_t i = 0; i < motd.n && out->n - begin + 4 <= ARDP_TEXT_MOST; i++) {
		char c = motd.p[i];
		if (c == '\'')
			buf_add_byte(out, c);
		buf_add_byte(out, (unsigned char)c < ' ' || c == 0x7f ? ' ' : c);
	}
	buf_add_text(out, "'\n");
}

static void put_left_out(struct buf *out, const char *kind, uint64_t results, const char *why)
{
	char text[PROSPERO_WARNING_MOST + 1];
	if (!results)
		return;
	snprintf(text, sizeof text, "%" PRIu64 " results left out, since %s", results, why);
	put_warning(out, kind, str_of(text));
}

static void put_warnings(struct prospero_reply *r, struct buf *out)
{
	struct str rest = buf_str(&r->request->warnings), line;
	bool v5 = r->request->version == 5;
	while (rest.n && str_cut(&rest, '\n', &line) == 0)
		put_warning(out, "MESSAGE", line);
	buf_add_str(out, buf_str(&r->warnings));
	put_left_out(out, v5 ? "MESSAGE" : "OUT-OF-DATE", r->left_out - r->not_ftp,
		     v5 ? "no line can have them" : "your client cannot read them; newer ones can");
	put_left_out(out, "MESSAGE", r->not_ftp, "they cannot be fetched by FTP");
}

void prospero_reply_end(struct prospero_reply *r, struct str motd, struct buf *out)
{
	const struct prospero_request *q = r->request;
	bool v5 = q->version == 5;
	size_t bytes = REST_USUAL;
	if (q->error) {
		buf_printf(out, "%s\n", q->error);
		return;
	}
	/* it is kept, so without room to grow */
	for (size_t i = 0; i < q->lists; i++)
		bytes += r->body[i].n;
	make_room(out, bytes);
	if (q->asks_version)
		buf_add_text(out, "VERSION 5 garner\n");
	if (q->asks_motd)
		put_motd(motd, out);
	if (v5)
		put_warnings(r, out);
	for (size_t i = 0; i < q->lists; i++)
		buf_add_str(out, buf_str(&r->body[i]));
	if (!v5)
		put_warnings(r, out);
}

void prospero_reply_free(struct prospero_reply *r)
{
	for (size_t i = 0; i < PROSPERO_LISTS_MOST; i++)
		buf_free(&r->body[i]);
	buf_free(&r->warnings);
}
