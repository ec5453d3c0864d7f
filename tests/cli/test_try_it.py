"""What `penstock up` proposes to try works as it is printed: by a shell, with curl, for every recipe."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Annotated, Literal
from uuid import UUID

import msgspec
import pytest

from penstock import Flow, Penstock
from penstock.cli.try_it import commands_for, key_in_shell
from penstock_recipes import bookmarks, calls, exports, readings
from tests.kit.serving import KEY, SECRET, served


class Page(msgspec.Struct):
    size: Literal["a4", "letter"]
    margins: Annotated[list[float], msgspec.Meta(min_length=4, max_length=4)]


async def _run_examples(app: Penstock, folder: Path) -> list[tuple[str, dict[str, object]]]:
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PENSTOCK_JWT_SECRET": SECRET,
    }
    answers = []
    async with served(app, docs=False) as server:
        for command in commands_for(app, server.address, key_in_shell(folder / "key")):
            assert KEY not in command
            shell = await asyncio.create_subprocess_exec(
                "sh", "-c", command,
                cwd=folder, env=environment, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
            )  # fmt: skip
            answers.append((command, json.loads((await shell.communicate())[0])))
    return answers


async def test_the_examples_of_every_recipe_work(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = Penstock(url, artifacts=tmp_path / "artifacts")
    bookmarks.install(app, allow=["0.0.0.0/0"])  # nobody can be asked for a name where these tests run
    for recipe in (exports, readings, calls):
        recipe.install(app)
    app.examples[0] = app.examples[0].replace("https://example.com/", "http://127.0.0.1/")
    await asyncio.to_thread(app.migrate)
    answers = await _run_examples(app, tmp_path)
    for command, answer in answers:
        assert answer.get("success", True) is True, (command, answer)
        assert "title" not in answer, (command, answer)
    jobs = {job.kind for job in await asyncio.to_thread(lambda: list(app.jobs.each()))}
    assert jobs >= {"export_pdf", "add_bookmark_url", "nuclear_v2", "extract_audio"}
    assert len(answers) == 4


async def test_the_simplest_kind_is_proposed_with_arguments_that_it_takes(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PENSTOCK_SERVICE_KEY", raising=False)
    (tmp_path / "key").write_text(KEY)
    app = Penstock(url, artifacts=tmp_path / "artifacts")

    @app.job
    async def it_s_printed(page: Page, document: UUID, copies: int = 1) -> None: ...

    [(_, answer)] = await _run_examples(app, tmp_path)
    [job] = await asyncio.to_thread(lambda: app.jobs.list().jobs)
    assert answer["id"] == str(job.id)

    @app.flow
    def all_of_it_printed(pages: int) -> Flow:
        del pages
        return Flow()

    [command] = commands_for(app, "http://here", "key")
    assert '{"kind": "all_of_it_printed", "args": {"pages": 1}}' in command
    await app.aclose()
