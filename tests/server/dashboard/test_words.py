"""What is said of numbers and times, and what is not said of secrets."""

from datetime import UTC, datetime, timedelta

import pytest

from penstock.mask import MASK, is_secret, masked, masked_text
from penstock.server.dashboard.words import ago, counted, duration, short, size


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (None, "–"), (0.0004, "0.4 ms"), (0.05, "50 ms"), (0.25, "0.2 s"), (3, "3 s"), (3.0, "3.0 s"), (59.4, "59 s"),
        (60, "1 min"), (90, "1 min 30 s"), (3600, "1 h"), (5400, "1 h 30 min"), (93784.2, "1 d 2 h"), (-1, "0 s"),
    ],
)  # fmt: skip
def test_a_duration_says_as_much_as_one_can_use(seconds: float | None, said: str) -> None:
    assert duration(seconds) == said


def test_what_is_long_ago_is_said_in_few_words() -> None:
    now = datetime.now(UTC)
    for seconds, said in ((0, "now"), (75, "1 min 15 s ago"), (3246, "54 min ago"), (200_000, "2 d 7 h ago")):
        assert ago(now - timedelta(seconds=seconds)) == said
    assert ago(now + timedelta(seconds=7205)) in ("in 2 h", "in 2 h 0 min")


def test_one_is_not_many() -> None:
    assert [counted(each, "job") for each in (0, 1, 2000)] == ["0 jobs", "1 job", "2,000 jobs"]


def test_large_numbers_are_short() -> None:
    assert [short(each) for each in (None, 0, 9999, 12_345, 999_999, 1_234_567, 2e9)] == [
        "–", "0", "9,999", "12.3k", "1000k", "1.2M", "2.0G",
    ]  # fmt: skip
    assert [size(each) for each in (None, 999, 1536, 2_000_000, 150_000_000)] == [
        "–", "999 B", "1.5 KB", "2.0 MB", "150 MB",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "name",
    ["password", "Password", "smtp_password", "apiKey", "api_key", "API-KEY", "X-Auth-Token", "accessToken", "secret",
     "clientSecrets", "Authorization", "key", "keys", "private_key", "session_id", "cookie", "credentials", "jwt",
     "passwd"],
)  # fmt: skip
def test_a_secret_is_known_by_its_name(name: str) -> None:
    assert is_secret(name)
    assert masked({name: "abc", "nested": [{name: {"a": 1}}]}) == {name: MASK, "nested": [{name: MASK}]}


@pytest.mark.parametrize(
    "name", ["to", "monkey", "keyboard", "tokenizer_model", "author", "passenger", "compass", "pinned"]
)
def test_what_only_sounds_like_one_is_shown(name: str) -> None:
    if name != "tokenizer_model":
        assert not is_secret(name)
    assert masked({name: "abc"}) == {name: "abc"}


def test_secrets_inside_texts_are_masked_too() -> None:
    assert masked_text("postgresql://ada:s3cret@db/app failed") == f"postgresql://ada:{MASK}@db/app failed"
    assert masked_text("Authorization: Bearer abcdef0123456789") == f"Authorization: Bearer {MASK}"
    assert "eyJ" not in masked_text("sent eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2ln to them")
    assert masked_text("https://example.com:8080/a@b") == "https://example.com:8080/a@b"
    assert masked({"url": "redis://:pw@host", "password": None, "token": False}) == {
        "url": f"redis://:{MASK}@host", "password": None, "token": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (
            "could not connect: host=db password=hunter2 dbname=app",
            f"could not connect: host=db password={MASK} dbname=app",
        ),
        ("host=db password='hunter \\'2' dbname=app", f"host=db password='{MASK}' dbname=app"),
        ('{"password": "hunter 2", "to": "ada"}', f'{{"password": "{MASK}", "to": "ada"}}'),
        ("{'password': 'hunter2', 'to': 'ada'}", f"{{'password': '{MASK}', 'to': 'ada'}}"),
        (r'"{\"password\": \"hunter2\", \"to\": 1}"', rf'"{{\"password\": {MASK}, \"to\": 1}}"'),
        ("api_key: hunter2, again", f"api_key: {MASK}, again"),
        ("X-API-Key: hunter2", f"X-API-Key: {MASK}"),
        ("clientSecret => hunter2", f"clientSecret => {MASK}"),
        ("PGPASSWORD=hunter2 psql", f"PGPASSWORD={MASK} psql"),
        ("GET /files?access_token=hunter2&page=2", f"GET /files?access_token={MASK}&page=2"),
        ("Authorization: Basic aHVudGVyMg==", f"Authorization: Basic {MASK}"),
        ('password="hunter2 and no end', f"password={MASK} and no end"),
        ("...postgres://u:hunter2@h", f"...postgres://u:{MASK}@h"),
        ("DSN_POSTGRES://u:hunter2@h", f"DSN_POSTGRES://u:{MASK}@h"),
    ],
)
def test_a_secret_in_an_error_is_known_by_what_stands_before_it(said: str, shown: str) -> None:
    assert masked_text(said) == shown


@pytest.mark.parametrize(
    "said",
    [
        "KeyError: 'number'", "sorted(rows, key=by_name)", "pass: 3, fail: 0", "Key (id)=(3) already exists",
        "the token has expired", "password authentication failed for user ada", "password: None, token=false",
        "token = '', retry", "Token::parse", "tokens_used: 12", "eyJust=a, eyJmore.words.here",
    ],
)  # fmt: skip
def test_what_an_error_says_beside_is_shown(said: str) -> None:
    assert masked_text(said) == said
