/* garner doctor: each check looks at one thing, reports it and suggests a fix. To add a check,
 * write a function and add a line to the table `checks`. */
#include "cmd/system/doctor.h"
#include "archie/archie_conf.h"
#include "archie/master_state.h"
#include "archie/sites.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/rows.h"
#include "cmd/commands.h"
#include "cmd/crawl/shep_filter.h"
#include "cmd/system/text.h"
#include "cmd/system/up_plan.h"
#include "disk/lock.h"
#include "extract/cage_section.h"
#include "index/names.h"
#include "index/words.h"
#include "net/call.h"
#include "net/serve.h"
#include "role/listen.h"
#include "role/status.h"
#include "shepherd/brake.h"
#include "shepherd/crawl.h"
#include "shepherd/master.h"
#include "shepherd/shepherd.h"
#include "web/web.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <pwd.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

struct check {
	const char *name;
	bool needs_config;
	void (*look)(const struct patient *p, struct finding *ret);
};

enum {
	DESCRIPTORS_WANTED = 4096,
	SITES_DAYS = 31, /* a list of archives that is older is reported */
	SECONDS_PER_DAY = 86400,
	OWNERS_LOOKED = 10000, /* entries of a folder */
};

void finding_set(struct finding *f, enum finding_level level, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	f->level = level;
	vsnprintf(f->reason, sizeof f->reason, fmt, ap);
	va_end(ap);
}

void finding_fail(struct finding *f, const struct err *err)
{
	finding_set(f, FINDING_FAIL, "%s", err->msg);
	f->code = (int)err->code;
}

void finding_mend(struct finding *f, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(f->mend, sizeof f->mend, fmt, ap);
	va_end(ap);
}

static void check_config(const struct patient *p, struct finding *f)
{
	if (p->config) {
		finding_set(f, FINDING_OK, "it is valid; the data directory is %s", p->data);
		return;
	}
	finding_fail(f, &p->config_err);
	finding_mend(f, "garner config check");
}

static void user_name(uid_t uid, char *ret, size_t cap)
{
	const struct passwd *pw = getpwuid(uid);
	if (pw)
		snprintf(ret, cap, "%s", pw->pw_name);
	else
		snprintf(ret, cap, "user %u", (unsigned)uid);
}

static void check_data(const struct patient *p, struct finding *f)
{
	struct stat st;
	char me[64], owner[64];
	user_name(geteuid(), me, sizeof me);
	if (stat(p->data, &st) < 0 && errno == ENOENT) {
		bool can = access(p->home, W_OK) == 0;
		finding_set(f, can ? FINDING_NOTE : FINDING_FAIL, "%s does not exist%s", p->data,
			    can ? " yet; garner up makes it" : ", and you may not make it");
		if (!can)
			finding_mend(f, "install -d -o %s %s", me, p->data);
		return;
	}
	bool reached = stat(p->data, &st) == 0;
	if (!reached || !S_ISDIR(st.st_mode)) {
		finding_set(f, FINDING_FAIL, "%s: %s", p->data,
			    strerror(reached ? ENOTDIR : errno));
		finding_mend(f, "use another: garner -s data=DIR");
		return;
	}
	user_name(st.st_uid, owner, sizeof owner);
	if (access(p->data, R_OK | W_OK | X_OK) < 0) {
		finding_set(f, FINDING_FAIL, "%s belongs to %s and cannot be written by %s",
			    p->data, owner, me);
		finding_mend(f, "run garner as %s", owner);
	} else if (st.st_mode & (S_IWGRP | S_IWOTH)) {
		finding_set(f, FINDING_WARN, "%s can be written by %s (mode %04o)", p->data,
			    st.st_mode & S_IWOTH ? "anyone" : "its group", st.st_mode & 07777);
		finding_mend(f, "chmod 750 %s", p->data);
	} else if (st.st_uid != geteuid()) {
		finding_set(f, FINDING_WARN,
			    "%s belongs to %s, not to %s: files would have two owners", p->data,
			    owner, me);
		finding_mend(f, "run garner as %s", owner);
	} else {
		finding_set(f, FINDING_OK, "%s belongs to %s and can be written", p->data, owner);
	}
}

