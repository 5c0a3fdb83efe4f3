/* The file of politeness: how it is made, mapped, locked and printed.
 *
 * All processes of a machine write this file at once, without asking each other. See polite.c for
 * the order of the stores and for what a kill between them leaves behind. */
#include "fetch/polite/polite_file.h"

#include "base/cursor.h"
#include "base/fault.h"
#include "base/hash.h"
#include "disk/format.h"
#include "disk/map_guard.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are mapped as the file has them");

#define HEAD_WAIT_US (5 * US_PER_S) /* making a file takes milliseconds */
#define BOOT_ID "/proc/sys/kernel/random/boot_id"

/* Locks on bytes far beyond the end of the file: the system takes them back from a process that
 * dies. */
enum polite_lock { POLITE_LOCK_HEAD, POLITE_LOCK_PROCESS };
static const uint64_t lock_at[] = {
	[POLITE_LOCK_HEAD] = UINT64_C(1) << 40,
	[POLITE_LOCK_PROCESS] = UINT64_C(2) << 40,
};

static int lock_ask(const struct polite *p, int cmd, short type, enum polite_lock kind,
		    uint32_t number, struct flock *ret)
{
	*ret = (struct flock){.l_type = type,
			      .l_whence = SEEK_SET,
			      .l_start = (off_t)(lock_at[kind] + number),
			      .l_len = 1};
	return fcntl(p->file.fd, cmd, ret);
}

/* false: somebody else has it. */
static bool polite_lock_try(const struct polite *p, enum polite_lock kind, uint32_t number)
{
	struct flock lock;
	return lock_ask(p, F_OFD_SETLK, F_WRLCK, kind, number, &lock) == 0;
}

