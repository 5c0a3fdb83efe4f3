/* Intrusive lists: rings of links that lie inside of what is listed, with a head of the same type.
 * A link that is all zero is in no list; removing it again does nothing.
 *
 *   struct job { struct link link; ... };
 *   struct link jobs; list_init(&jobs);
 *   list_append(&jobs, &job->link);
 *   LIST_EACH(struct job, job, &jobs, link)
 *           if (job->done)
 *                   list_remove(&job->link);
 */
#pragma once
#include "base/base.h"

struct link {
	struct link *next, *prev;
};

#define LIST_OF(type, ptr, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))
/* The element may be removed, or freed, while it is looked at; no other. */
#define LIST_EACH(type, var, head, member)                                           \
	for (struct link *var##_at = (head)->next, *var##_next;                      \
	     var##_next = var##_at->next, var##_at != (head); var##_at = var##_next) \
		for (type *var = LIST_OF(type, var##_at, member); var; var = NULL)
/* NULL: the list is empty. */
#define LIST_FIRST(type, head, member) \
	(list_is_empty(head) ? NULL : LIST_OF(type, (head)->next, member))
#define LIST_LAST(type, head, member) \
	(list_is_empty(head) ? NULL : LIST_OF(type, (head)->prev, member))

static inline void list_init(struct link *head)
{
	head->next = head->prev = head;
}
static inline bool list_is_empty(const struct link *head)
{
	return head->next == head;
}
static inline bool list_has(const struct link *link) /* it is in some list */
{
	return link->next;
}
static inline void list_insert_after(struct link *at, struct link *link)
{
	ENSURE(!link->next);
	link->prev = at;
	link->next = at->next;
	at->next->prev = link;
	at->next = link;
}
static inline void list_prepend(struct link *head, struct link *link)
{
	list_insert_after(head, link);
}
static inline void list_append(struct link *head, struct link *link)
{
	list_insert_after(head->prev, link);
}
static inline void list_remove(struct link *link)
{
	if (!link->next)
		return;
	link->prev->next = link->next;
	link->next->prev = link->prev;
	link->next = link->prev = NULL;
}
