"""The systems that are measured. The runner of each is in bench/peers, and says at which settings it runs, and why."""

import ast
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from bench import packages, processes


@dataclass(frozen=True)
class System:
    """A queue with a runner program."""

    name: str
    runner: str
    """Its file in bench/peers."""
    unfinished: str
    """SQL that says whether a job is left; of Redis the keys that are there as long as one is."""
    tables: str = ""
    """What is emptied before a measurement; if none is named the database is made anew. Of Redis it is everything."""
    jobs: str = ""
    """The table, or view, in which somebody would look for waiting jobs."""
    store: Literal["Postgres", "Redis"] = "Postgres"
    full: bool = True
    """A job queue, with handlers, attempts and workers; else bare messages or bare SQL."""
    keeps: bool = True
    """Finished jobs can still be looked up, at these settings."""
    waits: bool = True
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def database(self) -> str:
        return "bench_" + self.name.replace("-", "_")

    @property
    def language(self) -> str:
        return "Node" if self.runner.endswith(".js") else "Python" if self.full else "SQL"

    @property
    def command(self) -> tuple[str, ...]:
        if self.runner.endswith(".js"):
            return packages.NODE, str(PEERS / self.runner), str(packages.FOLDER / self.name)
        python = packages.python(self.name) if self.name in packages.PINS else sys.executable
        return python, "-m", f"bench.peers.{self.runner.removesuffix('.py')}"

    @property
    def settings(self) -> str:
        """What its runner says about them."""
        text = (PEERS / self.runner).read_text()
        if self.runner.endswith(".js"):
            lines = [line.removeprefix("//").strip() for line in text.split("\nconst ")[0].splitlines()]
            return " ".join(lines)
        return " ".join((ast.get_docstring(ast.parse(text)) or "").split())


PEERS = processes.ROOT / "bench" / "peers"

# In the order of measuring: those whose ratio counts are neighbours in time.
FIELD = (
    System(
        "graphile-worker",
        "graphile.js",
        tables="graphile_worker._private_jobs",
        unfinished="select exists (select from graphile_worker._private_jobs)",
        jobs="graphile_worker._private_jobs",
        keeps=False,
        environment={"NO_LOG_SUCCESS": "1", "NODE_ENV": "production"},
    ),
    System(
        "penstock",
        "run_penstock.py",
        tables="penstock.jobs, penstock.history, penstock.payloads, "
        "penstock.usage_log, penstock.leases, penstock.heartbeats, penstock.waiting, penstock.vitals",
        unfinished="select exists (select from penstock.jobs)",
        jobs="penstock.jobs",
    ),
    System(
        "pgmq",
        "run_pgmq.py",
        tables="pgmq.q_bench, pgmq.a_bench",
        unfinished="select exists (select from pgmq.q_bench)",
        jobs="pgmq.q_bench",
        full=False,
    ),
    System(
        "awa",
        "run_awa.py",
        # What it keeps in sequences and rings would not fit emptied tables. Segments tell what was enqueued, receipts
        # what was finished, and a slot of its rings loses both at once. Its view awa.jobs shows no job under a receipt.
        unfinished="""
            select (select coalesce(sum(next_lane_seq - first_lane_seq), 0) from awa.ready_segments)
                   > (select coalesce(sum(completed_count), 0) from awa.receipt_completion_batches)
                   + (select count(*) from awa.done_entries)
        """,
        jobs="awa.ready_entries",
    ),
    System(
        "pgqueuer",
        "run_pgqueuer.py",
        tables="pgqueuer, pgqueuer_log, pgqueuer_statistics",
        unfinished="select exists (select from pgqueuer)",
        jobs="pgqueuer",
    ),
    System(
        "procrastinate",
        "run_procrastinate.py",
        tables="procrastinate_jobs, procrastinate_events, procrastinate_workers, procrastinate_periodic_defers",
        unfinished="select exists (select from procrastinate_jobs where status in ('todo', 'doing'))",
        jobs="procrastinate_jobs",
        keeps=False,
    ),
    System(
        "chancy",
        "run_chancy.py",
        tables="chancy_jobs",
        unfinished="select exists (select from chancy_jobs where state in ('pending', 'running', 'retrying'))",
        jobs="chancy_jobs",
    ),
    System(
        "absurd",
        "run_absurd.py",
        tables="absurd.t_default, absurd.r_default, absurd.c_default, absurd.e_default, absurd.w_default",
        unfinished="select exists (select from absurd.r_default where state in ('pending', 'running', 'sleeping'))",
        jobs="absurd.t_default",
    ),
    System(
        "dbos",
        "run_dbos.py",
        tables="dbos.workflow_status cascade",
        unfinished="select exists (select from dbos.workflow_status where status in ('ENQUEUED', 'PENDING'))",
        jobs="dbos.workflow_status",
    ),
    System(
        "pg-boss",
        "pgboss.js",
        tables="pgboss.job",
        unfinished="select exists (select from pgboss.job where state < 'completed')",
        jobs="pgboss.job",
    ),
    System("celery", "run_celery.py", unfinished="celery unacked", store="Redis", keeps=False),
    System("dramatiq", "run_dramatiq.py", unfinished="dramatiq:default.msgs", store="Redis", keeps=False),
    System("rq", "run_rq.py", unfinished="rq:queue:default rq:wip:default", store="Redis", keeps=False),
    System("bullmq", "bullmq.js", unfinished="bull:bench:wait bull:bench:active", store="Redis", keeps=False),
)
BY_NAME = {system.name: system for system in FIELD}
OURS = BY_NAME["penstock"]
NAPS = replace(OURS, runner="run_naps.py")
BARE = System(
    "bare",
    "run_bare.py",
    tables="bare_jobs, bare_history, penstock.jobs",
    unfinished="select exists (select from bare_jobs)",
    jobs="bare_jobs",
    full=False,
    waits=False,
)
# of `make bench-worker`, and of `make bench-snapshot`: those that keep up with some thousand jobs a second, ours first,
# lest a failure of a peer cost anything
WORKER = (BARE, *(BY_NAME[name] for name in ("graphile-worker", "penstock", "pgqueuer", "procrastinate")))
STEADY = tuple(BY_NAME[name] for name in ("penstock", "graphile-worker", "pgqueuer", "awa"))


def chosen(among: Sequence[System], only: Sequence[str] | None) -> list[System]:
    """Those asked for, else all."""
    return [system for system in among if not only or system.name in only]


def names(systems: Sequence[System]) -> list[str]:
    return [system.name for system in systems]
