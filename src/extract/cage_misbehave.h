/* A worker that tries what it must not, for the scene that proves the cage. In builds without fault
 * points there is no such thing. */
#pragma once
#include "extract/extract.h"

/* Which fault points are armed: parse.socket, parse.file, parse.memory, parse.body, parse.cpu,
 * parse.lie, parse.crash, parse.letter, parse.line, parse.bytes, parse.idle, parse.leave, each with
 * the action "slow". 0: none, and nothing is done. */
unsigned misbehaviours(void);
/* Tries them, one after the other; what comes of it is a remark in the output. */
void misbehave(unsigned which, const struct extract_job *job, struct out *out,
	       struct extract_result *ret);
/* Before it waits for documents. */
void misbehave_idle(unsigned which);
