/* Politeness: what an entry of the table means, and in which order it is written.
 *
 * The table is a file that all processes map. There is no server that grants leases: one more
 * process would be one more thing to die, and a message per request costs more than the request's
 * own bookkeeping. So any process may be killed at any instruction, and the others must neither
 * wait for it nor ask a server too early. Four kinds of words in the map, each written by one
 * 64-bit store, make that hold.
 *
 * Places. A process that opens the table takes one of 1,024 places: it holds an advisory lock on a
 * byte far beyond the end of the file, one byte for each place, and writes the place's next
 * generation into the map. The kernel drops the byte lock when the process dies, however it dies.
 * "Place and generation" names one process for ever: it lives if the generation is the current one
 * and the byte is locked. A process that takes the place over has another generation.
 *
 * Locks. Entries stand in groups of 32, a page each, and a group is locked by a word that is 0 or
 * names its holder by place and generation. Taking it is one compare-and-exchange, with no call of
 * the system: three pairs of fcntl() calls cost some 6 us for each request. A process that finds it
 * taken yields and tries again, and now and then looks whether the holder lives; the word of a dead
 * one is taken over by the same exchange, which only one of several can win. A holder that is
 * stopped, not dead, makes others give up after 50 ms: "not now" is always a safe answer.
 *
 * Leases. An entry has eight lease words: the holder's place and generation, and the second at
 * which the lease ends. A lease counts while its time has not passed and its holder lives, so a
 * killed process holds nothing from the moment it is gone, and one that hangs holds it for five
 * minutes at most. It is renewed by another store. An end that could not be said because the group
 * was locked is kept by the process and said with its next call. A process notes a request down
 * just before its first byte and, where the system let others run in between, once more after it.
 * Killed before that, it leaves a start that is too early. So what a dead process held counts as
 * asked just now when its lease is found: by then its request is out, or never will be.
 *
 * State. Start, next, delay, pause, wall time and troubles are written under the lock, `next`
 * first: it alone keeps everybody away. `check`, a checksum over all of them, comes last. What a
 * killed writer leaves half written fails the check, and then counts as asked just now, with
 * whichever `next` is later. So every store that a kill may follow leaves the server alone for
 * longer, never for shorter. A new entry is made the same way: family 0 (free), then the leases and
 * the key, and the family last.
 *
 * Time is the monotonic clock of the machine, the same for all its processes, and each entry names
 * the boot that it belongs to. After a reboot every server counts as asked at the boot, since all
 * earlier starts lie before it; a longer pause goes on by the wall clock, but never below the plain
 * delay and never beyond what it was. Hence nothing is synced: what a power cut loses is not
 * needed.
 */
#include "fetch/polite.h"

#include "base/fault.h"
#include "base/hash.h"
#include "base/vec.h"
#include "disk/map_guard.h"
#include "fetch/polite/polite_file.h"

#include <sys/socket.h>

#define LOCK_WAIT_US (50 * US_PER_MS)
#define BUSY_WAIT_US (5 * US_PER_MS) /* until a group that is locked is asked for again */
#define FULL_WAIT_US US_PER_S        /* until a group that is full is */
#define HELD_WAIT_MIN_US (10 * US_PER_MS)
#define HELD_WAIT_MAX_US US_PER_S
#define TROUBLE_MIN_US US_PER_S /* what is doubled where there is no delay */

/* The state of a server, without leases; read and written as a whole under its lock. */
struct state {
	unsigned troubles;
	int64_t start_us, next_us, delay_us;
	uint32_t trouble_s;
};

int64_t polite_delay_of_rate(double per_second)
{
	double delay = per_second > 0 ? (double)US_PER_S / per_second : (double)POLITE_RETRY_MAX_US;
	return delay < (double)POLITE_RETRY_MAX_US ? (int64_t)delay : POLITE_RETRY_MAX_US;
}

int64_t polite_pause_us(int64_t delay_us, unsigned troubles)
{
	int64_t pause = MAX(delay_us, TROUBLE_MIN_US);
	if (troubles == 0)
		return delay_us;
	for (unsigned i = 0; i < troubles && pause < POLITE_PAUSE_MAX_US; i++)
		pause *= 2;
	return MAX(delay_us, MIN(pause, POLITE_PAUSE_MAX_US));
}

