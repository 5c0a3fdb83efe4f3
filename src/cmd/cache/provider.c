/* garner provider: the content provider of document 004, section 4. Its file is read by each
 * command and locked by those that change it. */
#include "cmd/cache/provider.h"

#include "base/clock.h"
#include "cmd/commands.h"

#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

#define S struct provider_conf

static const struct value_spec specs[] = {
	{"rs", VALUE_TEXT_AT(S, rs), "http://127.0.0.1:8083/", .moves = "net.port",
	 .help = "the registration server of the cache: for registration, contract and receipts"},
	{"uns", VALUE_TEXT_AT(S, uns), "127.0.0.1:8194", .moves = "net.port",
	 .help = "the notification server of the cache, HOST:PORT, where sets are sent to"},
	{"file", VALUE_PATH_AT(S, file),
	 .help = "the file with id, password and what was sent last, which nobody else may read, "
		 "below the data directory or absolute; empty: provider"},
	{"tree", VALUE_PATH_AT(S, tree),
	 .help = "the folder that garner provider sync sends, in place of those that were sent "
		 "before"},
	{"prefix", VALUE_TEXT_AT(S, prefix),
	 .help = "the URL that the folder of tree is served as"},
	{"index", VALUE_TEXT_AT(S, index), "index.html",
	 .help = "the file that a web server gives for a folder: its URL is that of the folder; "
		 "empty: none"},
	{"sitemap", VALUE_TEXT_AT(S, sitemap),
	 .help = "the sitemap that garner provider sync sends, a path or a URL"},
	{"check", VALUE_TIME_AT(S, check_us), "1d", 0, 3650 * 86400e6,
	 .help = "how long sync goes without asking whether the cache wants a full set, when "
		 "nothing has changed"},
	{"timeout", VALUE_TIME_AT(S, timeout_us), "2min", 1e6, 86400e6,
	 .help = "how long a server may be silent"},
	{"plain", VALUE_BOOL_AT(S, plain), "no",
	 .help = "whether the password may go to another machine without TLS, for all on the way "
		 "to read"},
	TLS_SPECS_FROM(S, tls, NULL, NULL, NULL, NULL),
};

const struct config_section provider_section = {
	.name = "provider",
	.help = "The provider of contents for a cache: garner provider.",
	.size = sizeof(S),
	.specs = specs,
	.nspecs = ARRAY_LEN(specs),
};

static int provider_place(struct provider *p, struct err *err)
{
	char data[PATH_MAX];
	if (cmd_data_dir(p->config, data, sizeof data, err) < 0)
		return -1;
	return file_below(data, p->conf->file[0] ? p->conf->file : "provider", p->path, err);
}

static int provider_lock(struct provider *p, struct err *err)
{
	char path[PATH_MAX + 8], folder[PATH_MAX];
	snprintf(folder, sizeof folder, "%s", p->path);
	char *slash = strrchr(folder, '/');
	if (slash && slash != folder) {
		*slash = 0;
		if (dir_make(folder, DIR_MODE, err) < 0)
			return -1;
	}
	snprintf(path, sizeof path, "%s.lock", p->path);
	if (lock_take(&p->lock, path, err) < 0)
		return -1;
	p->locked = true;
	return 0;
}

int provider_open(struct provider *p, const struct cmd_call *call, enum provider_need need,
		  bool writes, struct err *err)
{
	*p = (struct provider){.call = call, .file = PROVIDER_FILE_INIT};
	if (cmd_config(call, &p->config, err) < 0)
		return -1;
	p->conf = config_get(p->config, &provider_section);
	if (provider_place(p, err) < 0 || (writes && provider_lock(p, err) < 0))
		return -1;
	int rc = provider_file_load(&p->file, p->path, err);
	p->there = rc == 0;
	if (rc < 0)
		return -1;
	if (need == PROVIDER_REGISTERED && (!p->file.id || !p->file.password.n))
		return err_set(err, ERR_USAGE,
			       "not registered yet: there is no %s; garner provider register SITE "
			       "makes it",
			       p->path);
	return 0;
}

void provider_close(struct provider *p)
{
	provider_file_free(&p->file);
	if (p->locked)
		lock_free(&p->lock);
	config_free(&p->config);
}

int provider_save(struct provider *p, struct err *err)
{
	if (provider_file_save(&p->file, p->path, err) < 0)
		return err_then(err, "what was sent is not remembered");
	p->there = true;
	return 0;
}

const struct command provider_command = {
	.name = "provider",
	.summary = "tell a cache what changed on your site",
	.description =
		"A provider proves a site with a file, and then tells the cache what changed; the "
		"cache fetches just that, at the hours and the speed that the provider allows, and "
		"has a receipt for every URL.\n\n"
		"First, once:\n\n"
		"  garner provider register http://www.example.com/\n"
		"  (put the secret into a file of the site)\n"
		"  garner provider verify http://www.example.com/garner.txt\n\n"
		"Then, as often as you like, by hand, by a timer, or by itself:\n\n"
		"  garner provider send --tree /var/www --prefix http://www.example.com/\n"
		"  garner provider sync\n"
		"  garner provider watch /var/www --prefix http://www.example.com/\n\n"
		"The settings [provider] say where the cache is; doc/cache.md tells more.",
	CMD_SUBS(&provider_register_command, &provider_verify_command, &provider_status_command,
		 &provider_send_command, &provider_sync_command, &provider_watch_command,
		 &provider_receipts_command, &provider_set_command, &provider_secret_command,
		 &provider_password_command, &provider_forget_command,
		 &provider_deregister_command),
};
