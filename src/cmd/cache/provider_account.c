/* garner provider register, verify, secret, password, deregister: who the provider is, and what it
 * has proved. What the registration server tells once is on disk before it is printed. */
#include "base/file.h"
#include "cmd/cache/provider_http.h"
#include "cmd/system/text.h"
#include "url/url.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define EXITS_REMOTE CMD_EXITS({ERR_REMOTE, "the registration server did not answer, or refused"})

enum { FORM_MOST = 64 << 10, WHAT_MOST = 128, PASSWORD_FILE_MOST = 1024, WORD_MOST = 1024 };

static void provider_what(const struct provider *p, const char *what, char ret[WHAT_MOST])
{
	snprintf(ret, WHAT_MOST, "providers/%" PRIu64 "%s%s", p->file.id, *what ? "/" : "", what);
}

/* A word of an answer, for a line of the file and for the terminal; "": it is not one. */
static struct str text_kept(struct provider *p, const json_t *answer, const char *name)
{
	struct str text = str_of(json_text_of(answer, name));
	if (text.n > WORD_MOST)
		return (struct str){0};
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] <= ' ' || text.p[i] >= 0x7f)
			return (struct str){0};
	return str_of(arena_text(&p->file.arena, text));
}

static const char *word_safe(struct provider *p, const json_t *answer, const char *name)
{
	return text_safe(&p->file.arena, str_of(json_text_of(answer, name)), WORD_MOST);
}

/* Into a file of the site, for the owner; nobody has to keep it from others. */
static int secret_write(const char *path, struct str secret, struct err *err)
{
	CLEANUP(buf_free) struct buf line = BUF_INIT(256);
	buf_add_str(&line, secret);
	buf_add_byte(&line, '\n');
	return file_replace(path, buf_str(&line), 0644, err);
}

/* What is to be done with a secret. place: where it was written; "": nowhere. */
static void say_secret(struct provider *p, const json_t *answer, const char *place)
{
	FILE *out = p->call->out;
	const char *expires = word_safe(p, answer, "expires");
	const char *slash = strrchr(place, '/');
	struct str site = p->file.site;
	struct str name = str_of(slash ? slash + 1 : place[0] ? place : "garner.txt");
	if (place[0])
		fprintf(out, "The secret is in %s.\n", place);
	else
		fprintf(out,
			"Put this line, and nothing else, into a file of the site, as high as you "
			"can:\n\n  %.*s\n\n",
			(int)p->file.secret.n, p->file.secret.p);
	fprintf(out, "When a browser can see it%s%s, say where it is:\n\n",
		*expires ? ", before " : "", expires);
	fprintf(out, "  garner provider verify %s" STR_FMT "%s" STR_FMT "\n",
		str_find(site, STR("://")) < site.n ? "" : "http://", STR_ARG(site),
		str_ends(site, STR("/")) ? "" : "/", STR_ARG(name));
}

/* register */

struct register_options {
	bool json, again;
	const char *mail, *write, *password_file;
	int64_t id;
};

static int register_known(struct provider *p, const struct register_options *o, struct err *err)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(PASSWORD_FILE_MOST);
	struct str rest, line;
	if (!o->id || !o->password_file[0])
		return err_set(err, ERR_USAGE, "--id and --password-file go together");
	int rc = file_slurp(o->password_file, &text, err);
	if (rc == 1)
		return err_set(err, ERR_USAGE, "%s: there is no such file", o->password_file);
	if (rc < 0)
		return -1;
	rest = buf_str(&text);
	line = rest;
	(void)str_cut(&rest, '\n', &line);
	line = str_trim(line);
	if (!line.n || str_has_control(line))
		return err_set(err, ERR_USAGE, "%s: expected the password in its first line",
			       o->password_file);
	p->file.id = (uint64_t)o->id;
	p->file.password = arena_str(&p->file.arena, line);
	explicit_bzero(text.p, text.n);
	return provider_save(p, err);
}

/* Nothing that another provider has sent is what this one has sent. */
static void file_renew(struct provider *p)
{
	provider_file_free(&p->file);
	p->file = PROVIDER_FILE_INIT;
}