static uint32_t second_of(int64_t us)
{
	return (uint32_t)(us / US_PER_S);
}

static unsigned family_of(const struct addr *server)
{
	return server->family == AF_INET ? 4 : 6;
}

static uint64_t key_of(const struct addr *server)
{
	uint64_t key = 0;
	for (size_t i = 0; i < (server->family == AF_INET ? 4 : 8); i++)
		key = key << 8 | server->b[i];
	return key;
}

static uint32_t group_of(const struct polite *p, const struct addr *server)
{
	return (uint32_t)(hash_u64(key_of(server) + family_of(server)) % p->groups);
}

static bool group_lock(struct polite *p, uint32_t group)
{
	return polite_group_lock(p, group, LOCK_WAIT_US);
}

#define STORE(word, value) __atomic_store_n(&(word), (value), __ATOMIC_RELEASE)

/* The order of the stores, and a kill between them: `next` comes first, because it alone keeps
 * everybody away; what is unfinished fails its check and counts as asked just now. */
static void state_write(const struct polite *p, struct polite_entry *e, const struct state *s)
{
	STORE(e->next_us, s->next_us);
	FAULT("polite.write.next");
	STORE(e->start_us, s->start_us);
	FAULT("polite.write.start");
	STORE(e->delay_us, s->delay_us);
	STORE(e->pause_us, s->next_us - s->start_us);
	STORE(e->next_wall_us, s->next_us + p->wall_offset_us);
	FAULT("polite.write.wall");
	STORE(e->meta, polite_meta(polite_family(e->meta), s->troubles, p->boot));
	FAULT("polite.write.meta");
	STORE(e->check, polite_entry_check(e) | (uint64_t)s->trouble_s << 32);
	FAULT("polite.write.check");
}

static int64_t clamp_us(int64_t v, int64_t least, int64_t most)
{
	return v < least ? least : v > most ? most : v;
}

static void leases_clear(struct polite_entry *e)
{
	for (size_t i = 0; i < POLITE_CONCURRENT_MAX; i++)
		STORE(e->lease[i], 0);
}

/* From before this start of the machine: nobody of then lives. The last request was at the start
 * at the latest, so the plain delay counts from there; a longer pause ends when the wall clock says
 * so, but is never shorter than the delay nor longer than it was. */
static void state_carry_over(const struct polite *p, struct polite_entry *e, struct state *s)
{
	int64_t delay = clamp_us(e->delay_us, 0, POLITE_RETRY_MAX_US);
	int64_t pause = clamp_us(e->pause_us, delay, POLITE_RETRY_MAX_US);
	int64_t next_wall_us = MIN(e->next_wall_us, INT64_MAX / 2); /* any time, in a bad file */
	leases_clear(e);
	s->start_us = 0;
	s->next_us = next_wall_us <= 0 ? pause
				       : clamp_us(next_wall_us - p->wall_offset_us, delay, pause);
	s->trouble_s = 0;
}

/* Whether all of it was written, and by a process of this start of the machine. */
static bool entry_is_whole(const struct polite_entry *e)
{
	return (uint32_t)e->check == polite_entry_check(e);
}

static bool entry_is_ours(const struct polite *p, const struct polite_entry *e)
{
	return (uint32_t)(e->meta >> 32) == p->boot;
}

/* Without its times, whatever a bad file says. */
static struct state state_sound(const struct polite_entry *e)
{
	return (struct state){
		.troubles = MIN(polite_troubles(e->meta), (unsigned)POLITE_TROUBLES_MAX),
		.delay_us = clamp_us(e->delay_us, 0, POLITE_RETRY_MAX_US),
		.trouble_s = (uint32_t)(e->check >> 32),
	};
}

