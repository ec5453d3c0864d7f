"""The HTTP API: jobs, live progress, artifacts, workers without a database.

An application's own routes take `Caller` or `Service` (who asks) and `Shared` (what the server has) as parameters,
raise `Problem`, and begin work on a caller's behalf with `start`, `start_each` and `start_batch`; as a `CheckedRoute`
they know who asks before they read anything. `visible_job` and `follow` tell of jobs, `job_response` answers as the
core does, `link_to` and `send_zip` hand out artifacts, `absolute` makes a link of a path, `problems` documents what a
route may answer with. `problem_of` is what the core answers to an error.
"""

from penstock.extras import needs

with needs("server", "the server"):
    from penstock.engine.commands import SeenJob
    from penstock.server.asgi import Server
    from penstock.server.auth.identity import Identity
    from penstock.server.dependencies import Caller, Service, Services, Shared
    from penstock.server.files.links import link_to
    from penstock.server.files.zip import send_zip
    from penstock.server.http.address import absolute
    from penstock.server.http.errors import problem_of
    from penstock.server.http.problems import Problem
    from penstock.server.http.route import CheckedRoute
    from penstock.server.http.statuses import problems
    from penstock.server.jobs.answer import job_response
    from penstock.server.jobs.routes import IdempotencyKey
    from penstock.server.jobs.start import Started, start, start_batch, start_each
    from penstock.server.jobs.visible import visible_job, visible_jobs
    from penstock.server.live.follow import JobCaller, StreamCaller, follow, follow_all
    from penstock.server.settings import ServerSettings

__all__ = [
    "Caller",
    "CheckedRoute",
    "IdempotencyKey",
    "Identity",
    "JobCaller",
    "Problem",
    "SeenJob",
    "Server",
    "ServerSettings",
    "Service",
    "Services",
    "Shared",
    "Started",
    "StreamCaller",
    "absolute",
    "follow",
    "follow_all",
    "job_response",
    "link_to",
    "problem_of",
    "problems",
    "send_zip",
    "start",
    "start_batch",
    "start_each",
    "visible_job",
    "visible_jobs",
]
