"""`penstock worker` as a process: how signals end it, what its exit code says, and how it complains."""

import json
import signal
import urllib.request

import pytest
from psycopg.conninfo import make_conninfo

from penstock import JobState
from tests.kit.ports import free_port
from tests.kit.until import wait_until
from tests.worker.processes import MODULE, Commands
from tests.worker.processes import commands as commands


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_jobs_finish_and_the_exit_code_says_so(commands: Commands, number: signal.Signals) -> None:
    process = commands.start_worker()
    job = commands.enqueue_and_start("wait", "a")
    process.send(number)
    wait_until(lambda: "stopping: 1 job has 30 s to finish" in process.complaint)
    commands.go("a")
    assert process.wait() == 0
    assert job.result(1) == process.pid
    assert commands.leases == {}


@pytest.mark.parametrize("kind", ["wait", "stuck", "stuck_inside"])
def test_the_exit_code_tells_that_jobs_were_given_back(commands: Commands, kind: str) -> None:
    process = commands.start_worker("--grace", 0.1)
    job = commands.enqueue_and_start(kind, "a" if kind == "wait" else None)
    process.send(signal.SIGTERM)
    assert process.wait(10) == 3
    record = job.refresh()
    assert (record.state, record.attempt, record.errors) == (JobState.READY, 0, [])
    assert commands.leases == {}


@pytest.mark.parametrize("kind", ["wait", "stuck", "stuck_inside"])
@pytest.mark.parametrize(
    "numbers", [(signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGINT)], ids=["SIGTERM", "SIGINT"]
)
def test_a_second_signal_ends_at_once(
    commands: Commands, kind: str, numbers: tuple[signal.Signals, signal.Signals]
) -> None:
    process = commands.start_worker("--grace", 600)
    job = commands.enqueue_and_start(kind, "a" if kind == "wait" else None)
    process.send(numbers[0])
    wait_until(lambda: "to finish" in process.complaint)
    process.send(numbers[1])
    assert process.wait(10) == 3
    record = job.refresh()
    assert (record.state, record.attempt) == (JobState.READY, 0)


def test_log_lines_are_json_where_no_person_reads_them(commands: Commands) -> None:
    process = commands.start_worker("--queues", "default:2")
    job = commands.enqueue("quick")
    assert job.result(10) == process.pid
    process.send(signal.SIGTERM)
    assert process.wait() == 0
    assert [line["message"] for line in process.lines if line["message"].endswith("runs default × 2")]
    about = [line for line in process.lines if line.get("job") == str(job.id)]
    assert {(line["kind"], line["attempt"]) for line in about} == {("quick", 1)}
    assert all(line["time"] and line["level"] == "info" and line["logger"] for line in process.lines)


def test_log_lines_are_for_people_when_asked(commands: Commands) -> None:
    process = commands.start_worker("--log-format", "text", "--queues", "default,defualt")
    process.send(signal.SIGTERM)
    assert process.wait() == 0
    assert process.complaint.count("no handler here puts its jobs into 'defualt' (did you mean 'default'?)") == 1
    with pytest.raises(json.JSONDecodeError):
        process.lines  # noqa: B018 - reads them


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["nowhere:app"], "there is no module 'nowhere' here"),
        (["tasks:other"], "'other' of tasks is no such name: write tasks:app"),
        (["tasks:here"], "'here' of tasks is no Penstock application: write tasks:app"),
        (["tasks:app", "--queues", "default:0"], "queues: 'default:0': write it as default:50,exports:3"),
        (["tasks:app", "--queues", "default:many"], "queues: 'default:many': write it as default:50,exports:3"),
        (["tasks:app", "--queues", ""], "queues: '': write it as"),
        (["tasks:app", "--processes", "0"], "processes: '0': write it as 2, or as 1:4"),
        (["tasks:app", "--processes", "4:1"], "processes: '4:1': write it as 2, or as 1:4"),
        (["tasks:app", "--processes", "two"], "processes: 'two': write it as 2, or as 1:4"),
        (["tasks:app", "--grace", "-1"], "grace: "),
        (["tasks:app", "--lease", "0"], "lease"),
    ],
)
def test_what_cannot_start_says_why_in_one_line(commands: Commands, arguments: list[str], complaint: str) -> None:
    process = commands.start("worker", *arguments)
    assert process.wait() == 1
    [line] = process.complaint.splitlines()
    assert line.startswith(f"error: {complaint}")


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_database_out_of_reach_is_told_in_one_line(commands: Commands, processes: str) -> None:
    nowhere = make_conninfo(commands.url, port="1")
    process = commands.start("worker", "tasks:app", "--processes", processes, url=nowhere)
    assert process.wait(10) == 1
    [line] = process.complaint.splitlines()
    assert line.startswith("error: ")
    assert "connection" in line


def test_a_database_without_our_schema_is_told_in_one_line(commands: Commands, empty_url: str) -> None:
    process = commands.start("worker", "tasks:app", url=empty_url)
    assert process.wait(10) == 1
    [line] = process.complaint.splitlines()
    assert line.startswith("error: ")
    assert "penstock migrate" in line


GREEDY = """
kept = []


@app.job
async def grow() -> int:
    kept.append(b"x" * 300_000_000)
    return os.getpid()
"""


def test_a_process_alone_past_its_memory_starts_anew_in_its_own_place_and_is_measured(commands: Commands) -> None:
    (commands.folder / "tasks.py").write_text(MODULE + GREEDY + 'app.queue("mail")\n')
    port = free_port()
    process = commands.start_worker("--max-memory", "250MB", "--metrics-port", port)
    [first] = commands.leases
    assert commands.enqueue("grow").result(20) == process.pid
    wait_until(lambda: commands.leases and first not in commands.leases)
    assert commands.enqueue("quick").result(20) == process.pid

    def told() -> str:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
            metrics: str = answer.read().decode()
            return metrics

    assert 'penstock_worker_runs_total{outcome="failed",queue="mail"} 0.0' in told()
    runs = 'penstock_worker_runs_total{outcome="succeeded",queue="default"}'
    wait_until(lambda: f"{runs} 0.0" not in told())
    assert f"{runs} 1.0" in told(), "grow was another's"
    process.send(signal.SIGTERM)
    assert process.wait() == 0


def test_a_process_past_its_memory_is_replaced_without_a_word_of_trouble(commands: Commands) -> None:
    (commands.folder / "tasks.py").write_text(MODULE + GREEDY)
    process = commands.start_worker("--processes", "1:2", "--max-memory", "250MB")
    job = commands.enqueue("grow")
    grown = job.result(20)
    wait_until(lambda: commands.leases and grown not in commands.leases.values())
    assert job.refresh().attempt == 1
    process.send(signal.SIGTERM)
    assert process.wait() == 0, process.lines
    [told] = [line["message"] for line in process.lines if "a fresh process takes over" in line["message"]]
    assert "250 at most" in told
    assert {line["level"] for line in process.lines} == {"info"}, "nothing has ended with a code that is odd"
