#include "base/clock.h"
#include "base/file.h"
#include "cmd/doctor.h"
#include "disk/lock.h"
#include "index/words.h"
#include "role/status.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <pwd.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { DESCRIPTORS_WANTED = 4096 };

static void found(struct finding *f, enum finding_level level, const char *fmt, ...)
	PRINTF_LIKE(3, 4);
static void mend(struct finding *f, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void found(struct finding *f, enum finding_level level, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	f->level = level;
	vsnprintf(f->reason, sizeof f->reason, fmt, ap);
	va_end(ap);
}

static void mend(struct finding *f, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(f->mend, sizeof f->mend, fmt, ap);
	va_end(ap);
}

static void check_config(const struct patient *p, struct finding *f)
{
	if (p->config) {
		found(f, FINDING_OK, "it can be taken; the data directory is %s", p->data);
		return;
	}
	found(f, FINDING_FAIL, "%s", p->config_err.msg);
	f->code = p->config_err.code;
	mend(f, "garner config check");
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
		found(f, can ? FINDING_NOTE : FINDING_FAIL, "%s does not exist%s", p->data,
		      can ? " yet; garner up makes it" : ", and you may not make it");
		if (!can)
			mend(f, "install -d -o %s %s", me, p->data);
		return;
	}
	bool reached = stat(p->data, &st) == 0;
	if (!reached || !S_ISDIR(st.st_mode)) {
		found(f, FINDING_FAIL, "%s: %s", p->data, strerror(reached ? ENOTDIR : errno));
		mend(f, "set another: garner -s data=DIR");
		return;
	}
	user_name(st.st_uid, owner, sizeof owner);
	if (access(p->data, R_OK | W_OK | X_OK) < 0) {
		found(f, FINDING_FAIL, "%s belongs to %s and cannot be written by %s", p->data,
		      owner, me);
		mend(f, "run garner as %s", owner);
	} else if (st.st_uid != geteuid()) {
		found(f, FINDING_WARN, "%s belongs to %s, not to %s: files would have two owners",
		      p->data, owner, me);
		mend(f, "run garner as %s", owner);
	} else {
		found(f, FINDING_OK, "%s belongs to %s and can be written", p->data, owner);
	}
}

static void check_space(const struct patient *p, struct finding *f)
{
	struct statvfs v;
	if (statvfs(p->home, &v) < 0) {
		found(f, FINDING_FAIL, "%s: free space is not told: %s", p->home, strerror(errno));
		return;
	}
	double unit = (double)v.f_frsize, free_bytes = (double)v.f_bavail * unit;
	double gib = free_bytes / (1 << 30);
	double share = v.f_blocks ? 100 * (double)v.f_bavail / (double)v.f_blocks : 0;
	bool little = gib < 1 || share < 5;
	found(f, little ? FINDING_WARN : FINDING_OK, "%s: %.1f GiB free, %.0f %% of all", p->home,
	      gib, share);
	if (little)
		mend(f, "du -xh --max-depth=2 %s | sort -h", p->home);
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
		found(f, FINDING_FAIL, "%s: %s", p->home, strerror(errno));
		return;
	}
	struct fs_kind kind = {.name = "a kind that garner does not know"};
	for (size_t i = 0; i < ARRAY_LEN(fs_kinds); i++)
		if (fs_kinds[i].magic == (unsigned long)v.f_type)
			kind = fs_kinds[i];
	bool direct = takes_direct(p->home);
	const char *how = direct ? "O_DIRECT works" : "no O_DIRECT: big files are written slower";
	if (kind.trouble) {
		found(f, FINDING_WARN, "%s: %s; %s", kind.name, kind.trouble, how);
		mend(f, "set another: garner -s data=DIR");
	} else {
		found(f, direct ? FINDING_OK : FINDING_NOTE, "%s; %s", kind.name, how);
	}
}

static void check_descriptors(const struct patient *p, struct finding *f)
{
	(void)p;
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0) {
		found(f, FINDING_FAIL, "the limit is not told: %s", strerror(errno));
		return;
	}
	unsigned long long soft = limit.rlim_cur;
	if (soft >= DESCRIPTORS_WANTED) {
		found(f, FINDING_OK, "%llu may be open at a time", soft);
		return;
	}
	found(f, FINDING_WARN, "only %llu may be open at a time; %d are wanted", soft,
	      DESCRIPTORS_WANTED);
	mend(f, "ulimit -n %d (in a unit: LimitNOFILE=%d)", DESCRIPTORS_WANTED, DESCRIPTORS_WANTED);
}

static void check_kernel(const struct patient *p, struct finding *f)
{
	(void)p;
	enum { LANDLOCK_VERSION_FLAG = 1 };
	struct utsname u;
	const char *release = uname(&u) == 0 ? u.release : "unknown";
	int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (fd < 0) {
		found(f, FINDING_FAIL, "Linux %s: no pidfd_open (%s), garner up cannot work",
		      release, strerror(errno));
		mend(f, "use Linux 5.3 or later, and a sandbox that allows pidfd_open");
		return;
	}
	close(fd);
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION_FLAG);
	if (abi < 0)
		found(f, FINDING_NOTE,
		      "Linux %s: no landlock, one wall less around foreign documents", release);
	else
		found(f, FINDING_OK, "Linux %s, landlock %ld", release, abi);
}

