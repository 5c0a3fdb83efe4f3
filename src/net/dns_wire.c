/* Host names and the answers of name servers. Both come from outside: a name is checked before the
 * query, and an answer counts only as far as it answers the question that was sent. Nothing here
 * allocates or waits. */
#include "base/ascii.h"
#include "base/cursor.h"
#include "net/dns_inner.h"

#include <netinet/in.h>

enum { LABEL = 63, WIRE = 255, CLASS_IN = 1, TYPE_CNAME = 5, TYPE_SOA = 6 };
enum { RCODE_NONE = 0, RCODE_FORM = 1, RCODE_NO_NAME = 3 };

static const char *const outcome_word[] = {
	[DNS_FOUND] = "found",
	[DNS_BAD_NAME] = "not a host name",
	[DNS_NO_NAME] = "no such name",
	[DNS_NO_ADDRESS] = "no addresses",
	[DNS_FAILED] = "temporary failure",
	[DNS_BROKEN] = "broken answer",
	[DNS_REFUSED] = "refused by policy",
};

const char *dns_outcome_word(enum dns_outcome outcome)
{
	return outcome_word[outcome];
}

/* A byte of a label in its one form; 0: not in a host name. */
static const char name_byte[256] = {
	['-'] = '-', ['_'] = '_', ['0'] = '0', ['1'] = '1', ['2'] = '2', ['3'] = '3', ['4'] = '4',
	['5'] = '5', ['6'] = '6', ['7'] = '7', ['8'] = '8', ['9'] = '9', ['a'] = 'a', ['b'] = 'b',
	['c'] = 'c', ['d'] = 'd', ['e'] = 'e', ['f'] = 'f', ['g'] = 'g', ['h'] = 'h', ['i'] = 'i',
	['j'] = 'j', ['k'] = 'k', ['l'] = 'l', ['m'] = 'm', ['n'] = 'n', ['o'] = 'o', ['p'] = 'p',
	['q'] = 'q', ['r'] = 'r', ['s'] = 's', ['t'] = 't', ['u'] = 'u', ['v'] = 'v', ['w'] = 'w',
	['x'] = 'x', ['y'] = 'y', ['z'] = 'z', ['A'] = 'a', ['B'] = 'b', ['C'] = 'c', ['D'] = 'd',
	['E'] = 'e', ['F'] = 'f', ['G'] = 'g', ['H'] = 'h', ['I'] = 'i', ['J'] = 'j', ['K'] = 'k',
	['L'] = 'l', ['M'] = 'm', ['N'] = 'n', ['O'] = 'o', ['P'] = 'p', ['Q'] = 'q', ['R'] = 'r',
	['S'] = 's', ['T'] = 't', ['U'] = 'u', ['V'] = 'v', ['W'] = 'w', ['X'] = 'x', ['Y'] = 'y',
	['Z'] = 'z',
};

/* What the URL standard takes for a part of an IPv4 address: decimal, octal or hexadecimal. */
static bool is_number(struct str label)
{
	bool hex = str_starts(label, STR("0x"));
	for (size_t i = hex ? 2 : 0; i < label.n; i++) {
		if (hex ? ascii_hex(label.p[i]) < 0 : !ascii_is_digit(label.p[i]))
			return false;
	}
	return true;
}

int dns_name(struct str host, char ret[DNS_NAME + 1], size_t *ret_n)
{
	if (host.n > 0 && host.p[host.n - 1] == '.')
		host.n--;
	if (host.n == 0 || host.n > DNS_NAME)
		return -1;
	char name[DNS_NAME + 1];
	size_t label = 0; /* where it starts */
	for (size_t i = 0; i < host.n; i++) {
		name[i] = name_byte[(unsigned char)host.p[i]];
		if (LIKELY(name[i]))
			continue;
		if (host.p[i] != '.' || i == label || i - label > LABEL)
			return -1;
		name[i] = '.';
		label = i + 1;
	}
	size_t last = host.n - label;
	if (last == 0 || last > LABEL || is_number((struct str){name + label, last}))
		return -1;
	name[host.n] = 0;
	memcpy(ret, name, host.n + 1);
	*ret_n = host.n;
	return 0;
}

/* A name as in packets: labels after their lengths up to the empty one; lower case, no pointers.
 * Compared like this, a dot inside a label is not taken for one between two. */
struct wire {
	size_t n;
	uint8_t b[WIRE];
};

