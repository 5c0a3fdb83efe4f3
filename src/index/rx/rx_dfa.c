/* The DFA of one thread, made while it runs. There are two layers of states in one block of memory:
 * sets of positions of the NFA, with a table over classes of characters, and byte states, which are
 * a set and a beginning of a character, with a table over classes of bytes. Texts are searched and
 * dictionaries walked by byte states, at one look-up for a byte; where a match begins and ends is
 * found a character at a time, in the few places that have one.
 *
 * "^" is decided when a set is made, since what stands before is known then. "$" and \b stay in the
 * set until the next character is known. So is whether the character before was of a word, and
 * therefore the same positions may be up to three sets.
 *
 * The block grows to RX_MEMORY: states from its beginning, positions of sets from its end. When it
 * is full, all is dropped but the set that is being left. */
#include "index/rx/rx_inner.h"

#include "base/hash.h"

enum {
	/* entries of tables; all greater ones are states, by where they lie in the block */
	DEAD,
	UNKNOWN = 1, /* not made yet */
	FOUND = 2,
	FIRST_WORD = 4,

	BLOCK_FIRST = 16 << 10, /* words of the block at first */
	BLOCK_MOST = RX_MEMORY / 4,
	BUCKETS = 4096,
	CHUNK_BYTES = 256 << 10, /* read before it is asked whether it is late */
	CHUNK_WORK = 64 << 10,   /* steps of the NFA, likewise */
	SKIPS_TRIED = 16,        /* before their mean is looked at */
	SKIP_LEAST = 6,          /* bytes */
};

/* A set, in words from where it lies. */
enum {
	SET_CHAIN,   /* the next with its hash */
	SET_ITEMS,   /* where its positions begin, in halves of words from the end of the block */
	SET_N,       /* how many there are */
	SET_FLAGS,   /* below */
	SET_ROOT,    /* its byte state between characters, or UNKNOWN */
	SET_PENDING, /* the list of its other byte states */
	SET_TABLE,
};

/* What stood before. Where no look asks, it is always OTHER. */
enum kind { KIND_OTHER, KIND_WORD, KIND_EDGE };

enum {
	FLAG_KIND = 3,
	FLAG_ADDS = 1 << 2, /* a match may begin anywhere */
	FLAG_BACK = 1 << 3,
	FLAG_MATCH = 1 << 4,
	FLAG_LOOKS = 1 << 5,   /* has positions that wait for the next character */
	FLAG_ASKED = 1 << 8,   /* shifted by the kind of what follows: the answer is known */
	FLAG_ANSWER = 1 << 12, /* and this */
	FLAGS_OF_KEY = FLAG_KIND | FLAG_ADDS | FLAG_BACK,
};

/* A byte state, in words from where its table begins. */
enum { BYTE_SET = -3, BYTE_NODE = -2, BYTE_NEXT = -1, BYTE_HEAD = 3 };

struct rx_run {
	const struct rx *rx;
	uint32_t *block;
	size_t words, words_most, used;
	size_t items; /* halves of words at the end */
	uint32_t *bucket;
	uint32_t gen;
	uint32_t start[2][2][3]; /* sets: backward, adds, kind */
	uint32_t idle_set, idle; /* at the beginning of matches: the lowest of all byte states */
	size_t steps;            /* the greater of both NFAs */
	size_t need;             /* words that a step may take */

	/* what is collected */
	uint32_t *mark, epoch; /* a step is in when it has the mark */
	uint64_t *bits;
	size_t bits_from, bits_to;
	uint16_t *list, *now, *stack;
	size_t listed, nows;

	bool (*late)(void *ctx);
	void *late_ctx;
	size_t work;
	bool was_late;
};

/* The block */

static const uint16_t *set_items(const struct rx_run *run, uint32_t set)
{
	const uint16_t *end = (const uint16_t *)(const void *)(run->block + run->words);
	return end - run->block[set + SET_ITEMS];
}