static uint64_t disk_free_of(const struct config *config)
{
	const struct global_conf *global = config_get(config, &global_section);
	return global->disk_free;
}

static void check_space(const struct patient *p, struct finding *f)
{
	uint64_t left, total;
	struct err err;
	if (file_space(p->home, &left, &total, &err) < 0) {
		finding_set(f, FINDING_FAIL, "%s", err.msg);
		return;
	}
	double gib = (double)left / (1 << 30);
	double share = total ? 100 * (double)left / (double)total : 0;
	bool stops =
		cmd_has_role(p->call->program, &shepherd_role) && left < disk_free_of(p->config);
	bool little = stops || gib < 1 || share < 5;
	finding_set(f, little ? FINDING_WARN : FINDING_OK, "%s: %.1f GiB free, %.0f %% of all%s",
		    p->home, gib, share, stops ? ", less than disk_free: nothing is fetched" : "");
	if (little)
		finding_mend(f, "du -xh --max-depth=2 %s | sort -h", p->home);
}

static const struct fs_kind {
	unsigned long magic;
	const char *name, *trouble; /* NULL: none */
} fs_kinds[] = {
	{EXT4_SUPER_MAGIC, "ext4", NULL},
	{0x58465342, "xfs", NULL},
	{BTRFS_SUPER_MAGIC, "btrfs", NULL},
	{0x2fc12fc1, "zfs", NULL},
	{OVERLAYFS_SUPER_MAGIC, "overlay", NULL},
	{0xf2f52010, "f2fs", NULL},
	{TMPFS_MAGIC, "tmpfs", "what it holds is gone after a restart of the machine"},
	{NFS_SUPER_MAGIC, "nfs", "locks and mapped files are not safe across machines"},
	{0xff534d42, "cifs", "locks and mapped files are not safe across machines"},
};

static bool takes_direct(const char *dir)
{
	struct file file;
	struct err err;
	if (file_open(&file, dir, O_TMPFILE | O_DIRECT | O_RDWR, 0600, &err) != 0)
		return false;
	file_drop(&file);
	return true;
}

static void check_fs(const struct patient *p, struct finding *f)
{
	struct statfs v;
	if (statfs(p->home, &v) < 0) {
		finding_set(f, FINDING_FAIL, "%s: %s", p->home, strerror(errno));
		return;
	}
	struct fs_kind kind = {.name = "a kind that garner does not know"};
	for (size_t i = 0; i < ARRAY_LEN(fs_kinds); i++)
		if (fs_kinds[i].magic == (unsigned long)v.f_type)
			kind = fs_kinds[i];
	bool direct = takes_direct(p->home);
	const char *how = direct ? "O_DIRECT works" : "no O_DIRECT: big files are written slower";
	if (kind.trouble) {
		finding_set(f, FINDING_WARN, "%s: %s; %s", kind.name, kind.trouble, how);
		finding_mend(f, "use another: garner -s data=DIR");
	} else {
		finding_set(f, direct ? FINDING_OK : FINDING_NOTE, "%s; %s", kind.name, how);
	}
}

static void check_descriptors(const struct patient *p, struct finding *f)
{
	(void)p;
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0) {
		finding_set(f, FINDING_FAIL, "cannot tell the limit: %s", strerror(errno));
		return;
	}
	unsigned long long soft = limit.rlim_cur;
	if (soft >= DESCRIPTORS_WANTED) {
		finding_set(f, FINDING_OK, "%llu may be open at a time", soft);
		return;
	}
	finding_set(f, FINDING_WARN, "only %llu may be open at a time; %d are wanted", soft,
		    DESCRIPTORS_WANTED);
	finding_mend(f, "ulimit -n %d (in a unit: LimitNOFILE=%d)", DESCRIPTORS_WANTED,
		     DESCRIPTORS_WANTED);
}

