"""What reads the words of strangers takes anything: an answer, or the one error that says no. Never another."""

import asyncio
import hashlib
import json
import string
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable
from email.message import Message
from typing import Any
from urllib.parse import urljoin, urlsplit
from uuid import UUID

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as some
from hypothesis.strategies import SearchStrategy
from starlette.datastructures import QueryParams

from penstock import InvalidInput
from penstock.callbacks import Callback, make_token, read_token
from penstock.cron import Schedule
from penstock.engine.commands import Claim, Command, Complete, ExtendLease, OpenLease, ReportProgress, Snooze
from penstock.engine.http.wire import decoded
from penstock.mask import MASK, is_secret, masked, masked_text
from penstock.outbound.headers import BadHead, read_head, read_target
from penstock.push import _output, _retry_after
from penstock.server.auth.jwks import read_keys
from penstock.server.auth.jwt import InvalidToken, check, read_header, verify
from penstock.server.dashboard.address import safe_path
from penstock.server.dashboard.pages.jobs import _found, filter_of
from penstock.server.dashboard.session import Sessions
from penstock.server.files.headers import Unsatisfiable, disposition, matches, read_range
from penstock.server.rest.calls import function_of, read_arguments, schema_of
from penstock.server.rest.catalog import VIEWS
from penstock.server.rest.errors import Refused
from penstock.server.rest.queries import insert, read_query, read_rows
from penstock.server.settings import ServerSettings
from penstock.server.work.uploads import _read_metadata
from penstock.signatures import InvalidSignature, Signer
from penstock.signatures import verify as verify_webhook
from penstock.storage.links import Links, read_watch_token
from penstock.tokens import mint, secret_key
from tests import slow
from tests.values.json_values import json_values

pytestmark = [pytest.mark.slow, pytest.mark.time_limit(1800)] if slow.asked_for else []
few = settings(max_examples=500 if slow.asked_for else 25)

JOB = UUID("01a1e5bc-536c-7624-aeec-5124e93f335e")
SECRET = "a secret that only the tests have, and nobody else"
WEBHOOK_SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
SETTINGS = ServerSettings(jwt_secret=SECRET)
SESSIONS = Sessions(SETTINGS)
SESSION = SESSIONS.open("ada", "operator")
FORM = [
    "",
    "0",
    "-1",
    "1" * 400,
    "1e999",
    "nan",
    "１２",
    "\x00",
    "é",
    "%00",
    "..",
    "//",
    "a" * 5000,
    ",",
    '"',
    "'",
    "{}",
    "[]",
]

texts = some.text(max_size=40) | some.sampled_from(FORM)
bodies = some.binary(max_size=60) | json_values.map(lambda value: json.dumps(value).encode()) | some.sampled_from(
    [b"[" * 5000, b'{"a":' * 5000, b'"\\ud800"', b"1" * 5000, b"\xff", b'{"a":1,"a":2}', b"{}" * 2]
)  # fmt: skip


def made_of(*parts: str) -> SearchStrategy[str]:
    """What looks as if it might be meant, and is often almost right."""
    return some.lists(some.sampled_from(parts) | texts, max_size=8).map("".join)


