/* What the worker does with a mail: gmime takes it apart, and headers and text are written down as
 * a list of counted texts: for each header its name and value, then an empty name, then the text.
 * Their length, a u32, goes before them: once the owner has it all, it ends the worker.
 *
 * gmime brings glib along and is loaded, not linked: only this worker needs it. Its objects are not
 * freed: the process reads one mail. */
#include "extract/mime.h"

#include "base/ascii.h"
#include "base/cursor.h"
#include "base/library.h"
#include "extract/cage_door.h"
#include "extract/charset.h"

#include <errno.h>
#include <gmime/gmime.h>
#include <unistd.h>

enum { CONTENT_HEADERS = 20 };

#define CALLS(X)                               \
	X(g_mime_init)                         \
	X(g_mime_stream_mem_new_with_buffer)   \
	X(g_mime_stream_mem_new)               \
	X(g_mime_stream_mem_get_byte_array)    \
	X(g_mime_parser_new_with_stream)       \
	X(g_mime_parser_construct_message)     \
	X(g_mime_message_get_mime_part)        \
	X(g_mime_object_get_header_list)       \
	X(g_mime_header_list_get_count)        \
	X(g_mime_header_list_get_header_at)    \
	X(g_mime_header_get_name)              \
	X(g_mime_header_get_value)             \
	X(g_mime_header_get_raw_value)         \
	X(g_mime_object_get_content_type)      \
	X(g_mime_content_type_is_type)         \
	X(g_mime_content_type_get_parameter)   \
	X(g_mime_part_iter_new)                \
	X(g_mime_part_iter_free)               \
	X(g_mime_part_iter_get_current)        \
	X(g_mime_part_iter_next)               \
	X(g_mime_part_get_type)                \
	X(g_mime_part_get_content)             \
	X(g_mime_data_wrapper_write_to_stream) \
	X(internet_address_list_parse)         \
	X(internet_address_list_length)        \
	X(internet_address_list_get_address)   \
	X(internet_address_mailbox_get_type)   \
	X(internet_address_mailbox_get_addr)   \
	X(g_type_check_instance_is_a)          \
	X(g_object_unref)

static struct {
#define X(name) __typeof__(name) *name;
	CALLS(X)
#undef X
	struct charset *charset;
} lib;

int mime_load(struct err *err)
{
	static const struct library_function list[] = {
#define X(name) {#name, &lib.name},
		CALLS(X)
#undef X
	};
	if (lib.charset)
		return 0;
	if (library_load("libgmime-3.0.so.0", "reading mails needs the package libgmime-3.0-0",
			 list, ARRAY_LEN(list), err) < 0)
		return -1;
	lib.g_mime_init();
	lib.charset = charset_new();
	return charset_load_all(lib.charset, err);
}

/* Headers */

static bool is_address_header(struct str name)
{
	static const char *const names[] = {"From", "Reply-To", "Return-Path", "Sender"};
	return STR_AMONG_NOCASE(name, names);
}

static bool is_kind(const void *object, GType type)
{
	return lib.g_type_check_instance_is_a((GTypeInstance *)(uintptr_t)object, type);
}

/* The first mailbox of a list; "": it has none. Good as long as the list. */
static struct str first_address(InternetAddressList *list)
{
	for (int i = 0; list && i < lib.internet_address_list_length(list); i++) {
		InternetAddress *a = lib.internet_address_list_get_address(list, i);
		if (is_kind(a, lib.internet_address_mailbox_get_type()))
			return str_of(
				lib.internet_address_mailbox_get_addr((InternetAddressMailbox *)a));
	}
	return STR("");
}

/* One line: ends of lines and other control characters are blanks, and the ends are trimmed. */
static void put_value(struct str value, struct buf *out)
{
	CLEANUP(buf_free) struct buf clean = BUF_INIT(MIME_VALUE_MOST);
	value = str_head(str_trim(value), MIME_VALUE_MOST);
	for (size_t i = 0; i < value.n; i++)
		buf_add_byte(&clean, ascii_is_control(value.p[i]) ? ' ' : value.p[i]);
	put_text(out, str_trim(buf_str(&clean)));
}

static void put_one_header(GMimeHeader *h, struct str name, struct buf *out)
{
	const char *raw = lib.g_mime_header_get_raw_value(h);
	put_value(name, out);
	if (is_address_header(name)) {
		InternetAddressList *list = lib.internet_address_list_parse(NULL, raw ? raw : "");
		put_value(first_address(list), out);
		if (list)
			lib.g_object_unref(list);
	} else if (str_eq_nocase(name, STR("Subject"))) {
		put_value(str_of(lib.g_mime_header_get_value(h)), out);
	} else {
		put_value(str_of(raw), out);
	}
}

static void put_cut(struct buf *out)
{
	put_text(out, STR(MIME_CUT));
	put_text(out, STR(""));
}

/* At most so many. */
static void put_headers(GMimeObject *of, int most, struct buf *out)
{
	GMimeHeaderList *list = lib.g_mime_object_get_header_list(of);
	int all = lib.g_mime_header_list_get_count(list), n = MIN(all, most);
	if (n < all)
		put_cut(out);
	for (int i = 0; i < n; i++) {
		GMimeHeader *h = lib.g_mime_header_list_get_header_at(list, i);
		struct str name = str_of(lib.g_mime_header_get_name(h));
		if (name.n && !str_has_control(name))
			put_one_header(h, name, out);
	}
}

/* Text */

