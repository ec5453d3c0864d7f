"""`make bench`: a short run of it, and what it writes."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.console import Console
from rich.progress import Progress

from bench import field, field_page, field_report, systems
from bench.field_goals import verdicts
from bench.field_results import COSTS, SPEED, Results
from bench.field_work import WORKS
from bench.measuring import Server
from bench.packages import version
from bench.peers import run_pgmq
from bench.processes import Failed
from penstock.worker import completer

SPEEDS = [
    "one by one, jobs/s", "in bulk, jobs/s", "drain, jobs/s", "by two", "16 producers + worker, jobs/s", "idle p50, ms",
    "idle p99, ms",
]  # fmt: skip
OF_A_JOB = [
    "drain, 1 KB", "drain, 10 KB", "drain, snapshot held", "CPU µs: worker", "server", "server, enqueue", "WAL B",
    "1 KB", "10 KB",
]  # fmt: skip
MACHINE = {
    "cpu": "a processor", "cores": 2, "memory_gb": 8, "system": "Linux", "python": "3.11.2", "node": "24",
    "postgres": "18.0", "redis": "Valkey 9", "penstock": "0.1.0", "measured_at": "2026-11-16",
}  # fmt: skip


async def test_penstock_and_a_peer_do_the_same_work_and_every_figure_is_kept(server: str, tmp_path: Path) -> None:
    file = tmp_path / "field.json"
    few = ["--jobs", "20", "--rounds", "1", "--results", str(file)]
    chosen = field.options(["--only", "penstock,pgmq", "--work", "drain", *few])
    results, measured = field.known(chosen), await Server.at(server)
    results.machine = await field.machine(measured)
    with Progress(disable=True) as progress:
        await field.Bench(measured, chosen, results, progress).run()
    assert await measured.enqueue_rate(systems.OURS, 20) > 0
    for name in chosen.only:
        await measured.drop_database(systems.BY_NAME[name])
    written = json.loads(file.read_text())
    [works] = written["rounds"]
    assert {work: set(of_work) for work, of_work in works.items()} == {"drain": {"penstock", "pgmq"}}
    assert all(found["rate"] > 0 and found["jobs"] == 20 for found in works["drain"].values())
    columns = {"bulk", "drain", "worker_us", "server_us", "enqueue_us", "wal"}
    assert {name: set(found) for name, found in written["summary"].items()} == {"penstock": columns, "pgmq": columns}
    assert all(found["wal"]["median"] > 100 for found in written["summary"].values())
    # the same command would go on with the rest
    again = field.known(chosen)
    assert not field.finished(again)
    left = {(work.name, system.name) for work in WORKS for system in systems.FIELD if again.lacks(0, work, system)}
    assert ("drain", "penstock") not in left
    assert {("one_by_one", "penstock"), ("drain", "awa")} <= left


def test_the_page_has_every_column_of_every_system_and_keeps_what_people_wrote(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    page.write_text(f"# Ours\n\n{field_page.BEGIN}\nof last time\n{field_page.END}\n\nto be read with care\n")
    field_page.write(page, made())
    text = page.read_text()
    assert text.startswith("# Ours\n")
    assert text.endswith("\n\nto be read with care\n")
    assert "of last time" not in text
    rows = {tuple(cell.strip() for cell in line.strip("|").split("|")) for line in text.splitlines() if line[:1] == "|"}
    assert ("", *SPEEDS) in rows
    assert ("", *OF_A_JOB) in rows
    # ours is twice as good, at 100, 110 and 120 of everything in the three rounds
    assert (f"**penstock** {version('penstock')}", *["220 ±9%"] * 5, "55.0 ±9%", "55.0 ±9%") in rows
    assert any(row[0].startswith("rq") and row[1] == "cannot be had here" for row in rows)
    assert ("celery 5.7.0", *["110 ±9%"] * 2, "–", *["110 ±9%"] * 3, *["–"] * 3) in rows, "no WAL, and no snapshot"
    assert "- rq cannot be had here: no such package" in text
    assert "- awa, idle, round 1: awa (answer) ended" in text
    for theme in ("light", "dark"):
        assert f"assets/benchmarks-{theme}.svg#only-{theme}" in text
        drawn = (tmp_path / "assets" / f"benchmarks-{theme}.svg").read_text()
        texts = [each.text for each in ElementTree.fromstring(drawn).iter("{http://www.w3.org/2000/svg}text")]
        assert "penstock" in texts
        assert "220" in texts
    for system in systems.FIELD:
        assert len(system.settings) > 80, f"{system.name} does not say how it runs"
        assert system.settings in text


def test_time_runs_for_each_system_until_it_has_stored_what_it_ran_and_pgmq_has_our_batch() -> None:
    for system in systems.FIELD:
        if system.store == "Postgres":
            assert " from " in system.unfinished, f"{system.name} is not asked what is left"
    assert run_pgmq.BATCH == completer.MOST_AT_ONCE


def test_goals_are_judged_by_the_ratio_to_the_best_of_those_they_name() -> None:
    found = {verdict.name: verdict for verdict in verdicts(made())}
    assert {name: verdict.met for name, verdict in found.items()} == {
        "drain": True, "drain_python": True, "drain_graphile": True, "drain_pgmq": True, "idle_p50": True,
        "idle_p50_postgres": True, "idle_p99": True, "idle_p99_postgres": True, "held": True, "wal": True,
        "wal_1k": True, "wal_10k": True, "two": None,
    }  # fmt: skip
    assert found["drain"].measured == 2.0
    assert found["idle_p50"].measured == 0.5
    assert "4 cores" in found["two"].beside
    slower = made(better=1.1)
    assert {verdict.name for verdict in verdicts(slower) if verdict.met is False} == {"drain_python", "drain_graphile"}
    # without ours there is nothing to judge, and without the others only what is ours alone
    slower.forget(systems.OURS)
    assert verdicts(slower) == []


def test_a_table_is_shown_of_what_was_measured(capsys: pytest.CaptureFixture[str]) -> None:
    results = Results(field.plan(field.options(["--quick"])), dict(MACHINE), rounds=[{}])
    results.rounds[0]["drain"] = {"penstock": {"rate": 1234.5, "bulk_rate": 9876.0, "wal": 900.0}}
    field_report.show(Console(width=200), results)
    shown = capsys.readouterr().out
    assert "drain, jobs/s" in shown
    assert "1,234" in shown
    assert "idle p50" not in shown, "nobody measured it"


def test_a_page_without_a_place_for_the_figures_is_left_alone(tmp_path: Path) -> None:
    page = tmp_path / "other.md"
    page.write_text("# Other\n")
    with pytest.raises(SystemExit, match="has no lines"):
        field_page.write(page, made())
    assert page.read_text() == "# Other\n"


def test_a_finished_run_is_begun_anew_and_a_stopped_one_is_not(tmp_path: Path) -> None:
    chosen = field.options(["--results", str(tmp_path / "field.json")])
    results = made()
    for of_work in results.rounds[0].values():
        for name, figures in of_work.items():
            of_work[name] = {"rate": 1.0} if "failed" in figures else figures
    results.write(chosen.results)
    assert field.finished(results)
    assert field.known(chosen).rounds[0]["drain"] == {}
    chosen.only = ["awa"]
    assert set(results.rounds[0]["drain"]) - set(field.known(chosen).rounds[0]["drain"]) == {"awa"}
    chosen.rounds = 5
    assert field.known(chosen).rounds == [{}] * 5, "of another plan"


def test_a_measurement_that_fails_keeps_no_page_from_being_written_and_is_tried_again(tmp_path: Path) -> None:
    chosen = field.options(["--results", str(tmp_path / "field.json")])
    results = made()
    assert field.page_of(chosen, results) == field_page.PAGE
    results.write(chosen.results)
    again = field.known(chosen)
    left = [
        (n, work.name, each.name)
        for n in range(3)
        for work in WORKS
        for each in systems.FIELD
        if again.lacks(n, work, each)
    ]
    assert left == [(0, "idle", "awa")]
    del results.rounds[2]["drain"]["awa"]
    assert field.page_of(chosen, results) is None, "nobody tried it"


def test_figures_of_another_penstock_are_not_gone_on_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = field.options(["--results", str(tmp_path / "field.json")])
    made().write(chosen.results)
    assert field.known(chosen).rounds[0]["drain"]
    (tmp_path / "penstock").mkdir()
    (tmp_path / "penstock" / "claim.sql").write_text("select 1")
    monkeypatch.setattr(field, "ROOT", tmp_path)
    assert field.known(chosen).rounds == [{}] * 3


def test_why_a_system_cannot_be_had_is_one_line() -> None:
    assert (
        field.why_not(Failed("pip for rq ended with 1\nWARNING: slow\nERROR: none\n"))
        == "pip for rq ended with 1: ERROR: none"
    )


def made(better: float = 2.0) -> Results:
    """Three rounds in which everybody has 100, 110 and 120 of everything, we so many times better; rq is not there."""
    results = Results(field.plan(field.options([])), dict(MACHINE), {"rq": "no such package"}, rounds=[{}, {}, {}])
    lower = {"p50_ms", "p99_ms", "worker_us", "server_us", "server_enqueue_us", "wal"}
    for n, value in enumerate((100.0, 110.0, 120.0)):
        for work in WORKS:
            of_work: dict[str, dict[str, Any]] = results.rounds[n].setdefault(work.name, {})
            for system in systems.FIELD:
                if system.name == "rq" or not work.is_for(system):
                    continue
                times = better if system.name == "penstock" else 1.0
                found = {
                    column.figure: value / times if column.figure in lower else value * times
                    for column in (*SPEED, *COSTS)
                    if column.work == work.name
                }
                of_work[system.name] = found if system.store == "Postgres" else {**found, "wal": None}
    results.rounds[0]["idle"]["awa"] = {"failed": "awa (answer) ended"}
    return results
