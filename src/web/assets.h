/* Files that pages load, as they lie in web/, inside the program. */
#pragma once
#include "net/http.h"

int web_style(struct http_request *req, struct http_answer *ret, struct err *err);
int web_status_js(struct http_request *req, struct http_answer *ret, struct err *err);
