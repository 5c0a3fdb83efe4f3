/* The roles of garner, in the order in which help names them. Each is defined by its room. */
#include "archie/master_role.h"
#include "archie/ng_role.h"
#include "archie/prospero_role.h"
#include "cache/qm.h"
#include "cache/rs.h"
#include "cache/uns.h"
#include "cmd/archie/role_archie.h"
#include "cmd/archie/role_queuer.h"
#include "cmd/archie/role_telnet.h"
#include "cmd/command.h"
#include "cmd/index/role_broker.h"
#include "fetch/bot.h"
#include "fetch/botm.h"
#include "fetch/spider.h"
#include "fetch/urlserver.h"
#include "shepherd/master.h"
#include "shepherd/reapd.h"
#include "web/docs.h"
#include "web/web.h"

/* clang-format off */
const struct role *const roles[] = {
	&docs_role,
	&shepherd_role,
	&reapd_role,
	&bot_role,
	&urlserver_role,
	&spider_role,
	&botm_role,
	&qm_role,
	&uns_role,
	&archie_getter_role,
	&archie_queuer_role,
	&archie_ng_role,
	&archie_prospero_role,
	&archie_telnet_role,
	&archie_master_role,
	&rs_role,
	&broker_role,
	&web_role,
	NULL,
};
/* clang-format on */
const size_t nroles = ARRAY_LEN(roles) - 1;
