"""The writer that asks Anthropic's API, against a server on loopback that speaks it."""

import json
from typing import Any

import msgspec
import pytest

from penstock_recipes.readings import CHAPTERS, GaveUp
from penstock_recipes.readings.chart import calculate
from penstock_recipes.readings.providers.text.claude import ClaudeWriter, parse
from penstock_recipes.readings.shapes import SYSTEMS, Person
from readings.people import ADA, WISLAWA
from shared.claude_service import answering, in_turn, refusing
from tests.kit.fake_http import Answer, fake_server

CALCULATION = calculate(msgspec.convert(ADA, Person), msgspec.convert(WISLAWA, Person), SYSTEMS)
TEXT = "An opening paragraph\nover two lines.\n\nAnother one.\n\n## First heading\n\nWords.\n\n## Second\nMore words.\n"


def message(text: str = TEXT, stop_reason: str = "end_turn") -> Answer:
    return answering([{"type": "text", "text": text}] if text else [], stop_reason)


def writer(url: str, **options: Any) -> ClaudeWriter:
    return ClaudeWriter("claude-test", api_key="a-key", base_url=url, **options)


async def test_a_chapter_comes_back_in_sections() -> None:
    async with fake_server(in_turn(message())) as server:
        written = await writer(server.url).write(CHAPTERS[1], CALCULATION)
    assert written.title == "Hunger"
    assert written.writer == "claude-test-1"
    assert [(section.heading, section.paragraphs) for section in written.sections] == [
        ("", ["An opening paragraph over two lines.", "Another one."]),
        ("First heading", ["Words."]),
        ("Second", ["More words."]),
    ]
    [request] = server.requests
    assert request.path == "/v1/messages"
    assert "a-key" in (
        request.headers.get("x-api-key"),
        request.headers.get("authorization", "").removeprefix("Bearer "),
    )
    body = json.loads(request.body)
    assert body["model"] == "claude-test"
    asked = json.loads(body["messages"][0]["content"])
    assert asked["title"] == "Hunger"
    assert asked["charts"]["charts"][0]["western"]["placements"][0]["sign"] == "Sagittarius"


async def test_what_is_busy_is_tried_again_when_it_says() -> None:
    busy = [refusing(429, "rate_limit_error", **{"Retry-After": "0"}), refusing(529, "overloaded_error")]
    soon = [Answer(each.status, each.body, {**each.headers, "retry-after-ms": "10"}) for each in busy]
    async with fake_server(in_turn(*soon, message())) as server:
        assert (await writer(server.url).write(CHAPTERS[0], CALCULATION)).words > 5
        assert len(server.requests) == 3


async def test_what_stays_busy_fails_the_attempt() -> None:
    busy = refusing(529, "overloaded_error", **{"retry-after-ms": "5"})
    async with fake_server(lambda _: busy) as server:
        with pytest.raises(Exception, match="overloaded_error") as failed:
            await writer(server.url, max_retries=1).write(CHAPTERS[0], CALCULATION)
        assert not isinstance(failed.value, GaveUp)
        assert len(server.requests) == 2


async def test_a_text_that_was_cut_off_is_asked_for_with_more_room() -> None:
    async with fake_server(in_turn(message("Cut o", "max_tokens"), message())) as server:
        assert (await writer(server.url).write(CHAPTERS[0], CALCULATION)).sections[0].paragraphs[1] == "Another one."
        first, second = (json.loads(request.body)["max_tokens"] for request in server.requests)
    assert second == 2 * first


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ([message("I would rather not.", "refusal")], "declined"),
        ([message("…", "max_tokens"), message("…", "max_tokens")], "did not come to an end"),
        ([message("…", "model_context_window_exceeded")], "did not come to an end"),
        ([refusing(400, "invalid_request_error")], r"does not accept the request \(400\)"),
        ([refusing(401, "authentication_error")], r"does not accept the request \(401\)"),
    ],
)
async def test_what_another_attempt_would_not_change_is_given_up(answers: list[Answer], why: str) -> None:
    async with fake_server(in_turn(*answers)) as server:
        with pytest.raises(GaveUp, match=why):
            await writer(server.url).write(CHAPTERS[0], CALCULATION)


async def test_an_answer_without_a_text_is_tried_again() -> None:
    async with fake_server(in_turn(message(""))) as server:
        with pytest.raises(RuntimeError, match="without a text"):
            await writer(server.url).write(CHAPTERS[0], CALCULATION)


def test_headings_of_any_depth_make_sections() -> None:
    assert [section.heading for section in parse("# One\na\n### Two ##\n\n\nb\n\n## Empty\n")] == ["One", "Two"]