static void put_utf8(struct str bytes, const char *charset, struct buf *out)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(MIME_TEXT_MOST);
	struct charset_pieces it;
	struct charset_choice choice =
		charset_choose(lib.charset, bytes, STR(""), NULL, str_of(charset));
	struct str piece;
	charset_begin(&it, lib.charset, bytes, &choice);
	while (text.n < MIME_TEXT_MOST && charset_next(&it, &piece) == 0)
		buf_add_str(&text, str_utf8_head(piece, MIME_TEXT_MOST - text.n));
	put_text(out, buf_str(&text));
}

static void put_part(GMimeObject *part, struct buf *out)
{
	GMimeDataWrapper *content = lib.g_mime_part_get_content((GMimePart *)part);
	GMimeStream *stream = lib.g_mime_stream_mem_new();
	const char *charset = lib.g_mime_content_type_get_parameter(
		lib.g_mime_object_get_content_type(part), "charset");
	if (content)
		(void)lib.g_mime_data_wrapper_write_to_stream(content, stream);
	const GByteArray *bytes = lib.g_mime_stream_mem_get_byte_array((GMimeStreamMem *)stream);
	put_utf8((struct str){(const char *)bytes->data, MIN(bytes->len, (guint)MIME_TEXT_MOST)},
		 charset ? charset : "", out);
	lib.g_object_unref(stream);
}

/* The first part that people wrote; an empty text where there is none. */
static void put_body(GMimeObject *message, struct buf *out)
{
	GMimePartIter *it = lib.g_mime_part_iter_new(message);
	bool found = false;
	do {
		GMimeObject *part = lib.g_mime_part_iter_get_current(it);
		found = part && is_kind(part, lib.g_mime_part_get_type()) &&
			lib.g_mime_content_type_is_type(lib.g_mime_object_get_content_type(part),
							"text", "plain");
		if (found)
			put_part(part, out);
	} while (!found && lib.g_mime_part_iter_next(it));
	lib.g_mime_part_iter_free(it);
	if (!found)
		put_text(out, STR(""));
}

/* "From ADDRESS DATE", before the headers. */
static struct str put_envelope(struct str mail, struct buf *out)
{
	static const struct str from = STR("From ");
	if (!str_starts(mail, from))
		return mail;
	struct str line = str_head(mail, str_find_byte(mail, '\n'));
	struct str rest = str_trim(str_from(line, from.n));
	put_text(out, from);
	put_value(str_head(rest, str_find_byte(rest, ' ')), out);
	return str_from(mail, line.n + 1);
}

/* Whether its headers end within what is looked at. */
static bool has_all_headers(struct str mail)
{
	return mail.n < MIME_MAIL_MOST || str_find(mail, STR("\n\n")) < mail.n ||
	       str_find(mail, STR("\n\r\n")) < mail.n;
}

void mime_parse(struct str mail, struct buf *out)
{
	mail = str_head(mail, MIME_MAIL_MOST);
	if (!has_all_headers(mail))
		put_cut(out);
	mail = put_envelope(mail, out);
	GMimeStream *stream = lib.g_mime_stream_mem_new_with_buffer(mail.n ? mail.p : "", mail.n);
	GMimeParser *parser = lib.g_mime_parser_new_with_stream(stream);
	GMimeMessage *message = lib.g_mime_parser_construct_message(parser, NULL);
	if (message) {
		GMimeObject *body = lib.g_mime_message_get_mime_part(message);
		if (body) /* gmime keeps Content-Type and its like there */
			put_headers(body, CONTENT_HEADERS, out);
		put_headers((GMimeObject *)message, MIME_HEADERS_MOST - CONTENT_HEADERS - 1, out);
		put_text(out, STR(""));
		put_body((GMimeObject *)message, out);
		lib.g_object_unref(message);
	} else {
		put_text(out, STR(""));
		put_text(out, STR(""));
	}
	lib.g_object_unref(parser);
	lib.g_object_unref(stream);
}

/* The process */

static int read_mail(struct buf *mail, struct err *err)
{
	for (;;) {
		char *room = buf_room(mail, 64 << 10);
		if (!room)
			return 0;
		ssize_t n = UNINTERRUPTED(read(STDIN_FILENO, room, 64 << 10));
		if (n < 0)
			return err_sys(err, "it cannot be read");
		if (n == 0)
			return 0;
		buf_grew(mail, (size_t)n);
	}
}

static int write_answer(struct str text, struct err *err)
{
	while (text.n) {
		ssize_t n = UNINTERRUPTED(write(STDOUT_FILENO, text.p, text.n));
		if (n < 0)
			return err_sys(err, "the owner's pipe");
		text = str_from(text, (size_t)n);
	}
	return 0;
}

int mime_work(const char *memory, struct err *err)
{
	CLEANUP(buf_free) struct buf mail = BUF_INIT(MIME_MAIL_MOST);
	CLEANUP(buf_free) struct buf out = BUF_INIT((size_t)MIME_MAIL_MOST * 4), head = BUF_INIT(4);
	uint64_t bytes;
	if (!str_u64(str_of(memory), &bytes))
		return err_set(err, ERR_USAGE, "arguments that make no sense");
	if (mime_load(err) < 0)
		return -1;
	door_silence();
	(void)door_shut((size_t)bytes, (struct door_ends){STDIN_FILENO, STDOUT_FILENO});
	if (read_mail(&mail, err) < 0)
		return -1;
	mime_parse(buf_str(&mail), &out);
	put_u32le(&head, (uint32_t)out.n);
	return write_answer(buf_str(&head), err) < 0 ? -1 : write_answer(buf_str(&out), err);
}
