"""pgmq_public over /rest/v1, as supabase-js calls it."""

from typing import Any

import pytest

from penstock.server.rest import answers
from tests.kit.fixtures import Connect
from tests.server.api import Api
from tests.server.rest.conftest import Rest

QUEUE = "add-bookmark-url-queue"


async def test_messages_are_sent_read_and_archived(service: Rest, connect: Connect) -> None:
    connect().execute("select pgmq.create(%s)", [QUEUE])
    ids = [await service.rpc("send", "pgmq_public", queue_name=QUEUE, message={"n": n}) for n in (1, 2)]
    # setof bigint is a list, boolean a value, rows are objects
    assert ids == [[1], [2]]
    messages: Any = await service.rpc("read", "pgmq_public", queue_name=QUEUE, n=10)
    assert [each["message"] for each in messages] == [{"n": 1}, {"n": 2}]
    assert await service.rpc("archive", "pgmq_public", queue_name=QUEUE, message_id=messages[0]["msg_id"]) is True
    assert await service.rpc("delete", "pgmq_public", queue_name=QUEUE, message_id=messages[1]["msg_id"]) is True
    assert await service.rpc("pop", "pgmq_public", queue_name=QUEUE) == []
    sent = await service.rpc("send_batch", "pgmq_public", queue_name=QUEUE, messages=[{"n": 3}, {"n": 4}])
    assert sent == [3, 4]


async def test_numbers_of_a_message_keep_every_digit(service: Rest, api: Api, connect: Connect) -> None:
    connect().execute("select pgmq.create('q')")
    body = '{"queue_name": "q", "message": {"exact": 12345678901234567890.123456789}}'
    headers = {"Content-Profile": "pgmq_public", "Content-Type": "application/json"}
    assert (await api.service.post("/rest/v1/rpc/send", content=body, headers=headers)).status_code == 200
    read = await api.service.post("/rest/v1/rpc/read", {"queue_name": "q"}, headers={"Content-Profile": "pgmq_public"})
    assert '"exact": 12345678901234567890.123456789' in read.text


async def test_one_row_is_an_object_and_nothing_is_taken_where_it_is_not_one(api: Api, connect: Connect) -> None:
    connect().execute("select pgmq.create('q')")
    headers = {"Content-Profile": "pgmq_public", "Accept": "application/vnd.pgrst.object+json"}
    for n in (1, 2):
        await api.service.post("/rest/v1/rpc/send", {"queue_name": "q", "message": {"n": n}}, headers=headers)
    refused = await api.service.post("/rest/v1/rpc/read", {"queue_name": "q", "n": 2}, headers=headers)
    assert (refused.status_code, refused.json()["code"]) == (406, "PGRST116")
    assert refused.json()["details"] == "The result contains 2 rows"
    # the refused read has hidden nothing
    first = await api.service.post("/rest/v1/rpc/read", {"queue_name": "q", "n": 1}, headers=headers)
    assert (first.json()["message"], first.json()["read_ct"]) == ({"n": 1}, 1)


async def test_an_answer_that_is_too_large_is_refused_and_takes_nothing(
    service: Rest, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect().execute("select pgmq.create('q'), pgmq.send('q', jsonb_build_object('text', repeat('x', 1000)))")
    monkeypatch.setattr(answers, "MAX_BYTES", 500)
    headers = {"Content-Profile": "pgmq_public"}
    answer = await service.ask.post("/rest/v1/rpc/read", {"queue_name": "q"}, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (413, "54000")
    monkeypatch.undo()
    [message] = (await service.ask.post("/rest/v1/rpc/read", {"queue_name": "q"}, headers=headers)).json()
    assert message["read_ct"] == 1


@pytest.mark.parametrize("n", [1001, "1001", " +5000 ", None], ids=repr)
async def test_too_many_at_once_are_refused(service: Rest, connect: Connect, n: object) -> None:
    """Null would be all."""
    connect().execute("select pgmq.create('q'), pgmq.send('q', '{}')")
    asked = {"queue_name": "q", "n": n}
    answer = await service.ask.post("/rest/v1/rpc/read", asked, headers={"Content-Profile": "pgmq_public"})
    assert (answer.status_code, answer.json()["code"]) == (400, "22023")
    assert "n: at most 1000" in answer.text
    assert len(str(await service.rpc("read", "pgmq_public", queue_name="q", n="1000"))) > 2