static void check_kernel(const struct patient *p, struct finding *f)
{
	(void)p;
	enum { LANDLOCK_VERSION_FLAG = 1 };
	struct utsname u;
	const char *release = uname(&u) == 0 ? u.release : "unknown";
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (fd < 0) {
		finding_set(f, FINDING_FAIL, "Linux %s: no pidfd_open (%s), garner up cannot work",
			    release, strerror(errno));
		finding_mend(f, "use Linux 5.3 or later, and a sandbox that allows pidfd_open");
		return;
	}
	close(fd);
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION_FLAG);
	if (abi < 0)
		finding_set(f, FINDING_NOTE,
			    "Linux %s: no landlock, one wall fewer around foreign documents",
			    release);
	else
		finding_set(f, FINDING_OK, "Linux %s, landlock %ld", release, abi);
}

static void check_clock(const struct patient *p, struct finding *f)
{
	(void)p;
	int64_t earliest_us = 0, now_us = clock_wall_us();
	struct buf now = BUF_INIT(64);
	ENSURE(time_parse(STR("2024-01-01T00:00:00Z"), &earliest_us));
	time_print(&now, now_us, 0);
	if (now_us >= earliest_us) {
		finding_set(f, FINDING_OK, "%s", buf_text(&now));
	} else {
		finding_set(f, FINDING_FAIL,
			    "%s cannot be right, and everything garner keeps carries its time",
			    buf_text(&now));
		finding_mend(f, "timedatectl set-ntp true");
	}
	buf_free(&now);
}

static void check_counters(const struct patient *p, struct finding *f)
{
	struct status s;
	struct err err;
	if (status_read(&s, p->data, &err) < 0) {
		finding_set(f, FINDING_FAIL, "%s", err.msg);
		return;
	}
	if (s.damaged[0]) {
		finding_set(f, FINDING_FAIL, "%s", s.damaged);
		f->code = ERR_DAMAGED;
		finding_mend(f, "remove the file; its role makes a new one");
	} else {
		finding_set(f, FINDING_OK, "%zu file%s, all sound", s.nviews,
			    s.nviews == 1 ? "" : "s");
	}
	status_free(&s);
}

static void check_up(const struct patient *p, struct finding *f)
{
	struct status s;
	struct err err;
	if (status_read(&s, p->data, &err) < 0) {
		finding_set(f, FINDING_NOTE, "not known: %s", err.msg);
		return;
	}
	const struct status_row *up = NULL;
	for (size_t i = 0; i < s.nrows; i++)
		if (str_is(s.row[i].name, "up") && status_is_live(&s.row[i]))
			up = &s.row[i];
	if (up) {
		finding_set(f, FINDING_OK, "garner up runs as process %lld", (long long)up->pid);
	} else {
		finding_set(f, FINDING_NOTE, "garner up does not run");
		finding_mend(f, "garner up");
	}
	status_free(&s);
}

/* Whether ports that garner up would listen on are taken. Not asked while roles of this garner run:
 * they have them. */
static void check_ports(const struct patient *p, struct finding *f)
{
	CLEANUP(buf_free) struct buf busy = BUF_INIT(400);
	struct role_listen listens[ROLE_MOST_LISTENS];
	struct up_plan plan;
	struct status s;
	struct err err;
	if (status_read(&s, p->data, &err) < 0)
		return;
	bool runs = false;
	for (size_t i = 0; i < s.nrows; i++)
		runs |= status_is_live(&s.row[i]);
	status_free(&s);
	if (runs)
		return;
	up_plan_list(&plan, p->call->program, p->config);
	for (size_t i = 0; i < plan.nlisted; i++) {
		const struct up_unit *unit = &plan.unit[i];
		size_t n = role_listens(unit->role, unit->name, p->config, listens);
		for (size_t k = 0; k < n; k++) {
			const struct role_listen *l = &listens[k];
			int fd = -1;
			if (l->in_run || str_starts(str_of(l->text), STR("unix:")))
				continue;
			if (listen_open(l->text, &fd, &err) == 0)
				close(fd);
			else if (err.code == ERR_BUSY)
				buf_printf(&busy, "%s%s (%s.%s)", busy.n ? ", " : "", l->text,
					   unit->name, l->key);
		}
	}
	up_plan_free(&plan);
	if (!busy.n) {
		finding_set(f, FINDING_OK, "all that garner up listens on are free");
		return;
	}
	finding_set(f, FINDING_WARN, "in use by another program: %s", buf_text(&busy));
	finding_mend(f, "stop what listens there, or set net.port for a second garner");
}

