"""The demonstration as it is: a real voice, a real ear."""

import json
from pathlib import Path

import pytest
from rich.progress import Progress

from calls.conftest import Make
from penstock_recipes.calls import demo

SHORT = [(0, "Good morning, how are you?"), (1, "Hello.")]


@pytest.mark.parametrize(
    "conversation", [SHORT, pytest.param(demo.CONVERSATION, marks=pytest.mark.slow)], ids=["short", "whole"]
)
async def test_what_two_people_say_is_written_down_and_measured(
    make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, conversation: list[tuple[int, str]]
) -> None:
    for name in ("SPEECHKIT_API_KEY", "SPEECHKIT_IAM_TOKEN", "CALLS_ANALYSIS_MODEL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(demo, "CONVERSATION", conversation)
    async with make(transcriber=None, analyst=None) as calls, calls.worker():
        ada = calls.user("ada", demo.ORG)
        ada.client.headers.update(ada.headers)
        saved = await demo.demo(ada.client, tmp_path / "call", Progress(disable=True))
    assert [path.name for path in saved] == ["call.mp4", "audio.flac", "transcript.json", "analysis.json"]
    transcript, analysis = (json.loads(path.read_text()) for path in saved[2:])
    assert {segment["speaker"] for segment in transcript["segments"]} == {1, 2}
    assert len(transcript["segments"]) >= len(demo.CONVERSATION)
    first, second = analysis["measures"]["speakers"]
    assert first["share"] > second["share"] > 0.1
