from uuid import uuid4

import pytest

from penstock import Context, Handler, Penstock
from penstock.engine import commands
from tests.app.worker import Worker
from tests.cli.conftest import Command
from tests.kit import saying

Send = Handler[..., None]


def test_list_shows_a_line_for_each_job_newest_first(
    penstock: Command, send: Send, app: Penstock, failed: list[str]
) -> None:
    newest = send.using(delay=60).enqueue("later")
    header, *lines = penstock.lines("jobs", "list")
    assert header.split() == ["id", "kind", "queue", "state", "attempt", "%", "created", "error"]
    assert [line.split()[0] for line in lines] == [str(newest.id), *failed[::-1]]
    assert lines[0].split()[1:6] == ["send", "default", "scheduled", "0/5", "0"]
    assert lines[1].split()[1:6] == ["send", "pdf", "failed", "1/5", "0"]
    assert lines[1].rstrip().endswith("no route to host")


def test_list_and_show_tell_what_waits_for_a_worker_that_knows_it(penstock: Command, send: Send, app: Penstock) -> None:
    job = send.enqueue("x")
    lease = app.engine.run(commands.OpenLease("of another version"))
    claimed = app.engine.run(commands.Claim(lease, "default", 1))
    app.engine.run(saying.park(lease, claimed, ["no handler here"]))
    assert penstock.lines("jobs", "list")[1].rstrip().endswith("waiting for a worker that knows it: no handler here")
    assert any(
        line.split() == ["parked_reason", "no", "handler", "here"] for line in penstock.lines("jobs", "show", job.id)
    )


def test_show_tells_what_a_handler_waits_for(penstock: Command, send: Send, app: Penstock) -> None:
    @app.job
    async def sell(ctx: Context) -> None:
        await ctx.call(send, "x")
        await ctx.wait_for("paid", key="order 7")
        await ctx.approve("Ship [it]?", timeout=3600)
        await ctx.sleep(days=3)

    id = sell.enqueue().id
    app.tick(limit=1)
    assert "             now  waits for the jobs it called (call send)" in penstock.lines("jobs", "show", id)
    while app.tick():
        pass
    assert "             now  waits for paid order 7" in penstock.lines("jobs", "show", id)
    app.emit("paid", key="order 7")
    app.tick()
    waits = penstock.json("jobs", "show", id)["waits_for"]
    assert (waits["kind"], waits["output"]["question"]) == ("approval", "Ship [it]?")
    shown = penstock.lines("jobs", "show", id)[-1]
    assert shown.startswith("             now  waits for a person: Ship [it]?, at most until 20")
    app.operator("ada").approve(id)
    app.tick()
    assert penstock.lines("jobs", "show", id)[-1].startswith("             now  sleeps until 20")
    app.jobs.cancel(id)
    assert penstock.json("jobs", "show", id)["waits_for"] is None


def test_show_has_the_traceback_of_each_attempt(penstock: Command, send: Send, app: Penstock) -> None:
    job = send.enqueue("x")
    lease = app.engine.run(commands.OpenLease("worker"))
    claimed = app.engine.run(commands.Claim(lease, "default", 1))
    error = {"error": "no route", "type": "OSError", "traceback": 'File "mail.py", line 7, in send\nOSError: no route'}
    app.engine.run(saying.fail(lease, claimed, [error]))
    assert [each["id"] for each in penstock.json("jobs", "list", "--error", "NO ROUTE")["jobs"]] == [str(job.id)]
    assert penstock.lines("jobs", "list", "--error", "elsewhere") == ["no jobs"]
    lines = penstock.lines("jobs", "show", job.id)
    assert lines[-2:] == ['File "mail.py", line 7, in send', "OSError: no route"]


def test_list_says_when_there_is_nothing(penstock: Command) -> None:
    assert penstock.lines("jobs", "list") == ["no jobs"]
    assert penstock.json("jobs", "list") == {"jobs": [], "next": None, "searched_back_to": None}


def test_list_says_when_there_is_no_such_queue(penstock: Command, send: Send, failed: list[str]) -> None:
    listed = penstock("jobs", "list", "-q", "mial")
    assert (listed.exit_code, listed.stdout) == (0, "no jobs\n")
    assert listed.stderr == "there is no queue 'mial' (did you mean 'mail'?); `penstock queues list` shows them\n"
    assert penstock("jobs", "list", "-q", "mail", "-k", "other").stderr == ""


