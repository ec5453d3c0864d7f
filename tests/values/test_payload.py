import math
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from penstock import InvalidArguments, PayloadTooLarge
from penstock.json import MAX_BLOB, MAX_PAYLOAD, encode_args, encode_output, loads, loads_anyway, readable
from tests.values.json_values import json_values, texts

names = st.text("abcxyz", min_size=1, max_size=3)
UNFIT = [math.nan, math.inf, -math.inf, b"bytes", bytearray(1), memoryview(b""), datetime(2030, 1, 1), "a\0b", "\ud800"]


@settings(max_examples=60)
@given(st.dictionaries(texts, json_values, max_size=3))
def test_what_json_can_carry_comes_back_as_it_was(args: dict[str, object]) -> None:
    assert loads(encode_args(args)) == args


@settings(max_examples=30)
@given(json_values)
def test_a_result_comes_back_as_it_was(output: object) -> None:
    assert loads(encode_output(output)) == output


@pytest.mark.parametrize("huge", [2**63, 2**64, -(2**63) - 1, 10**400], ids=["2^63", "2^64", "-2^63-1", "10^400"])
def test_a_whole_number_of_any_size_keeps_every_digit(huge: int) -> None:
    assert loads(encode_args({"n": huge})) == {"n": huge}


def test_a_number_too_long_for_text_is_refused_by_name() -> None:
    with pytest.raises(InvalidArguments, match=r"^n: .*digits"):
        encode_args({"n": 10**5000})


def put_inside(value: object, steps: list[str | int]) -> tuple[Any, str]:
    """The value within dicts and lists, and the path an error should name."""
    path = ""
    for step in reversed(steps):
        if isinstance(step, int):
            value, path = [None] * step + [value], f"[{step}]{path}"
        else:
            value, path = {"a": 1, step: value}, f".{step}{path}"
    return value, path


@given(st.sampled_from(UNFIT), names, st.lists(names | st.integers(0, 3), max_size=4))
def test_a_refusal_names_the_path_of_what_is_refused(unfit: object, name: str, steps: list[str | int]) -> None:
    value, path = put_inside(unfit, steps)
    with pytest.raises(InvalidArguments) as refusal:
        encode_args({"fine": 1, name: value})
    assert refusal.value.field == name + path


@dataclass
class Page:
    body: Any


class Sheet(msgspec.Struct):
    body: Any


class Form(BaseModel):
    body: Any


class Odd(Enum):
    NUMBER = math.nan


@pytest.mark.parametrize("unfit", UNFIT, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("kind", [Page, Sheet, Form])
def test_nothing_unfit_slips_through_inside_an_object(unfit: object, kind: Any) -> None:
    with pytest.raises(InvalidArguments, match=r"^page"):
        encode_args({"page": [kind(body={"inner": unfit})]})


def test_nothing_unfit_slips_through_in_a_name_a_path_or_an_enum() -> None:
    for args in ({"a\0": 1}, {"x": {"a\0": 1}}, {"x": Path("a\0")}, {"x": Odd.NUMBER}, {"\ud800": 1}):
        with pytest.raises(InvalidArguments):
            encode_args(args)


def test_the_text_backslash_u0000_is_no_nul() -> None:
    assert loads(encode_args({"x": r"\u0000"})) == {"x": r"\u0000"}


def test_an_object_without_a_json_form_is_refused_by_the_path_and_type() -> None:
    with pytest.raises(InvalidArguments, match=r"^job\.made\[1\]: a object has no JSON form$"):
        encode_args({"job": {"made": [1, object()]}})


def test_what_contains_itself_or_is_nested_without_end_is_refused_by_name() -> None:
    endless: list[object] = []
    endless.append(endless)
    deep: list[object] = []
    for _ in range(5000):
        deep = [deep]
    for value in (endless, deep):
        with pytest.raises(InvalidArguments, match=r"^tree: is nested too deeply, or contains itself$"):
            encode_args({"tree": value})


def test_arguments_over_the_limit_are_refused_with_their_size() -> None:
    sentence = "Large, but no file. "
    with pytest.raises(PayloadTooLarge, match=r"^args: 262,1\d\d bytes of JSON, over the limit of 262,144; .*artifact"):
        encode_args({"text": sentence * (MAX_PAYLOAD // len(sentence))})
    with pytest.raises(PayloadTooLarge, match="over the limit of 10;"):
        encode_args({"text": "a" * 11}, limit=10)


@pytest.mark.parametrize("start", ["", "data:image/png;base64,", "data:,"])
def test_an_encoded_file_is_refused_by_name_and_sent_to_artifacts(start: str) -> None:
    blob = start + "QUJD" * (MAX_BLOB // 4) + "QQ=="
    with pytest.raises(PayloadTooLarge, match=r"^page\.scan\[0\]: looks like an encoded file of .*artifact"):
        encode_args({"page": {"scan": [blob]}})


def test_a_long_text_and_a_short_blob_are_no_files() -> None:
    prose, thumbnail = "It rained. " * 3000, "data:image/png;base64," + "QUJD" * 100
    assert loads(encode_args({"prose": prose, "thumbnail": thumbnail})) == {"prose": prose, "thumbnail": thumbnail}


def test_a_moment_with_a_zone_is_no_refusal() -> None:
    assert encode_args({"at": datetime(2030, 1, 1, tzinfo=UTC)}) == b'{"at":"2030-01-01T00:00:00Z"}'


def test_what_postgres_holds_and_no_reader_takes_is_read_as_far_as_it_goes() -> None:
    many = "9" * 5000
    odd = f'{{"a": [1e5000, -{many}, 2.5, "1e5000 \\" [[["], "{many}": {many}.5, "b": -{many[:4299]}, "c": 1}}'
    read = loads_anyway(odd)
    assert read["a"] == ["1e5000", f"-{many}", 2.5, '1e5000 " [[[']
    assert read[many] == f"{many}.5"
    assert read["b"] < -(10**4298)
    assert read["c"] == 1
    deep = '[{"x": ' * 5000 + "1e5000" + "}]" * 5000
    assert "…" in encode_output(loads_anyway(f'{{"deep": {deep}, "after": [1]}}')).decode()
    assert loads_anyway(f'{{"deep": {deep}, "after": [1]}}')["after"] == [1]
    with pytest.raises(msgspec.DecodeError):
        loads_anyway("[1")


@given(json_values)
def test_what_can_be_read_is_not_changed(value: object) -> None:
    encoded = msgspec.json.encode(value).decode()
    assert readable(encoded) == encoded
