/* Checkpoints: lengths of files that belong together, in the file `checkpoints` of a state. It has
 * three slots and never grows, so that making a checkpoint durable costs one write and no change of
 * the file system's own books. Two slots take turns, each written and synced before a checkpoint
 * counts; the third is written after that and tells followers, who so see nothing that may
 * disappear. A state is born with checkpoint 0, the lengths at its beginning. Layout:
 * doc/formats/checkpoints.md. For this room. */
#pragma once
#include "base/file.h"
#include "state/state.h"

/* The file whole, with this one checkpoint; durable. */
int checkpoint_create(const char *folder, const struct checkpoint *c, struct err *err);
int checkpoint_open(struct file *f, const char *folder, struct err *err); /* to write */
/* Durable when it returns 0. */
int checkpoint_note(struct file *f, const struct checkpoint *c, struct err *err);
/* Followers see it. */
int checkpoint_show(struct file *f, const struct checkpoint *c, struct err *err);

/* The newest in a state's folder. 1: so it is, but a slot is torn or damaged, or followers have not
 * been told: checkpoint_create() mends that. ERR_DAMAGED: the file is lost, or no slot can be read.
 */
int checkpoint_last(const char *folder, struct checkpoint *ret, struct err *err);
/* The one that followers see. */
int checkpoint_shown(const char *folder, struct checkpoint *ret, struct err *err);