def test_list_goes_page_by_page(penstock: Command, send: Send) -> None:
    ids = [str(handle.id) for handle in send.enqueue_many([{"to": str(n)} for n in range(5)])][::-1]
    first = penstock("jobs", "list", "-n", 2)
    assert first.stderr.strip() == f"more: --before {ids[1]}"
    page = penstock.json("jobs", "list", "--limit", 2, "--before", ids[1])
    assert ([job["id"] for job in page["jobs"]], page["next"]) == (ids[2:4], ids[3])
    last = penstock("jobs", "list", "--before", ids[3])
    assert (ids[4] in last.stdout, last.stderr) == (True, "")


def test_list_takes_filters_and_repeated_ones(penstock: Command, send: Send, failed: list[str]) -> None:
    ada = str(send.using(owner="ada", org="acme", queue="slow").enqueue("x").id)

    def found(*filters: str) -> set[str]:
        return {job["id"] for job in penstock.json("jobs", "list", *filters)["jobs"]}

    assert found("-q", "mail") == set(failed[:2])
    assert found("--queue", "pdf", "--queue", "slow") == {failed[2], ada}
    assert found("-s", "failed") == set(failed)
    assert found("--state", "ready", "--state", "running") == {ada}
    assert found("--owner", "ada") == found("--org", "acme") == {ada}
    assert found("-k", "send") == {*failed, ada}
    assert found("--kind", "export") == set()


def test_json_has_everything_on_record(penstock: Command, send: Send, app: Penstock) -> None:
    handle = send.using(owner="ada", priority=3).enqueue("grace")
    Worker(app).run_all(output={"sent": True})
    [listed] = penstock.json("jobs", "list")["jobs"]
    shown = penstock.json("jobs", "show", handle.id)
    assert {**listed, "worker": None, "waits_for": None} == shown
    assert {name: shown[name] for name in ("id", "kind", "queue", "state", "priority", "owner", "attempt")} == {
        "id": str(handle.id), "kind": "send", "queue": "default", "state": "succeeded", "priority": 3, "owner": "ada",
        "attempt": 1,
    }  # fmt: skip
    assert (shown["args"], shown["output"], shown["errors"]) == ({"to": "grace"}, {"sent": True}, [])
    assert shown["created_at"] <= shown["started_at"] <= shown["finished_at"]


def test_show_prints_what_there_is_and_nothing_empty(penstock: Command, failed: list[str]) -> None:
    shown = dict(line.split(maxsplit=1) for line in penstock.lines("jobs", "show", failed[0]))
    assert (shown["id"], shown["state"], shown["args"]) == (failed[0], "failed", "{'to': 'ada'}")
    assert shown["error"].startswith("attempt 1 at ")
    assert shown["error"].endswith(": no route to host")
    assert not shown.keys() & {"owner", "parent", "output", "progress"}


def test_show_of_an_unknown_job_fails(penstock: Command) -> None:
    id = uuid4()
    assert penstock.fails("jobs", "show", id).startswith(f"error: there is no job {id}; ")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["jobs", "show", "not-a-uuid"], "valid UUID"),
        (["jobs", "list", "--before", "x"], "valid UUID"),
        (["jobs", "list", "--limit", "0"], "'--limit' / '-n'"),
        (["jobs", "list", "--limit", "1001"], "'--limit' / '-n'"),
        (["jobs", "list", "--state", "done"], "'--state' / '-s'"),
        (["jobs", "list", "--nope"], "No such option"),
        (["jobs", "show"], "Missing argument"),
        (["jobs", "dance"], "No such command"),
    ],
)
def test_what_cannot_be_read_is_an_error_of_usage(penstock: Command, arguments: list[str], complaint: str) -> None:
    assert complaint in penstock.fails(*arguments, code=2)


def test_text_with_brackets_is_shown_as_it_is(penstock: Command, app: Penstock) -> None:
    app.job(kind="[bold]odd[/]", queue="[red]")(lambda: None).enqueue()
    worker = Worker(app, "[red]")
    worker.fail(worker.claim_one(), error="[/oops] in [a]")
    listing = penstock.lines("jobs", "list")[1]
    for text in ("[bold]odd[/]", "[red]", "[/oops] in [a]"):
        assert text in listing
    assert "[red]" in penstock.lines("queues", "set", "[red]", "rate=1")[0]
    assert "[red]" in "\n".join(penstock.lines("queues", "list"))
    assert penstock.fails("queues", "set", "mail", "[/x]") == "error: [/x]: write it as setting=value\n"


def test_a_narrow_terminal_does_not_cut_ids_short(penstock: Command, send: Send) -> None:
    handle = send.using(queue="a queue with quite a long name").enqueue("x")
    penstock.environment["COLUMNS"] = "80"
    assert str(handle.id) in "\n".join(penstock.lines("jobs", "list"))