/* Whether a socket was left by someone who ended: it is there, and nobody answers. */
static bool is_stale(const char *path)
{
	struct stat st;
	if (lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return false;
	int fd = call_dial_path(path);
	if (fd >= 0)
		close(fd);
	return fd < 0 && errno == ECONNREFUSED;
}

/* The first stale socket in a folder below run/. */
static bool find_stale(const struct patient *p, const char *folder, char ret[PATH_MAX])
{
	char path[PATH_MAX];
	const char *name;
	struct dir dir;
	struct err err;
	bool is = false;
	if (file_below(p->data, folder, path, &err) < 0 || dir_init(&dir, path, &err) != 0)
		return false;
	while (!is && dir_next(&dir, &name) == 0)
		is = file_below(path, name, ret, &err) == 0 && is_stale(ret);
	dir_done(&dir);
	return is;
}

static void check_sockets(const struct patient *p, struct finding *f)
{
	static const char *const folders[] = {"run", "run/sockets"};
	char path[PATH_MAX];
	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		if (find_stale(p, folders[i], path)) {
			finding_set(f, FINDING_NOTE, "%.300s was left by a process that has ended",
				    path);
			finding_mend(f, "nothing; the next start replaces it");
			return;
		}
	finding_set(f, FINDING_OK, "none is left over");
}

/* Only whether it can be opened: garner check reads all of it. */
static void check_index(const struct patient *p, struct finding *f)
{
	char folder[PATH_MAX + 16];
	struct words_reader *r;
	struct words_stats stats;
	struct err err;
	snprintf(folder, sizeof folder, "%s/broker/words", p->data);
	int rc = words_open(&r, folder, &err);
	if (rc == 1) {
		finding_set(f, FINDING_OK, "there is none yet");
	} else if (rc < 0) {
		finding_fail(f, &err);
		if (err.code == ERR_DAMAGED)
			finding_mend(f,
				     "stop garner; rm -r %.400s; start it: the index is built "
				     "again from registry and documents",
				     folder);
	} else {
		words_stats(r, &stats);
		finding_set(f, FINDING_OK, "%" PRIu64 " documents", stats.docs);
		words_close(&r);
	}
}

/* By which names the roles that serve HTTP answer. */
static void check_names(const struct patient *p, struct finding *f)
{
	struct err err;
	if (!cmd_has_role(p->call->program, &web_role))
		return;
	const struct web_conf *web = config_get(p->config, &web_section);
	const struct http_names *names = &web->names;
	if (http_names_check(names, &err) < 0) {
		finding_fail(f, &err);
		finding_mend(f, "garner config explain web");
		return;
	}
	CLEANUP(buf_free) struct buf list = BUF_INIT(400);
	buf_add_text(&list, names->url);
	for (size_t i = 0; i < names->names.n; i++)
		buf_printf(&list, "%s%s", list.n ? ", " : "", names->names.item[i]);
	finding_set(f, FINDING_OK,
		    "pages are served to those who ask for localhost, an address%s%s",
		    list.n ? ", " : "; for no other name", buf_text(&list));
	if (!list.n)
		finding_mend(f, "with a reverse proxy: garner -s web.url=https://NAME/ up");
}

/* The rules of the crawl. */
static void check_filter(const struct patient *p, struct finding *f)
{
	struct filter *filter = NULL;
	struct err err;
	char path[PATH_MAX];
	int rc = shep_filter_load(p->call, p->config, path, &filter, &err);
	if (rc < 0) {
		finding_fail(f, &err);
		finding_mend(f, "mend that line; until then the rules from before are in force");
	} else if (rc == 0) {
		bool is = access(path, F_OK) == 0;
		finding_set(f, FINDING_OK, is ? "%s is good" : "%s: there is none, and need not be",
			    path);
	}
	filter_free(&filter);
}

/* Whether select was held back, and what would have gone. */
static void check_brake(const struct patient *p, struct finding *f)
{
	CLEANUP(buf_free) struct buf by = BUF_INIT(256), when = BUF_INIT(64);
	struct brake brake;
	struct err err;
	int rc = brake_load(p->data, &brake, &err);
	if (rc == 1)
		return;
	if (rc < 0) {
		finding_fail(f, &err);
		finding_mend(f, "stop garner and start it again");
		return;
	}
	for (unsigned i = 0; i < CRAWL_LIMITS; i++)
		if (brake.by[i])
			buf_printf(&by, "%s%s %" PRIu64, by.n ? ", " : "", crawl_limit_names[i],
				   brake.by[i]);
	time_print(&when, brake.time_us, 0);
	finding_set(f, FINDING_WARN,
		    "%s: select would have dropped %" PRIu64 " of %" PRIu64
		    " gathered pages by limits (%s), more than shepherd.safety_brake_limit; "
		    "while the brake holds nothing that is found becomes known%s",
		    buf_text(&when), brake.lost, brake.gathered, buf_text(&by),
		    brake_is_disabled(p->data) ? "; the next one is let through" : "");
	finding_mend(f, "raise those limits, or let them go: touch %s/" BRAKE_DISABLE, p->data);
}

/* How old the list of archives is, if there is one. */
static void check_sites(const struct patient *p, struct finding *f)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(SIZE_MAX);
	char folder[PATH_MAX + 16];
	struct archie_sites sites;
	struct err err;
	snprintf(folder, sizeof folder, "%s/archie", p->data);
	if (archie_sites_read(folder, &arena, &sites, &err) < 0) {
		finding_fail(f, &err);
		return;
	}
	if (sites.listed_s < 0 && sites.n == 0 && sites.problems == 0)
		return;
	int64_t age_s = clock_wall_us() / US_PER_S - sites.listed_s;
	if (sites.listed_s >= 0 && age_s > (int64_t)SITES_DAYS * SECONDS_PER_DAY) {
		finding_set(f, FINDING_WARN,
			    "the list of archives is %" PRId64 " days old; %zu sites",
			    age_s / SECONDS_PER_DAY, sites.n);
		finding_mend(f, "garner archie sites get URL");
	} else if (sites.problems) {
		finding_set(f, FINDING_WARN, "%zu lines are skipped: %s", sites.problems,
			    sites.problem[0]);
		finding_mend(f, "mend these lines; garner archie sites list names them all");
	} else {
		finding_set(f, FINDING_OK, "%zu archive%s", sites.n, sites.n == 1 ? "" : "s");
	}
}

