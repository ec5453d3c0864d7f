"""deploy/ says what is true of this version: its commands, settings, paths and metrics exist, and its numbers agree.

`make check-deploy` holds the same files against the schemas of those who run them.
"""

import re
import subprocess
from collections.abc import AsyncIterator, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import typer
from prometheus_client.parser import text_string_to_metric_families

from penstock import Penstock
from penstock.cli.commands import cli
from penstock.server.settings import ServerSettings
from penstock.worker.metrics import WorkerMetrics
from tests.deploy.files import (
    ALERTS,
    BOARD,
    COMPOSE,
    DEPLOY,
    FLY,
    KUBERNETES,
    UNITS,
    commands,
    container,
    of_kind,
    unit_value,
)  # fmt: skip
from tests.kit.serving import AS_SERVICE, Served, served

ROOT = DEPLOY.parent
COMMANDS: dict[str, Any] = vars(typer.main.get_command(cli))["commands"]
ALL = dict(commands())


def settings() -> set[str]:
    """Every variable of the environment that something here reads."""
    named = {f"PENSTOCK_{each.name.upper()}" for each in fields(ServerSettings)}
    for file in (ROOT / "penstock").rglob("*.py"):
        named |= set(re.findall(r"[\"'](PENSTOCK_[A-Z_]+)[\"']", file.read_text("utf-8")))
    return named


def parsed(arguments: list[str]) -> dict[str, Any]:
    """As the command line reads them; what it does not know is refused."""
    name, *rest = arguments
    return dict(COMMANDS[name].make_context(name, rest).params)


@pytest.mark.parametrize("arguments", ALL.values(), ids=ALL)
def test_every_command_is_one_of_ours(arguments: list[str]) -> None:
    assert parsed(arguments)


def test_every_setting_is_one_of_ours() -> None:
    known = settings()
    files = [path for path in DEPLOY.rglob("*") if path.is_file()]
    named = {(path.name, name) for path in files for name in re.findall(r"PENSTOCK_[A-Z_]+", path.read_text("utf-8"))}
    assert {(file, name) for file, name in named if name not in known} == set()
    assert ("compose.yaml", "PENSTOCK_SERVICE_KEY") in named


def seconds(text: object) -> float:
    return float(str(text).removesuffix("s"))


def test_whoever_stops_a_worker_waits_longer_than_it_lets_jobs_finish() -> None:
    worker = of_kind("Deployment", "penstock-worker")
    waits = {
        "compose worker": COMPOSE["services"]["worker"]["stop_grace_period"],
        "kubernetes penstock-worker": worker["spec"]["template"]["spec"]["terminationGracePeriodSeconds"],
        "penstock-worker@.service": unit_value("penstock-worker@.service", "TimeoutStopSec"),
        "fly worker": FLY["kill_timeout"],
    }
    assert set(waits) == {where for where, arguments in ALL.items() if arguments[0] == "worker"}
    for where, wait in waits.items():
        assert seconds(wait) >= parsed(ALL[where])["grace"] + 10


def test_what_is_migrated_is_what_is_served() -> None:
    assert {arguments[1] for arguments in ALL.values()} == {"app:app"}
    images = {container(each)["image"] for each in KUBERNETES if each["kind"] in ("Deployment", "Job")}
    assert len(images) == 1
    for service in ("server", "worker"):
        assert COMPOSE["services"][service]["depends_on"] == {
            "migrate": {"condition": "service_completed_successfully"}
        }
    [kustomization] = [each for each in KUBERNETES if each["kind"] == "Kustomization"]
    there = {path.name for path in (DEPLOY / "kubernetes").iterdir()}
    assert {*kustomization["resources"], "kustomization.yaml", "migrate.yaml"} == there


def test_both_units_are_as_closed() -> None:
    closed = {name: text[text.index("# nothing of the machine") :] for name, text in UNITS.items()}
    assert len(set(closed.values())) == 1
    assert len(closed) == 2


