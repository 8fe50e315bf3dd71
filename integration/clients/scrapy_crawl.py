"""A crawl by Scrapy of a site of its own, with a dupefilter that keeps what it has seen in a set of Redis, by the commands that
scrapy-redis documents. Arguments: the port of Redis, and how many pages the site has.

Prints a line of JSON: how many pages were fetched, how many of them more than once, and what the set says of itself."""

import collections
import http.server
import json
import random
import sys
import threading

import redis
import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.dupefilters import BaseDupeFilter
from scrapy.utils.request import fingerprint

PORT, PAGES = int(sys.argv[1]), int(sys.argv[2])
KEY = "books:dupefilter"
server = redis.Redis(port=PORT)
fetched = collections.Counter()
links = random.Random(7)
# Each page leads to the next one, and to nine others, most of which have been seen.
SITE = [[n + 1] + [links.randrange(PAGES) for _ in range(9)] for n in range(PAGES)]


class Page(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        number = int(self.path[1:])
        fetched[number] += 1
        body = "".join(f'<a href="/{n}">{n}</a>' for n in SITE[number] if n < PAGES).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class RedisDupeFilter(BaseDupeFilter):
    def request_seen(self, request):
        return server.sadd(KEY, fingerprint(request).hex()) == 0


class Books(scrapy.Spider):
    name = "books"

    def parse(self, response):
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link)

    def start_requests(self):
        yield scrapy.Request(f"http://127.0.0.1:{site.server_address[1]}/0", dont_filter=False)


site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
threading.Thread(target=site.serve_forever, daemon=True).start()
process = CrawlerProcess(
    {
        "DUPEFILTER_CLASS": RedisDupeFilter,
        "LOG_LEVEL": "ERROR",
        "CONCURRENT_REQUESTS_PER_DOMAIN": 32,
        "TELNETCONSOLE_ENABLED": False,
        "ROBOTSTXT_OBEY": False,
    }
)
process.crawl(Books)
process.start()
site.shutdown()
print(
    json.dumps(
        {
            "fetched": len(fetched),
            "twice": sum(count > 1 for count in fetched.values()),
            "members": server.scard(KEY),
            "deleted": server.delete(KEY),
            "left": server.exists(KEY),
        }
    )
)