static void drop_states(struct rx_run *run)
{
	run->used = FIRST_WORD;
	run->items = 0;
	run->gen++;
	memset(run->bucket, 0, BUCKETS * sizeof *run->bucket);
	memset(run->start, 0, sizeof run->start);
	run->idle = run->idle_set = 0;
}

static void grow_block(struct rx_run *run)
{
	size_t words = MIN(run->words * 4, run->words_most), items = (run->items + 1) / 2;
	run->block = mem_resize(run->block, words * sizeof *run->block);
	memmove(run->block + words - items, run->block + run->words - items,
		items * sizeof *run->block);
	run->words = words;
}

static bool has_room(const struct rx_run *run)
{
	return run->words - run->used - (run->items + 1) / 2 >= run->need;
}

/* The set with the positions of run->list; 0 without any. There is room for it. */
static uint32_t find_set(struct rx_run *run, uint32_t flags)
{
	size_t n = run->listed;
	if (n == 0)
		return DEAD;
	struct str bytes = {(const char *)run->list, n * sizeof *run->list};
	uint32_t *bucket = &run->bucket[hash64_seeded(bytes, flags & FLAGS_OF_KEY) % BUCKETS];
	for (uint32_t set = *bucket; set; set = run->block[set + SET_CHAIN])
		if (run->block[set + SET_N] == n &&
		    (run->block[set + SET_FLAGS] & FLAGS_OF_KEY) == (flags & FLAGS_OF_KEY) &&
		    memcmp(set_items(run, set), run->list, bytes.n) == 0)
			return set;
	uint32_t set = (uint32_t)run->used, *to = run->block + set;
	size_t classes = run->rx->alphabet.classes + 1;
	run->used += SET_TABLE + classes;
	run->items += n;
	to[SET_CHAIN] = *bucket;
	to[SET_ITEMS] = (uint32_t)run->items;
	to[SET_N] = (uint32_t)n;
	to[SET_FLAGS] = flags;
	to[SET_ROOT] = UNKNOWN;
	to[SET_PENDING] = 0;
	for (size_t i = 0; i < classes; i++)
		to[SET_TABLE + i] = UNKNOWN;
	memcpy((uint16_t *)(void *)(run->block + run->words) - run->items, run->list, bytes.n);
	*bucket = set;
	return set;
}

/* Collecting positions */

static void collect_begin(struct rx_run *run)
{
	if (++run->epoch == 0) {
		memset(run->mark, 0, run->steps * sizeof *run->mark);
		run->epoch = 1;
	}
	run->bits_from = SIZE_MAX;
	run->bits_to = 0;
}

static bool look_holds(uint8_t op, enum kind before, enum kind after)
{
	bool bound = (before == KIND_WORD) != (after == KIND_WORD);
	return op == RX_STEP_BEGIN   ? before == KIND_EDGE
	       : op == RX_STEP_END   ? after == KIND_EDGE
	       : op == RX_STEP_BOUND ? bound
				     : !bound;
}

static void push_step(struct rx_run *run, uint16_t step, size_t *depth)
{
	if (run->mark[step] != run->epoch)
		run->stack[(*depth)++] = step;
	run->mark[step] = run->epoch;
}

/* A step and all that it leads to without a character. */
static void collect_from(struct rx_run *run, const struct rx_nfa *nfa, uint16_t from,
			 enum kind before)
{
	size_t depth = 0;
	push_step(run, from, &depth);
	while (depth) {
		uint16_t at = run->stack[--depth];
		const struct rx_step *s = &nfa->step[at];
		run->work++;
		if (s->op == RX_STEP_SPLIT) {
			push_step(run, s->out, &depth);
			push_step(run, s->out_too, &depth);
		} else if (s->op == RX_STEP_BEGIN) {
			if (before == KIND_EDGE)
				push_step(run, s->out, &depth);
		} else {
			run->bits[at / 64] |= UINT64_C(1) << (at % 64);
			run->bits_from = MIN(run->bits_from, at / 64u);
			run->bits_to = MAX(run->bits_to, at / 64u + 1);
		}
	}
}

