"""The short form of `make storm-recipes`."""

from pathlib import Path

from rich.progress import Progress

from tests.recipes.storm.storm import Plan, run_storm


async def test_readings_and_exports_end_right_whoever_is_killed(url: str, tmp_path: Path) -> None:
    plan = Plan(readings=2, exports=12, chapters=2, kill_every=1.0, kills=3)
    with Progress(disable=True) as progress:
        report = await run_storm(plan, url, tmp_path, progress)
    assert not report.wrong
    assert (report.readings, report.exports) == (2, 12)
    assert report.kills
    assert report.jobs == 2 * 7 + 12
