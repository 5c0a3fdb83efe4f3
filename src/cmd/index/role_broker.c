/* The role `broker`, with the feeds that garner has: sources of this machine by name, and the
 * points of Collection.conf. A kind of source is a line of `kinds`. */
#include "cmd/index/role_broker.h"

#include "archie/source_archie.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "broker/addition.h"
#include "broker/broker_role.h"
#include "broker/collection.h"
#include "broker/gatherer.h"
#include "cmd/command.h"
#include "cmd/index/broker_conf.h"
#include "fetch/robot.h"
#include "net/serve.h"
#include "role/password.h"
#include "shepherd/crawl.h"
#include "shepherd/master.h"
#include "state/source_crawl.h"

#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Pages of the crawl live so many times longer than the crawl means to wait before it looks at them
 * again: a server that is away for a while does not lose them. */
enum { LIVES = 4 };
enum { PROBLEMS_MOST = 1 << 20, URL_MOST = 8 << 10 };
enum { KEPT_FREE = 1 << 20 }; /* bytes that the C library keeps of what a thread gave back */

enum broker_start { START_COLLECT, START_NEW, START_NOCOL };
static const char *const starts[] = {"collect", "new", "nocol", NULL};

struct broker_conf {
	struct value_list sources;
	const char *collection;
	int64_t collect_us, expire_us, remember_us;
	int start; /* enum broker_start */
	const char *listen, *home;
	const char *password, *log;
	int64_t lifetime_us, threads, queue;
	struct server_limits limits;
	struct gatherers_conf gatherers;
};

/* clang-format off */
static const struct value_spec specs[] = {
	{"sources", VALUE_LIST_AT(struct broker_conf, sources), "crawl",
	 .help = "sources on this machine to follow: crawl; archie (directories of archives); soif:FOLDER "
		 "(files NUMBER.soif in a folder; a relative path is below the data directory)"},
	{"collection", VALUE_PATH_AT(struct broker_conf, collection), "broker/Collection.conf",
	 .help = "file that lists the gatherers to collect from; a relative path is below the data "
		 "directory; without the file there are none"},
	{"collect_every", VALUE_TIME_AT(struct broker_conf, collect_us), "24h", 1e6, 31536000e6,
	 .help = "time between collections from a gatherer; shorter if its objects are due for a refresh"},
	{"expire_every", VALUE_TIME_AT(struct broker_conf, expire_us), "1h", 1e6, 31536000e6,
	 .help = "time between searches for objects whose Time-to-Live is over, which are dropped"},
	{"remember_deleted", VALUE_TIME_AT(struct broker_conf, remember_us), "30d", 1e6, 31536000e6,
	 .help = "time for which the registry keeps records of deleted objects"},
	{"start", VALUE_WORD_AT(struct broker_conf, start), "collect", .words = starts,
	 .help = "what each start collects: changes from gatherers (collect), everything from all "
		 "sources again (new), or nothing from gatherers (nocol)"},
	{"listen", VALUE_LISTEN_AT(struct broker_conf, listen), "127.0.0.1:8501",
	 .moves = "net.port",
	 .help = "address of the port for queries, bulk transfers and the administrator "
		 "(doc/broker-port.md); empty: no port"},
	{"password", VALUE_TEXT_AT(struct broker_conf, password),
	 .help = "the administrator's password, as a line printed by 'garner password' "
		 "(doc/broker-admin.md); empty: no administrator"},
	{"log", VALUE_PATH_AT(struct broker_conf, log), "broker/LOG",
	 .help = "file of the event log; a relative path is below the data directory"},
	{"max_lifetime", VALUE_TIME_AT(struct broker_conf, lifetime_us), "60s", 10e6, 86400e6,
	 .help = "longest time a query may run; a query may ask for less, but gets at least 10 s"},
	{"home", VALUE_TEXT_AT(struct broker_conf, home),
	 .help = "URL of the broker's home page, sent at the end of each answer; empty: query.html of the "
		 "role web"},
	{"query_threads", VALUE_INT_AT(struct broker_conf, threads), "32", 1, 256,
	 .help = "most long queries running at the same time; one address may have half of them"},
	{"query_queue", VALUE_INT_AT(struct broker_conf, queue), "64", 1, 100000,
	 .help = "most long queries waiting; further ones are refused"},
	SERVER_LIMITS_AT(struct broker_conf, limits),
	GATHERERS_SPECS(struct broker_conf, gatherers),
};
/* clang-format on */