/* The positions in order, and the flags that follow from them. */
static uint32_t collect_end(struct rx_run *run, const struct rx_nfa *nfa)
{
	uint32_t flags = 0;
	run->listed = 0;
	for (size_t w = run->bits_from; w < run->bits_to; w++) {
		for (uint64_t bits = run->bits[w]; bits; bits &= bits - 1) {
			uint16_t at = (uint16_t)(w * 64 + (size_t)__builtin_ctzll(bits));
			uint8_t op = nfa->step[at].op;
			flags |= op == RX_STEP_MATCH  ? FLAG_MATCH
				 : op > RX_STEP_MATCH ? FLAG_LOOKS
						      : 0;
			run->list[run->listed++] = at;
		}
		run->bits[w] = 0;
	}
	return flags;
}

/* The characters that can come next once the looks of a set are decided, in run->now, and whether
 * the match is complete. */
static bool look_ahead(struct rx_run *run, const struct rx_nfa *nfa, uint32_t set, enum kind after)
{
	enum kind before = run->block[set + SET_FLAGS] & FLAG_KIND;
	const uint16_t *items = set_items(run, set);
	bool match = false;
	size_t depth = 0;
	collect_begin(run);
	run->nows = 0;
	for (uint32_t i = 0; i < run->block[set + SET_N]; i++)
		if (nfa->step[items[i]].op > RX_STEP_MATCH)
			push_step(run, items[i], &depth);
	while (depth) {
		uint16_t at = run->stack[--depth];
		const struct rx_step *s = &nfa->step[at];
		run->work++;
		if (s->op == RX_STEP_SET) {
			run->now[run->nows++] = at;
		} else if (s->op == RX_STEP_MATCH) {
			match = true;
		} else if (s->op == RX_STEP_SPLIT) {
			push_step(run, s->out, &depth);
			push_step(run, s->out_too, &depth);
		} else if (look_holds(s->op, before, after)) {
			push_step(run, s->out, &depth);
		}
	}
	return match;
}

/* Sets */

static const struct rx_nfa *nfa_of(const struct rx_run *run, uint32_t flags)
{
	return &run->rx->nfa[(flags & FLAG_BACK) != 0];
}

/* Where something asks for it. */
static enum kind kind_before(const struct rx *rx, bool back, enum kind kind)
{
	bool edge = rx->has_bound || (back ? rx->has_end : rx->has_begin);
	return kind == KIND_EDGE && !edge ? KIND_OTHER : kind;
}

static enum kind kind_of_class(const struct rx *rx, uint32_t class)
{
	return rx->has_bound && rx_set_has(&rx->alphabet, rx->word_set, class) ? KIND_WORD
									       : KIND_OTHER;
}

static uint32_t start_set(struct rx_run *run, bool back, bool adds, enum kind kind)
{
	kind = kind_before(run->rx, back, kind);
	uint32_t *start = &run->start[back][adds][kind];
	if (!*start) {
		const struct rx_nfa *nfa = &run->rx->nfa[back];
		uint32_t flags = (uint32_t)kind | (adds ? FLAG_ADDS : 0) | (back ? FLAG_BACK : 0);
		collect_begin(run);
		collect_from(run, nfa, nfa->start, kind);
		*start = find_set(run, flags | collect_end(run, nfa));
	}
	return *start;
}

/* Room for one step, or the beginning of a line. *set may be 0; it is another one when states had
 * to be dropped. */