class TestTokens:
    headers: SearchStrategy[dict[str, object]] = some.dictionaries(
        some.sampled_from(["alg", "kid", "typ", "crit", "b64", "jwk", "jku", "x5c", "zip"]),
        some.sampled_from(["HS256", "none", "RS256", "ES256", "EdDSA", "JWT", None, 1, [], {}, ["b64"], True]) | texts,
    )

    @few
    @given(headers, bodies, some.binary(max_size=40))
    @example({"alg": "none"}, b'{"role": "service_role"}', b"")
    def test_nobody_s_jwt_is_believed(self, header: dict[str, object], payload: bytes, signature: bytes) -> None:
        parts = (json.dumps(header).encode(), payload, signature)
        token = ".".join(_base64(part) for part in parts)
        with pytest.raises(InvalidToken):
            verify(read_header(token), [secret_key(SECRET)])

    @few
    @given(made_of(".", "eyJhbGciOiJIUzI1NiJ9", "e30", "="))
    def test_nonsense_is_no_jwt(self, token: str) -> None:
        with pytest.raises(InvalidToken):
            verify(read_header(token), [secret_key(SECRET)])

    @few
    @given(some.integers(0, 10_000), some.sampled_from(string.ascii_letters + string.digits + "-_.=é"))
    def test_a_jwt_with_another_letter_is_none(self, place: int, letter: str) -> None:
        token = mint(SECRET, "ada")
        place %= len(token)
        changed = token[:place] + letter + token[place + 1 :]
        try:
            claims = verify(read_header(changed), [secret_key(SECRET)])
        except InvalidToken:
            return
        # base64 has letters whose last bits mean nothing
        assert claims == verify(read_header(token), [secret_key(SECRET)])

    claims = some.dictionaries(
        some.sampled_from(["exp", "nbf", "iat", "iss", "aud", "role", "sub", "org_id", "app_metadata", "email"]),
        some.sampled_from(["authenticated", "service_role", "anon", 2e9, 10**30, -1, True, [], ["authenticated"]])
        | some.fixed_dictionaries({"org_ids": json_values, "org_id": json_values})
        | json_values,
    )

    @few
    @given(claims)
    def test_claims_of_any_shape_make_somebody_or_nobody(self, claims: dict[str, Any]) -> None:
        claims = {"exp": 2e9, "aud": "authenticated"} | claims
        try:
            identity, _ = check(claims, SETTINGS, 1.0)
        except InvalidToken:
            return
        assert identity.role == claims["role"]
        if identity.role == "authenticated":
            assert identity.subject == claims["sub"]
            assert isinstance(json.loads(identity.claims or ""), dict)

    @few
    @given(texts | made_of("1999999999", ".", "a" * 64))
    def test_nobody_makes_a_link_a_watch_token_or_a_callback(self, token: str) -> None:
        assert Links(SECRET).purpose_of(JOB, 1, token) is None
        assert read_watch_token(SECRET, JOB, token, 0.0) is None
        assert read_token(SECRET, token) is None

    @few
    @given(some.integers(0, 10_000), some.sampled_from(string.ascii_letters + string.digits + "-_=+/é"))
    def test_a_callback_with_another_letter_is_none(self, place: int, letter: str) -> None:
        callback = Callback(JOB, "paid", "1", 1, None)
        token = make_token(SECRET, callback)
        place %= len(token)
        changed = token[:place] + letter + token[place + 1 :]
        assert read_token(SECRET, changed) == (callback if changed == token else None)


class TestWebhooks:
    names = some.sampled_from(["webhook-id", "Webhook-Timestamp", "webhook-signature"])

    @few
    @given(
        some.dictionaries(names, made_of("v1,", "\udcff", " ", "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")), bodies
    )
    @example({"webhook-id": "1", "webhook-timestamp": "1" * 400, "webhook-signature": "v1,x"}, b"{}")
    def test_whatever_a_stranger_sends_is_refused_as_unsigned(self, headers: dict[str, str], body: bytes) -> None:
        with pytest.raises(InvalidSignature):
            verify_webhook(WEBHOOK_SECRET, headers, body, tolerance=1e12)

    @few
    @given(bodies)
    def test_what_is_signed_is_an_object_or_refused(self, body: bytes) -> None:
        headers = Signer(WEBHOOK_SECRET).headers("1", body)
        assert isinstance(_unless(InvalidSignature, lambda: verify_webhook(WEBHOOK_SECRET, headers, body)), dict | None)

    @few
    @given(bodies, made_of("Mon, 16 Nov ", "2026", " 19:00:00", " GMT", "9" * 20))
    def test_a_receiver_of_pushes_answers_what_it_likes(self, answer: bytes, retry_after: str) -> None:
        json.dumps(_output(answer))
        assert 1.0 <= (_retry_after(retry_after) or 1.0) <= 86_400


@few
@given(made_of("*", "/", "-", ",", " ", "L", "#", "0", "59", "* * * *", "31", "MON", "JAN", "W"), texts)
def test_a_cron_expression_is_one_or_is_refused(cron: str, tz: str) -> None:
    for zone in ("UTC", tz):
        _unless(InvalidInput, Schedule(name="x", cron=cron, kind="x", tz=zone).check)


class TestFiles:
    @few
    @given(made_of("bytes", "=", "-", "0", "5", ",", " "), some.integers(0, 20))
    @example("bytes=-0", 0)
    @example("bytes=5-2", 10)
    def test_a_range_lies_within_the_file(self, header: str, size: int) -> None:
        part = _unless(Unsatisfiable, lambda: read_range(header, size))
        assert part is None or 0 <= part[0] < part[1] <= size

    @few
    @given(made_of('"', "W/", ",", "*", "abc"))
    def test_a_version_is_the_same_or_not(self, header: str) -> None:
        assert matches(header, '"abc"') in (True, False)

    @few
    @given(made_of("/", "\\", "..", "\r\n", '"', ";", "con", ".", "\u202e", "=?utf-8?q?"))
    def test_a_file_s_name_stays_within_its_header(self, name: str) -> None:
        header = disposition(name)
        assert header.isascii()
        assert header.isprintable()
        message = Message()
        message["Content-Disposition"] = header
        assert [name for name, _ in message.get_params(header="Content-Disposition") or []] == [
            "attachment", "filename", "filename",
        ]  # fmt: skip
        assert not {"/", "\\", "\r", "\n"} & set(message.get_filename() or "")