/* Files that belong to another user than the data directory does. */
struct strange_files {
	uid_t owner;
	struct arena *arena;
	uint64_t n;
	const char *first;
	uid_t first_owner;
};

static void look_at_owner(struct strange_files *s, const char *path)
{
	struct stat st;
	if (lstat(path, &st) < 0 || st.st_uid == s->owner)
		return;
	if (s->n++ == 0) {
		s->first = path;
		s->first_owner = st.st_uid;
	}
}

/* What an operator writes there, in etc, is only read. */
static void count_strange(struct strange_files *s, const char *folder)
{
	struct dir_walk *walk = NULL;
	struct err ignored;
	const char *name;
	if (dir_walk_open(&walk, folder, &ignored) != 0)
		return;
	for (int i = 0; i < OWNERS_LOOKED && dir_walk_next(walk, &name, &ignored) == 0; i++)
		if (strcmp(name, "etc") != 0)
			look_at_owner(s, arena_printf(s->arena, "%s/%s", folder, name));
	dir_walk_close(&walk);
}

/* In archie/ and garner.db mail servers, inetd and people write as well as roles do. */
static void check_owners(const struct patient *p, struct finding *f)
{
	static const char *const folders[] = {"",        "/newsites", "/master",
					      "/public", "/lslr",     "/names"};
	static const char *const ends[] = {"", "-wal", "-shm"};
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(SIZE_MAX);
	struct strange_files strange = {.arena = &arena};
	struct stat st;
	char owner[64], other[64];
	const char *archie = arena_printf(&arena, "%s/archie", p->data);
	if (stat(p->data, &st) < 0 || access(archie, F_OK) < 0)
		return;
	strange.owner = st.st_uid;
	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		count_strange(&strange, arena_printf(&arena, "%s%s", archie, folders[i]));
	for (size_t i = 0; i < ARRAY_LEN(ends); i++)
		look_at_owner(&strange,
			      arena_printf(&arena, "%s/" SMALL_FILE "%s", p->data, ends[i]));
	user_name(st.st_uid, owner, sizeof owner);
	if (strange.n == 0) {
		finding_set(f, FINDING_OK, "all in %s belongs to %s", archie, owner);
		return;
	}
	user_name(strange.first_owner, other, sizeof other);
	finding_set(f, FINDING_WARN,
		    "%" PRIu64 " in %s belong to others, such as %s to %s: roles of %s cannot "
		    "replace them",
		    strange.n, p->data, strange.first, other, owner);
	finding_mend(f,
		     "chown -R %s %s %s/" SMALL_FILE "*, and run commands that write there as %s",
		     owner, archie, p->data, owner);
}