static int register_new(struct provider *p, const struct register_options *o, const char *site,
			json_t **ret, struct err *err)
{
	CLEANUP(buf_free) struct buf form = BUF_INIT(FORM_MOST);
	p->file.site = arena_str(&p->file.arena, str_of(site));
	provider_param(&form, "site", str_of(site));
	if (o->mail[0]) {
		provider_param(&form, "mail", str_of(o->mail));
		provider_param(&form, "send", STR("yes"));
	}
	/* what cannot be kept is not asked for */
	if (provider_save(p, err) < 0 || provider_ask(p, "providers", &form, false, ret, err) < 0)
		return -1;
	p->file.id = json_number_of(*ret, "provider");
	p->file.password = text_kept(p, *ret, "password");
	p->file.secret = text_kept(p, *ret, "secret");
	if (!p->file.id || !p->file.password.n || !p->file.secret.n)
		return err_set(err, ERR_REMOTE, "%s: an answer without id, password and secret",
			       p->conf->rs);
	if (provider_save(p, err) < 0)
		return -1;
	return o->write[0] ? secret_write(o->write, p->file.secret, err) : 0;
}

static void register_say(struct provider *p, const struct register_options *o, json_t *answer)
{
	FILE *out = p->call->out;
	if (o->json) {
		json_object_set_new(answer, "file", json_string(p->path));
		provider_print_json(p->call, answer);
		return;
	}
	fprintf(out, "provider  %" PRIu64 "\n", p->file.id);
	if (answer) {
		fprintf(out, "password  " STR_FMT "\n", STR_ARG(p->file.password));
		fprintf(out, "secret    " STR_FMT "\n", STR_ARG(p->file.secret));
	}
	if (answer && o->mail[0])
		fprintf(out, "mail      %s\n",
			json_is_true(json_object_get(answer, "mailed"))
				? "sent"
				: arena_printf(&p->file.arena, "not sent: %s",
					       word_safe(p, answer, "not_mailed")));
	fprintf(out, "file      %s (it has id and password; keep it)\n\n", p->path);
	if (answer)
		say_secret(p, answer, o->write);
	else
		fprintf(out, "Next:\n\n  garner provider status\n");
}

static int register_do(struct provider *p, struct err *err)
{
	const struct register_options *o = p->call->options;
	const char *site = p->call->argc ? p->call->argv[0] : "";
	json_t *answer = NULL;
	bool known = o->id || o->password_file[0];
	if (!known && !site[0])
		return err_set(err, ERR_USAGE, "expected SITE, the URL of the site");
	if (str_has_control(str_of(site)) || strlen(site) > WORD_MOST)
		return err_set(err, ERR_USAGE, "SITE is not a URL, nor a name");
	if (p->file.id && !o->again)
		return err_set(err, ERR_USAGE,
			       "%s is provider %" PRIu64
			       " already; --again makes another one, and forgets what was sent",
			       p->path, p->file.id);
	file_renew(p);
	p->file.site = arena_str(&p->file.arena, str_of(site));
	int rc = known ? register_known(p, o, err) : register_new(p, o, site, &answer, err);
	if (known && rc == 0 && o->json)
		answer = json_pack("{sI}", "provider", (json_int_t)p->file.id);
	if (rc == 0)
		register_say(p, o, answer);
	json_decref(answer);
	return rc;
}

/* verify, secret, password, deregister */

struct account_options {
	bool json, yes;
	const char *write;
};

static int account_ask(struct provider *p, const char *what, const struct buf *form, json_t **ret,
		       struct err *err)
{
	char path[WHAT_MOST];
	provider_what(p, what, path);
	return provider_ask(p, path, form, true, ret, err);
}

static int verify_do(struct provider *p, json_t **ret, struct err *err)
{
	CLEANUP(buf_free) struct buf form = BUF_INIT(FORM_MOST);
	const struct account_options *o = p->call->options;
	if (cmd_check_url("FILE-URL", p->call->argv[0], err) < 0)
		return -1;
	provider_param(&form, "url", str_of(p->call->argv[0]));
	if (account_ask(p, "verify", &form, ret, err) < 0)
		return -1;
	p->file.secret = (struct str){0};
	if (provider_save(p, err) < 0)
		return -1;
	if (!o->json)
		fprintf(p->call->out,
			"Verified: %s is yours. The file is no longer needed.\n\nNext:\n\n"
			"  garner provider send --tree DIR --prefix %s\n",
			word_safe(p, *ret, "prefix"), word_safe(p, *ret, "prefix"));
	return 0;
}

