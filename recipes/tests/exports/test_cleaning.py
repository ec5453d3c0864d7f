"""The end of exports: seven days after they were made."""

from pathlib import Path

import pytest

from exports.asking import Exports, stored_in
from penstock import Penstock
from penstock_recipes.exports import install
from tests.kit.fixtures import Connect

pytestmark = pytest.mark.usefixtures("kept_processes")


async def expire_all(connect: Connect) -> None:
    """Seven days pass."""
    connection = connect()
    connection.execute("update exports.export_history set expires_at = now() - interval '1 second'")
    connection.execute("update penstock.artifacts set expires_at = now() - interval '1 second'")


def hide(files: Path) -> None:
    """A store that fails: no folder where there was one."""
    files.rename(files.with_name("hidden"))
    files.write_text("")


def bring_back(files: Path) -> None:
    files.unlink()
    files.with_name("hidden").rename(files)


async def test_an_expired_export_is_gone(exports: Exports, connect: Connect) -> None:
    ada = exports.user()
    async with exports.worker():
        made = await ada.completed(await ada.export(await ada.document()))
    await expire_all(connect)
    answer = await ada.get(f"/export/download/{made['historyId']}")
    assert (answer.status_code, answer.json()["detail"]) == (410, "Export expired and has been deleted")
    assert (await exports.nobody.get(made["resultUrl"])).status_code == 410, "nor by a link that was made before"
    assert [line["downloadCount"] for line in await ada.history()] == [0]
    assert (await ada.job(made["id"]))["resultUrl"] is None


async def test_cleaning_up_removes_files_and_lines_that_have_expired(
    exports: Exports, files: Path, connect: Connect
) -> None:
    ada = exports.user()
    document = await ada.document()
    async with exports.worker():
        await ada.completed(await ada.export(document, "modern"))
        await expire_all(connect)
        kept = await ada.completed(await ada.export(document))
    assert len(stored_in(files)) == 2
    answer = await exports.service.post("/export/cleanup")
    assert answer.json() == {"success": True, "data": {"deletedCount": 1}}
    [line] = await ada.history()
    assert line["id"] == kept["historyId"]
    assert stored_in(files) == [files / line["filePath"]]
    assert (await exports.service.post("/export/cleanup")).json()["data"] == {"deletedCount": 0}


async def test_it_happens_every_night_at_two(exports: Exports, files: Path, connect: Connect) -> None:
    [schedule] = exports.app.schedules.code
    assert (schedule.cron, schedule.tz, schedule.name) == ("0 2 * * *", "UTC", "cleanup_exports")
    ada = exports.user()
    async with exports.worker():
        await ada.completed(await ada.export(await ada.document()))
        await expire_all(connect)
        run = await exports.app.schedules.arun_now("cleanup_exports")
        assert await run.aresult(timeout=30) == 1
    assert await ada.history() == []
    assert stored_in(files) == []


async def test_a_file_that_cannot_be_removed_keeps_its_line(exports: Exports, files: Path, connect: Connect) -> None:
    ada = exports.user()
    async with exports.worker():
        await ada.completed(await ada.export(await ada.document()))
    await expire_all(connect)
    hide(files)
    assert (await exports.service.post("/export/cleanup")).json()["data"] == {"deletedCount": 0}
    assert len(await ada.history()) == 1
    bring_back(files)
    assert (await exports.service.post("/export/cleanup")).json()["data"] == {"deletedCount": 1}
    await exports.app.artifacts.asweep()  # as workers do every few minutes
    assert stored_in(files) == []


async def test_the_recipe_lives_beside_other_handlers(url: str, tmp_path: Path) -> None:
    """And may be installed into a database a second time."""
    for _ in range(2):
        async with Penstock(url, artifacts=tmp_path) as app:

            @app.job
            def other() -> None: ...

            install(app)
            app.migrate()
            assert app.kinds == ["cleanup_exports", "export_pdf", "other"]
            assert app.queue_names == ["default", "exports"]
            [queue] = [queue for queue in app.queues.list() if queue.name == "exports"]
            assert queue.settings["max_running"] == 3
