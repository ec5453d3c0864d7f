from pathlib import Path
from uuid import uuid4

import pytest

from penstock import Penstock, SyncContext
from penstock.artifact import Artifact
from penstock.job import JobState
from tests.cli.conftest import Command


@pytest.fixture
def files(url: str, tmp_path: Path, penstock: Command) -> list[Artifact]:
    """Two files of Ann's, in the folder that the environment names."""
    penstock.environment["PENSTOCK_ARTIFACTS"] = str(tmp_path / "files")
    with Penstock(url, artifacts=tmp_path / "files") as app:

        @app.job
        def export(ctx: SyncContext) -> None:
            ctx.artifacts.put("[a].pdf", b"%PDF", expires_in=3600)
            ctx.artifacts.put("b.txt", b"text")

        export.using(owner="ann").enqueue()
        [result] = app.tick()
        assert result.state is JobState.SUCCEEDED, result.error
        return app.artifacts.list()


def test_list_shows_a_line_for_each_newest_first(penstock: Command, files: list[Artifact]) -> None:
    header, *lines = penstock.lines("artifacts", "list")
    assert header.split() == ["id", "kind", "size", "downloads", "stored", "expires", "path"]
    assert [line.split()[0] for line in lines] == [str(each.id) for each in files]
    assert lines[0].split()[-1] == files[0].path
    assert penstock.json("artifacts", "list", "--owner", "bob") == {"artifacts": [], "next": None}
    assert len(penstock.json("artifacts", "list", "--job", files[0].job)["artifacts"]) == 2
    page = penstock.json("artifacts", "list", "-n", 1)
    assert page["next"] == str(files[0].id)
    assert [each["id"] for each in penstock.json("artifacts", "list", "--before", page["next"])["artifacts"]] == [
        str(files[1].id)
    ]


def test_list_says_when_there_is_nothing(penstock: Command) -> None:
    assert penstock.lines("artifacts", "list") == ["no artifacts"]


def test_show_tells_everything(penstock: Command, files: list[Artifact]) -> None:
    shown = dict(line.split(maxsplit=1) for line in penstock.lines("artifacts", "show", files[1].id))
    assert (shown["name"], shown["size"], shown["content_type"]) == ("[a].pdf", "4", "application/pdf")
    assert penstock.json("artifacts", "show", files[0].id)["digest"] == files[0].digest
    id = uuid4()
    assert penstock.fails("artifacts", "show", id).startswith(f"error: there is no artifact {id}; ")


def test_url_makes_a_link_or_says_what_it_needs(penstock: Command, files: list[Artifact]) -> None:
    assert "PENSTOCK_SIGNING_SECRET" in penstock.fails("artifacts", "url", files[0].id)
    penstock.environment |= {"PENSTOCK_SIGNING_SECRET": "s", "PENSTOCK_PUBLIC_URL": "https://x.org/"}
    [link] = penstock.lines("artifacts", "url", files[0].id, "--seconds", 60)
    assert link.startswith(f"https://x.org/api/artifacts/{files[0].id}/file?expires=")
    assert penstock.json("artifacts", "url", files[0].id)["url"] != link


def test_sweep_says_what_it_removed(penstock: Command, app: Penstock, files: list[Artifact], tmp_path: Path) -> None:
    stray = tmp_path / "files" / "ann" / "stray"
    stray.write_bytes(b"x")
    assert penstock.lines("artifacts", "sweep") == ["0 artifacts, 0 orphans and 0 leftovers removed"]
    swept = penstock.json("artifacts", "sweep", "--orphans", "--grace", 0)
    assert swept == {"artifacts": 0, "orphans": 1, "leftovers": 0}
    assert not stray.exists()
    assert [(line.action, line.details) for line in app.audit.list()] == [("sweep_artifacts", swept)]
