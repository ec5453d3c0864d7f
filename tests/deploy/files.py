"""The files of deploy/, read."""

import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

DEPLOY = Path(__file__).parent.parent.parent / "deploy"
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
FLY: dict[str, Any] = tomllib.loads((DEPLOY / "fly.toml").read_text())
ALERTS: dict[str, Any] = yaml.safe_load((DEPLOY / "monitoring" / "alerts.yml").read_text())
BOARD: dict[str, Any] = json.loads((DEPLOY / "monitoring" / "grafana.json").read_text())
KUBERNETES: list[dict[str, Any]] = [
    each for file in sorted((DEPLOY / "kubernetes").glob("*.yaml")) for each in yaml.safe_load_all(file.read_text())
]
UNITS = {path.name: path.read_text() for path in (DEPLOY / "systemd").glob("*.service")}


def of_kind(kind: str, name: str) -> dict[str, Any]:
    [found] = [each for each in KUBERNETES if (each["kind"], each.get("metadata", {}).get("name")) == (kind, name)]
    return found


def container(resource: dict[str, Any]) -> dict[str, Any]:
    [found] = resource["spec"]["template"]["spec"]["containers"]
    return dict(found)


def unit_value(unit: str, key: str) -> str:
    [found] = re.findall(rf"^{key}=(.*)$", UNITS[unit], re.MULTILINE)
    return str(found)


def commands() -> Iterator[tuple[str, list[str]]]:
    """Every command of ours that is run there, and where."""
    docker = (DEPLOY / "Dockerfile").read_text()
    assert re.search(r'^ENTRYPOINT \["penstock"\]$', docker, re.MULTILINE)
    yield "Dockerfile", json.loads(re.findall(r"^CMD (.*)$", docker, re.MULTILINE)[-1])
    for name, service in COMPOSE["services"].items():
        if "command" in service:
            yield f"compose {name}", service["command"]
    for resource in KUBERNETES:
        if resource["kind"] in ("Deployment", "Job"):
            yield f"kubernetes {resource['metadata']['name']}", container(resource)["args"]
    for unit, text in UNITS.items():
        for line in re.findall(r"^ExecStart(?:Pre)?=/opt/penstock/bin/penstock (.*)$", text, re.MULTILINE):
            yield unit, shlex.split(line.replace("${APP}", "app:app"))
    for name, line in {**FLY["processes"], "release": FLY["deploy"]["release_command"]}.items():
        yield f"fly {name}", shlex.split(line)