static void make_room(struct rx_run *run, uint32_t *set)
{
	while (!has_room(run) && run->words < run->words_most)
		grow_block(run);
	if (!has_room(run)) {
		uint32_t flags = *set ? run->block[*set + SET_FLAGS] : 0;
		run->listed = *set ? run->block[*set + SET_N] : 0;
		if (*set)
			memcpy(run->now, set_items(run, *set), run->listed * sizeof *run->now);
		size_t listed = run->listed;
		drop_states(run);
		memcpy(run->list, run->now, listed * sizeof *run->list);
		run->listed = listed;
		*set = find_set(run, flags);
	}
}

/* Whether a match ends here, given what follows. */
static bool set_matches(struct rx_run *run, uint32_t set, enum kind after)
{
	uint32_t *flags = &run->block[set + SET_FLAGS];
	if (*flags & FLAG_MATCH)
		return true;
	if (!(*flags & FLAG_LOOKS))
		return false;
	if (!(*flags & (uint32_t)FLAG_ASKED << after)) {
		bool match = look_ahead(run, nfa_of(run, *flags), set, after);
		*flags |= (uint32_t)FLAG_ASKED << after |
			  (match ? (uint32_t)FLAG_ANSWER << after : 0);
	}
	return *flags & (uint32_t)FLAG_ANSWER << after;
}

static void step_over(struct rx_run *run, const struct rx_nfa *nfa, const uint16_t *items, size_t n,
		      uint32_t class, enum kind kind)
{
	const struct rx_alphabet *a = &run->rx->alphabet;
	for (size_t i = 0; i < n; i++) {
		const struct rx_step *s = &nfa->step[items[i]];
		if (s->op == RX_STEP_SET && rx_set_has(a, s->set, class))
			collect_from(run, nfa, s->out, kind);
	}
	run->work += n;
}

/* The set after a character. There is room for it. */
static uint32_t set_step(struct rx_run *run, uint32_t set, uint32_t class)
{
	uint32_t to = run->block[set + SET_TABLE + class];
	if (to != UNKNOWN)
		return to;
	uint32_t flags = run->block[set + SET_FLAGS];
	const struct rx_nfa *nfa = nfa_of(run, flags);
	enum kind kind = kind_of_class(run->rx, class);
	size_t nows = 0;
	if (flags & FLAG_LOOKS) {
		look_ahead(run, nfa, set, kind);
		nows = run->nows;
	}
	collect_begin(run);
	step_over(run, nfa, set_items(run, set), run->block[set + SET_N], class, kind);
	step_over(run, nfa, run->now, nows, class, kind);
	if (flags & FLAG_ADDS)
		collect_from(run, nfa, nfa->start, kind);
	uint32_t key = (flags & (FLAG_ADDS | FLAG_BACK)) | (uint32_t)kind;
	to = find_set(run, key | collect_end(run, nfa));
	run->block[set + SET_TABLE + class] = to;
	return to;
}

/* The same with a set that may have to be moved. */
static uint32_t char_step(struct rx_run *run, uint32_t set, uint32_t class)
{
	if (run->block[set + SET_TABLE + class] == UNKNOWN)
		make_room(run, &set);
	return set_step(run, set, class);
}

/* Byte states */

/* A node of the decoder as byte states have it: 1 + its number, and, where a byte that is not UTF-8
 * is a character, how many bytes led to it. */
enum { NODE_DEPTH = 16 };

static uint32_t node_after(const struct rx *rx, uint32_t node, uint32_t decoder)
{
	return (decoder + 1) | (rx->any_bytes ? (node >> NODE_DEPTH) + 1 : 0) << NODE_DEPTH;
}

static const struct rx_decoder *node_decoder(const struct rx *rx, uint32_t node)
{
	return &rx->alphabet.decoder[(node & ((1u << NODE_DEPTH) - 1)) - 1];
}