@pytest.fixture
async def answering(url: str) -> AsyncIterator[Served]:
    """A server with metrics of everything: a job has run, and another is parked."""
    app = Penstock(url)

    @app.job
    async def greet() -> None: ...

    async with served(app) as running:
        await app.engine.aenqueue([greet.prepare(), app.prepare_unchecked("greet_in_french", {})])
        await app.atick()
        yield running


def metrics_named(text: str) -> Iterator[tuple[str, set[str]]]:
    """Names in an expression, each with the labels that it is asked for by."""
    for name, _, matched in re.findall(r"\b(penstock_[a-z_]+)(\{([^}]*)\})?", text):
        yield name, set(re.findall(r"(\w+)=", matched))


def exported(*texts: str) -> dict[str, set[str]]:
    """Names of samples and families, and their labels."""
    found: dict[str, set[str]] = {}
    for text in texts:
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                found.setdefault(sample.name, set()).update(sample.labels)
            found.setdefault(family.name, set())
    return found


EXPRESSIONS = [rule["expr"] for group in ALERTS["groups"] for rule in group["rules"]]
EXPRESSIONS += [target["expr"] for panel in BOARD["panels"] for target in panel["targets"]]
EXPRESSIONS += [variable["query"] for variable in BOARD["templating"]["list"] if variable["type"] == "query"]


async def test_probes_scaling_alerts_and_the_board_ask_for_what_a_server_answers(answering: Served) -> None:
    for resource in KUBERNETES:
        if resource["kind"] == "Deployment" and resource["metadata"]["name"] == "penstock-server":
            for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
                path = container(resource)[probe]["httpGet"]["path"]
                assert (await answering.client.get(path)).status_code == 200
    for check in FLY["http_service"]["checks"]:
        assert (await answering.client.get(check["path"])).status_code == 200

    scaled = of_kind("ScaledObject", "penstock-worker")["spec"]
    [trigger] = scaled["triggers"]
    address = urlsplit(trigger["metadata"]["url"])
    assert re.fullmatch(r"penstock\.[a-z]+\.svc", str(address.hostname)), "KEDA asks from a namespace of its own"
    asked = {name: int(value) for name, [value] in parse_qs(address.query).items()}
    answer = await answering.client.get(f"{address.path}?{address.query}", headers=AS_SERVICE)
    assert isinstance(answer.json()[trigger["metadata"]["valueLocation"]], int)
    queues = parsed(ALL["kubernetes penstock-worker"])["queues"]
    assert queues == f"default:{asked['slots']}"
    assert (scaled["minReplicaCount"], scaled["maxReplicaCount"]) == (asked["least"], asked["most"])

    said = await answering.client.get("/metrics", headers=AS_SERVICE)
    known = exported(said.text, WorkerMetrics(["default"]).exposition().decode())
    for expression in EXPRESSIONS:
        for name, labels in metrics_named(expression):
            assert name in known, expression
            assert labels <= known[name] | {"le"}, expression
        by = {label.strip() for group in re.findall(r"by \(([^)]*)\)", expression) for label in group.split(",")}
        assert by <= {"le"}.union(*(known[name] for name, _ in metrics_named(expression))), expression


def test_the_guide_tells_of_the_same_metrics_and_alerts() -> None:
    guide = Path(ROOT / "docs" / "guides" / "monitoring.md").read_text("utf-8")
    used = {name for expression in EXPRESSIONS for name, _ in metrics_named(expression)}
    told = {name for name, _ in metrics_named(guide.replace("_bucket", ""))}
    assert {name.removesuffix("_bucket") for name in used} <= told


def test_every_alert_says_what_to_do() -> None:
    for group in ALERTS["groups"]:
        for rule in group["rules"]:
            assert rule["annotations"].keys() == {"summary", "action"}
            assert rule["labels"]["severity"] in ("page", "ticket")


@pytest.mark.slow
def test_the_tools_of_those_who_run_such_files_find_nothing() -> None:
    done = subprocess.run([ROOT / "scripts" / "check-deploy"], cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