class TestPostgrest:
    views = some.sampled_from([(schema, name) for schema, views in VIEWS.items() for name in views])
    keys = (
        some.sampled_from(["select", "order", "limit", "offset", "and", "id", "status", "created_at", "type"]) | texts
    )
    values = made_of(
        "eq.", "in.(", ")", "is.null", "*", "id", ",", ".desc", ".nullslast", '"', "\\", "count", "10", "';--"
    )

    @few
    @given(views, some.lists(some.tuples(keys, values), max_size=4))
    def test_nothing_that_is_asked_becomes_part_of_a_statement(
        self, view: tuple[str, str], asked: list[tuple[str, str]]
    ) -> None:
        query = _unless(Refused, lambda: read_query(*view, asked))
        if query is None:
            return
        text = query.statement().text
        plain = read_query(*view, []).statement().text
        assert text.count("%s") == len(query.statement().params)
        # quotes, as those of a name or a text, are ours
        assert not set(text) - set(plain) - set(string.ascii_lowercase + '_<>=[]:,"')
        assert text.count("'") in (plain.count("'"), query.statement().text.count("'count'") * 2)
        assert 0 <= query.limit <= 1000

    @few
    @given(views, bodies)
    def test_only_columns_of_the_catalogue_are_inserted(self, view: tuple[str, str], body: bytes) -> None:
        query = read_query(*view, [])
        statement = _unless(Refused, lambda: insert(query, read_rows(body), returning=True))
        assert statement is None or all(name in query.view.insertable for name in json.loads(body))

    @few
    @given(texts, bodies, texts)
    def test_functions_and_schemas_are_those_of_the_catalogue(self, profile: str, body: bytes, name: str) -> None:
        schema = _unless(Refused, lambda: schema_of(profile))
        arguments = _unless(Refused, lambda: read_arguments(body))
        assert schema is None
        assert _unless(Refused, lambda: function_of("public", name, arguments or {})) is None


class TestHeads:
    lines = made_of(
        "GET ",
        "CONNECT ",
        "http://",
        "h.example",
        ":80",
        "/p",
        " HTTP/1.1",
        "[::1]",
        "@",
        "#",
        "Host: ",
        "x:",
        "\r",
        "\t",
    )

    @few
    @given(some.lists(lines, max_size=5), some.sampled_from(["\r\n", "\n"]))
    @example(["GET http://h.example/ HTTP/1.1", "Content-Length: 1", "Content-Length: 2"], "\r\n")
    def test_a_proxy_passes_on_one_request_or_none(self, lines: list[str], end: str) -> None:
        data = (end.join(lines) + end + end).encode("latin-1", "replace")
        head = _unless(BadHead, lambda: asyncio.run(_head_of(data)))
        if head is None:
            return
        target = _unless(BadHead, lambda: read_target(head))
        if target is None or _unless(BadHead, lambda: head.body_length) is None:
            return
        assert 0 <= target.port < 100_000  # the guard knows which there are
        passed = head.passed_on(f"{target.method} {target.path} HTTP/1.1", host=target.authority)
        assert passed.count(b"\r\n\r\n") == 1
        assert passed.endswith(b"\r\n\r\n")
        again = asyncio.run(_head_of(passed))
        assert again is not None
        assert again.values("host") == [target.authority]
        assert passed.count(b"\n") == len(again.fields) + 2


class TestWhatOthersAnswer:
    entries: SearchStrategy[dict[str, object]] = some.dictionaries(
        some.sampled_from(["kty", "crv", "n", "e", "x", "y", "k", "kid", "alg", "use", "key_ops"]),
        some.sampled_from(["RSA", "EC", "OKP", "oct", "P-256", "Ed25519", "AQAB", "sig", "enc", None, 1, [], {}])
        | texts,
    )

    @few
    @given(bodies | some.lists(entries | json_values, max_size=3).map(lambda keys: json.dumps({"keys": keys}).encode()))
    @example(json.dumps({"keys": [{"kty": "RSA", "n": "AA", "e": "AA"}]}).encode())
    def test_a_key_set_has_usable_keys_or_is_refused(self, document: bytes) -> None:
        for id, algorithm, _ in _unless(ValueError, lambda: read_keys(document)) or []:
            assert id is None or isinstance(id, str)
            assert algorithm in {"RS256", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"}, (
                "never one with a shared secret"
            )

    commands = some.sampled_from([Claim, ExtendLease, OpenLease, Complete, Snooze, ReportProgress])

    @few
    @example(Claim, b"{}")
    @example(Claim, b"[" * 5000)
    @given(commands, bodies | json_values.map(lambda result: json.dumps({"result": result}).encode()))
    def test_an_answer_to_a_command_is_one_or_is_refused(self, kind: type[Command[Any]], answer: bytes) -> None:
        _unless(msgspec.MsgspecError, lambda: decoded(kind, [answer]))