/* node: as node_after() makes it, 0 between characters. There is room for it. */
static uint32_t byte_state(struct rx_run *run, uint32_t set, uint32_t node)
{
	if (!set)
		return DEAD;
	uint32_t *head = run->block + set;
	if (head[SET_FLAGS] & FLAG_MATCH)
		return FOUND;
	if (node == 0 && head[SET_ROOT] != UNKNOWN)
		return head[SET_ROOT];
	for (uint32_t s = head[SET_PENDING]; s && node; s = run->block[s + BYTE_NEXT])
		if (run->block[s + BYTE_NODE] == node)
			return s;
	uint32_t state = (uint32_t)run->used + BYTE_HEAD, *to = run->block + state;
	size_t n = run->rx->alphabet.byte_classes;
	run->used += BYTE_HEAD + n;
	to[BYTE_SET] = set;
	to[BYTE_NODE] = node;
	to[BYTE_NEXT] = node ? head[SET_PENDING] : 0;
	head[node ? SET_PENDING : SET_ROOT] = state;
	for (size_t i = 0; i < n; i++)
		to[i] = UNKNOWN;
	return state;
}

/* The state at the beginning of matches is made first, so that one comparison tells it and all that
 * is not a state from the others. */
static void make_idle(struct rx_run *run)
{
	if (run->idle_set)
		return;
	run->idle_set = start_set(run, false, true, KIND_OTHER);
	run->idle = byte_state(run, run->idle_set, 0);
}

/* One character for a byte state. false: that settles it, *ret is DEAD or FOUND. */
static bool byte_char(struct rx_run *run, uint32_t *set, uint32_t class, uint32_t *ret)
{
	*ret = FOUND;
	if (set_matches(run, *set, kind_of_class(run->rx, class)))
		return false;
	*set = set_step(run, *set, class);
	*ret = DEAD;
	return *set != DEAD;
}

/* The beginning of a character that does not go on: one that matches nothing, or as many as it has
 * bytes. */
static bool byte_strays(struct rx_run *run, uint32_t *set, uint32_t node, uint32_t *ret)
{
	bool alive = true;
	uint32_t n = run->rx->any_bytes ? node >> NODE_DEPTH : 1;
	for (uint32_t i = 0; i < n && alive; i++)
		alive = byte_char(run, set, run->rx->alphabet.invalid, ret);
	return alive;
}

/* Makes what a byte leads to. */
static uint32_t byte_step(struct rx_run *run, uint32_t state, unsigned char byte)
{
	const struct rx_alphabet *a = &run->rx->alphabet;
	uint32_t set = run->block[state + BYTE_SET], node = run->block[state + BYTE_NODE];
	uint32_t gen = run->gen;
	uint32_t to = DEAD;
	make_room(run, &set);
	make_idle(run);
	bool alive = true;
	uint32_t next = RX_NO_CHAR;
	if (node) {
		const struct rx_decoder *d = node_decoder(run->rx, node);
		next = (byte & 0xc0) == 0x80 ? d->to[byte & 0x3f] : RX_NO_CHAR;
		bool complete = d->left == 1 && next != RX_NO_CHAR;
		if (complete)
			alive = byte_char(run, &set, next, &to);
		else if (next == RX_NO_CHAR)
			alive = byte_strays(run, &set, node, &to);
		node = complete ? 0 : node_after(run->rx, node, next);
	}
	/* what began did not go on: the byte begins anew */
	if (alive && next == RX_NO_CHAR) {
		next = a->lead[byte];
		node = next == RX_NO_CHAR ? 0 : node_after(run->rx, 0, next);
		if (next == RX_NO_CHAR)
			alive = byte_char(run, &set, byte < 0x80 ? a->ascii[byte] : a->invalid,
					  &to);
	}
	if (alive)
		to = byte_state(run, set, node);
	if (run->gen == gen)
		run->block[state + a->byte_class[byte]] = to;
	return to;
}

