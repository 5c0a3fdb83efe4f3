/* Parts of all pages, and the pages open to anyone: home and registration. No page needs a script;
 * pages that may show a password are sent with no-store. */
#include "base/clock.h"
#include "cache/rs/rs_inner.h"
#include "net/layout.h"

#include <inttypes.h>
#include <stdio.h>

void rs_page_begin(struct html *h, const char *title)
{
	char full[100];
	snprintf(full, sizeof full, "%s - garner", title);
	layout_begin(h, full, NULL);
	layout_home(h, false);
	layout_main(h);
	html_put_text(h, "h1", title);
}

void rs_page_end(struct html *h)
{
	static const struct layout_link links[] = {
		{"/", "Register"},
		{"/provider", "My page"},
		{"/provider/receipts", "Receipts"},
	};
	layout_end(h, links, ARRAY_LEN(links));
}

void rs_put_time(struct html *h, int64_t wall_us)
{
	CLEANUP(buf_free) struct buf text = BUF_INIT(64);
	if (!wall_us) {
		html_text(h, "now");
		return;
	}
	time_print(&text, wall_us, 0);
	html_open(h, "time");
	html_attr(h, "datetime", buf_str(&text));
	html_str(h, str_head(buf_str(&text), 10));
	html_text(h, " ");
	html_str(h, str_head(str_from(buf_str(&text), 11), 8));
	html_close(h, "time");
}

void rs_form(struct html *h, const char *action)
{
	html_open(h, "form", "class", "fill", "method", "post", "action", action);
}

void rs_field(struct html *h, const char *name, const char *label, const char *value,
	      const char *help)
{
	html_open(h, "label");
	html_text(h, label);
	html_open(h, "input", "name", name, "value", value, "autocapitalize", "none", "spellcheck",
		  "false");
	html_put_text(h, "span", help, "class", "dim");
	html_close(h, "label");
}

void rs_form_end(struct html *h, const char *button)
{
	html_put_text(h, "button", button, "type", "submit");
	html_close(h, "form");
}

void rs_put_way(struct html *h, const char *href, const char *text)
{
	html_open(h, "p");
	html_put_text(h, "a", text, "href", href);
	html_close(h, "p");
}

int rs_page_act(struct http_request *req, struct http_answer *ret, struct err *err)
{
	const struct rs_act *act = req->route->with;
	struct html h = HTML_INIT(ret->body);
	struct rs_made made = {0};
	int rc = act->work(req, &made, err);
	if (rc < 0 || rc == RS_LATER)
		return rc < 0 ? -1 : HTTP_LATER;
	if (rc == RS_DONE && !act->put) {
		ret->status = 303;
		http_answer_header(req, ret, "Location", STR("/provider"));
		return 0;
	}
	ret->cache = "no-store";
	rs_page_begin(&h, rc == RS_DONE ? act->done : act->refused);
	if (rc == RS_DONE) {
		act->put(&h, req, &made);
	} else {
		ret->status = made.status;
		layout_note(&h, "note bad", made.text);
		rs_put_way(&h, req->who ? "/provider" : "/", req->who ? "To my page" : "Try again");
	}
	rs_page_end(&h);
	return 0;
}

static void put_steps(struct html *h, const struct rs *rs)
{
	CLEANUP(buf_free) struct buf time = BUF_INIT(100);
	int64_t expiry_us = rs->conf->expiry_us;
	if (expiry_us % US_PER_DAY == 0 && expiry_us > US_PER_DAY)
		buf_printf(&time, "%" PRId64 " days", expiry_us / US_PER_DAY);
	else
		duration_print_short(&time, expiry_us);
	html_open(h, "ol");
	html_put_text(
		h, "li",
		"Register below. You get a number, a password and a secret. Write them down.");
	html_open(h, "li");
	html_printf(
		h,
		"Put the secret into a file on your site, as high in its tree as you can, within "
		"%s.",
		buf_text(&time));
	html_close(h, "li");
	html_open(h, "li");
	html_text(h, "Enter the address of the file on ");
	html_put_text(h, "a", "your page", "href", "/provider");
	html_text(h, ". It is fetched at once. Its folder and everything below it are then yours, "
		     "and you may remove the file.");
	html_close(h, "li");
	html_open(h, "li");
	html_text(h, "Announce changes with the program ");
	html_put_text(h, "code", "garner provider");
	html_text(h, ". Only those pages are fetched, at your hours and no faster than you allow.");
	html_close(h, "li");
	html_close(h, "ol");
}

