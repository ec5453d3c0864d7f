"""A flow as a graph, with the states of its jobs as they are now."""

import asyncio
from collections import Counter
from uuid import UUID

from penstock.engine import commands
from penstock.server.dashboard import graph
from penstock.server.dashboard.page import Contents, Look, Section
from penstock.server.http.problems import not_found

section = Section()

MOST = 1000
"""Jobs of a flow that are looked at."""


@section.page("/flows/{id}", "Flow", under="/jobs")
async def flow(look: Look) -> Contents:
    try:
        id = UUID(look.path["id"])
    except ValueError:
        raise not_found() from None
    jobs = await look.run(commands.FlowJobs(id, MOST + 1))
    if not jobs:
        raise not_found()
    top = jobs[0]
    states = Counter(job.state.value for job in jobs[1:MOST])
    return {
        "top": top,
        "drawing": await asyncio.to_thread(graph.draw, jobs[:MOST]),
        "size": (graph.WIDTH, graph.HEIGHT),
        "text_at": graph.TEXT,
        "states": [(state, states[state]) for state in graph.IN_ORDER if state in states],
        "cut_at": MOST if len(jobs) > MOST else None,
    }
