#!/usr/bin/python3
"""reap_tree.py FOLDER PAGES ADDRESSES PORT: a tree for crawlers to be compared on: PAGES pages of about
20 KB, 30 links each, all reached from the first; words as frequent as words are. Page N is
FOLDER/www/N//50/N.html, and its section of 50 pages belongs to one of the addresses 127.0.3.1 and so on,
so that each page has one URL. FOLDER/nginx.conf serves it, FOLDER/spider.py is the same crawl for Scrapy.
Prints the first URL."""
import os
import random
import sys

SECTION, SIZE, LINKS = 50, 20000, 30
SYLLABLES = [a + b for a in ("b", "d", "f", "gr", "k", "l", "m", "n", "p", "r", "st", "t", "v", "w")
             for b in ("a", "e", "i", "o", "u", "an", "er", "in", "ol")]


def make_words(pick):
    """Many words, and how often each is used: by Zipf's law."""
    words = sorted({"".join(pick.choices(SYLLABLES, k=pick.choice((1, 2, 2, 3, 3, 4))))
                    for _ in range(20000)})
    pick.shuffle(words)
    total, frequency = 0, []
    for i in range(len(words)):
        total += 1 / (i + 3)
        frequency.append(total)
    return words, frequency


def targets(pick, number, pages):
    """Kids in a tree over all pages, then mostly pages of the same section."""
    begin = number - number % SECTION
    size = min(SECTION, pages - begin)
    found = {kid for kid in range(8 * number + 1, 8 * number + 9) if kid < pages}
    for _ in range(2 * LINKS):
        if len(found) >= LINKS:
            break
        found.add(begin + pick.randrange(size) if pick.random() < 0.75 else pick.randrange(pages))
    found.discard(number)
    return sorted(found)


def make_page(seed, words, frequency, links):
    pick = random.Random(seed)

    def some(n):
        return " ".join(pick.choices(words, cum_weights=frequency, k=n))

    out = [f"<!DOCTYPE html>\n<html lang=en><head><meta charset=utf-8><title>{some(4)}</title>"
           f"</head>\n<body><h1>{some(4)}</h1>\n<ul>\n"]
    out += [f"<li><a href=\"{link}\">{some(3)}</a></li>\n" for link in links]
    out.append("</ul>\n")
    size = sum(map(len, out))
    while size < SIZE:
        out.append(f"<p>{some(20)}. <b>{some(2)}</b> {some(30)}.</p>\n")
        size += len(out[-1])
    return "".join(out) + "</body></html>\n"


def main(folder, pages, addresses, port):
    words, frequency = make_words(random.Random(1))

    def address(number):
        return f"127.0.3.{number // SECTION % addresses + 1}"

    def url(number):
        return f"http://{address(number)}:{port}/{number // SECTION}/{number}.html"

    for number in range(pages):
        links = [f"{n}.html" if n // SECTION == number // SECTION else url(n)
                 for n in targets(random.Random(number), number, pages)]
        place = f"{folder}/www/{number // SECTION}"
        os.makedirs(place, exist_ok=True)
        with open(f"{place}/{number}.html", "w", encoding="ascii") as f:
            f.write(make_page(number, words, frequency, links))
    with open(f"{folder}/www/robots.txt", "w", encoding="ascii") as f:
        f.write("User-agent: *\nDisallow: /private/\n")
    listen = "".join(f"listen 127.0.3.{i + 1}:{port} backlog=1024; " for i in range(addresses))
    temporary = "".join(f"{kind}_temp_path {folder}/tmp; "
                        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    os.makedirs(f"{folder}/tmp", exist_ok=True)
    with open(f"{folder}/nginx.conf", "w", encoding="ascii") as f:
        f.write(f"""worker_processes 1; daemon off; pid {folder}/pid; error_log {folder}/error crit;
events {{ worker_connections 4000; }}
http {{
	access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000000;
	types {{ text/html html; text/plain txt; }}
	{temporary}
	server {{ {listen} root {folder}/www; }}
}}
""")
    with open(f"{folder}/spider.py", "w", encoding="ascii") as f:
        f.write(f"""import scrapy
class Tree(scrapy.Spider):
    name = "tree"
    start_urls = ["{url(0)}"]
    custom_settings = {{"CONCURRENT_REQUESTS": 64, "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
                       "LOG_ENABLED": False, "ROBOTSTXT_OBEY": True}}
    pages = 0
    def parse(self, response):
        self.pages += 1
        yield from response.follow_all(css="a")
    def closed(self, reason):
        print(self.pages)
""")
    print(url(0))


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
