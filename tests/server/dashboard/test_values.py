"""What a page shows of arguments and outputs: the beginning, and no secret."""

import json

import pytest

from penstock.mask import MASK
from penstock.server.dashboard.values import MOST, beginning, shown
from penstock.server.dashboard.words import as_json


@pytest.mark.parametrize(
    "value",
    [
        {f"a name with a number {n}": n for n in range(9000)}, [1] * 80_000, [[]] * 90_000, "x" * 262_144,
        {"x" * 262_144: 1}, [10**4000] * 60, {"a": {"b": ["x" * 100] * 2600}},
    ],
    ids=["names", "numbers", "lists", "a text", "a name", "large numbers", "texts below"],
)  # fmt: skip
def test_as_much_is_shown_as_somebody_reads_and_it_says_how_much_is_not(value: object) -> None:
    cut = shown(value)
    assert len(as_json(cut.plain)) < 1.5 * MOST
    assert "… " in as_json(cut.plain)
    assert " more" in as_json(cut.plain)
    assert cut.masked == cut.plain
    assert not cut.has_secrets


def test_what_is_short_is_shown_whole() -> None:
    value = {"to": ["ada", "bob"], "n": 1.5, "nothing": None, "empty": {}, "yes": True}
    assert shown(value).plain == shown(value).masked == value


def test_what_is_deep_is_cut_there() -> None:
    value: list[object] = []
    for _ in range(900):
        value = [value]
    assert '"…"' in as_json(shown(value).plain)


def test_no_secret_is_shown_where_the_rest_is_cut_off() -> None:
    value = {"said": "x " * 20 + "postgres://ada:hunter2hunter2@db", "password": "hunter2hunter2", "n": 1}
    for most in range(300):
        cut = shown(value, most)
        assert "hunter2" not in as_json(cut.masked)
        assert "hunter2" not in beginning(json.dumps(value), most)
        if "hunter2" in as_json(cut.plain):
            assert cut.has_secrets
    assert as_json(shown(value).masked).count(MASK) == 2