static bool byte_accepts(struct rx_run *run, uint32_t state)
{
	if (state < FIRST_WORD)
		return state == FOUND;
	uint32_t set = run->block[state + BYTE_SET];
	if (run->block[state + BYTE_NODE] == 0)
		return set_matches(run, set, KIND_EDGE);
	if (run->rx->any_bytes) {
		uint32_t to = DEAD;
		uint32_t node = run->block[state + BYTE_NODE];
		make_room(run, &set);
		return byte_strays(run, &set, node, &to) ? set_matches(run, set, KIND_EDGE)
							 : to == FOUND;
	}
	/* a character that is not complete is one that is not UTF-8 */
	bool adds = run->block[set + SET_FLAGS] & FLAG_ADDS;
	return set_matches(run, set, KIND_OTHER) ||
	       (adds && run->idle_set && set_matches(run, run->idle_set, KIND_EDGE));
}

/* Running */

struct rx_run *rx_run_new(const struct rx *rx)
{
	struct rx_run *run = mem_alloc(sizeof *run);
	size_t n = MAX(rx->nfa[0].n, rx->nfa[1].n);
	run->rx = rx;
	run->steps = n;
	/* six sets and three byte states are more than any step makes */
	run->need = 6 * (size_t)(SET_TABLE + rx->alphabet.classes + 1 + n / 2 + 1) +
		    3 * (size_t)(BYTE_HEAD + rx->alphabet.byte_classes);
	run->words = BLOCK_FIRST;
	run->words_most = BLOCK_MOST;
	run->block = mem_resize(NULL, run->words * sizeof *run->block);
	run->bucket = mem_array(BUCKETS, sizeof *run->bucket);
	run->mark = mem_array(n, sizeof *run->mark);
	run->bits = mem_array(n / 64 + 1, sizeof *run->bits);
	run->list = mem_array(n, sizeof *run->list);
	run->now = mem_array(n, sizeof *run->now);
	run->stack = mem_array(n, sizeof *run->stack);
	run->used = FIRST_WORD;
	return run;
}

void rx_run_free(struct rx_run **runp)
{
	struct rx_run *run = *runp;
	if (!run)
		return;
	mem_free(&run->block);
	mem_free(&run->bucket);
	mem_free(&run->mark);
	mem_free(&run->bits);
	mem_free(&run->list);
	mem_free(&run->now);
	mem_free(&run->stack);
	mem_free(runp);
}

void rx_run_memory(struct rx_run *run, size_t bytes)
{
	size_t few = MAX(4 * run->need, run->words);
	run->words_most = MIN(MAX(bytes / sizeof *run->block, few), (size_t)BLOCK_MOST);
}

void rx_run_late(struct rx_run *run, bool (*late)(void *ctx), void *ctx)
{
	run->late = late;
	run->late_ctx = ctx;
}

static bool ask_late(struct rx_run *run)
{
	run->work = 0;
	if (run->late && !run->was_late)
		run->was_late = run->late(run->late_ctx);
	return run->was_late;
}

static bool worked_late(struct rx_run *run)
{
	return run->was_late || (run->work > CHUNK_WORK && ask_late(run));
}

/* Searching */

static uint32_t class_at(const struct rx *rx, struct str line, size_t at, size_t *ret_n)
{
	const unsigned char *p = (const unsigned char *)line.p;
	*ret_n = 1;
	if (p[at] < 0x80)
		return rx->alphabet.ascii[p[at]];
	return rx_class_of(&rx->alphabet, token_char(p + at, p + line.n, ret_n));
}

/* Of the character that ends at `at`. Where characters begin does not depend on where one starts
 * reading, since no byte both begins one and goes on with one. */
static uint32_t class_before(const struct rx *rx, struct str line, size_t at, size_t *ret_n)
{
	const unsigned char *p = (const unsigned char *)line.p;
	size_t from = at - 1;
	*ret_n = 1;
	while (from > 0 && at - from < 4 && (p[from] & 0xc0) == 0x80)
		from--;
	size_t n;
	uint32_t class = class_at(rx, line, from, &n);
	if (from + n != at)
		return rx->alphabet.invalid;
	*ret_n = n;
	return class;
}