/* Answers of the master that could not be sent; nothing else waits. */
static void check_mails(const struct patient *p, struct finding *f)
{
	CLEANUP(buf_free) struct buf age = BUF_INIT(64);
	CLEANUP(master_state_free) struct master_state state = {0};
	struct err err;
	uint64_t n = 0;
	int64_t now_us = clock_wall_us(), since_us = now_us;
	if (master_state_load(p->data, &state, &err) < 0) {
		finding_fail(f, &err);
		return;
	}
	for (size_t i = 0; i < state.requests; i++) {
		const struct master_record *r = &state.request[i];
		n += r->failures > 0;
		since_us = r->failures ? MIN(since_us, r->failing_us) : since_us;
	}
	if (n == 0)
		return;
	duration_print_short(&age, now_us - since_us);
	bool is_set = archie_mail_check(p->config, &err) == 0;
	finding_set(f, FINDING_WARN,
		    "%" PRIu64 " answer%s of archie-master cannot be sent, the first for %s%s%s", n,
		    n == 1 ? "" : "s", buf_text(&age), is_set ? "" : ": ", is_set ? "" : err.msg);
	finding_mend(f, "set mail.via to what can send mails here; the log of archie-master says "
			"why each try fails");
}

/* The databases of archives. */
static void check_databases(const struct patient *p, struct finding *f)
{
	char folder[PATH_MAX + 16];
	struct names_reader *r;
	struct names_stats stats;
	struct err err;
	size_t losts;
	snprintf(folder, sizeof folder, "%s/archie", p->data);
	int rc = names_open(&r, folder, &err);
	if (rc == 1)
		return;
	if (rc < 0) {
		finding_fail(f, &err);
		return;
	}
	names_stats(r, &stats);
	const struct names_lost *lost = names_lost(r, &losts);
	if (!names_problem(r)) {
		finding_set(f, FINDING_OK, "%" PRIu64 " files of %" PRIu64 " archive%s",
			    stats.entries, stats.sites, stats.sites == 1 ? "" : "s");
	} else {
		finding_set(f, FINDING_WARN, "%s", names_problem(r));
		finding_mend(f, losts && lost[0].by_hand ? "garner archie build --site KEY FILE"
				: losts ? "garner archie get && garner archie build"
					: "garner archie build");
	}
	names_close(&r);
}

/* Whether those who should fetch for the crawl do. */
static void check_reapers(const struct patient *p, struct finding *f)
{
	CLEANUP(arena_free) struct arena arena = ARENA_INIT(4 << 20);
	CLEANUP(buf_free) struct buf missing = BUF_INIT(400);
	struct reaper_status *list = NULL;
	struct err err;
	size_t n = 0;
	int rc = reapers_load(p->data, &arena, &list, &n, &err);
	if (rc < 0) {
		finding_set(f, FINDING_NOTE, "%s", err.msg);
		finding_mend(f, "nothing; the shepherd replaces it");
	}
	if (rc != 0 || n < 2)
		return;
	for (size_t i = 1; i < n; i++)
		if (strcmp(list[i].state, "up") != 0)
			buf_printf(&missing, "%s%s is %s", missing.n ? ", " : "", list[i].name,
				   list[i].state);
	if (missing.n) {
		finding_set(f, FINDING_WARN, "%s", buf_text(&missing));
		finding_mend(f, "the log of the shepherd says why; garner reapd has to run there");
	} else {
		finding_set(f, FINDING_OK, "%zu of other machines, all there", n - 1);
	}
}