static int secret_do(struct provider *p, json_t **ret, struct err *err)
{
	CLEANUP(buf_free) struct buf form = BUF_INIT(FORM_MOST);
	const struct account_options *o = p->call->options;
	if (account_ask(p, "secrets", &form, ret, err) < 0)
		return -1;
	p->file.secret = text_kept(p, *ret, "secret");
	if (!p->file.secret.n)
		return err_set(err, ERR_REMOTE, "%s: an answer without a secret", p->conf->rs);
	if (provider_save(p, err) < 0 ||
	    (o->write[0] && secret_write(o->write, p->file.secret, err) < 0))
		return -1;
	if (!o->json)
		say_secret(p, *ret, o->write);
	return 0;
}

static int password_do(struct provider *p, json_t **ret, struct err *err)
{
	CLEANUP(buf_free) struct buf form = BUF_INIT(FORM_MOST);
	const struct account_options *o = p->call->options;
	/* the old one is no good any more when the answer comes: a full disk is found before */
	if (provider_save(p, err) < 0 || account_ask(p, "password", &form, ret, err) < 0)
		return -1;
	p->file.password = text_kept(p, *ret, "password");
	if (!p->file.password.n)
		return err_set(err, ERR_REMOTE, "%s: an answer without a password", p->conf->rs);
	if (provider_save(p, err) < 0)
		return -1;
	if (!o->json)
		fprintf(p->call->out, "The new password is in %s.\n", p->path);
	else
		json_object_del(*ret, "password");
	return 0;
}

static int deregister_do(struct provider *p, json_t **ret, struct err *err)
{
	CLEANUP(buf_free) struct buf form = BUF_INIT(FORM_MOST);
	const struct account_options *o = p->call->options;
	if (!o->yes)
		return err_set(err, ERR_USAGE,
			       "all that the cache has of provider %" PRIu64
			       " will be removed; --yes does it",
			       p->file.id);
	if (account_ask(p, "deregister", &form, ret, err) < 0 || file_remove(p->path, err) < 0)
		return -1;
	if (!o->json)
		fprintf(p->call->out, "Provider %" PRIu64 " is gone.\n", p->file.id);
	return 0;
}

static int account_run(const struct cmd_call *call,
		       int (*fn)(struct provider *p, json_t **ret, struct err *err),
		       struct err *err)
{
	const struct account_options *o = call->options;
	CLEANUP(provider_close) struct provider p;
	json_t *answer = NULL;
	if (provider_open(&p, call, PROVIDER_REGISTERED, true, err) < 0)
		return -1;
	int rc = fn(&p, &answer, err);
	if (rc == 0 && o->json) {
		if (json_object_get(answer, "provider") == NULL)
			json_object_set_new(answer, "provider",
					    json_integer((json_int_t)p.file.id));
		provider_print_json(call, answer);
	}
	json_decref(answer);
	return rc;
}

static int run_register(const struct cmd_call *call, struct err *err)
{
	CLEANUP(provider_close) struct provider p;
	return provider_open(&p, call, PROVIDER_ANY, true, err) < 0 ? -1 : register_do(&p, err);
}

static int run_verify(const struct cmd_call *call, struct err *err)
{
	return account_run(call, verify_do, err);
}

static int run_secret(const struct cmd_call *call, struct err *err)
{
	return account_run(call, secret_do, err);
}

static int run_password(const struct cmd_call *call, struct err *err)
{
	return account_run(call, password_do, err);
}

static int run_deregister(const struct cmd_call *call, struct err *err)
{
	return account_run(call, deregister_do, err);
}

#define R(type, member) VALUE_##type##_AT(struct register_options, member)
#define WRITE_HELP                                                                                \
	"write the secret to this file, below the folder that the web server shows, in place of " \
	"printing what to do with it"
