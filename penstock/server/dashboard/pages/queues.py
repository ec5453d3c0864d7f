"""Queues: all of them, and each with its settings."""

from urllib.parse import quote

from penstock.engine import commands
from penstock.errors import InvalidInput
from penstock.queue import Settings
from penstock.server.dashboard.charts import SPANS, charts_of, depth_of, steps_of
from penstock.server.dashboard.page import Contents, Done, Form, Look, Section
from penstock.server.dashboard.pages.overview import queue_rows, queues_and_workers
from penstock.server.http.problems import Problem

section = Section()

SETTINGS = (
    ("max_running", "Run at once", "jobs, on all workers together"),
    ("max_running_per_key", "Run at once for each key", "jobs with the same limit_key"),
    ("rate", "Starts", "jobs in each period"),
    ("rate_per_key", "Starts for each key", "jobs in each period"),
    ("rate_period", "Period", "seconds"),
)
"""Those that are changed here, with what they count."""


@section.action("/queues/pause")
async def pause(look: Look, form: Form) -> Done:
    name = _name(form)
    await look.operator.apause_queue(name)
    return Done(f"{name} is paused: no job of it starts, those that run go on.", _path(name))


@section.action("/queues/resume")
async def resume(look: Look, form: Form) -> Done:
    name = _name(form)
    await look.operator.aresume_queue(name)
    return Done(f"Jobs of {name} start again.", _path(name))


@section.action("/queues/limits")
async def set_limits(look: Look, form: Form) -> Done:
    """An empty field takes its limit away; one that was not sent, or is as it was seen, stays."""
    name = _name(form)
    limits: Settings = {}
    for key, *_ in SETTINGS:
        if form.get(key) == form.get(f"seen-{key}"):
            continue
        if key == "rate_period":
            if form.text(key) is not None:
                limits["rate_period"] = _seconds(key, form)
        else:
            limits[key] = form.whole_number(key)  # type: ignore[literal-required]
    if not limits:
        return Done("Nothing was changed.", _path(name))
    await look.operator.aset_queue(name, **limits)
    return Done(f"The limits of {name} are changed.", _path(name))


def _name(form: Form) -> str:
    name = form.text("name")
    if name is None:
        raise InvalidInput("name", "must name a queue")
    return name


def _seconds(key: str, form: Form) -> float:
    try:
        return float(form[key])
    except ValueError:
        raise InvalidInput(key, f"must be a number of seconds, not {form[key]!r}") from None


def _path(name: str) -> str:
    return f"/queues/{quote(name, safe='')}"


@section.page("/queues", "Queues", icon="queues")
async def queues(look: Look) -> Contents:
    return {"queues": queue_rows(*await queues_and_workers(look))}


@section.page("/queues/{name:path}", "Queue", under="/queues")
async def queue(look: Look) -> Contents:
    name = look.path["name"]
    found, workers = await queues_and_workers(look)
    here = next((each for each in found if each.name == name), None)
    if here is None:
        if name not in look.services.app.queue_names:
            raise Problem(404, "there is no such queue, or nothing is in it")
        here = commands.Queue.idle(name)
    [row] = queue_rows([here], workers)
    failed = await look.run(commands.SearchJobs({"queue": name, "state": ["failed"]}, None, 10))
    over, steps = await steps_of(look, name)
    depth = await depth_of(look, name)
    return {
        "charts": [*charts_of(over, steps), *([depth] if len(depth.times) > 1 else [])],
        "over": over,
        "spans": SPANS,
        "path": _path(name),
        "queue": row,
        "name": name,
        "settings": here.settings,
        "limits": [(key, label, unit, here.settings.get(key)) for key, label, unit in SETTINGS],
        "workers": [worker for worker in workers if name in worker.queues],
        "failed": failed.jobs,
    }