static const struct config_section section = {
	.name = "broker",
	.help = "The broker: which sources it collects from, and how often.",
	.size = sizeof(struct broker_conf),
	.specs = specs,
	.nspecs = ARRAY_LEN(specs),
};

static const struct role_flag flags[] = {
	{"new", "broker.start=new", "collect everything of all sources again"},
	{"nocol", "broker.start=nocol", "do not ask gatherers"},
};

/* The old Broker's own file, broker.conf. */
static int read_conf(const char *path, const struct config *before, struct arena *arena,
		     struct role_said *ret, struct buf *warnings, struct err *err)
{
	const struct broker_conf *conf = config_get(before, &section);
	const struct broker_conf_ask ask = {
		.path = path, .listen = conf->listen, .hash = password_make};
	CLEANUP(buf_free) struct buf text = BUF_INIT(BROKER_CONF_FILE);
	int rc = file_slurp(path, &text, err);
	if (rc == 1)
		return err_set(err, ERR_USAGE, "%s: no such file", path);
	return rc < 0 ? -1 : broker_conf_parse(buf_str(&text), &ask, arena, ret, warnings, err);
}

static const struct role_file conf_file = {
	.arg = "CONF",
	.help = "a broker.conf of the old Broker, which overrides the configuration: lines with "
		"Directory, Port, Password, Collection-File, Collection-Interval, Home-Page, "
		"Log-File or Glimpse-MaxLife and a value",
	.read = read_conf,
};

static const struct counter_def counters[] = {COLLECTOR_COUNTERS(COUNTER_DEF)
						      PORT_COUNTERS(COUNTER_DEF)};

/* What the feeds of one start point to. */
struct setup {
	struct arena arena;
	const struct config *config;
	const struct broker_conf *conf;
	const char *data;
	struct collection collection;
	struct policy *policy;
	struct gatherers *gatherers; /* NULL: there are no points, or none is asked here */
	struct collector_feed *feed;
	size_t n;
};

static const char *path_below(struct setup *s, const char *path)
{
	return path[0] == '/' ? path : arena_printf(&s->arena, "%s/%s", s->data, path);
}

/* Fails for a key of this section, naming the place where its value was set. */
static int setting_is_wrong(const struct setup *s, const char *key, const char *problem,
			    struct err *err)
{
	const struct value_spec *spec = value_find(specs, ARRAY_LEN(specs), str_of(key));
	return err_set(err, ERR_USAGE, "%s: broker.%s: %s",
		       config_origin(s->config, &section, spec), key, problem);
}

/* Sources */

static struct str own_host(struct setup *s)
{
	char host[256] = "localhost";
	(void)gethostname(host, sizeof host - 1);
	return str_of(arena_text(&s->arena, str_of(host)));
}

static const void *crawl_store(struct setup *s, const char *rest)
{
	(void)rest;
	struct source_crawl *crawl = arena_alloc(&s->arena, sizeof *crawl);
	uint64_t refresh_s = (uint64_t)(crawl_conf_of(s->config)->refresh_us / US_PER_S);
	*crawl = (struct source_crawl){
		.folder = path_below(s, "shepherd"),
		.follower = "broker",
		.gatherer_name = STR("garner"),
		.gatherer_host = own_host(s),
		.gatherer_version = STR(GARNER_VERSION),
		.refresh_rate_s = refresh_s,
		.time_to_live_s = LIVES * refresh_s,
	};
	return crawl;
}

/* Under a name of its own: an address that was crawled as well is another object. */
static const void *archie_store(struct setup *s, const char *rest)
{
	(void)rest;
	struct source_archie *archie = arena_alloc(&s->arena, sizeof *archie);
	*archie = (struct source_archie){
		.folder = path_below(s, "archie"),
		.gatherer_name = STR("archie"),
		.gatherer_host = own_host(s),
		.gatherer_version = STR(GARNER_VERSION),
	};
	return archie;
}

static const void *folder_store(struct setup *s, const char *rest)
{
	return path_below(s, rest);
}