static bool wire_eq(const struct wire *a, const struct wire *b)
{
	return a->n == b->n && memcmp(a->b, b->b, a->n) == 0;
}

static struct wire wire_of(struct str name)
{
	struct wire w = {0};
	struct str label;
	while (str_cut(&name, '.', &label) == 0) {
		ENSURE(label.n <= LABEL && w.n + label.n + 2 <= WIRE);
		w.b[w.n++] = (uint8_t)label.n;
		memcpy(w.b + w.n, label.p, label.n);
		w.n += label.n;
	}
	w.b[w.n++] = 0;
	return w;
}

/* Pointers must lead back, each farther than the one before, so the way ends. */
static void read_name(struct reader *r, struct wire *ret)
{
	struct reader at = *r;
	size_t low = reader_at(r);
	bool jumped = false;
	ret->n = 0;
	for (;;) {
		uint8_t len = reader_u8(&at);
		if (len >= 0xc0) {
			size_t to = (size_t)(len & 0x3f) << 8 | reader_u8(&at);
			if (at.bad || to >= low)
				break;
			if (!jumped)
				r->p = at.p;
			jumped = true;
			low = to;
			at.p = at.start + to;
			continue;
		}
		struct str label = reader_bytes(&at, len);
		if (at.bad || len > LABEL || ret->n + 1 + len > WIRE)
			break;
		ret->b[ret->n++] = len;
		for (size_t i = 0; i < len; i++)
			ret->b[ret->n++] = (uint8_t)ascii_lower(label.p[i]);
		if (len == 0) {
			if (!jumped)
				r->p = at.p;
			return;
		}
	}
	r->bad = true;
}

struct record {
	struct wire owner;
	uint16_t type, class;
	uint32_t ttl_s;
	struct reader data; /* ends where the record ends; names in it may point before it */
};

static void read_record(struct reader *r, struct record *ret)
{
	read_name(r, &ret->owner);
	ret->type = reader_u16be(r);
	ret->class = reader_u16be(r);
	ret->ttl_s = reader_u32be(r);
	if (ret->ttl_s > INT32_MAX)
		ret->ttl_s = 0; /* RFC 2181 */
	size_t len = reader_u16be(r);
	ret->data = *r;
	reader_skip(r, len);
	if (!r->bad)
		ret->data.end = r->p;
}

static void take_address(struct record *record, struct dns_answer *ret)
{
	size_t n = record->type == DNS_A ? 4 : 16;
	struct addr a = {.family = record->type == DNS_A ? AF_INET : AF_INET6};
	if (reader_left(&record->data) != n || ret->n == DNS_ADDRS)
		return;
	memcpy(a.b, record->data.p, n);
	ret->addr[ret->n++] = a;
	ret->ttl_s = MIN(ret->ttl_s, (int64_t)record->ttl_s);
}

/* One look through the answers for what `owner` has: its addresses, or the name that it is an alias
 * of, which becomes the owner. 0: addresses; 1: neither; 2: an alias. */
static int look_up(struct reader answers, unsigned count, uint16_t type, struct wire *owner,
		   struct dns_answer *ret)
{
	struct record record;
	struct wire alias = {0};
	int64_t alias_ttl_s = 0;
	for (unsigned i = 0; i < count; i++) {
		read_record(&answers, &record);
		if (record.class != CLASS_IN || !wire_eq(&record.owner, owner))
			continue;
		if (record.type == type) {
			take_address(&record, ret);
		} else if (record.type == TYPE_CNAME) {
			read_name(&record.data, &alias);
			if (record.data.bad)
				alias.n = 0;
			alias_ttl_s = record.ttl_s;
		}
	}
	if (ret->n > 0 || alias.n == 0)
		return ret->n == 0;
	*owner = alias;
	ret->ttl_s = MIN(ret->ttl_s, alias_ttl_s);
	return 2;
}

/* A label with a dot in it would look like two. */
static void take_canonical(const struct wire *owner, struct dns_answer *ret)
{
	char text[WIRE];
	size_t n = 0;
	for (size_t at = 0; owner->b[at] > 0; at += 1 + owner->b[at]) {
		if (n > 0)
			text[n++] = '.';
		if (memchr(owner->b + at + 1, '.', owner->b[at]))
			return;
		memcpy(text + n, owner->b + at + 1, owner->b[at]);
		n += owner->b[at];
	}
	if (dns_name((struct str){text, n}, ret->canonical, &ret->canonical_n) < 0)
		ret->canonical_n = 0;
}