/* What the entry says, made sound. */
static struct state state_read(struct polite *p, struct polite_entry *e, int64_t now_us)
{
	struct state s = state_sound(e);
	/* a process that looked at the clock a little later may have been faster */
	s.start_us = MIN(e->start_us, now_us + US_PER_S);
	s.next_us = MIN(e->next_us, now_us + POLITE_RETRY_MAX_US);
	bool whole = entry_is_whole(e);
	if (whole && entry_is_ours(p, e))
		return s;
	if (whole) {
		state_carry_over(p, e, &s);
	} else {
		s.start_us = now_us;
		s.next_us = MAX(s.next_us, now_us + s.delay_us);
	}
	state_write(p, e, &s);
	return s;
}

/* The last request may have gone out at any time until now. */
static void state_restart(const struct polite *p, struct polite_entry *e, struct state *s,
			  int64_t now_us)
{
	s->start_us = MAX(s->start_us, now_us);
	s->next_us = MAX(s->next_us, now_us + polite_pause_us(s->delay_us, s->troubles));
	state_write(p, e, s);
}

/* Takes back what has ended or belonged to the dead; returns how many are left. A lease of the dead
 * is taken back after the state was written: a kill in between leaves it to be found again. */
static unsigned leases_sweep(struct polite *p, struct polite_entry *e, struct state *s,
			     int64_t now_us)
{
	unsigned n = 0;
	for (size_t i = 0; i < POLITE_CONCURRENT_MAX; i++) {
		if (!e->lease[i])
			continue;
		bool is_over = second_of(now_us) >= e->lease[i] >> 32;
		if (!is_over && polite_is_alive(p, (uint32_t)e->lease[i])) {
			n++;
			continue;
		}
		if (!is_over)
			state_restart(p, e, s, now_us);
		STORE(e->lease[i], 0);
	}
	return n;
}

static struct polite_entry *entry_find(struct polite *p, uint32_t group, const struct addr *server)
{
	struct polite_entry *e = p->entry + (size_t)group * POLITE_GROUP;
	uint64_t key = key_of(server);
	for (size_t i = 0; i < POLITE_GROUP; i++)
		if (e[i].key == key && polite_family(e[i].meta) == family_of(server))
			return &e[i];
	return NULL;
}

/* A place for another server: a free one, or of those that are past their time the one without
 * troubles that was asked longest ago. NULL: all are needed. */
static struct polite_entry *entry_find_room(struct polite *p, uint32_t group, int64_t now_us)
{
	struct polite_entry *e = p->entry + (size_t)group * POLITE_GROUP, *best = NULL;
	struct state best_state = {0};
	for (size_t i = 0; i < POLITE_GROUP; i++)
		if (polite_family(e[i].meta) == 0)
			return &e[i];
	for (size_t i = 0; i < POLITE_GROUP; i++) {
		struct state s = state_read(p, &e[i], now_us);
		if (now_us < s.next_us || leases_sweep(p, &e[i], &s, now_us) > 0 ||
		    now_us < s.next_us) /* by now: a lease of the dead was found */
			continue;
		if (best &&
		    (s.troubles > best_state.troubles ||
		     (s.troubles == best_state.troubles && s.start_us >= best_state.start_us)))
			continue;
		best = &e[i];
		best_state = s;
	}
	return best;
}

static struct polite_entry *entry_make(struct polite *p, uint32_t group, const struct addr *server,
				       int64_t now_us)
{
	struct polite_entry *e = entry_find_room(p, group, now_us);
	if (!e)
		return NULL;
	STORE(e->meta, 0);
	FAULT("polite.make.free");
	leases_clear(e);
	STORE(e->key, key_of(server));
	FAULT("polite.make.key");
	STORE(e->meta, polite_meta(family_of(server), 0, p->boot));
	FAULT("polite.make.meta");
	state_write(p, e, &(struct state){0});
	return e;
}

static void lease_put(struct polite *p, struct polite_entry *e, int64_t now_us, struct lease *l)
{
	uint64_t end_s = second_of(now_us + POLITE_LEASE_US) + 1;
	size_t i = 0;
	while (e->lease[i])
		i++;
	l->word = p->me | (uint64_t)p->generation << POLITE_PROCESS_BITS | end_s << 32;
	l->entry = (uint32_t)(e - p->entry);
	l->place = (uint32_t)i;
	STORE(e->lease[i], l->word);
}

