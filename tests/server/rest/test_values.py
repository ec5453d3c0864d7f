"""What is taken for a value of a type is taken by Postgres too: it never has anything to refuse, and to log."""

from typing import Any

import pytest
from psycopg.types.json import Json

from penstock.server.rest.catalog import FUNCTIONS, VIEWS
from penstock.server.rest.errors import Refused
from penstock.server.rest.values import _FITS, refuse_unfit, refuse_unfit_text
from tests.kit.fixtures import Connect

ID = "01a1e011-4376-76a7-8b10-c6987fb0b9ff"
TAKEN: dict[str, list[str]] = {
    "uuid": [ID, ID.upper(), ID.replace("-", ""), f"{{{ID}}}"],
    "integer": ["0", "-2147483648", "2147483647", " +7 ", "007"],
    "bigint": ["-9223372036854775808", "9223372036854775807"],
    "double precision": ["0", "0.0", "-0e-999", "1.5", ".5", "5.", "1E5", " 2 ", "1e308", "1e-320"],
    "timestamptz": [
        "2026-01-31", "2026-01-31 12:00", "2026-01-31T12:00:00Z", "2026-01-31T12:00:00.123456+00:00",
        "2026-01-31T12:00:00-0130", "2026-01-31T12:00:00+14", "now", "-infinity", "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
    ],
    "jsonb": ["1", '"a"', '{"a": [1, null, "\\u00e9\\\\u0000"]}', "1e308", "[]"],
    "text": ["", "anything"],
}  # fmt: skip
REFUSED: dict[str, list[str]] = {
    "uuid": ["", "7", ID[:-1], f"{ID}0", f"{{{ID}", f"{ID}}}", f"-{ID}", ID.replace("-", "--"), f"{ID[:-1]}g"],
    "integer": ["", "-2147483649", "2147483648", "1.0", "1e3", "0x1f", "1_000", "\u0661", "true", "9" * 5000],
    "bigint": ["-9223372036854775809", "9223372036854775808"],
    "double precision": ["", ".", "1e309", "-1e309", "1e-999", "1_0", "0x1", "1e", "\u0661", "9" * 400],
    "timestamptz": [
        "", "2026", "2026-02-30", "2026-01-31T25:00", "2026-01-31T12:00+16:00", "2026-W01-1", "tomorrow 1",
        "0000-01-01", "2026-01-31 12:00 Mars", "10000-01-01",
    ],
    "jsonb": ["", "{", "a", "NaN", '"\\u0000"', '{"\\u0000": 1}', '"\\ud800"', '"\\udc00"', "[1,]", "1" + "0" * 5000],
}  # fmt: skip


@pytest.mark.parametrize("type", TAKEN)
def test_what_is_taken_is_taken_by_postgres(connect: Connect, type: str) -> None:
    with connect() as connection:
        for text in TAKEN[type]:
            refuse_unfit_text(type, text)
            connection.execute(f"select %s::{type}".encode(), [text])
    for text in REFUSED.get(type, []):
        with pytest.raises(Refused):
            refuse_unfit_text(type, text)


def test_so_is_a_value_of_json(connect: Connect) -> None:
    of_json: list[tuple[str, Any, bool]] = [
        *[(type, None, True) for type in TAKEN],
        *[(type, True, type in ("text", "jsonb")) for type in TAKEN],
        *[(type, {"a": [1]}, type in ("text", "jsonb")) for type in TAKEN],
        ("integer", 5, True), ("integer", 5.0, False), ("integer", 2**31, False), ("integer", "5", True),
        ("bigint", 2**63 - 1, True), ("bigint", 2**63, False), ("double precision", 2**63, True),
        ("double precision", 1e-7, True), ("double precision", 10**400, False), ("uuid", 7, False),
        ("text[]", ["a", 1, None, True, {"b": 2}], True), ("text[]", [["a"], "b"], False), ("text[]", "{a}", False),
        ("jsonb[]", [{"a": 1}, None, "b"], True), ("jsonb[]", {"a": 1}, False), ("jsonb[]", "{}", False),
    ]  # fmt: skip
    with connect() as connection:
        for type, value, fits in of_json:
            if not fits:
                with pytest.raises(Refused):
                    refuse_unfit(type, value)
                continue
            refuse_unfit(type, value)
            given = Json({"x": value})
            connection.execute(f"select * from json_to_record(%s) as given(x {type})".encode(), [given])


def test_every_type_of_the_catalogue_is_known() -> None:
    functions = {type for schema in FUNCTIONS.values() for each in schema.values() for type in each.arguments.values()}
    views = {type for schema in VIEWS.values() for each in schema.values() for type in each.columns.values()}
    assert {type.removesuffix("[]") for type in functions | views} <= _FITS.keys() | {"text"}
    assert not any(type.endswith("[]") for type in views), "no filter has to know them"
