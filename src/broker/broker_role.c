/* The loop of the role `broker`: a collector until a signal or an order of the administrator ends
 * it, opened again after a failure. */
#include "broker/broker_role.h"

#include "base/clock.h"
#include "base/log.h"
#include "role/notify.h"

#include <signal.h>
#include <stdatomic.h>
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

/* What the loop looks at between two steps. */
struct collect_loop {
	int signals;
	struct control *control;
	bool ended; /* by a signal or an order */
	bool again; /* by the order to start again */
	unsigned failures;
};

/* Signals, then what the administrator wants; c is NULL where there is no collector. Negative: a
 * store failed. */
static int hear_all(struct collect_loop *l, struct collector *c, struct err *err)
{
	enum control_then then;
	l->ended = signal_ended(l->signals);
	if (l->ended)
		return 0;
	int rc = control_run(l->control, c, &then, err);
	l->ended = then != CONTROL_GO_ON;
	l->again = then == CONTROL_THEN_RESTART;
	return rc;
}

/* Negative and not l->ended: a store failed before. */
static int collect_until_end(struct collect_loop *l, struct collector *c, struct err *err)
{
	const int fd[] = {l->signals, control_fd(l->control)};
	for (;;) {
		int rc = hear_all(l, c, err);
		if (rc == 0 && l->ended)
			break;
		if (rc == 0)
			rc = collector_step(c, clock_mono_us(), err);
		if (rc < 0)
			return -1;
		l->failures = 0;
		if (collector_trouble(c, err) == 0)
			log_error(COLLECTOR, "merging or compacting failed; will retry",
				  KV_TEXT("why", err->msg));
		if (rc > 0)
			collector_wait(c, fd, ARRAY_LEN(fd), INT64_MAX);
	}
	if (!l->again)
		notify_send("STOPPING=1");
	return collector_commit(c, err);
}

static void pause_until(struct collect_loop *l, int64_t until_us)
{
	struct err ignored;
	while (!l->ended && clock_mono_us() < until_us) {
		(void)hear_all(l, NULL, &ignored);
		usleep(100000);
	}
}

static int collect_all(const struct broker_role_options *options, struct err *err)
{
	struct collector_options now = options->collector; /* cursors are forgotten once */
	struct collect_loop l = {.control = options->control};
	sigset_t set;
	int rc;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	l.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (l.signals < 0)
		return err_sys(err, "signalfd");
	for (bool ready = false;; ready = true) {
		struct collector *c = NULL;
		rc = collector_open(&c, &now, err);
		if (rc < 0 && !ready)
			break; /* what is wrong from the start is for a person to mend */
		if (!ready)
			notify_send("READY=1\nSTATUS=collecting");
		if (rc == 0) {
			now.forget = false;
			rc = collect_until_end(&l, c, err);
		}
		collector_close(&c);
		if (rc == 0 || l.ended)
			break;
		int64_t wait_us = backoff_us(++l.failures, AGAIN_MIN_US, AGAIN_MAX_US);
		log_error(COLLECTOR, "collecting failed; will retry", KV_TEXT("why", err->msg),
			  KV_INT("seconds", wait_us / US_PER_S));
		pause_until(&l, clock_mono_us() + wait_us);
		if (l.ended) {
			rc = 0;
			break;
		}
	}
	(void)close(l.signals);
	return rc == 0 && l.again ? 1 : rc;
}

static int64_t admin_of_port(void *ctx, const struct request *request, const char *peer,
			     struct buf *out)
{
	return admin_run(ctx, request, peer, out);
}

/* Both ends of the port wait for nobody: orders are refused first. */
static int serve_and_collect(const struct broker_role_options *options, struct search *search,
			     struct err *err)
{
	struct port *port = NULL;
	atomic_int_fast64_t life_us = options->lifetime_us;
	struct port_options serves = options->port;
	struct admin *admin = admin_new(&(struct admin_options){
		.data = options->collector.data,
		.password = options->password,
		.control = options->control,
		.search = search,
		.events = options->collector.events,
		.life_us = &life_us,
	});
	serves.life_us = &life_us;
	serves.admin = admin_of_port;
	serves.admin_ctx = admin;
	control_again(options->control);
	int rc = options->listen_fd >= 0 ? port_start(&port, &serves, options->listen_fd, err) : 0;
	if (rc == 0)
		rc = collect_all(options, err);
	control_end(options->control);
	admin_stop(admin);
	port_stop(&port, DRAIN_US);
	admin_free(&admin);
	return rc;
}

int broker_run(const struct broker_role_options *options, struct err *err)
{
	struct search *search = search_open(options->collector.data);
	log_debug(BROKER, 1, "the broker starts", KV_TEXT("data", options->collector.data),
		  KV_UINT("feeds", options->collector.n));
	int rc = serve_and_collect(options, search, err);
	log_debug(BROKER, 1, "the broker ends", KV_TEXT("how", rc < 0 ? err->msg : "in order"));
	search_close(&search);
	return rc;
}