static const struct source_kind {
	const char *prefix; /* of an item; one that ends in a colon has something after it */
	const char *form;   /* for people */
	const struct source_ops *ops;
	const void *(*store)(struct setup *s, const char *rest);
} kinds[] = {
	{"crawl", "crawl", &source_crawl_ops, crawl_store},
	{"archie", "archie", &source_archie_ops, archie_store},
	{"soif:", "soif:FOLDER", &source_folder_ops, folder_store},
};

static const struct source_kind *find_kind(const char *item)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		size_t n = strlen(kinds[i].prefix);
		bool more = kinds[i].prefix[n - 1] == ':';
		if (strncmp(item, kinds[i].prefix, n) == 0 && (item[n] != 0) == more)
			return &kinds[i];
	}
	return NULL;
}

static int unknown_source(struct setup *s, const char *item, struct err *err)
{
	CLEANUP(buf_free) struct buf forms = BUF_INIT(1000);
	char shown[VALUE_SHOWN];
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		buf_printf(&forms, "%s%s", i ? ", " : "", kinds[i].form);
	return setting_is_wrong(s, "sources",
				arena_printf(&s->arena, "there is no source '%s'; there are %s",
					     value_show(str_of(item), shown), buf_text(&forms)),
				err);
}

static bool has_feed(const struct setup *s, const char *name)
{
	for (size_t i = 0; i < s->n; i++)
		if (strcmp(s->feed[i].name, name) == 0)
			return true;
	return false;
}

static int add_sources(struct setup *s, struct err *err)
{
	for (size_t i = 0; i < s->conf->sources.n; i++) {
		const char *item = s->conf->sources.item[i];
		const struct source_kind *kind = find_kind(item);
		char shown[VALUE_SHOWN];
		if (!kind)
			return unknown_source(s, item, err);
		if (has_feed(s, item) || strlen(item) > REGISTRY_POINT_NAME)
			return setting_is_wrong(
				s, "sources",
				arena_printf(&s->arena, "%s: %s",
					     has_feed(s, item) ? "named twice" : "too long",
					     value_show(str_of(item), shown)),
				err);
		s->feed[s->n++] = (struct collector_feed){
			.name = item,
			.ops = kind->ops,
			.store = kind->store(s, item + strlen(kind->prefix)),
		};
	}
	return 0;
}

/* Collection points */

static void add_problem(struct buf *problems, const char *text)
{
	buf_printf(problems, "%s\n", text);
}

/* The points; what is wrong with some of them is added to `problems`. */
static int read_collection(struct setup *s, char *ret_read, struct buf *problems, struct err *err)
{
	const char *path = path_below(s, s->conf->collection);
	const struct value_spec *spec = value_find(specs, ARRAY_LEN(specs), STR("collection"));
	*ret_read = 0;
	if (!s->conf->collection[0])
		return 0;
	int rc = collection_read(path, &s->arena, &s->collection, err);
	if (rc < 0)
		return -1;
	if (rc == 0)
		snprintf(ret_read, PATH_MAX, "%s", path);
	else if (strcmp(s->conf->collection, spec->fallback) != 0)
		add_problem(problems, arena_printf(&s->arena,
						   "%s: there is no such file, no "
						   "gatherers are asked",
						   path));
	for (size_t i = 0; i < s->collection.nproblems; i++)
		add_problem(problems, s->collection.problem[i]);
	return 0;
}

static const char *point_name(struct setup *s, const struct collection_point *p)
{
	bool six = strchr(p->host, ':') != NULL;
	return arena_printf(&s->arena, "%s%s%s:%u", six ? "[" : "", p->host, six ? "]" : "",
			    p->port);
}

static void add_points(struct setup *s, struct buf *problems)
{
	for (size_t i = 0; i < s->collection.n; i++) {
		const struct collection_point *p = &s->collection.point[i];
		const char *name = point_name(s, p);
		if (has_feed(s, name) || strlen(name) > REGISTRY_POINT_NAME) {
			add_problem(problems,
				    arena_printf(&s->arena,
						 "%s: there is a source of this name, or it is too "
						 "long; not asked",
						 name));
			continue;
		}
		struct gatherer_point *at = arena_alloc(&s->arena, sizeof *at);
		*at = (struct gatherer_point){.host = p->host,
					      .port = p->port,
					      .full = p->full,
					      .compressed = p->compressed,
					      .gatherers = s->gatherers};
		s->feed[s->n++] = (struct collector_feed){
			.name = name,
			.ops = &source_gatherer_ops,
			.store = at,
			.every_us = s->conf->collect_us,
			.full = p->full,
		};
	}
}