static void parser_told(void *ctx, const struct cage_result *r)
{
	finding_set(ctx, r->end == CAGE_READ ? FINDING_OK : FINDING_FAIL, "%s", r->reason);
}

static const struct {
	unsigned lock;
	const char *name;
} locks[] = {
	{CAGE_NO_NEW_PRIVILEGES, "no_new_privs"},
	{CAGE_LIMITS, "limits"},
	{CAGE_LANDLOCK, "landlock"},
	{CAGE_SECCOMP, "seccomp"},
};

/* The locks of the parser that work, and those missing in the kernel. */
static void parser_judge(const struct cage *cage, struct finding *f)
{
	CLEANUP(buf_free) struct buf held = BUF_INIT(256);
	CLEANUP(buf_free) struct buf missing = BUF_INIT(256);
	const char *remark;
	unsigned set;
	if (cage_locks(cage, &set, &remark) != 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(locks); i++) {
		struct buf *to = set & locks[i].lock ? &held : &missing;
		buf_printf(to, "%s%s", to->n ? ", " : "", locks[i].name);
	}
	if (remark[0]) {
		finding_set(f, FINDING_WARN, "garner-parse works, but %s", remark);
		finding_mend(f, "install the packages of script/bootstrap");
	} else if (missing.n) {
		finding_set(f, FINDING_WARN,
			    "garner-parse works, confined by %s; this kernel has no %s",
			    buf_text(&held), buf_text(&missing));
		finding_mend(f, "a kernel from 5.13 on, with both compiled in");
	} else {
		finding_set(f, FINDING_OK, "garner-parse works, confined by %s%s", buf_text(&held),
			    set & CAGE_OTHER_USER ? ", as nobody" : "");
	}
}

static void check_parser(const struct patient *p, struct finding *f)
{
	char room[CAGE_PATH_MAX];
	struct cage_options options;
	struct cage_slot *slot;
	struct cage *cage = NULL;
	struct err err;
	if (cage_section_options(config_get(p->config, &cage_section), room, &options, &err) < 0 ||
	    cage_new(&cage, &options, clock_mono_us(), &err) < 0) {
		finding_set(f, FINDING_FAIL, "%s", err.msg);
		finding_mend(f, "put garner-parse next to garner, or name it with parse.program");
		return;
	}
	ENSURE(cage_take(cage, &slot) == 0);
	cage_submit(cage, slot, &(struct extract_job){.content_type = STR("text/plain")},
		    parser_told, f, clock_mono_us());
	while (cage_under_way(cage)) {
		struct pollfd fd = {cage_fd(cage), POLLIN, 0};
		(void)poll(&fd, 1, -1);
		cage_poll(cage, clock_mono_us());
	}
	if (f->level == FINDING_OK)
		parser_judge(cage, f);
	cage_free(&cage);
}

static const struct check checks[] = {
	{"configuration", false, check_config},
	{"kernel", false, check_kernel},
	{"clock", false, check_clock},
	{"descriptors", false, check_descriptors},
	{"data directory", true, check_data},
	{"space", true, check_space},
	{"file system", true, check_fs},
	{"counters", true, check_counters},
	{"sockets", true, check_sockets},
	{"supervisor", true, check_up},
	{"ports", true, check_ports},
	{"parser", true, check_parser},
	{"index", true, check_index},
	{"names", true, check_names},
	{"filter", true, check_filter},
	{"brake", true, check_brake},
	{"reapers", true, check_reapers},
	{"archives", true, check_sites},
	{"databases", true, check_databases},
	{"owners", true, check_owners},
	{"mails", true, check_mails},
	{"cache", true, doctor_cache_roles},
	{"cache database", true, doctor_cache_rows},
	{"cache sets", true, doctor_cache_sets},
};
enum { NCHECKS = ARRAY_LEN(checks) };

static const char *const level_words[] = {[FINDING_OK] = "ok",
					  [FINDING_NOTE] = "note",
					  [FINDING_WARN] = "warn",
					  [FINDING_FAIL] = "fail"};

