/* Answers of name servers, byte by byte, for tests. */
#pragma once
#include "base/cursor.h"
#include "net/addr.h"

enum {
	PACKET_ANSWER = 0x8180,
	PACKET_NO_NAME = 0x8183,
	PACKET_FAILED = 0x8182,
	PACKET_FORM = 0x8181
};

struct packet {
	struct buf b;
	uint16_t answers, authority;
};

static inline void packet_name(struct packet *p, struct str name)
{
	struct str label;
	while (name.n && str_cut(&name, '.', &label) == 0) {
		put_u8(&p->b, (uint8_t)label.n);
		buf_add_str(&p->b, label);
	}
	put_u8(&p->b, 0);
}

static inline struct packet packet_begin(uint16_t id, uint16_t flags, struct str name,
					 uint16_t type)
{
	struct packet p = {.b = BUF_INIT(65535)};
	put_u16be(&p.b, id);
	put_u16be(&p.b, flags);
	put_u16be(&p.b, 1);
	buf_fill(&p.b, 0, 6);
	packet_name(&p, name);
	put_u16be(&p.b, type);
	put_u16be(&p.b, 1);
	return p;
}

/* Its data follows, `n` bytes of it. */
static inline void packet_record(struct packet *p, const char *owner, uint16_t type, uint32_t ttl_s,
				 size_t n)
{
	packet_name(p, str_of(owner));
	put_u16be(&p->b, type);
	put_u16be(&p->b, 1);
	put_u32be(&p->b, ttl_s);
	put_u16be(&p->b, (uint16_t)n);
}

static inline void packet_address(struct packet *p, const char *owner, uint32_t ttl_s,
				  const char *address)
{
	struct addr a;
	ENSURE(addr_parse(str_of(address), &a));
	packet_record(p, owner, addr_bytes(&a) == 4 ? 1 : 28, ttl_s, addr_bytes(&a));
	buf_add(&p->b, a.b, addr_bytes(&a));
	p->answers++;
}

static inline void packet_alias(struct packet *p, const char *owner, uint32_t ttl_s,
				const char *target)
{
	packet_record(p, owner, 5, ttl_s, strlen(target) + 2);
	packet_name(p, str_of(target));
	p->answers++;
}

static inline void packet_soa(struct packet *p, const char *zone, uint32_t ttl_s, uint32_t minimum)
{
	packet_record(p, zone, 6, ttl_s, 1 + 1 + 16 + 4);
	buf_fill(&p->b, 0, 2 + 16);
	put_u32be(&p->b, minimum);
	p->authority++;
}

/* Writes the numbers of records where they belong. */
static inline struct str packet_end(struct packet *p)
{
	const uint16_t count[] = {p->answers, p->authority};
	for (size_t i = 0; i < 2; i++) {
		p->b.p[6 + 2 * i] = (char)(count[i] >> 8);
		p->b.p[7 + 2 * i] = (char)count[i];
	}
	return buf_str(&p->b);
}