static int check_password(const struct setup *s, struct err *err)
{
	if (!s->conf->password[0] || password_line_check(s->conf->password, err) == 0)
		return 0;
	char why[sizeof err->msg];
	memcpy(why, err->msg, sizeof why);
	return setting_is_wrong(s, "password", why, err);
}

static int setup_init(struct setup *s, const struct config *config, const char *data,
		      char *ret_read, struct buf *problems, struct err *err)
{
	*s = (struct setup){.arena = ARENA_INIT(16 << 20),
			    .config = config,
			    .conf = config_get(config, &section),
			    .data = data};
	if (check_password(s, err) < 0 || read_collection(s, ret_read, problems, err) < 0)
		return -1;
	s->feed = arena_array(&s->arena, s->conf->sources.n + s->collection.n + 1, sizeof *s->feed);
	return add_sources(s, err);
}

static void setup_free(struct setup *s)
{
	gatherers_free(&s->gatherers);
	policy_free(&s->policy);
	arena_free(&s->arena);
}

/* The broker waits for a folder that is not there; a person may have meant another. */
static void check_folders(struct setup *s, struct buf *problems)
{
	struct stat st;
	for (size_t i = 0; i < s->n; i++)
		if (s->feed[i].ops == &source_folder_ops &&
		    (stat(s->feed[i].store, &st) != 0 || !S_ISDIR(st.st_mode)))
			add_problem(problems,
				    arena_printf(&s->arena,
						 "broker.sources: %s: there is no folder %s, "
						 "nothing comes from it",
						 s->feed[i].name, (const char *)s->feed[i].store));
}

int broker_check(const struct config *config, const char *data, char *ret_read,
		 struct buf *problems, struct err *err)
{
	struct setup s;
	int rc = setup_init(&s, config, data, ret_read, problems, err);
	if (rc == 0) {
		check_folders(&s, problems);
		add_points(&s, problems);
	}
	setup_free(&s);
	return rc;
}

/* Names of gatherers are looked up as the robot does, and the same networks may be reached. */
static int open_gatherers(struct setup *s, struct err *err)
{
	const struct robot_section_conf *robot = config_get(s->config, &robot_section);
	if (s->collection.n == 0)
		return 0;
	if (policy_new(&s->policy, &robot->robot.networks, err) < 0)
		return err_in(err, "robot.networks");
	return gatherers_new(&s->gatherers, &s->conf->gatherers, &robot->dns, s->policy, err);
}

static void log_problems(struct buf *problems)
{
	struct str rest = buf_str(problems), line;
	while (str_cut(&rest, '\n', &line) == 0)
		if (line.n)
			log_warn(COLLECTOR, "not all of Collection.conf can be used",
				 KV_STR("why", line));
}

/* What lives as long as the role: over restarts that the administrator asks for. */
struct broker_life {
	struct role_env *env;
	struct control *control;
	struct events *events;
	struct config *next; /* what was read for the next round */
	bool started;        /* there was a round before */
};

/* Looks at all that a start would, before anything ends. */
static int read_again(void *ctx, struct buf *out, struct err *err)
{
	struct broker_life *life = ctx;
	const struct role_env *env = life->env;
	CLEANUP(buf_free) struct buf problems = BUF_INIT(PROBLEMS_MOST);
	CLEANUP(config_free) struct config *next = NULL;
	char path[PATH_MAX];
	if (env->load(env, &next, err) < 0 ||
	    broker_check(next, env->data, path, &problems, err) < 0)
		return -1;
	config_free(&life->next);
	life->next = next;
	next = NULL;
	buf_add_text(out,
		     env->supervised
			     ? "the broker starts again with what garner up has read, and with "
			       "Collection.conf; garner up reads the configuration again when "
			       "it gets SIGHUP"
			     : "the broker starts again with the configuration as it is now; "
			       "where it listens and its data stay");
	return 0;
}

static const char *end_of(const struct role_env *env)
{
	return env->supervised ? "the broker ends; garner up starts it again, unless up.roles no "
				 "longer names it"
			       : "the broker ends";
}