/* The same for at most this long. */
static bool polite_lock_wait(const struct polite *p, enum polite_lock kind, uint32_t number,
			     int64_t most_us)
{
	for (int64_t left = most_us; !polite_lock_try(p, kind, number); left -= US_PER_MS) {
		if (left <= 0)
			return false;
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	return true;
}

static void polite_lock_end(const struct polite *p, enum polite_lock kind, uint32_t number)
{
	struct flock lock;
	ENSURE(lock_ask(p, F_OFD_SETLK, F_UNLCK, kind, number, &lock) == 0);
}

static bool polite_lock_held(const struct polite *p, enum polite_lock kind, uint32_t number)
{
	struct flock lock;
	return lock_ask(p, F_OFD_GETLK, F_WRLCK, kind, number, &lock) != 0 ||
	       lock.l_type != F_UNLCK;
}

bool polite_is_alive(const struct polite *p, uint32_t process)
{
	uint32_t place = process & (POLITE_PROCESSES - 1);
	uint32_t generation = process >> POLITE_PROCESS_BITS;
	if (place == p->me)
		return generation == p->generation;
	return generation == __atomic_load_n(&p->process[place], __ATOMIC_ACQUIRE) &&
	       polite_lock_held(p, POLITE_LOCK_PROCESS, place);
}

static uint32_t process_word(const struct polite *p)
{
	return p->me | p->generation << POLITE_PROCESS_BITS;
}

/* Free, or left by somebody dead. One that says we have it has been damaged: we do not ask for one
 * that we have. */
static bool group_try(struct polite *p, uint64_t *word, bool look_at_holder)
{
	uint64_t holder = 0;
	if (__atomic_compare_exchange_n(word, &holder, process_word(p), false, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED))
		return true;
	if (holder != process_word(p) && (!look_at_holder || polite_is_alive(p, (uint32_t)holder)))
		return false;
	return __atomic_compare_exchange_n(word, &holder, process_word(p), false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

static uint64_t *group_word(struct polite *p, uint32_t group)
{
	return &p->lock[group % POLITE_LOCKS];
}

/* Others hold a lock for less than a microsecond, unless they are stopped just then. */
bool polite_group_lock(struct polite *p, uint32_t group, int64_t most_us)
{
	uint64_t *word = group_word(p, group);
	bool has = group_try(p, word, false);
	for (int i = 1; !has && i <= 100; i++) {
		sched_yield();
		has = group_try(p, word, i % 20 == 0);
	}
	for (int64_t left = most_us; !has && left > 0; left -= US_PER_MS) {
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		has = group_try(p, word, true);
	}
	if (has)
		FAULT("polite.locked");
	return has;
}

void polite_group_unlock(struct polite *p, uint32_t group)
{
	__atomic_store_n(group_word(p, group), 0, __ATOMIC_RELEASE);
}

static uint64_t entries_at(void)
{
	return POLITE_PAGE + POLITE_PROCESSES * sizeof(uint64_t);
}

uint64_t polite_size(uint32_t servers)
{
	return entries_at() + (uint64_t)servers / POLITE_GROUP * POLITE_PAGE;
}

static void head_write(uint32_t servers, struct buf *out)
{
	buf_add_text(out, polite_format.magic);
	put_u32le(out, POLITE_VERSION);
	put_u32le(out, servers);
	put_u32le(out, POLITE_PROCESSES);
	put_u32le(out, crc32c(0, out->p, out->n));
}

static bool all_zero(struct str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i])
			return false;
	return true;
}

int polite_head_parse(struct str bytes, struct polite_head *ret, struct err *err)
{
	struct str head = str_head(bytes, POLITE_HEAD);
	struct reader r = reader_of(head);
	struct str magic = reader_bytes(&r, FORMAT_MAGIC);
	uint32_t version = reader_u32le(&r), servers = reader_u32le(&r);
	uint32_t processes = reader_u32le(&r), crc = reader_u32le(&r);
	if (all_zero(head))
		return 1;
	if (r.bad || !str_is(magic, polite_format.magic))
		return err_set(err, ERR_DAMAGED, "not a table of politeness");
	if (version != POLITE_VERSION)
		return err_set(err, ERR_DAMAGED,
			       "politeness in version %u; this program knows version %d: remove it "
			       "when nothing fetches",
			       version, POLITE_VERSION);
	if (crc != crc32c(0, head.p, POLITE_HEAD - 4))
		return err_set(err, ERR_DAMAGED, "the checksum of the head is wrong");
	if (servers == 0 || servers > POLITE_SERVERS_MAX || servers % POLITE_GROUP ||
	    processes != POLITE_PROCESSES)
		return err_set(err, ERR_DAMAGED, "room for %u servers and %u processes", servers,
			       processes);
	*ret = (struct polite_head){.servers = servers, .size = polite_size(servers)};
	return 0;
}

static int head_read(const struct file *f, struct polite_head *ret, struct err *err)
{
	char bytes[POLITE_HEAD];
	size_t n;
	uint64_t size;
	if (file_read(f, bytes, sizeof bytes, 0, &n, err) < 0 || file_size(f, &size, err) < 0)
		return -1;
	int rc = polite_head_parse((struct str){bytes, n}, ret, err);
	if (rc == 0 && size != ret->size)
		rc = err_set(err, ERR_DAMAGED, "%llu bytes, there should be %llu",
			     (unsigned long long)size, (unsigned long long)ret->size);
	return rc < 0 ? err_in(err, "%s", f->path) : rc;
}

/* The head is written last, so a file whose making was interrupted has none and is made again. */
static int table_make(const struct file *f, uint32_t servers, struct err *err)
{
	CLEANUP(buf_free) struct buf head = BUF_INIT(POLITE_HEAD);
	servers = servers ? (MIN(servers, (uint32_t)POLITE_SERVERS_MAX) + POLITE_GROUP - 1) /
				    POLITE_GROUP * POLITE_GROUP
			  : POLITE_SERVERS;
	head_write(servers, &head);
	if (file_truncate(f, 0, err) < 0)
		return -1;
	FAULT("polite.create.empty");
	if (file_allocate(f, polite_size(servers), err) < 0 || file_sync(f, err) < 0)
		return -1;
	FAULT("polite.create.allocated");
	if (file_write(f, head.p, head.n, 0, err) < 0)
		return -1;
	FAULT("polite.create.head");
	return file_sync(f, err);
}

static int table_prepare(struct polite *p, uint32_t servers, struct polite_head *ret,
			 struct err *err)
{
	if (!polite_lock_wait(p, POLITE_LOCK_HEAD, 0, HEAD_WAIT_US))
		return err_set(err, ERR_BUSY, "%s: another process has been making it for %d s",
			       p->file.path, (int)(HEAD_WAIT_US / US_PER_S));
	int rc = head_read(&p->file, ret, err);
	if (rc > 0) {
		rc = table_make(&p->file, servers, err);
		if (rc == 0)
			rc = head_read(&p->file, ret, err);
	}
	polite_lock_end(p, POLITE_LOCK_HEAD, 0);
	return rc;
}

static int boot_number(const char *id, uint32_t *ret, struct err *err)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(256);
	int rc = 0;
	if (id)
		buf_add_text(&text, id);
	else
		rc = file_slurp(BOOT_ID, &text, err);
	if (rc > 0)
		return err_set(err, ERR_SYSTEM,
			       "%s: not there; it tells one start of the "
			       "machine from the next",
			       BOOT_ID);
	*ret = crc32c(0, buf_text(&text), text.n);
	return rc;
}

