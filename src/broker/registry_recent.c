/* What came since the tables were written: an entry for each record, in the order of the file,
 * chained by URL, MD5 and oid. An entry whose record does not count any more leaves its chains and
 * keeps its neighbours, so that a lookup meets living ones alone, however often an object changed.
 * Taking entries back (what was not committed is given up), newest first, puts each into its place
 * again. A record that does not count any more is in the set `dead`, wherever it lies. */
#include "base/vec.h"
#include "broker/registry_inner.h"

bool registry_entry_listed(const struct registry_entry *e, enum registry_list list)
{
	return !e->tombstone && (list == REGISTRY_BY_URL || (list == REGISTRY_BY_MD5 && e->md5) ||
				 (list == REGISTRY_BY_OID && e->oid));
}

uint64_t registry_entry_key(const struct registry_entry *e, enum registry_list list)
{
	return list == REGISTRY_BY_OID ? e->oid : e->key[list];
}

/* Makes the neighbours of entry i, counted from 1, meet in it; `out`: each other instead. */
static void entry_chain(struct registry_recent *recent, uint32_t i, bool out)
{
	const struct registry_entry *e = &recent->entry[i - 1];
	for (enum registry_list list = 0; list < REGISTRY_LISTS; list++) {
		if (!registry_entry_listed(e, list))
			continue;
		struct registry_chain *chain =
			registry_keys_put(&recent->chain[list], registry_entry_key(e, list));
		uint32_t before = e->before[list], after = e->after[list];
		*(before ? &recent->entry[before - 1].after[list] : &chain->first) =
			out ? after : i;
		*(after ? &recent->entry[after - 1].before[list] : &chain->last) = out ? before : i;
		if (!chain->first)
			registry_keys_remove(&recent->chain[list], registry_entry_key(e, list));
	}
}

/* The entry of the record at an offset, counted from 1; 0: it is in the tables. */
static uint32_t entry_at(const struct registry_recent *recent, uint64_t at)
{
	size_t i = BISECT(k, 0, recent->n, recent->entry[k].at < at);
	return i < recent->n && recent->entry[i].at == at ? (uint32_t)i + 1 : 0;
}

void registry_recent_add(struct registry_recent *recent, const struct registry_raw *raw,
			 const struct registry_raw *killed)
{
	const struct registry_object *o = &raw->object;
	struct registry_entry e = {.at = raw->at,
				   .oid = o->oid,
				   .tombstone = raw->tombstone,
				   .md5 = o->md5.n > 0,
				   .kills = killed ? killed->at : 0,
				   .killed_oid = killed ? killed->object.oid : 0,
				   .killed_md5 = killed && killed->object.md5.n > 0};
	e.key[REGISTRY_BY_URL] = registry_url_key(o->url);
	if (e.md5)
		e.key[REGISTRY_BY_MD5] =
			registry_md5_key(o->gatherer_name, o->gatherer_host, o->md5, o->oid);
	ENSURE(recent->n < UINT32_MAX - 1);
	uint32_t kills = e.kills ? entry_at(recent, e.kills) : 0;
	if (kills)
		entry_chain(recent, kills, true);
	if (e.kills)
		*registry_dead_put(&recent->dead, e.kills) = 1;
	for (enum registry_list list = 0; list < REGISTRY_LISTS; list++) {
		const struct registry_chain *chain =
			registry_entry_listed(&e, list)
				? registry_keys_get(&recent->chain[list],
						    registry_entry_key(&e, list))
				: NULL;
		e.before[list] = chain ? chain->last : 0;
	}
	size_t room = recent->room;
	*VEC_PUSH(recent->entry, recent->n, recent->room) = e;
	if (recent->room != room)
		log_debug(HASH, 5, "the tables in memory grow", KV_UINT("entries", recent->n),
			  KV_UINT("room", recent->room));
	entry_chain(recent, (uint32_t)recent->n, false);
}

void registry_recent_undo(struct registry_recent *recent, size_t to)
{
	while (recent->n > to) {
		uint64_t kills = recent->entry[recent->n - 1].kills;
		entry_chain(recent, (uint32_t)recent->n--, true);
		if (!kills)
			continue;
		registry_dead_remove(&recent->dead, kills);
		uint32_t killed = entry_at(recent, kills);
		if (killed)
			entry_chain(recent, killed, false);
	}
}

void registry_recent_find(const struct registry_recent *recent, enum registry_list list,
			  uint64_t key, size_t most, struct registry_offsets *ret)
{
	const struct registry_chain *chain = registry_keys_get(&recent->chain[list], key);
	uint32_t i = chain ? chain->first : 0;
	for (; i && most; i = recent->entry[i - 1].after[list], most--)
		*VEC_PUSH(ret->at, ret->n, ret->room) = recent->entry[i - 1].at;
}

void registry_recent_free(struct registry_recent *recent)
{
	for (enum registry_list list = 0; list < REGISTRY_LISTS; list++)
		registry_keys_free(&recent->chain[list]);
	registry_dead_free(&recent->dead);
	mem_free(&recent->entry);
	*recent = (struct registry_recent){0};
}