class TestMasks:
    """The dashboard shows on its event loop what users sent."""

    @few
    @given(
        made_of("://", "u:", "pw@", "eyJ", "a" * 9, ".", "-", "password", '"', "'", "=", "\\", ": ", "Bearer ", "key")
    )
    def test_a_text_is_masked_whatever_it_is_and_once(self, text: str) -> None:
        shown = masked_text(text)
        assert masked_text(shown) == shown
        assert MASK in shown or shown == text
        secret = "hunter2"
        assert secret not in masked_text(f"{text} https://ada:{secret}@db {text}")

    @few
    @given(json_values)
    def test_a_value_keeps_its_shape(self, value: object) -> None:
        assert type(masked(value)) is type(value)
        assert masked(masked(value)) == masked(value)
        json.dumps(masked(value))

    @pytest.mark.parametrize(
        "piece",
        ["a.", "a", "a://", "://u:", "://u:pw@", "eyJaaaaaaaa-", "-eyJ", "eyJaaaaaaaa.", "eyJaaaaaaaa.bbbbbbbb.",
         "Bearer ", " ", "password", "password=", 'password="', "token='\\", "token=\\\"", "password \t",
         "aA", "a_key=", "==:"],
    )  # fmt: skip
    @pytest.mark.parametrize("read", [masked_text, is_secret])
    def test_a_quarter_of_a_megabyte_does_not_hold_the_loop(self, piece: str, read: Callable[[str], object]) -> None:
        """It takes 0.15 s at most; what is read anew from each of its letters takes a minute."""
        text = (piece * 262_144)[:262_144]
        began = time.process_time()
        read(text)
        read(f"{text[:-1]} ")
        assert time.process_time() - began < 2


class TestUploads:
    @few
    @given(texts | bodies.map(lambda body: body.decode("utf-8", "replace")) | some.just("\ud800"))
    def test_metadata_is_an_object_or_is_refused_by_its_field(self, text: str) -> None:
        found = _unless(InvalidInput, lambda: _read_metadata(text))
        assert found is None or isinstance(found, dict)


class TestDashboard:
    @few
    @given(texts | bodies.map(lambda body: f"{_base64(body)}.{hashlib.sha256(body).hexdigest()}"))
    def test_nobody_s_cookie_is_a_session(self, cookie: str) -> None:
        assert SESSIONS.read(cookie) is None
        assert SESSIONS.unwrap(cookie) is None

    @few
    @given(some.integers(0, 10_000), some.sampled_from(string.ascii_letters + string.digits + "-_.=é"))
    def test_a_session_with_another_letter_is_none(self, place: int, letter: str) -> None:
        cookie = SESSIONS.seal(SESSION)
        place %= len(cookie)
        changed = cookie[:place] + letter + cookie[place + 1 :]
        assert SESSIONS.read(changed) == (SESSION if changed == cookie else None)

    @few
    @given(texts | made_of("/", "\\", "//", "evil.example", "http:", "?", "#", "@", "javascript:", "\t", "%2f"))
    def test_after_signing_in_one_stays_here(self, text: str) -> None:
        there = urlsplit(urljoin("https://us.example/dashboard", safe_path(text)))
        assert (there.scheme, there.hostname) == ("https", "us.example")

    names = some.sampled_from(["kind", "queue", "owner", "id", "error", "state", "since", "after", "until", "parent"])

    @few
    @given(some.lists(some.tuples(names, texts | made_of("2026-01-01", "T", "00:00", "Z", "ready", "1h", str(JOB)))))
    @example([("until", "9999-12-31T23:59:59-23:59")])
    @example([("after", "0001-01-01T00:00:00+23:59")])
    def test_a_search_is_a_filter_or_is_refused_by_its_field(self, asked: list[tuple[str, str]]) -> None:
        filter = _unless(InvalidInput, lambda: filter_of(QueryParams(asked)))
        msgspec.json.encode(filter)

    @few
    @given(texts)
    def test_a_search_leads_to_a_page_of_ours(self, wanted: str) -> None:
        assert urlsplit(_found(wanted, ["export"])).path.startswith("/jobs")


def _unless(refusal: type[Exception], read: Callable[[], Any]) -> Any:
    try:
        return read()
    except refusal:
        return None


def _base64(content: bytes) -> str:
    return urlsafe_b64encode(content).rstrip(b"=").decode()


async def _head_of(data: bytes) -> Any:
    reader = asyncio.StreamReader(limit=64 * 1024)
    reader.feed_data(data)
    reader.feed_eof()
    return await read_head(reader)