int rs_page_home(struct http_request *req, struct http_answer *ret, struct err *err)
{
	struct html h = HTML_INIT(ret->body);
	(void)err;
	rs_page_begin(&h, "Tell the cache what changed");
	html_put_text(&h, "p",
		      "This cache keeps copies of pages whose owners announce changes, so it need "
		      "not crawl them again and again. To become such an owner:");
	put_steps(&h, rs_of(req));
	html_put_text(&h, "h2", "Register");
	rs_form(&h, "/register");
	rs_field(&h, "site", "Site", "", "its URL, or its name, for the operator");
	rs_field(&h, "mail", "Mail", "", "where the operator reaches you; may be left empty");
	layout_tick(&h, "tick", "send", "yes", "mail number, password and secret to this address",
		    false);
	rs_form_end(&h, "Register");
	html_open(&h, "p");
	html_text(&h, "Already registered? Go to ");
	html_put_text(&h, "a", "your page", "href", "/provider");
	html_text(&h, "; log in with your number as the name.");
	html_close(&h, "p");
	rs_page_end(&h);
	return 0;
}

void rs_put_key(struct html *h, const char *name, const char *value)
{
	html_put_text(h, "dt", name);
	html_open(h, "dd");
	html_put_text(h, "code", value);
	html_close(h, "dd");
}

static void put_registered(struct html *h, struct http_request *req, const struct rs_made *done)
{
	html_open(h, "dl", "class", "keys");
	rs_put_key(h, "Number", arena_printf(&req->arena, "%" PRIu64, done->provider));
	rs_put_key(h, "Password", done->password);
	rs_put_key(h, "Secret", done->secret);
	html_close(h, "dl");
	if (done->mailed)
		layout_note(h, "note", "All three were mailed as well.");
	else if (done->not_mailed)
		layout_note(
			h, "note bad",
			arena_printf(&req->arena, "They were not mailed: %s.", done->not_mailed));
	html_put_text(h, "h2", "What to do now");
	html_open(h, "ol");
	html_put_text(h, "li", "Write the number and the password down: they are not shown again.");
	html_open(h, "li");
	html_text(h, "Put the secret into a file on your site: these 32 characters, perhaps a line "
		     "end, and nothing else. For example: ");
	html_open(h, "code");
	html_printf(h, "printf %%s %s > garner.txt", done->secret);
	html_close(h, "code");
	html_close(h, "li");
	html_open(h, "li");
	html_text(h, "To continue with the program on your machine, put the password into a file "
		     "there and run once ");
	html_open(h, "code");
	html_printf(h, "garner provider register --id %" PRIu64 " --password-file FILE",
		    done->provider);
	html_close(h, "code");
	html_text(h, ".");
	html_close(h, "li");
	html_open(h, "li");
	html_text(h, "Before ");
	rs_put_time(h, done->expires_us);
	html_text(h, " UTC, enter the URL of the file on ");
	html_put_text(h, "a", "your page", "href", "/provider");
	html_text(h, ", or run ");
	html_put_text(h, "code", "garner provider verify URL");
	html_text(h, ". The browser asks you to log in: your number is the name.");
	html_close(h, "li");
	html_close(h, "ol");
}

const struct rs_act rs_act_register = {rs_register, "Not registered", "You are registered",
				       put_registered};
