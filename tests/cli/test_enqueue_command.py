import json
import threading
from pathlib import Path

import pytest

from penstock import Handler, Penstock
from penstock.engine import commands
from penstock.job import Lease
from tests.app.worker import Worker
from tests.cli.conftest import Command


def test_a_job_of_a_kind_whose_handler_is_elsewhere(penstock: Command, app: Penstock) -> None:
    [id] = penstock.lines(
        "enqueue", "send", '{"to": "ada"}', "--queue", "mail", "--create", "--delay", 60, "--priority", 7,
        "--max-attempts", 2, "--owner", "ada", "--org", "acme",
    )  # fmt: skip
    [job] = app.jobs.list().jobs
    assert str(job.id) == id
    assert (job.kind, job.args, job.queue, job.priority, job.max_attempts) == ("send", {"to": "ada"}, "mail", 7, 2)
    assert (job.owner, job.org, str(job.state)) == ("ada", "acme", "scheduled")


def test_arguments_may_come_from_stdin(penstock: Command, app: Penstock) -> None:
    assert penstock("enqueue", "send", "-", "--json", answer='{"to": "ü"}').exit_code == 0
    assert app.jobs.list().jobs[0].args == {"to": "ü"}


def test_the_same_work_is_enqueued_once_when_unique(penstock: Command) -> None:
    first, again = (penstock.json("enqueue", "send", '{"to": "ada"}', "--unique") for _ in range(2))
    assert first == again


def test_a_time_may_be_said(penstock: Command, app: Penstock) -> None:
    penstock.lines("enqueue", "send", "--run-at", "2036-12-24T18:00+01:00")
    assert app.jobs.list().jobs[0].run_at.isoformat().startswith("2036-12-24T17:00")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["send", "nonsense"], "args: must be JSON such as"),
        (["send", "[1]"], "args: must be a JSON object"),
        (["send", "--queue", "defualt"], "there is no queue 'defualt' (did you mean 'default'?)"),
        (["send", "--run-at", "soon"], "run_at: must be a time such as"),
        (["send", "--app", "nowhere:app"], "there is no module 'nowhere'"),
    ],
)
def test_what_makes_no_sense_enqueues_nothing(
    penstock: Command, app: Penstock, arguments: list[str], complaint: str
) -> None:
    assert penstock.fails("enqueue", *arguments).startswith(f"error: {complaint}")
    assert app.jobs.list().jobs == []


def test_an_application_checks_and_places_it(
    penstock: Command, app: Penstock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "postbox.py").write_text(
        "from penstock import Penstock\napp = Penstock()\n@app.job(queue='post')\ndef letter(to: str) -> None: ...\n"
    )
    monkeypatch.chdir(tmp_path)
    assert "to: is missing" in penstock.fails("enqueue", "letter", "--app", "postbox:app")
    assert "did you mean 'letter'?" in penstock.fails("enqueue", "leter", "--app", "postbox:app")
    penstock.lines("enqueue", "letter", '{"to": "ada"}', "--app", "postbox:app")
    assert app.jobs.list().jobs[0].queue == "post"


def test_wait_prints_the_result(penstock: Command, app: Penstock, send: Handler[..., None]) -> None:
    def work() -> None:
        worker = Worker(app)
        while not done.is_set():
            worker.run_all()
            done.wait(0.01)

    done = threading.Event()
    working = threading.Thread(target=work)
    working.start()
    try:
        result = penstock("enqueue", "send", '{"to": "ada"}', "--wait")
    finally:
        done.set()
        working.join()
    assert (result.exit_code, json.loads(result.stdout)) == (0, None)


def test_many_jobs_of_a_kind_come_from_the_lines_of_a_file(penstock: Command, app: Penstock, tmp_path: Path) -> None:
    file = tmp_path / "addresses.jsonl"
    file.write_text('{"to": "ada"}\n\n{"to": "ünal"}\n')
    assert penstock.lines("enqueue", "send", "--from", file, "--priority", 7) == ["2 jobs enqueued"]
    assert [(job.kind, job.args["to"], job.priority) for job in app.jobs.each()] == [
        ("send", "ünal", 7),
        ("send", "ada", 7),
    ]
    assert penstock.json("enqueue", "send", "--from", file, "--unique") == {"enqueued": 2, "existed": 0}
    assert penstock.json("enqueue", "send", "--from", file, "--unique") == {"enqueued": 0, "existed": 2}


