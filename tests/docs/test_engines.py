"""The table of what engines can do is made of what they say, and of every capability there is."""

from dataclasses import fields

from penstock import Penstock
from penstock.engine.protocol import Capabilities
from scripts.docs.reference.engines import ENGINES, page
from tests.conformance.conftest import ENGINES as TESTED


def test_every_capability_of_every_tested_engine_has_its_place() -> None:
    lines = [line for line in page().splitlines() if line.startswith("| `")]
    rows = {line.split("`")[1]: line.rstrip("| ").split(" | ")[-len(ENGINES) :] for line in lines}
    assert list(rows) == [each.name for each in fields(Capabilities)]
    for name, told in rows.items():
        assert told == ["yes" if getattr(can, name) else "no" for can in ENGINES.values()]
    assert [name.lower() for name in ENGINES] == list(TESTED), "tested and not shown, or shown and not tested"
    assert rows["transactions"] == ["yes", "no", "no", "no"]


def test_a_database_beside_the_jobs_adds_what_is_told() -> None:
    with Penstock("postgresql://nowhere", jobs="redis://nowhere") as app:
        assert app.engine.capabilities == ENGINES["BullMQ beside Postgres"]
