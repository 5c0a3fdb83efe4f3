/* The smallest source there can be: an array. Its cursor is how many were returned. */
#include "support/source_list.h"

#include "base/cursor.h"
#include "base/list.h"
#include "base/vec.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <unistd.h>

struct source_list {
	struct source_change *change;
	size_t n, room;
	uint64_t id; /* a cursor of another list is refused by it */
	struct arena arena;
	struct link followers;
};

struct follower {
	struct source source;
	struct source_list *list;
	struct link link;
	size_t at;
	int fd; /* eventfd */
};

struct source_list *source_list_new(void)
{
	struct source_list *list = mem_alloc(sizeof *list);
	list->arena = ARENA_INIT(SIZE_MAX);
	list_init(&list->followers);
	while (list->id == 0)
		if (getrandom(&list->id, sizeof list->id, 0) < 0)
			die("no random bytes");
	return list;
}

void source_list_add(struct source_list *list, const struct source_change *change)
{
	*VEC_PUSH(list->change, list->n, list->room) = (struct source_change){
		.op = change->op,
		.reason = arena_str(&list->arena, change->reason),
		.obj = soif_copy(&list->arena, &change->obj),
	};
	LIST_EACH (struct follower, f, &list->followers, link)
		(void)eventfd_write(f->fd, 1);
}

void source_list_free(struct source_list **list)
{
	if (!*list)
		return;
	ENSURE(list_is_empty(&(*list)->followers));
	arena_free(&(*list)->arena);
	mem_free(&(*list)->change);
	mem_free(list);
}

static int list_open(struct source **ret, const void *store, const struct source_cursor *from,
		     struct err *err)
{
	struct source_list *list = (struct source_list *)store; /* it knows its followers */
	struct reader r = reader_of((struct str){(const char *)from->b, sizeof from->b});
	uint64_t at = reader_u64le(&r), id = reader_u64le(&r);
	if (id != (at ? list->id : 0))
		return err_set(err, ERR_USAGE, "not a cursor of this list");
	if (at > list->n)
		return err_set(err, ERR_USAGE, "a cursor after %llu changes, but there are %zu",
			       (unsigned long long)at, list->n);
	int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd < 0)
		return err_sys(err, "eventfd");
	struct follower *f = mem_alloc(sizeof *f);
	*f = (struct follower){
		.source.ops = &source_list_ops, .list = list, .at = (size_t)at, .fd = fd};
	list_append(&list->followers, &f->link);
	*ret = &f->source;
	return 0;
}

static int list_next(struct source *s, struct arena *arena, struct source_change *ret,
		     struct err *err)
{
	(void)arena;
	(void)err;
	struct follower *f = (struct follower *)s;
	if (f->at == f->list->n) {
		eventfd_t ignored;
		(void)eventfd_read(f->fd, &ignored);
		return 1;
	}
	*ret = f->list->change[f->at++];
	return 0;
}

static void list_cursor(struct source *s, struct source_cursor *ret)
{
	struct buf b = BUF_INIT(sizeof ret->b);
	const struct follower *f = (struct follower *)s;
	put_u64le(&b, f->at);
	put_u64le(&b, f->at ? f->list->id : 0);
	*ret = (struct source_cursor){0};
	memcpy(ret->b, b.p, b.n);
	buf_free(&b);
}

static int list_wait_fd(struct source *s)
{
	return ((struct follower *)s)->fd;
}

static void list_close(struct source **s)
{
	struct follower *f = (struct follower *)*s;
	list_remove(&f->link);
	close(f->fd);
	mem_free(&f);
	*s = NULL;
}

const struct source_ops source_list_ops = {.name = "list",
					   .open = list_open,
					   .next = list_next,
					   .cursor = list_cursor,
					   .wait_fd = list_wait_fd,
					   .close = list_close};