def test_lines_from_stdin_say_their_kinds_and_options_themselves(penstock: Command, app: Penstock) -> None:
    lines = [
        {"kind": "send", "args": {"to": "ada"}, "owner": "ada", "priority": 3},
        {"kind": "ring", "queue": "mail", "run_at": "2036-12-24T18:00+01:00"},
    ]
    text = "\n".join(map(json.dumps, lines))
    done = penstock("enqueue", "--from", "-", "--create", "--org", "acme", "--priority", 1, answer=text)
    assert (done.exit_code, done.stderr) == (0, "")
    ring, send = app.jobs.each()
    assert (send.kind, send.owner, send.org, send.priority) == ("send", "ada", "acme", 3)
    assert (ring.kind, ring.queue, ring.org, ring.priority, str(ring.state)) == ("ring", "mail", "acme", 1, "scheduled")


@pytest.mark.parametrize(
    ("kind", "line", "complaint"),
    [
        (["send"], "nonsense", "line 2: must be a JSON object such as"),
        (["send"], "[1]", "line 2: must be a JSON object such as"),
        ([], '{"to": "ada"}', "line 2: to: is none of kind, args, queue"),
        ([], '{"args": {}}', 'line 2: kind: write a line as {"kind"'),
        ([], '{"kind": "send", "priority": "high"}', "line 2: priority: must be a whole number"),
        ([], '{"kind": "send", "queue": "defualt"}', "line 2: there is no queue 'defualt'"),
    ],
)
def test_one_wrong_line_is_named_and_enqueues_nothing(
    penstock: Command, app: Penstock, tmp_path: Path, kind: list[str], line: str, complaint: str
) -> None:
    file = tmp_path / "jobs.jsonl"
    file.write_text(f'{{"kind": "send"}}\n{line}\n')
    said = penstock.fails("enqueue", *kind, "--from", file)
    assert said.startswith(f"error: {complaint}")
    assert said.endswith("Nothing was enqueued\n")
    assert app.jobs.list().jobs == []


def test_a_flow_of_the_application_is_started_by_its_name(
    penstock: Command, app: Penstock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "binding.py").write_text(
        "from penstock import Flow, Penstock\napp = Penstock()\n"
        "@app.job\ndef page(number: int) -> None: ...\n"
        "@app.flow\ndef book(pages: int) -> Flow:\n"
        "    flow = Flow(then=page.prepare(0))\n"
        "    [flow.add(page.prepare(each)) for each in range(pages)]\n"
        "    return flow\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    [id] = penstock.lines("enqueue", "book", '{"pages": 2}', "--app", "binding")
    flow = app.jobs.list(state="blocked").jobs[0]
    assert (str(flow.id), flow.waiting_on) == (id, 2)
    assert "priority: is for one job, and book is a flow" in penstock.fails(
        "enqueue", "book", '{"pages": 2}', "--app", "binding", "--priority", 1
    )


def test_waiting_longer_than_the_timeout_says_how_to_look(penstock: Command, app: Penstock) -> None:
    said = penstock.fails("enqueue", "send", "--wait", "--timeout", 0)
    [job] = app.jobs.list().jobs
    assert said.startswith("error: it has not ended within 0 s, and goes on: ")
    assert f"penstock jobs show {job.id}" in said


def test_a_kind_that_nobody_is_known_to_run_is_warned_of(penstock: Command, app: Penstock, tmp_path: Path) -> None:
    assert penstock("enqueue", "nothere").stderr == "", "nobody has said yet what there is"
    app.engine.run(commands.OpenLease("worker", host="here", pid=1, kinds=["ring", "send_mail"]))
    app.engine.run(commands.DeclareKinds([{"kind": "export", "template": {}}], ["export", "tidy"]))
    try:
        for known in ("ring", "export", "tidy"):
            assert penstock("enqueue", known).stderr == ""
        done = penstock("enqueue", "send_mial")
        assert (done.exit_code, done.stdout.strip()) == (0, str(app.jobs.list().jobs[0].id))
        assert done.stderr.startswith(
            "warning: kind: nobody is known to run 'send_mial' (did you mean 'send_mail'?); there are export, ring, "
        )
        as_json = penstock("enqueue", "nothere", "--json")
        assert json.loads(as_json.stdout) == {"id": str(app.jobs.list().jobs[0].id)}
        assert json.loads(as_json.stderr)["warning"].startswith("kind: nobody is known to run 'nothere'; there are ")
        (tmp_path / "jobs.jsonl").write_text('{"kind": "ring"}\n{"kind": "rong"}\n{"kind": "rong"}\n')
        lines = penstock("enqueue", "--from", tmp_path / "jobs.jsonl")
        assert (lines.stdout, lines.stderr.count("'rong' (did you mean 'ring'?)")) == ("3 jobs enqueued\n", 1)
        app.engine.run(commands.OpenLease("another", host="here", pid=2))
        assert penstock("enqueue", "nothere").stderr == "", "which that one may have"
    finally:
        app.engine.run(commands.DeclareKinds([], ["export", "tidy"]))
        for worker in app.workers.list():
            app.engine.run(commands.CloseLease(Lease(worker.lease)))
