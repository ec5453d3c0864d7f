"""One user sends as much as they can: everybody else is answered meanwhile."""

import http.client
import json
import threading
import time
from collections.abc import Iterator

import pytest

from penstock.testing.database import throw_away
from tests.kit.serving import KEY
from tests.security.process import Served, served, token

HELD = 0.15
"""Seconds of a processor that the event loop may take for one request, in all of its turns: the largest takes 0.05."""
LONGEST = 0.5
"""Seconds on the clock that nobody else may wait, on a machine that runs many tests beside it."""


@pytest.fixture(scope="module")
def shop(server: str, template: str) -> Iterator[Served]:
    with throw_away(server, template) as url, served(url) as shop:
        yield shop


class Others:
    """Asks for /healthz again and again while the block lasts, and is answered in time."""

    def __init__(self, shop: Served) -> None:
        self.longest = 0.0
        self._shop = shop
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._ask)

    def _ask(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._shop.port)
        while not self._over.wait(0.005):
            began = time.monotonic()
            connection.request("GET", "/healthz")
            connection.getresponse().read()
            self.longest = max(self.longest, time.monotonic() - began)
        connection.close()

    def __enter__(self) -> None:
        self._before = self._shop.event_loop
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        held = self._shop.event_loop - self._before
        self._over.set()
        self._thread.join()
        assert held < HELD
        assert self.longest < LONGEST


def as_bytes(body: object) -> bytes:
    """Before anything is measured: here, too, Python does one thing at a time."""
    return json.dumps(body, separators=(",", ":")).encode()


SENT = {
    "a flow of 20,000 from 46 bytes": (422, {"kind": "reading", "args": {"chapters": 20_000}}),
    "as large a flow as there may be": (202, {"kind": "reading", "args": {"chapters": 999}}),
    "a megabyte of numbers": (413, {"kind": "measure", "args": {"values": [1] * 500_000}}),
    "as many numbers as there may be": (202, {"kind": "measure", "args": {"values": [1] * 80_000}}),
    "a megabyte of lists": (413, {"kind": "keep", "args": {"anything": [[]] * 250_000}}),
    "as many lists as there may be": (202, {"kind": "keep", "args": {"anything": [[]] * 19_000}}),
    "fields that nobody knows": (422, {"kind": "keep", **{f"k{n}": 1 for n in range(70_000)}}),
    "arguments that nobody knows": (413, {"kind": "keep", "args": {f"k{n}": 1 for n in range(70_000)}}),
}


@pytest.mark.parametrize("what", SENT)
def test_others_are_answered_meanwhile(shop: Served, what: str) -> None:
    status, body = SENT[what]
    sent = as_bytes(body)
    with Others(shop):
        assert shop.ask("POST", "/api/jobs", sent, key=token()).status == status


@pytest.mark.parametrize(
    ("status", "jobs"),
    [
        (422, [{f"k{n}": 1 for n in range(40)}] * 450),
        (422, [1] * 90_000),
        (202, [{"kind": "keep", "args": {"anything": [1] * 40}}] * 1000),
    ],
    ids=["unknown fields", "too many", "a large batch"],
)
def test_nor_does_a_batch_keep_them(shop: Served, status: int, jobs: object) -> None:
    sent = as_bytes({"jobs": jobs})
    with Others(shop):
        assert shop.ask("POST", "/api/jobs/batch", sent, key=token()).status == status


def test_nor_does_a_list_of_large_jobs(shop: Served) -> None:
    mine = token("collector")
    large = as_bytes({"kind": "keep", "args": {"anything": ["x" * 1000] * 200}})
    for _ in range(15):
        assert shop.ask("POST", "/api/jobs", large, key=mine).status == 202
    with Others(shop):
        listed = shop.ask("GET", "/api/jobs?limit=200", key=mine)
    assert len(json.loads(listed.body)["jobs"]) == 15


LOOKED_AT = {
    "a text that may begin an address anywhere": "a." * 120_000,
    "passwords": "://a:b@" * 35_000,
    "thousands of names": {f"name {n} of many": n for n in range(9000)},
    "numbers": [1] * 80_000,
}


@pytest.mark.parametrize("what", LOOKED_AT)
def test_nor_does_who_looks_at_a_job_on_the_dashboard(shop: Served, what: str) -> None:
    sent = as_bytes({"kind": "keep", "args": {"anything": LOOKED_AT[what]}})
    started = shop.ask("POST", "/api/jobs", sent, key=token("artist"))
    assert started.status == 202
    path = f"/jobs/{json.loads(started.body)['id']}"
    cookie = _signed_in(shop)
    with Others(shop):
        page = shop.ask("GET", path, Cookie=cookie)
    assert page.status == 200
    assert b"more" in page.body
    assert len(page.body) < 300_000


def _signed_in(shop: Served) -> str:
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Sec-Fetch-Site": "same-origin", "Host": "shop"}
    connection = http.client.HTTPConnection("127.0.0.1", shop.port)
    connection.request("POST", "/login", f"credential={KEY}", headers)
    cookie = connection.getresponse().getheader("Set-Cookie")
    connection.close()
    assert cookie is not None
    return cookie.partition(";")[0]


def test_what_is_refused_says_the_limit_and_writes_nothing(shop: Served) -> None:
    mine = token("greedy")
    refused = shop.ask("POST", "/api/jobs", {"kind": "reading", "args": {"chapters": 1001}}, key=mine)
    assert json.loads(refused.body)["detail"] == "args: asks for more than 1,000 jobs at once"
    assert json.loads(shop.ask("GET", "/api/jobs", key=mine).body)["jobs"] == []
