import pytest

from penstock import Handler, Penstock
from penstock.engine import commands
from tests.cli.conftest import Command


def test_list_shows_how_much_is_in_each_queue_and_its_settings(
    penstock: Command, app: Penstock, send: Handler[..., None]
) -> None:
    send.using(queue="mail").enqueue_many([{"to": "x"}] * 3)
    app.queues.set("mail", rate=5, rate_period=2)
    app.queues.pause("pdf")
    header, mail, pdf = penstock.lines("queues", "list")
    assert header.split() == ["queue", "ready", "running", "scheduled", "blocked", "oldest", "settings"]
    assert mail.split()[:5] == ["mail", "3", "0", "0", "0"]
    assert mail.split()[6:] == ["s", "rate=5", "rate_period=2.0"]
    assert pdf.split() == ["pdf", "0", "0", "0", "0", "PAUSED"]


def test_list_as_json(penstock: Command, send: Handler[..., None]) -> None:
    assert penstock.json("queues", "list") == {"queues": []}
    send.enqueue("x")
    [queue] = penstock.json("queues", "list")["queues"]
    oldest = queue.pop("oldest_ready_seconds")
    assert queue == {
        "name": "default", "paused": False, "settings": {}, "blocked": 0, "scheduled": 0, "ready": 1, "running": 0,
            "exact": True,
    }  # fmt: skip
    assert oldest >= 0


def test_list_says_when_there_is_nothing(penstock: Command) -> None:
    assert penstock.lines("queues", "list") == ["no queues yet: a queue exists as soon as a job names it"]


def test_a_queue_that_somebody_serves_is_one_while_it_is_empty(penstock: Command, app: Penstock) -> None:
    app.engine.run(commands.OpenLease("w", 60, ["served"]))
    assert penstock.lines("queues", "list")[1].split() == ["served", "0", "0", "0", "0"]
    assert penstock.lines("queues", "pause", "served") == ["served: paused"]


def test_pause_and_resume(penstock: Command, app: Penstock) -> None:
    assert penstock.lines("queues", "pause", "mail", "--create") == ["mail: paused"]
    assert app.queues.list()[0].paused
    assert penstock.json("queues", "resume", "mail")["paused"] is False
    assert not app.queues.list()[0].paused


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (["max_running=3"], {"max_running": 3}),
        (["max_running_per_key=1"], {"max_running_per_key": 1}),
        (["rate=100", "rate_period=60"], {"rate": 100, "rate_period": 60.0}),
        (["rate_per_key=10", "rate_period=0.5"], {"rate_per_key": 10, "rate_period": 0.5}),
        (["fair_by=org"], {"fair_by": "org"}),
        (["lease_length=60"], {"lease_length": 60.0}),
        (["keep=failed"], {"keep": "failed"}),
        (
            ['backoff={"base": 60, "cap": 3600}'],
            {"backoff": {"base": 60, "cap": 3600, "factor": 2.0, "jitter": 0.1, "shape": "exponential"}},
        ),
    ],
    ids=str,
)
def test_set_changes_settings_and_takes_them_away(
    penstock: Command, app: Penstock, given: list[str], kept: dict[str, object]
) -> None:
    assert penstock.json("queues", "set", "mail", *given, "--create")["settings"] == kept
    assert app.queues.list()[0].settings == kept
    none = [f"{setting.partition('=')[0]}={empty}" for setting, empty in zip(given, ["none", ""], strict=False)]
    assert penstock.lines("queues", "set", "mail", *none) == ["mail: active"]
    assert app.queues.list()[0].settings == {}


def test_set_tells_what_the_queue_is_told_now(penstock: Command) -> None:
    [told] = penstock.lines("queues", "set", "mail", "rate=5", "paused=true", "--create")
    assert told == "mail: paused rate=5 rate_period=1.0"


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ("max_running=0", "max_running: must be positive"),
        ("max_running=three", "max_running: must be a whole number, not 'three'"),
        ("rate=1.5", "rate: must be a whole number, not 1.5"),
        ("rate_period=soon", "rate_period: must be a number of seconds up to 1e10, not 'soon'"),
        ("fair_by=kind", "fair_by: must be owner, org or limit_key, not 'kind'"),
        ("keep=some", "keep: must be all or failed, not 'some'"),
        ("paused=perhaps", "paused: must be true or false, not 'perhaps'"),
        ("speed=9", "speed: no such setting of a queue"),
        ("rate", "rate: write it as setting=value"),
        ("backoff=fast", 'backoff: must be JSON such as {"base": 60, "cap": 3600}: '),
        ('backoff={"base": -1}', 'backoff: must be JSON such as {"base": 60, "cap": 3600}: base: must be a number'),
        ('backoff={"bass": 1}', 'backoff: must be JSON such as {"base": 60, "cap": 3600}, not {'),
    ],
)
def test_a_setting_that_makes_no_sense_is_refused_by_name(
    penstock: Command, app: Penstock, setting: str, complaint: str
) -> None:
    assert penstock.fails("queues", "set", "mail", setting, "--create").startswith(f"error: {complaint}")
    assert app.queues.list() == []


def test_set_without_settings_is_an_error_of_usage(penstock: Command) -> None:
    assert "Missing argument" in penstock.fails("queues", "set", "mail", code=2)


@pytest.mark.parametrize("command", [["pause", "mial"], ["resume", "mial"], ["set", "mial", "rate=1"]], ids=str)
def test_a_queue_nobody_knows_is_refused_with_what_was_meant(
    penstock: Command, app: Penstock, send: Handler[..., None], command: list[str]
) -> None:
    send.using(queue="mail").enqueue("x")
    complaint = penstock.fails("queues", *command)
    assert complaint == "error: there is no queue 'mial' (did you mean 'mail'?); --create makes it\n"
    assert [queue.name for queue in app.queues.list()] == ["mail"]
    penstock.lines("queues", *command, "--create")
    assert {queue.name for queue in app.queues.list()} == {"mail", "mial"}
