/* The loop of the role `broker`: a collector until a signal comes, opened again after a failure. */
#include "broker/broker_role.h"

#include "base/clock.h"
#include "base/log.h"
#include "role/notify.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum { AGAIN_MIN_US = 1000000, AGAIN_MAX_US = 60000000 };
enum { DRAIN_US = 5000000 }; /* for answers that are being sent when the role ends */

static bool signal_ended(int signals)
{
	struct signalfd_siginfo info;
	while (read(signals, &info, sizeof info) == (ssize_t)sizeof info)
		if (info.ssi_signo != SIGHUP)
			return true;
	return false;
}

/* Negative and not *ret_ended: a store failed before a signal came. */
static int collect_until_signal(struct collector *c, int signals, unsigned *failures,
				bool *ret_ended, struct err *err)
{
	while (!signal_ended(signals)) {
		int rc = collector_step(c, clock_mono_us(), err);
		if (rc < 0)
			return -1;
		*failures = 0;
		if (collector_trouble(c, err) == 0)
			log_error(COLLECTOR, "merging or compacting failed, will be tried again",
				  KV_TEXT("why", err->msg));
		if (rc > 0)
			collector_wait(c, signals, INT64_MAX);
	}
	*ret_ended = true;
	notify_send("STOPPING=1");
	return collector_commit(c, err);
}

/* 1: a signal came first. */
static int pause_until(int signals, int64_t until_us)
{
	while (clock_mono_us() < until_us) {
		if (signal_ended(signals))
			return 1;
		usleep(100000);
	}
	return 0;
}

static int collect(const struct collector_options *options, struct err *err)
{
	struct collector_options now = *options; /* cursors are forgotten once */
	sigset_t set;
	unsigned failures = 0;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	int signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK), rc;
	if (signals < 0)
		return err_sys(err, "signalfd");
	for (bool ready = false;; ready = true) {
		struct collector *c = NULL;
		bool ended = false;
		rc = collector_open(&c, &now, err);
		if (rc < 0 && !ready)
			break; /* what is wrong from the start is for a person to mend */
		if (!ready)
			notify_send("READY=1\nSTATUS=collecting");
		if (rc == 0) {
			now.forget = false;
			rc = collect_until_signal(c, signals, &failures, &ended, err);
		}
		collector_close(&c);
		if (rc == 0 || ended)
			break;
		int64_t wait_us = backoff_us(++failures, AGAIN_MIN_US, AGAIN_MAX_US);
		log_error(COLLECTOR, "collecting failed, will be tried again",
			  KV_TEXT("why", err->msg), KV_INT("seconds", wait_us / US_PER_S));
		if (pause_until(signals, clock_mono_us() + wait_us) != 0) {
			rc = 0;
			break;
		}
	}
	(void)close(signals);
	return rc;
}

int broker_run(const struct collector_options *options, const struct port_options *port,
	       int listen_fd, struct err *err)
{
	struct port *serves = NULL;
	if (listen_fd >= 0 && port_start(&serves, port, listen_fd, err) < 0)
		return -1;
	int rc = collect(options, err);
	port_stop(&serves, DRAIN_US);
	return rc;
}