/* A place is ours as long as we hold its lock. An earlier holder is told apart by the
 * generation. */
static int claim_process(struct polite *p, struct err *err)
{
	for (uint32_t i = 0; i < POLITE_PROCESSES; i++) {
		if (!polite_lock_try(p, POLITE_LOCK_PROCESS, i))
			continue;
		uint64_t generation = (p->process[i] + 1) & POLITE_GENERATION;
		p->me = i;
		p->generation = generation ? (uint32_t)generation : 1;
		FAULT("polite.claim");
		__atomic_store_n(&p->process[i], p->generation, __ATOMIC_RELEASE);
		FAULT("polite.claimed");
		return 0;
	}
	return err_set(err, ERR_BUSY, "%s: %d processes have it open, which is the limit",
		       p->file.path, POLITE_PROCESSES);
}

static int table_attach(struct polite *p, const struct polite_options *o, struct err *err)
{
	struct polite_head head = {0};
	int64_t now_us = o->now_us ? o->now_us : clock_mono_us();
	int64_t wall_us = o->wall_us ? o->wall_us : clock_wall_us();
	p->wall_offset_us = wall_us - now_us;
	if (boot_number(o->boot, &p->boot, err) < 0 || table_prepare(p, o->servers, &head, err) < 0)
		return -1;
	void *map = mmap(NULL, head.size, PROT_READ | PROT_WRITE, MAP_SHARED, p->file.fd, 0);
	if (map == MAP_FAILED)
		return err_sys(err, "%s: cannot be mapped", p->file.path);
	p->map = map;
	p->size = head.size;
	p->groups = head.servers / POLITE_GROUP;
	p->guard = map_guard_new(p->map, p->size);
	p->lock = (uint64_t *)(p->map + POLITE_PAGE - POLITE_LOCKS * sizeof(uint64_t));
	p->process = (uint64_t *)(p->map + POLITE_PAGE);
	p->entry = (struct polite_entry *)(p->map + entries_at());
	return claim_process(p, err);
}

int polite_open(struct polite **ret, const char *path, const struct polite_options *options,
		struct err *err)
{
	struct polite *p = mem_alloc(sizeof *p);
	p->file = FILE_INIT;
	int rc = file_open(&p->file, path, O_RDWR | O_CREAT, 0644, err);
	if (rc == 0)
		rc = table_attach(p, options ? options : &(struct polite_options){0}, err);
	if (rc < 0) {
		polite_close(&p);
		return rc;
	}
	*ret = p;
	return 0;
}

void polite_close(struct polite **p)
{
	if (!*p)
		return;
	polite_say_ends(*p, 0);
	mem_free(&(*p)->ending);
	map_guard_free(&(*p)->guard);
	if ((*p)->map)
		munmap((*p)->map, (*p)->size);
	file_drop(&(*p)->file);
	mem_free(p);
}

/* For people: what `garner dump` and `garner check` say of it. */

uint32_t polite_entry_check(const struct polite_entry *e)
{
	return crc32c(0, e, offsetof(struct polite_entry, check));
}