/* How long until it is worth asking again; 0: now. */
static int64_t state_wait_us(const struct state *s, unsigned open, const struct polite_rule *rule,
			     int64_t now_us)
{
	int64_t from_us = MAX(s->next_us, s->start_us + rule->delay_us);
	unsigned most = MIN(MAX(rule->concurrent, 1u), (unsigned)POLITE_CONCURRENT_MAX);
	if (s->troubles)
		most = 1;
	int64_t held =
		open < most ? 0 : clamp_us(rule->delay_us / 4, HELD_WAIT_MIN_US, HELD_WAIT_MAX_US);
	return MAX(held, MAX(from_us - now_us, 0));
}

static int64_t take_locked(struct polite *p, uint32_t group, const struct polite_rule *rule,
			   int64_t now_us, struct lease *l)
{
	struct polite_entry *e = entry_find(p, group, &l->server);
	if (!e)
		e = entry_make(p, group, &l->server, now_us);
	if (!e)
		return FULL_WAIT_US;
	struct state s = state_read(p, e, now_us);
	unsigned open = leases_sweep(p, e, &s, now_us);
	int64_t wait = state_wait_us(&s, open, rule, now_us);
	if (wait > 0)
		return wait;
	s.start_us = l->start_us = now_us;
	s.delay_us = rule->delay_us;
	s.next_us = now_us + polite_pause_us(rule->delay_us, s.troubles);
	state_write(p, e, &s);
	lease_put(p, e, now_us, l);
	FAULT("polite.take.leased");
	return 0;
}

int polite_take(struct polite *p, const struct addr *a, const struct polite_rule *rule,
		int64_t now_us, struct lease *ret, int64_t *ret_wait_us)
{
	struct lease l = {.server = addr_server(a)};
	polite_say_ends(p, now_us);
	uint32_t group = group_of(p, &l.server);
	ENSURE(now_us >= 0 && rule->delay_us >= 0 && rule->delay_us <= POLITE_RETRY_MAX_US);
	if (!group_lock(p, group)) {
		*ret_wait_us = BUSY_WAIT_US;
		return 1;
	}
	int64_t wait = take_locked(p, group, rule, now_us, &l);
	polite_group_unlock(p, group);
	if (map_guard_failed(p->guard))
		wait = FULL_WAIT_US;
	if (wait > 0)
		*ret_wait_us = wait;
	else
		*ret = l;
	return wait > 0;
}

/* Returns the entry of the lease, locked. NULL: it is locked by others. */
static struct polite_entry *lease_entry(struct polite *p, const struct lease *l)
{
	ENSURE(l->entry < p->groups * POLITE_GROUP && l->place < POLITE_CONCURRENT_MAX);
	return group_lock(p, l->entry / POLITE_GROUP) ? p->entry + l->entry : NULL;
}

static bool lease_is_held(const struct polite_entry *e, const struct lease *l, int64_t now_us)
{
	return e->lease[l->place] == l->word && second_of(now_us) < l->word >> 32;
}

/* Nothing becomes earlier, and nothing is held against the clock: sent_us may be long ago, and
 * others have been here since. What a kill left half written counts as asked when it is read next,
 * which is later. */
static void state_raise(struct polite *p, struct polite_entry *e, int64_t sent_us, int64_t rest_us)
{
	if (!entry_is_whole(e) || !entry_is_ours(p, e))
		return;
	struct state s = state_sound(e);
	int64_t next_us = sent_us + MAX(polite_pause_us(s.delay_us, s.troubles), rest_us);
	s.start_us = clamp_us(e->start_us, sent_us, INT64_MAX / 2); /* any time, in a bad file */
	s.next_us = clamp_us(e->next_us, next_us, INT64_MAX / 2);
	state_write(p, e, &s);
}

int polite_rest(struct polite *p, struct lease *l, int64_t retry_after_us, int64_t now_us)
{
	struct polite_entry *e = l->word ? lease_entry(p, l) : NULL;
	if (!e)
		return 1;
	bool held = lease_is_held(e, l, now_us);
	if (held)
		state_raise(p, e, now_us, MIN(retry_after_us, POLITE_RETRY_MAX_US));
	polite_group_unlock(p, l->entry / POLITE_GROUP);
	return held && !map_guard_failed(p->guard) ? 0 : 1;
}

