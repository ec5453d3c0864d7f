"""Queues: all of them, and each with its settings."""

from penstock.engine import commands
from penstock.server.dashboard.page import Context, Look, Section
from penstock.server.dashboard.pages.overview import queue_rows
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


@section.page("/queues", "Queues", icon="queues")
async def queues(look: Look) -> Context:
    found = await look.run(commands.QueueStats())
    return {"queues": queue_rows(found, await look.run(commands.Workers()))}


@section.page("/queues/{name:path}", "Queue", under="/queues")
async def queue(look: Look) -> Context:
    name = look.path["name"]
    found = await look.run(commands.QueueStats())
    here = next((each for each in found if each.name == name), None)
    if here is None:
        if name not in look.services.app.queue_names:
            raise Problem(404, "there is no such queue, or nothing is in it")
        here = commands.Queue(name, False, {}, 0, 0, 0, 0, None)
    [row] = queue_rows([here], workers := await look.run(commands.Workers()))
    failed = await look.run(commands.SearchJobs({"queue": name, "state": ["failed"]}, None, 10))
    return {
        "queue": row,
        "name": name,
        "settings": here.settings,
        "limits": [(key, label, unit, here.settings.get(key)) for key, label, unit in SETTINGS],
        "workers": [worker for worker in workers if name in worker.queues],
        "failed": failed.jobs,
        "others": [each.name for each in found if each.name != name],
    }
