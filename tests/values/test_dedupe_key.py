"""The second seed's format: `<type>::<orgId|global>::<sorted-json>`."""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import Penstock, dedupe_key
from tests.values.json_values import json_values, texts

arguments = st.dictionaries(texts, json_values, max_size=3)


def test_it_has_the_seeds_format() -> None:
    args = {"b": [1, {"z": None, "y": True}], "a": "ü"}
    assert dedupe_key("sync", "acme", args) == 'sync::acme::{"a":"ü","b":[1,{"y":true,"z":null}]}'
    assert dedupe_key("sync", None, {}) == "sync::global::{}"


def shuffled(value: object, dice: random.Random) -> object:
    if isinstance(value, dict):
        items = [(key, shuffled(inner, dice)) for key, inner in value.items()]
        dice.shuffle(items)
        return dict(items)
    return [shuffled(inner, dice) for inner in value] if isinstance(value, list) else value


@settings(max_examples=40)
@given(arguments, st.randoms(use_true_random=False))
def test_the_order_of_arguments_does_not_matter_at_any_depth(args: dict[str, object], dice: random.Random) -> None:
    other = shuffled(args, dice)
    assert isinstance(other, dict)
    assert dedupe_key("sync", "acme", args) == dedupe_key("sync", "acme", other)


def test_other_work_has_another_key() -> None:
    keys = {
        dedupe_key("sync", None, {"a": 1}),
        dedupe_key("sync", "acme", {"a": 1}),
        dedupe_key("sink", None, {"a": 1}),
        dedupe_key("sync", None, {"a": "1"}),
    }
    assert len(keys) == 4


def test_unique_true_is_the_dedupe_key_of_what_was_enqueued() -> None:
    app = Penstock("postgresql://nowhere")

    @app.job(unique=True, org="acme")
    def sync(source: str, since: int = 0) -> None: ...

    by_name, by_place = sync.prepare(since=3, source="mail"), sync.prepare("mail", 3)
    assert by_name.unique_key == by_place.unique_key == 'sync::acme::{"since":3,"source":"mail"}'
    assert sync.using(unique="mine").prepare("mail").unique_key == "mine"
    assert sync.using(unique=False).prepare("mail").unique_key is None
