"""A type checker knows what a handler takes and what its result is."""

import subprocess
import sys
from pathlib import Path
from textwrap import dedent

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
    from dataclasses import dataclass
    from typing import assert_type
    from penstock import Cancel, Context, Fail, JobHandle, Penstock, Snooze, SyncContext

    app = Penstock()

    @dataclass
    class Page:
        number: int

    @app.job
    def plain(document: str, pages: int = 1) -> Page:
        return Page(pages)

    @app.job(queue="exports", max_attempts=3)
    async def with_context(ctx: Context, document: str, *, draft: bool = False) -> list[int]:
        return [1]

    assert_type(plain.enqueue("d1"), JobHandle[Page])
    assert_type(plain.enqueue(document="d1", pages=2).result(), Page)
    assert_type(with_context.enqueue("d1", draft=True), JobHandle[list[int]])
    assert_type(plain.using(priority=1).enqueue("d1").result(timeout=5), Page)
    assert_type(plain.enqueue_many([{"document": "d"}])[0], JobHandle[Page])

    @app.job
    async def poll(ctx: Context, operation: str) -> int | Snooze | Fail | Cancel:
        return Snooze(30)

    @app.job(max_attempts=2)
    def poll_here(operation: str) -> Page | Snooze:
        return Page(1)

    @app.job(batch=100)
    async def index(words: list[str]) -> list[int | Fail]:
        return [1]

    @app.job(batch=100, queue="mail")
    def send(addresses: list[str]) -> None: ...

    @app.cron("0 2 * * *", queue="nightly")
    def clean_up(ctx: SyncContext, days: int = 7) -> int:
        return days

    @app.cron("0 3 * * *")
    @app.job
    async def report(day: str = "today") -> str:
        return day

    assert_type(poll.enqueue("o").result(), int)
    assert_type(poll_here.enqueue("o").result(), Page)
    assert_type(index.enqueue("word").result(), int)
    assert_type(send.enqueue("ada").result(), None)
    assert_type(send.enqueue_many([{"addresses": "ada"}])[0].result(), None)
    assert_type(plain.enqueue_many(plain.prepare("d", pages=n) for n in range(3))[0].result(), Page)
    assert_type(clean_up.enqueue(days=3).result(), int)
    assert_type(report.enqueue().result(), str)
    assert_type(plain("d1", pages=2), Page)
    assert_type(plain.using(priority=1)("d1"), Page)

    async def use() -> None:
        assert_type(await report("today"), str)
        assert_type(await plain.aenqueue("d1"), JobHandle[Page])
        assert_type(await (await with_context.aenqueue("d1")).aresult(), list[int])

    plain.enqueue(5)
    plain.enqueue("d1", pages="two")
    plain.enqueue("d1", pags=2)
    plain.enqueue()
    plain.prepare(5)
    with_context.enqueue("d1", True)
    with_context.enqueue("d1", draft="no")
    plain.enqueue_many(plain.prepare(n) for n in range(3))
    plain(5)
    with_context("d1")
    index.enqueue(5)
    clean_up.enqueue(days="all")
    plain.using(priority="high")
    plain.using(quue="mail")
    app.job(max_attempts="3")
    app.queues.set("mail", rate="fast")
    app.jobs.list(quue="mail")
"""
RIGHT_UNTIL = PROGRAM.index("    plain.enqueue(5)")


def test_wrong_arguments_and_options_are_type_errors_and_results_have_their_type(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(dedent(PROGRAM))
    # where and as `make types` checks the package: what it remembers of it need not be found out again
    command = [sys.executable, "-m", "mypy", str(file)]
    checked = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    refused = {int(line.split(":")[1]) for line in checked.stdout.splitlines() if ": error:" in line}
    first_wrong = PROGRAM[:RIGHT_UNTIL].count("\n") + 1
    assert refused == set(range(first_wrong, PROGRAM.count("\n") + 1)), checked.stdout + checked.stderr
