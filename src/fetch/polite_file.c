#include "fetch/polite_file.h"

#include "base/cursor.h"
#include "base/fault.h"
#include "base/hash.h"
#include "disk/format.h"
#include "disk/guard.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <time.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are mapped as the file has them");

#define HEAD_WAIT_US (5 * US_PER_S) /* making a file takes milliseconds */
#define BOOT_ID "/proc/sys/kernel/random/boot_id"

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

bool polite_lock_try(const struct polite *p, enum polite_lock kind, uint32_t number)
{
	struct flock lock;
	return lock_ask(p, F_OFD_SETLK, F_WRLCK, kind, number, &lock) == 0;
}

bool polite_lock_wait(const struct polite *p, enum polite_lock kind, uint32_t number,
		      int64_t most_us)
{
	for (int i = 0; i < 100; i++) {
		if (polite_lock_try(p, kind, number))
			return true;
		sched_yield();
	}
	for (int64_t left = most_us; left > 0; left -= US_PER_MS) {
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		if (polite_lock_try(p, kind, number))
			return true;
	}
	return false;
}

void polite_lock_end(const struct polite *p, enum polite_lock kind, uint32_t number)
{
	struct flock lock;
	ENSURE(lock_ask(p, F_OFD_SETLK, F_UNLCK, kind, number, &lock) == 0);
}

bool polite_lock_held(const struct polite *p, enum polite_lock kind, uint32_t number)
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

/* A place is ours as long as we hold its lock. Whoever had it before is told apart by the
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
	return err_set(err, ERR_BUSY, "%s: %d processes have it open, no more can", p->file.path,
		       POLITE_PROCESSES);
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
	p->guard = guard_new(p->map, p->size);
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
	guard_free(&(*p)->guard);
	if ((*p)->map)
		munmap((*p)->map, (*p)->size);
	file_drop(&(*p)->file);
	mem_free(p);
}