static const struct cmd_option register_options[] = {
	CMD_FLAG(0, "again", struct register_options, again,
		 "register anew, though the file has a provider; what was sent is forgotten"),
	CMD_OPTION(0, "N", "id", R(INT, id), .fallback = "0", .min = 0, .max = 9e18,
		   .help = "do not register: this provider is registered already, and its password "
			   "is in --password-file"),
	CMD_FLAG(0, "json", struct register_options, json, "print JSON"),
	CMD_OPTION(
		0, "ADDRESS", "mail", R(TEXT, mail),
		.help = "have id, password and secret sent there, too; the operator of the cache "
			"can write to it"),
	CMD_OPTION(0, "PATH", "password-file", R(PATH, password_file),
		   .help = "the password of --id is the first line of this file"),
	CMD_OPTION('w', "PATH", "write", R(PATH, write), .help = WRITE_HELP),
};
const struct command provider_register_command = {
	.name = "register",
	.summary = "get an id, a password and a secret",
	.description =
		"Asks the registration server for the three, and keeps id and password in the "
		"provider's file (provider.file). The secret goes into a file of the site, which "
		"shows that the site is yours: garner provider verify has the cache look at it. "
		"What is not verified within a week is dropped.",
	CMD_OPTIONS(register_options, struct register_options),
	CMD_ARGS("[SITE]", 0, 1, "the URL of the site, or of the part of it that is yours"),
	CMD_EXAMPLES({"garner provider register http://www.example.com/",
		      "shows the secret and says what to do with it"},
		     {"garner provider register http://www.example.com/ -w /var/www/garner.txt",
		      "puts it there"},
		     {"garner provider register --id 17 --password-file p.txt",
		      "goes on as a provider that is registered"}),
	EXITS_REMOTE,
	.run = run_register,
};

#define A(type, member) VALUE_##type##_AT(struct account_options, member)
static const struct cmd_option json_options[] = {
	CMD_FLAG(0, "json", struct account_options, json, "print JSON"),
};
const struct command provider_verify_command = {
	.name = "verify",
	.summary = "have the cache look at the file with the secret",
	.description =
		"The cache fetches the file at once. It must hold the secret and nothing else but "
		"one line end; redirects are not followed. From then on all URLs below the folder "
		"of the file are the provider's. The file is never asked for again.",
	CMD_OPTIONS(json_options, struct account_options),
	CMD_ARGS("FILE-URL", 1, 1, "where the file can be seen"),
	CMD_EXAMPLES({"garner provider verify http://www.example.com/garner.txt",
		      "proves all of www.example.com"}),
	EXITS_REMOTE,
	.run = run_verify,
};

static const struct cmd_option secret_options[] = {
	CMD_FLAG(0, "json", struct account_options, json, "print JSON"),
	CMD_OPTION('w', "PATH", "write", A(PATH, write), .help = WRITE_HELP),
};
const struct command provider_secret_command = {
	.name = "secret",
	.summary = "get a further secret, for a further site",
	.description = "Each secret proves one prefix: another site, or another part of one.",
	CMD_OPTIONS(secret_options, struct account_options),
	CMD_EXAMPLES({"garner provider secret", "shows it; then garner provider verify"}),
	EXITS_REMOTE,
	.run = run_secret,
};

const struct command provider_password_command = {
	.name = "password",
	.summary = "get a new password",
	.description = "The old one is no good from then on. The new one is kept in the "
		       "provider's file, and not shown.",
	CMD_OPTIONS(json_options, struct account_options),
	CMD_EXAMPLES({"garner provider password", "when others may know the old one"}),
	EXITS_REMOTE,
	.run = run_password,
};

static const struct cmd_option deregister_options[] = {
	CMD_FLAG(0, "json", struct account_options, json, "print JSON"),
	CMD_FLAG(0, "yes", struct account_options, yes, "do it"),
};
const struct command provider_deregister_command = {
	.name = "deregister",
	.summary = "end the registration; the cache removes everything",
	.description = "The provider's file is removed, too.",
	CMD_OPTIONS(deregister_options, struct account_options),
	CMD_EXAMPLES({"garner provider deregister --yes", "removes everything"}),
	EXITS_REMOTE,
	.run = run_deregister,
};