static int run_broker(struct broker_life *life, struct setup *s, struct err *err)
{
	struct role_env *env = life->env;
	struct buf url = BUF_INIT(URL_MOST);
	web_base(env->config, &url);
	const struct broker_role_options options = {
		.collector = {.data = env->data,
			      .feeds = s->feed,
			      .n = s->n,
			      .counters = env->counters,
			      .events = life->events,
			      .forget = s->conf->start == START_NEW && !life->started,
			      .no_collect = s->conf->start == START_NOCOL,
			      .expire_every_us = s->conf->expire_us,
			      .remember_deleted_us = s->conf->remember_us},
		.port = {.data = env->data,
			 .url = arena_text(&s->arena, buf_str(&url)),
			 .home = s->conf->home,
			 .limits = s->conf->limits,
			 .threads = (size_t)s->conf->threads,
			 .queue = (size_t)s->conf->queue,
			 .events = life->events,
			 .counters = env->counters,
			 .counters_at = COLLECTOR_NCOUNTERS},
		.lifetime_us = s->conf->lifetime_us,
		.listen_fd = role_fd(env, "listen"),
		.password = s->conf->password,
		.control = life->control,
	};
	buf_free(&url);
	return broker_run(&options, err);
}

/* From one start, or order to start again, to the next. 1: once more. */
static int run_round(struct broker_life *life, struct err *err)
{
	struct setup s;
	char path[PATH_MAX];
	CLEANUP(buf_free) struct buf problems = BUF_INIT(PROBLEMS_MOST);
	int rc = setup_init(&s, life->env->config, life->env->data, path, &problems, err);
	if (rc == 0)
		rc = open_gatherers(&s, err);
	if (rc == 0) {
		add_points(&s, &problems);
		log_problems(&problems);
		life->events = events_new(path_below(&s, s.conf->log));
		rc = run_broker(life, &s, err);
		events_free(&life->events);
	}
	setup_free(&s);
	life->started = true;
	return rc;
}

/* The folder for the administrator's files is made at once, so that there is something to find. */
static int make_folder(const struct role_env *env, struct err *err)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof path, "%s/broker/%s", env->data, ADDITION_FOLDER);
	if (n < 0 || (size_t)n >= sizeof path)
		return err_set(err, ERR_USAGE, "%s: the path is too long", env->data);
	return dir_make(path, DIR_MODE, err);
}

/* Dozens of threads read documents of any size for queries. The C library learns from the first
 * large one that is given back to keep such memory, and then does so for each thread. */
static void keep_little_memory(void)
{
	(void)mallopt(M_MMAP_THRESHOLD, KEPT_FREE);
	(void)mallopt(M_TRIM_THRESHOLD, KEPT_FREE);
}

static int run(struct role_env *env, struct err *err)
{
	const struct config *first = env->config;
	struct config *mine = NULL; /* what was read last, if it is not the first */
	struct broker_life life = {.env = env};
	keep_little_memory();
	if (make_folder(env, err) < 0 || control_new(&life.control, err) < 0)
		return -1;
	control_hook(life.control, &(struct control_hooks){.restart = read_again,
							   .shutdown = end_of(env),
							   .ctx = &life});
	int rc;
	while ((rc = run_round(&life, err)) == 1) {
		config_free(&mine);
		env->config = mine = life.next;
		life.next = NULL;
		cmd_log_apply(env->config);
		log_info(BROKER, "restarting, as the administrator asked");
	}
	env->config = first;
	config_free(&life.next);
	config_free(&mine);
	control_free(&life.control);
	return rc;
}

const struct role broker_role = {
	.name = "broker",
	.old_name = true,
	.summary = "collect gathered documents into the index",
	.description =
		"Follows the crawl and other sources on this machine, polls the gatherers that "
		"Collection.conf lists, and keeps the registry, the documents and the words index "
		"below broker/ up to date. New and changed pages can be found about a second after "
		"they were gathered; deleted pages are no longer found.\n\n"
		"The role is the only writer of all three; searches read while it writes. garner "
		"status shows the last collection from each gatherer, garner why URL the source of "
		"an object.",
	.section = &section,
	.flags = flags,
	.nflags = ARRAY_LEN(flags),
	.file = &conf_file,
	.counters = counters,
	.ncounters = ARRAY_LEN(counters),
	.run = run,
};