static struct addr address_of(const struct polite_entry *e)
{
	struct addr a = {.family = polite_family(e->meta) == 4 ? AF_INET : AF_INET6};
	size_t n = polite_family(e->meta) == 4 ? 4 : 8;
	for (size_t i = 0; i < n; i++)
		a.b[i] = (uint8_t)(e->key >> 8 * (n - 1 - i));
	return a;
}

void polite_entry_print(const struct polite_entry *e, struct buf *out)
{
	char text[ADDR_SHOWN];
	if (polite_family(e->meta) == 0)
		return;
	struct addr a = address_of(e);
	buf_printf(out, "%s%s boot %08x start %lld us next %lld us (", addr_print(&a, text),
		   a.family == AF_INET ? "" : "/64", (uint32_t)(e->meta >> 32),
		   (long long)e->start_us, (long long)e->next_us);
	time_print(out, e->next_wall_us, 0);
	buf_printf(out, ") delay %lld us troubles %u", (long long)e->delay_us,
		   polite_troubles(e->meta));
	for (size_t i = 0; i < POLITE_CONCURRENT_MAX; i++)
		if (e->lease[i])
			buf_printf(out, " lease of process %u.%u until %u s",
				   (unsigned)(e->lease[i] & (POLITE_PROCESSES - 1)),
				   (unsigned)(e->lease[i] >> POLITE_PROCESS_BITS) &
					   POLITE_GENERATION,
				   (unsigned)(e->lease[i] >> 32));
	buf_add_text(out, (uint32_t)e->check == polite_entry_check(e)
				  ? "\n"
				  : " unfinished: counts as asked when next looked at\n");
}

static void polite_group_print(const struct polite_entry *group, struct printer *p)
{
	for (size_t i = 0; i < POLITE_GROUP; i++)
		polite_entry_print(&group[i], &p->out);
	printer_step(p);
}

/* Entries are mended when they are next used: none of them is damage. */
static int polite_print(const char *path, struct printer *p, struct err *err)
{
	CLEANUP(file_drop) struct file f = FILE_INIT;
	struct polite_entry group[POLITE_GROUP];
	char bytes[POLITE_HEAD];
	struct polite_head h = {0};
	size_t n;
	uint64_t size;
	int rc = file_open(&f, path, O_RDONLY, 0, err);
	if (rc != 0)
		return rc;
	if (file_read(&f, bytes, sizeof bytes, 0, &n, err) < 0 || file_size(&f, &size, err) < 0)
		return -1;
	rc = polite_head_parse((struct str){bytes, n}, &h, err);
	if (rc < 0)
		return err_in(err, "%s", path);
	if (rc > 0 || size != h.size)
		return err_set(err, ERR_DAMAGED, "%s: %llu bytes, there should be %llu", path,
			       (unsigned long long)size, (unsigned long long)h.size);
	buf_printf(&p->out, "room for %u servers\n", h.servers);
	for (uint64_t at = polite_size(0); at < h.size; at += n) {
		if (file_read(&f, group, sizeof group, at, &n, err) < 0)
			return -1;
		if (n != sizeof group)
			return err_set(err, ERR_DAMAGED, "%s: was cut while it was read", path);
		polite_group_print(group, p);
	}
	return 0;
}

static int polite_verify(const char *path, struct err *err)
{
	CLEANUP(file_drop) struct file f = FILE_INIT;
	struct polite_head h;
	int rc = file_open(&f, path, O_RDONLY, 0, err);
	if (rc == 0 && (rc = head_read(&f, &h, err)) == 1) {
		err_set(err, ERR_NONE, "%s: incomplete; the next process that fetches completes it",
			path);
		rc = FORMAT_NOTED;
	}
	return rc;
}

const struct format polite_format = {
	.name = "polite",
	.file = "run/polite",
	.magic = "GARNERPO",
	.version = POLITE_VERSION,
	.help = "which server may be asked again when, and who asks it now",
	.remedy = "remove it while nothing fetches; each server is then asked as if for the "
		  "first time",
	.print = polite_print,
	.verify = polite_verify,
};
