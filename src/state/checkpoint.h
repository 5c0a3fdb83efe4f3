/* Checkpoints: lengths of files that belong together, noted twice. `last` has the newest in one of
 * two slots of a file that does not grow, so that making it durable costs one write and no change
 * of the file system's own books; `checkpoints` is a log of all of them, written when the slot is
 * durable, so followers who read it see nothing that may disappear. Either of the two is enough
 * after a crash, or when the other is damaged. Layouts: doc/formats/checkpoints.md, last.md. For
 * state*.c and recover*.c. */
#pragma once
#include "base/file.h"
#include "state/state.h"

/* A writer; {0} with last.fd -1 is closed. */
struct checkpoint_notes {
	struct record_writer *log;
	struct record_group group;
	struct file last;
};
#define CHECKPOINT_NOTES_INIT ((struct checkpoint_notes){.last = FILE_INIT})

int checkpoint_open(struct checkpoint_notes *n, const char *folder, struct err *err);
/* Durable in `last` when it returns 0. */
int checkpoint_note(struct checkpoint_notes *n, const struct checkpoint *c, struct err *err);
/* In the log, for followers. */
int checkpoint_show(struct checkpoint_notes *n, const struct checkpoint *c, struct err *err);
int checkpoint_close(struct checkpoint_notes *n, struct err *err); /* both durable */
void checkpoint_drop(struct checkpoint_notes *n);                  /* without syncing */

/* The newest of both in a state's folder. 1: there is none. ERR_DAMAGED: neither can be read. */
int checkpoint_last(const char *folder, struct checkpoint *ret, struct err *err);
/* As followers see it: of the log. */
int checkpoint_shown(const char *folder, struct checkpoint *ret, struct err *err);
/* As `last` has it. */
int checkpoint_noted(const char *folder, struct checkpoint *ret, struct err *err);