/* RFC 2308: how long a name is known not to be, by the zone's SOA. */
static int64_t negative_ttl_s(struct reader *authority, unsigned count)
{
	struct record record;
	struct wire name;
	for (unsigned i = 0; i < count; i++) {
		read_record(authority, &record);
		if (authority->bad || record.type != TYPE_SOA)
			continue;
		struct reader *soa = &record.data;
		read_name(soa, &name);
		read_name(soa, &name);
		reader_skip(soa, 16); /* serial, refresh, retry, expire */
		uint32_t minimum = reader_u32be(soa);
		return soa->bad ? -1 : (int64_t)MIN(minimum, record.ttl_s);
	}
	return -1;
}

static void answer_break(struct dns_answer *ret, const char *why)
{
	*ret = (struct dns_answer){.outcome = DNS_BROKEN, .why = why, .ttl_s = -1};
}

/* The server reports an error. If it cannot read the question, it will never answer it. */
static void answer_fail(unsigned rcode, struct dns_answer *ret)
{
	bool broken = rcode == RCODE_FORM;
	*ret = (struct dns_answer){.outcome = broken ? DNS_BROKEN : DNS_FAILED,
				   .why = broken ? "the server does not understand the question"
						 : "the server failed",
				   .ttl_s = -1};
}

struct header {
	uint16_t flags, questions, answers, authority;
};

static unsigned header_rcode(const struct header *head)
{
	return head->flags & 15;
}

static bool header_failed(const struct header *head)
{
	return header_rcode(head) != RCODE_NONE && header_rcode(head) != RCODE_NO_NAME;
}

/* NULL, or what is wrong with the header and the question that is repeated in the answer. A server
 * that failed need not repeat it. */
static const char *read_head(struct reader *r, const struct wire *name, uint16_t type,
			     struct header *ret)
{
	struct wire asked;
	reader_skip(r, 2); /* the number: who sent the question has looked at it */
	ret->flags = reader_u16be(r);
	ret->questions = reader_u16be(r);
	ret->answers = reader_u16be(r);
	ret->authority = reader_u16be(r);
	reader_skip(r, 2);
	if (r->bad || !(ret->flags & 0x8000))
		return "not an answer";
	if (header_failed(ret))
		return NULL;
	read_name(r, &asked);
	uint16_t asked_type = reader_u16be(r), class = reader_u16be(r);
	if (r->bad || ret->questions != 1 || !wire_eq(&asked, name) || asked_type != type ||
	    class != CLASS_IN)
		return "an answer to another question";
	if (ret->answers > DNS_RECORDS || ret->authority > DNS_RECORDS)
		return "an answer with too many records";
	return NULL;
}

static void read_negative(struct reader *authority, const struct header *head,
			  struct dns_answer *ret)
{
	bool none = header_rcode(head) == RCODE_NO_NAME;
	int64_t ttl_s = negative_ttl_s(authority, head->authority);
	ret->outcome = none ? DNS_NO_NAME : DNS_NO_ADDRESS;
	ret->ttl_s = MIN(ttl_s, ret->ttl_s);
}

void dns_read(struct str packet, struct str name, uint16_t type, struct dns_answer *ret)
{
	struct reader r = reader_of(packet), end;
	struct header head;
	struct wire owner = wire_of(name);
	struct record record;
	const char *why = read_head(&r, &owner, type, &head);
	if (why) {
		answer_break(ret, why);
		return;
	}
	if (header_failed(&head)) {
		answer_fail(header_rcode(&head), ret);
		return;
	}
	end = r;
	for (unsigned i = 0; i < head.answers; i++)
		read_record(&end, &record);
	if (end.bad) {
		answer_break(ret, "a broken answer");
		return;
	}
	*ret = (struct dns_answer){.outcome = DNS_FOUND, .ttl_s = INT32_MAX};
	int rc = 2;
	unsigned hops = 0;
	for (; hops <= DNS_CHAIN && rc == 2; hops++)
		rc = look_up(r, head.answers, type, &owner, ret);
	if (rc == 2)
		answer_break(ret, "more than 8 aliases in a row, or in a circle");
	else if (rc == 1)
		read_negative(&end, &head, ret);
	else if (hops > 1)
		take_canonical(&owner, ret);
}