/* As far as the way to the data directory is there. */
static void find_home(struct patient *p)
{
	snprintf(p->home, sizeof p->home, "%s", p->data);
	while (access(p->home, F_OK) < 0) {
		char *slash = strrchr(p->home, '/');
		if (!slash || slash == p->home)
			break;
		*slash = 0;
	}
	if (access(p->home, F_OK) < 0)
		snprintf(p->home, sizeof p->home, "/");
}

/* The exit code is that of the worst finding, the first of its kind. */
static int findings_code(const struct finding *list, size_t n)
{
	int code = 0;
	for (size_t i = n; i-- > 0;)
		if (list[i].level == FINDING_WARN)
			code = ERR_PARTLY;
	for (size_t i = n; i-- > 0;)
		if (list[i].level == FINDING_FAIL)
			code = list[i].code ? list[i].code : ERR_SYSTEM;
	return code;
}

static void print_text(const struct finding *list, struct buf *out)
{
	enum { REASON_COLUMN = 22 };
	for (size_t i = 0; i < NCHECKS; i++) {
		if (!list[i].reason[0])
			continue;
		buf_printf(out, "%-4s  %-16s", level_words[list[i].level], checks[i].name);
		text_wrap(out, list[i].reason, REASON_COLUMN, REASON_COLUMN);
		if (!list[i].mend[0])
			continue;
		buf_fill(out, ' ', REASON_COLUMN);
		buf_printf(out, "mend: %s\n", list[i].mend);
	}
}

struct told {
	const char *name, *level, *reason, *mend;
};
static const struct column told_columns[] = {
	COL("name", struct told, name),
	COL("level", struct told, level),
	COL("reason", struct told, reason),
	COL("mend", struct told, mend, .how = ROW_NULL),
};
static const struct rows told_rows = {ROWS(struct told, told_columns)};
struct diagnosis {
	struct told check[NCHECKS];
	size_t checks;
	int code;
};
static const struct column diagnosis_columns[] = {
	COL_LIST("checks", struct diagnosis, check, checks, told_rows),
	COL("code", struct diagnosis, code),
};
static const struct rows diagnosis_rows = {ROWS(struct diagnosis, diagnosis_columns)};

static void print_json(const struct finding *list, struct buf *out)
{
	struct diagnosis d = {.code = findings_code(list, NCHECKS)};
	for (size_t i = 0; i < NCHECKS; i++)
		if (list[i].reason[0])
			d.check[d.checks++] =
				(struct told){checks[i].name, level_words[list[i].level],
					      list[i].reason, list[i].mend};
	rows_json_line(&diagnosis_rows, &d, out);
}

static int run(const struct cmd_call *call, struct err *err)
{
	(void)err;
	const struct cmd_json *o = call->options;
	struct patient p = {.call = call};
	struct config *config = NULL;
	if (cmd_config_quiet(call, &config, &p.config_err) == 0 &&
	    cmd_data_dir(config, p.data, sizeof p.data, &p.config_err) == 0) {
		p.config = config;
		find_home(&p);
	}
	struct finding *list = mem_array(NCHECKS, sizeof *list);
	for (size_t i = 0; i < NCHECKS; i++)
		if (p.config || !checks[i].needs_config)
			checks[i].look(&p, &list[i]);
	struct buf out = BUF_INIT(1 << 20);
	(o->json ? print_json : print_text)(list, &out);
	cmd_print(call, &out);
	int code = findings_code(list, NCHECKS);
	mem_free(&list);
	config_free(&config);
	return code;
}

const struct command doctor_command = {
	.name = "doctor",
	.summary = "find problems and suggest a fix for each",
	.description = "Each line is one check: ok; note, which is worth knowing; warn, which "
		       "will cause trouble one day; fail, with which garner cannot work. Nothing "
		       "is changed.",
	CMD_JSON(0, "print everything as JSON"),
	CMD_EXAMPLES({"garner doctor", "what is wrong here, and what mends it"},
		     {"garner -c new.conf doctor", "whether a configuration would do"}),
	CMD_EXITS({ERR_PARTLY, "a check warned"},
		  {ERR_DAMAGED, "something that garner keeps is damaged"},
		  {ERR_SYSTEM, "a check failed"}),
	.run = run,
};