static enum kind kind_at(const struct rx *rx, struct str line, size_t at)
{
	size_t n;
	return at == line.n    ? KIND_EDGE
	       : rx->has_bound ? kind_of_class(rx, class_at(rx, line, at, &n))
			       : KIND_OTHER;
}

static enum kind kind_left_of(const struct rx *rx, struct str line, size_t at)
{
	size_t n;
	return at == 0         ? KIND_EDGE
	       : rx->has_bound ? kind_of_class(rx, class_before(rx, line, at, &n))
			       : KIND_OTHER;
}

static const unsigned char *skip_to_first(const struct rx *rx, const unsigned char *p,
					  const unsigned char *end)
{
	if (rx->firsts == 1) {
		const unsigned char *at = memchr(p, rx->first_byte[0], (size_t)(end - p));
		return at ? at : end;
	}
	for (; end - p >= 4; p += 4) {
		if (rx->first[p[0]])
			return p;
		if (rx->first[p[1]])
			return p + 1;
		if (rx->first[p[2]])
			return p + 2;
		if (rx->first[p[3]])
			return p + 3;
	}
	while (p < end && !rx->first[*p])
		p++;
	return p;
}

/* Whether there is a match from `from` on. *ret_end: it has ended there at the latest; *ret_idle:
 * and no match begins before this. */
static bool scan_line(struct rx_run *run, struct str line, size_t from, size_t *ret_end,
		      size_t *ret_idle)
{
	const struct rx *rx = run->rx;
	const uint8_t *class = rx->alphabet.byte_class;
	const unsigned char *begin = (const unsigned char *)line.p, *p = begin + from;
	const unsigned char *end = begin + line.n, *idle_at = p;
	bool quick = rx->quick; /* as long as it pays */
	size_t skips = 0, skipped = 0;
	uint32_t none = 0;
	make_room(run, &none);
	make_idle(run);
	uint32_t s = byte_state(run, start_set(run, false, true, kind_left_of(rx, line, from)), 0);
	*ret_end = from;
	*ret_idle = from;
	if (s == DEAD || s == FOUND)
		return s == FOUND;
	for (;;) {
		if (quick && s == run->idle) {
			/* whatever is under way looks like the beginning, and ends where no
			 * beginning goes on */
			const unsigned char *first = skip_to_first(rx, p, end);
			idle_at = first > p ? first : idle_at;
			skipped += (size_t)(first - p);
			quick = ++skips < SKIPS_TRIED || skipped / skips >= SKIP_LEAST;
			p = first;
		}
		const unsigned char *stop = end - p > CHUNK_BYTES ? p + CHUNK_BYTES : end;
		const uint32_t *block = run->block;
		uint32_t limit = quick ? run->idle : FOUND, to = s;
		while (p < stop && (to = block[s + class[*p]]) > limit) {
			s = to;
			p++;
		}
		if (p == end)
			break;
		if (p == stop) {
			if (ask_late(run))
				return false;
			continue;
		}
		if (to == UNKNOWN) {
			to = byte_step(run, s, *p);
			if (worked_late(run))
				return false;
		}
		if (to == DEAD)
			return false;
		p++;
		if (to == FOUND) {
			*ret_end = (size_t)(p - begin);
			*ret_idle = (size_t)(idle_at - begin);
			return true;
		}
		s = to;
	}
	*ret_end = line.n;
	*ret_idle = (size_t)(idle_at - begin);
	return byte_accepts(run, s);
}