int polite_sent(struct polite *p, struct lease *l, int64_t sent_us)
{
	return polite_rest(p, l, 0, sent_us);
}

/* If the lock is not free, the lease stays as it is until it expires. */
int polite_renew(struct polite *p, struct lease *l, int64_t now_us)
{
	struct polite_entry *e = l->word ? lease_entry(p, l) : NULL;
	if (!e)
		return second_of(now_us) < l->word >> 32 ? 0 : 1;
	bool held = lease_is_held(e, l, now_us);
	if (held) {
		uint64_t end_s = second_of(now_us + POLITE_LEASE_US) + 1;
		l->word = (l->word & UINT32_MAX) | MAX(end_s, l->word >> 32) << 32;
		STORE(e->lease[l->place], l->word);
	}
	polite_group_unlock(p, l->entry / POLITE_GROUP);
	return held ? 0 : 1;
}

/* Requests that began before the last trouble tell nothing new: of eight that fail together one
 * doubles the delay, and one that just succeeds does not halve it. */
static void state_learn(struct state *s, enum outcome outcome, const struct lease *l,
			int64_t retry_after_us, int64_t now_us)
{
	bool news = second_of(l->start_us) >= s->trouble_s;
	int64_t before = polite_pause_us(s->delay_us, s->troubles);
	if (outcome_is_trouble(outcome)) {
		if (news && s->troubles < POLITE_TROUBLES_MAX) {
			s->troubles++;
			s->trouble_s = second_of(now_us);
		}
		s->next_us = MAX(s->next_us, now_us + polite_pause_us(s->delay_us, s->troubles));
	} else if (outcome_is_answer(outcome) && news && s->troubles > 0) {
		s->troubles--;
		if (s->next_us == s->start_us + before)
			s->next_us = s->start_us + polite_pause_us(s->delay_us, s->troubles);
	}
	if (retry_after_us > 0)
		s->next_us = MAX(s->next_us, now_us + MIN(retry_after_us, POLITE_RETRY_MAX_US));
}

/* Its group is locked. now_us: when it is said, at the earliest when it was. */
static void end_locked(struct polite *p, const struct polite_ending *end, int64_t now_us)
{
	const struct lease *l = &end->lease;
	struct polite_entry *e = p->entry + l->entry;
	if (e->key != key_of(&l->server) || polite_family(e->meta) != family_of(&l->server))
		return;
	struct state s = state_read(p, e, now_us);
	state_learn(&s, end->outcome, l, end->retry_after_us, end->now_us);
	state_write(p, e, &s);
	if (e->lease[l->place] == l->word)
		STORE(e->lease[l->place], 0);
	FAULT("polite.end.freed");
}

void polite_say_ends(struct polite *p, int64_t now_us)
{
	size_t n = 0;
	for (size_t i = 0; i < p->nendings; i++) {
		uint32_t group = p->ending[i].lease.entry / POLITE_GROUP;
		if (polite_group_lock(p, group, 0)) {
			end_locked(p, &p->ending[i], MAX(now_us, p->ending[i].now_us));
			polite_group_unlock(p, group);
		} else {
			p->ending[n++] = p->ending[i];
		}
	}
	p->nendings = n;
}

/* If the lock is not free, the next call reports it. */
void polite_end(struct polite *p, struct lease *l, enum outcome outcome, int64_t retry_after_us,
		int64_t now_us)
{
	struct polite_ending end = {*l, outcome, retry_after_us, now_us};
	if (!l->word)
		return;
	l->word = 0;
	if (lease_entry(p, &end.lease)) {
		end_locked(p, &end, now_us);
		polite_group_unlock(p, end.lease.entry / POLITE_GROUP);
		return;
	}
	*VEC_PUSH(p->ending, p->nendings, p->endings_room) = end;
}

bool polite_is_cut(const struct polite *p)
{
	return map_guard_failed(p->guard);
}
