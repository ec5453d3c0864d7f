"""The short form of `make storm-recipes`."""

from pathlib import Path

from rich.progress import Progress

from storm.storm import Plan, run_storm


async def test_readings_and_exports_end_right_whoever_is_killed(url: str, tmp_path: Path) -> None:
    plan = Plan(readings=1, exports=8, chapters=2, kill_every=1.0, kills=2)
    with Progress(disable=True) as progress:
        report = await run_storm(plan, url, tmp_path, progress)
    assert not report.wrong
    assert (report.readings, report.exports) == (1, 8)
    assert report.kills
    assert report.jobs == 7 + 8
