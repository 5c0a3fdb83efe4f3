/* What came since the tables were written: an entry for each record, in the order of the file,
 * chained by URL, MD5 and oid. The chains begin with the newest entry, so that taking entries back
 * (what was not committed is given up) is popping them, newest first. A record that does not count
 * any more is in the set `dead`, wherever it lies. */
#include "base/vec.h"
#include "broker/registry_inner.h"

static bool entry_listed(const struct registry_entry *e, enum registry_list list)
{
	return !e->tombstone && (list == REGISTRY_BY_URL || (list == REGISTRY_BY_MD5 && e->md5) ||
				 (list == REGISTRY_BY_OID && e->oid));
}

static uint64_t entry_key(const struct registry_entry *e, enum registry_list list)
{
	return list == REGISTRY_BY_OID ? e->oid : e->key[list];
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
			registry_md5_key(o->gatherer_name, o->gatherer_host, o->md5);
	ENSURE(recent->n < UINT32_MAX - 1);
	for (enum registry_list list = 0; list < REGISTRY_LISTS; list++)
		if (entry_listed(&e, list)) {
			uint32_t *last =
				registry_keys_put(&recent->last[list], entry_key(&e, list));
			e.before[list] = *last;
			*last = (uint32_t)recent->n + 1;
		}
	*VEC_PUSH(recent->entry, recent->n, recent->room) = e;
	if (e.kills)
		*registry_dead_put(&recent->dead, e.kills) = 1;
}

void registry_recent_undo(struct registry_recent *recent, size_t to)
{
	while (recent->n > to) {
		const struct registry_entry *e = &recent->entry[--recent->n];
		for (enum registry_list list = 0; list < REGISTRY_LISTS; list++)
			if (entry_listed(e, list) && e->before[list])
				*registry_keys_put(&recent->last[list], entry_key(e, list)) =
					e->before[list];
			else if (entry_listed(e, list))
				registry_keys_remove(&recent->last[list], entry_key(e, list));
		if (e->kills)
			registry_dead_remove(&recent->dead, e->kills);
	}
}

void registry_recent_find(const struct registry_recent *recent, enum registry_list list,
			  uint64_t key, struct registry_offsets *ret)
{
	const uint32_t *last = registry_keys_get(&recent->last[list], key);
	size_t from = ret->n;
	for (uint32_t i = last ? *last : 0; i; i = recent->entry[i - 1].before[list])
		*VEC_PUSH(ret->at, ret->n, ret->room) = recent->entry[i - 1].at;
	for (size_t a = from, b = ret->n; a + 1 < b; a++, b--) {
		uint64_t at = ret->at[a];
		ret->at[a] = ret->at[b - 1];
		ret->at[b - 1] = at;
	}
}

void registry_recent_free(struct registry_recent *recent)
{
	for (enum registry_list list = 0; list < REGISTRY_LISTS; list++)
		registry_keys_free(&recent->last[list]);
	registry_dead_free(&recent->dead);
	mem_free(&recent->entry);
	*recent = (struct registry_recent){0};
}
