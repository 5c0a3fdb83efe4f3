/* Inside of politeness: the file, as doc/formats/polite.md describes it. */
#pragma once
#include "base/file.h"
#include "fetch/polite.h"

enum {
	POLITE_VERSION = 2,
	POLITE_PAGE = 4096,
	POLITE_HEAD =
		24, /* bytes of the head that are used; it has a page, together with the locks */
	POLITE_LOCKS = 256, /* words in the second half of that page; several groups share one */
	POLITE_PROCESSES = 1024,
	POLITE_GROUP = 32, /* entries in a page; a server's entry is in the group of its hash */
	POLITE_SERVERS = 65536,
	POLITE_SERVERS_MAX = 16 << 20,
	POLITE_TROUBLES_MAX = 32,
};

/* What is said of a server. Every word is written by one store, so it is whole at any instant; that
 * they belong together is what `check` says. */
struct polite_entry {
	uint64_t key;     /* IPv4: the address as a number; IPv6: the upper half */
	uint64_t meta;    /* bits 0..7 family (4, 6; 0: free), 8..15 troubles, 32..63 boot */
	int64_t start_us; /* of the last request, in the time of that boot */
	int64_t next_us;  /* none before */
	int64_t delay_us; /* the plain one of the last request */
	int64_t pause_us; /* from start to next */
	int64_t next_wall_us;
	uint64_t check; /* bits 0..31 CRC-32C of what is before, 32..63 second of last trouble */
	uint64_t lease[POLITE_CONCURRENT_MAX];
};
_Static_assert(sizeof(struct polite_entry) * POLITE_GROUP == POLITE_PAGE, "a group is a page");

/* A lease: bits 0..9 process, 10..31 its generation, 32..63 the second at which it ends; 0: none.
 */
enum { POLITE_PROCESS_BITS = 10, POLITE_GENERATION = (1 << 22) - 1 };

struct polite_head {
	uint32_t servers;
	uint64_t size; /* that the file must have */
};

/* The head of a file. ERR_DAMAGED: it is none of ours. 1: all zeroes, a file that is not made yet.
 */
int polite_head_parse(struct str bytes, struct polite_head *ret, struct err *err);
uint64_t polite_size(uint32_t servers);

uint32_t polite_entry_check(const struct polite_entry *e);
/* An entry in words, with a line feed; nothing for one that is free. */
void polite_entry_print(const struct polite_entry *e, struct buf *out);

static inline unsigned polite_family(uint64_t meta)
{
	return meta & 0xff;
}
static inline unsigned polite_troubles(uint64_t meta)
{
	return meta >> 8 & 0xff;
}
static inline uint64_t polite_meta(unsigned family, unsigned troubles, uint32_t boot)
{
	return family | (uint64_t)troubles << 8 | (uint64_t)boot << 32;
}

struct map_guard;

/* An open table. */
struct polite {
	struct file file;
	char *map;
	size_t size;
	struct map_guard *guard;
	uint64_t *process;          /* generation of each */
	uint64_t *lock;             /* 0, or the place and generation of its holder */
	struct polite_entry *entry; /* groups one after the other */
	uint32_t groups;
	uint32_t me, generation; /* our place among the processes */
	uint32_t boot;
	int64_t wall_offset_us;       /* wall clock less now_us */
	struct polite_ending *ending; /* what could not be said because somebody held the lock */
	size_t nendings, endings_room;
};

/* An end of a lease, as polite_end() was told of it. */
struct polite_ending {
	struct lease lease;
	enum outcome outcome;
	int64_t retry_after_us, now_us;
};

/* Says what could not be said before. now_us: 0: the time is not known. */
void polite_say_ends(struct polite *p, int64_t now_us);

/* Whether the process with this place (bits 0..9) and generation (10..31) has the table open. */
bool polite_is_alive(const struct polite *p, uint32_t process);

/* The lock of a group is a word of the map with the place and generation of its holder: taking it
 * costs no call of the system. That a holder has died is seen by the lock on its place; its lock is
 * then taken over. false: somebody who lives has had it for most_us. */
bool polite_group_lock(struct polite *p, uint32_t group, int64_t most_us);
void polite_group_unlock(struct polite *p, uint32_t group);