/* How far matches can go that begin between `from` and `last`. */
static size_t find_reach(struct rx_run *run, struct str line, size_t from, size_t last)
{
	const struct rx *rx = run->rx;
	uint32_t set = 0;
	size_t n;
	make_room(run, &set);
	set = start_set(run, false, true, kind_left_of(rx, line, from));
	for (size_t at = from; at < line.n; at += n) {
		if (at >= last && (run->block[set + SET_FLAGS] & FLAG_ADDS)) {
			make_room(run, &set);
			run->listed = run->block[set + SET_N];
			memcpy(run->list, set_items(run, set), run->listed * sizeof *run->list);
			set = find_set(run, run->block[set + SET_FLAGS] & ~(uint32_t)FLAG_ADDS);
		}
		set = char_step(run, set, class_at(rx, line, at, &n));
		if (set == DEAD || worked_late(run))
			return at;
	}
	return line.n;
}

/* Where the first match begins that lies between `from` and `to`; SIZE_MAX: it became late. */
static size_t find_begin(struct rx_run *run, struct str line, size_t from, size_t to)
{
	const struct rx *rx = run->rx;
	size_t first = SIZE_MAX, n;
	uint32_t set = 0;
	make_room(run, &set);
	set = start_set(run, true, true, kind_at(rx, line, to));
	for (size_t at = to; set != DEAD; at -= n) {
		if (set_matches(run, set, kind_left_of(rx, line, at)))
			first = at;
		if (at <= from || worked_late(run))
			break;
		set = char_step(run, set, class_before(rx, line, at, &n));
	}
	return first;
}

/* Where the longest match ends that begins at `from`; SIZE_MAX: it became late. */
static size_t find_end(struct rx_run *run, struct str line, size_t from)
{
	const struct rx *rx = run->rx;
	size_t last = SIZE_MAX, n;
	uint32_t set = 0;
	make_room(run, &set);
	set = start_set(run, false, false, kind_left_of(rx, line, from));
	for (size_t at = from; set != DEAD; at += n) {
		if (set_matches(run, set, kind_at(rx, line, at)))
			last = at;
		if (at >= line.n || worked_late(run))
			break;
		set = char_step(run, set, class_at(rx, line, at, &n));
	}
	return last;
}

static bool has_needle(const struct rx *rx, struct str line, size_t from)
{
	return rx->needle.n == 0 || str_find(str_from(line, from), rx->needle) < line.n - from;
}

int rx_find(struct rx_run *run, struct str line, size_t from, struct rx_match *ret)
{
	size_t end, idle;
	if (!line.n)
		line = STR("");
	if (from > line.n || run->was_late || !has_needle(run->rx, line, from) ||
	    !scan_line(run, line, from, &end, &idle))
		return 1;
	size_t reach = find_reach(run, line, idle, end);
	size_t first = find_begin(run, line, idle, reach);
	size_t last = first == SIZE_MAX ? SIZE_MAX : find_end(run, line, first);
	if (run->was_late)
		return 1;
	ENSURE(first >= from && last != SIZE_MAX && last >= first && last <= line.n);
	*ret = (struct rx_match){.at = first, .n = last - first};
	return 0;
}

bool rx_matches(struct rx_run *run, struct str line)
{
	size_t end, idle;
	if (!line.n)
		line = STR("");
	return !run->was_late && has_needle(run->rx, line, 0) &&
	       scan_line(run, line, 0, &end, &idle);
}

int rx_find_line(struct rx_run *run, struct str text, size_t from, struct str *ret)
{
	const struct rx *rx = run->rx;
	while (from < text.n && !worked_late(run)) {
		struct str rest = str_from(text, from);
		size_t at = rx->needle.n ? str_find(rest, rx->needle) : 0;
		if (at == rest.n)
			return 1;
		while (at > 0 && rest.p[at - 1] != '\n')
			at--;
		struct str line = str_from(rest, at);
		line.n = str_find_byte(line, '\n');
		size_t end, idle;
		if (scan_line(run, line, 0, &end, &idle)) {
			*ret = line;
			return 0;
		}
		from += at + line.n + 1;
		run->work += line.n / 4 + 1;
	}
	return 1;
}