static void check_clock(const struct patient *p, struct finding *f)
{
	(void)p;
	int64_t earliest_us = 0, now_us = clock_wall_us();
	struct buf now = BUF_INIT(64);
	ENSURE(time_parse(STR("2024-01-01T00:00:00Z"), &earliest_us));
	time_print(&now, now_us, 0);
	if (now_us >= earliest_us) {
		found(f, FINDING_OK, "%s", buf_text(&now));
	} else {
		found(f, FINDING_FAIL, "%s cannot be: everything garner keeps carries its time",
		      buf_text(&now));
		mend(f, "timedatectl set-ntp true");
	}
	buf_free(&now);
}

static void check_counters(const struct patient *p, struct finding *f)
{
	struct status s;
	struct err err;
	if (status_read(&s, p->data, &err) < 0) {
		found(f, FINDING_FAIL, "%s", err.msg);
		return;
	}
	if (s.damaged[0]) {
		found(f, FINDING_FAIL, "%s", s.damaged);
		f->code = ERR_DAMAGED;
		mend(f, "remove the file; its role makes it anew");
	} else {
		found(f, FINDING_OK, "%zu file%s, all sound", s.nviews, s.nviews == 1 ? "" : "s");
	}
	status_free(&s);
}

static void check_up(const struct patient *p, struct finding *f)
{
	struct status s;
	struct err err;
	if (status_read(&s, p->data, &err) < 0) {
		found(f, FINDING_NOTE, "not known: %s", err.msg);
		return;
	}
	const struct status_row *up = NULL;
	for (size_t i = 0; i < s.nrows; i++)
		if (str_is(s.row[i].name, "up") && status_is_live(&s.row[i]))
			up = &s.row[i];
	if (up) {
		found(f, FINDING_OK, "garner up runs as process %lld", (long long)up->pid);
	} else {
		found(f, FINDING_NOTE, "garner up does not run");
		mend(f, "garner up");
	}
	status_free(&s);
}

/* Whether a socket is left behind: it is there, and nobody answers. */
static bool is_stale(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct stat st;
	size_t n = strlen(path);
	if (lstat(path, &st) < 0 || !S_ISSOCK(st.st_mode) || n >= sizeof address.sun_path)
		return false;
	memcpy(address.sun_path, path, n);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return false;
	bool stale = connect(fd, (const struct sockaddr *)&address, sizeof address) < 0 &&
		     errno == ECONNREFUSED;
	close(fd);
	return stale;
}

/* The first stale socket in a folder below run/. */
static bool find_stale(const struct patient *p, const char *folder, char *ret, size_t cap)
{
	char path[PATH_MAX];
	const char *name;
	struct dir dir;
	struct err err;
	bool is = false;
	int n = snprintf(path, sizeof path, "%s/%s", p->data, folder);
	if (n < 0 || (size_t)n >= sizeof path || dir_init(&dir, path, &err) != 0)
		return false;
	while (!is && dir_next(&dir, &name) == 0) {
		n = snprintf(ret, cap, "%s/%s", path, name);
		is = n > 0 && (size_t)n < cap && is_stale(ret);
	}
	dir_done(&dir);
	return is;
}

static void check_sockets(const struct patient *p, struct finding *f)
{
	static const char *const folders[] = {"run", "run/sockets"};
	char path[PATH_MAX];
	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		if (find_stale(p, folders[i], path, sizeof path)) {
			found(f, FINDING_NOTE, "%.300s is left of a process that is gone", path);
			mend(f, "nothing; the next start replaces it");
			return;
		}
	found(f, FINDING_OK, "none is left behind");
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
		found(f, FINDING_OK, "there is none yet");
	} else if (rc < 0) {
		found(f, FINDING_FAIL, "%s", err.msg);
		f->code = (int)err.code;
		if (err.code == ERR_DAMAGED)
			mend(f, "stop garner; rm -r %.400s; start it: all is collected again",
			     folder);
	} else {
		words_stats(r, &stats);
		found(f, FINDING_OK, "%" PRIu64 " documents", stats.docs);
		words_close(&r);
	}
}

const struct check checks[] = {
	{"configuration", false, check_config}, {"kernel", false, check_kernel},
	{"clock", false, check_clock},          {"descriptors", false, check_descriptors},
	{"data directory", true, check_data},   {"space", true, check_space},
	{"file system", true, check_fs},        {"counters", true, check_counters},
	{"sockets", true, check_sockets},       {"supervisor", true, check_up},
	{"parser", true, check_parser},         {"index", true, check_index},
};
const size_t nchecks = ARRAY_LEN(checks);
