"""What SQL may put into the database, and no reader of JSON takes, breaks no list: pgmq's send() refuses no number."""

from uuid import UUID

import pytest

from penstock import Penstock
from tests.engine.hand import Hand
from tests.server.api import Api

ODD = {
    "a number that no float holds": '{"n": 1e5000, "exact": 1.5, "below": [{"m": -1e4000}]}',
    "one that is cut off": '{"n": 1e5000, "exact": 1.5, "below": [{"m": %s.5}]}' % ("9" * 400),
    "nested too deep": '{"n": %s%s, "exact": 1.5}' % ("[" * 2000, "]" * 2000),  # noqa: UP031
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
async def test_a_job_whose_output_nobody_can_read_is_listed_beside_others(
    api: Api, app: Penstock, hand: Hand, odd: str
) -> None:
    beside, id = hand.add(owner="alice"), hand.add(owner="alice")
    worker = hand.worker()
    worker.claim(2)
    hand.value("select penstock.complete(%s, %s, array[1], jsonb_build_array(%s::jsonb))", worker.lease, [id], odd)
    for who in (api.service, api.user("alice")):
        listed = (await who.get("/api/jobs")).json()["jobs"]
        assert [UUID(each["id"]) for each in listed] == [id, beside]
        for output in (listed[0]["output"], (await who.get(f"/api/jobs/{id}")).json()["output"]):
            assert output["exact"] == 1.5
            assert isinstance(output["n"], str | list)
    assert [job.id for job in app.jobs.list().jobs] == [job.id for job in app.jobs.search().jobs] == [id, beside]
    assert hand.job(id).output["exact"] == 1.5
