"""`make bench-durable`: handlers that wait, beside DBOS and Absurd, in one run and on one Postgres.

A workflow of ten steps, many at once (`steps`, a second); a parent of a hundred children (`fanout`, children a second);
from an event's being emitted until the handler that waited goes on (`event_ms`, the median). And how many jobs a second
are claimed beside a hundred thousand that sleep or wait, as a share of how many without (`claims_beside_waiting`).
Writes bench/results/durable.json. Absurd brings no schema with its SDK: --absurd-sql names its absurd.sql.
"""

import argparse
import asyncio
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

import psycopg
from rich.console import Console
from rich.table import Table

from bench import figures, processes
from penstock import NewJob, Penstock, embedded
from penstock.engine import commands
from penstock.engine.postgres.migrate import migrate_on
from penstock.testing.database import address_of

FOLDER = processes.ROOT / ".cache" / "bench-durable-postgres"
VENV = processes.ROOT / ".cache" / "bench-peers" / "durable"
REQUIREMENTS = processes.ROOT / "bench" / "peers" / "requirements-durable.txt"
RESULTS = processes.ROOT / "bench" / "results" / "durable.json"
AT_ONCE = 100
ROUNDS = 5


def options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workflows", type=figures.at_least(1), default=300)
    parser.add_argument("--parents", type=figures.at_least(1), default=10)
    parser.add_argument("--events", type=figures.at_least(1), default=50)
    parser.add_argument("--waiting", type=figures.at_least(2), default=100_000)
    parser.add_argument("--claims", type=figures.at_least(AT_ONCE), default=20_000)
    parser.add_argument("--absurd-sql", type=Path)
    parser.add_argument("--alone", action="store_true", help="without the others")
    return parser.parse_args()


def main() -> None:
    chosen = options()
    console = Console()
    told: dict[str, dict[str, float]] = {"steps": {}, "fanout": {}, "event_ms": {}}
    with embedded.start(FOLDER) as postgres:
        for name, python, schema in systems(chosen, console):
            found = measured(postgres.url, name, python, schema, chosen)
            for what, value in found.items():
                told[what][name] = round(value, 2)
            console.print(name, found)
        share = asyncio.run(claims_beside_waiting(postgres.url, chosen))
    table = Table("", *told["steps"])
    for what, values in told.items():
        table.add_row(what, *(f"{value:,.1f}" for value in values.values()))
    console.print(table)
    console.print(f"claims beside {chosen.waiting:,} that wait: {share:.3f} of those without")
    figures.merge(RESULTS, {**told, "claims_beside_waiting": round(share, 3), "waiting": chosen.waiting})


def systems(chosen: argparse.Namespace, console: Console) -> list[tuple[str, Path, Path | None]]:
    """Each with the Python that has it, and a schema that must be there."""
    all: list[tuple[str, Path, Path | None]] = [("penstock", Path(sys.executable), None)]
    if chosen.alone:
        return all
    if not (VENV / "bin" / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", VENV], check=True)
        subprocess.run([VENV / "bin" / "pip", "install", "-q", "-r", REQUIREMENTS], check=True)
    all.append(("dbos", VENV / "bin" / "python", None))
    if chosen.absurd_sql is None:
        console.print("without Absurd: --absurd-sql says where its schema is")
    else:
        all.append(("absurd", VENV / "bin" / "python", chosen.absurd_sql))
    return all


def measured(server: str, name: str, python: Path, schema: Path | None, chosen: argparse.Namespace) -> dict[str, float]:
    url = fresh_database(server, f"durable_{name}")
    if schema is not None:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(schema.read_text("utf-8").encode())
    sizes = [str(each) for each in (chosen.workflows, chosen.parents, chosen.events)]
    said = subprocess.run(
        [python, "-m", f"bench.peers.run_durable_{name}", url, *sizes],
        cwd=processes.ROOT, check=True, text=True, stdout=subprocess.PIPE,
    ).stdout  # fmt: skip
    found: dict[str, float] = json.loads(said.splitlines()[-1])
    return found


def fresh_database(server: str, name: str) -> str:
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f'drop database if exists "{name}" with (force)'.encode())
        connection.execute(f'create database "{name}"'.encode())
    return address_of(server, name)


async def claims_beside_waiting(server: str, chosen: argparse.Namespace) -> float:
    """Rounds with and without take turns, so that what else the machine does falls on both."""
    rates: dict[str, list[float]] = {"without": [], "beside": []}
    apps: dict[str, Penstock] = {}
    for name in rates:
        url = fresh_database(server, f"durable_{name}")
        with psycopg.connect(url) as connection:
            migrate_on(connection, "penstock")
        apps[name] = Penstock(url)
        if name == "beside":
            wait_and_sleep(url, chosen.waiting)
    for _ in range(ROUNDS):
        for name, app in apps.items():
            rates[name].append(await claim_rate(app, chosen.claims // ROUNDS))
    for app in apps.values():
        await app.aclose()
    return statistics.median(rates["beside"]) / statistics.median(rates["without"])


def wait_and_sleep(url: str, jobs: int) -> None:
    """Half of them sleep, half wait for an event: brought there as workers bring them."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(
            "select count(*) from"
            " (select penstock.enqueue_plain(penstock.uuid7(), 'wait') from generate_series(1, %s)) as enqueued",
            [jobs],
        )
        found = connection.execute("select penstock.open_lease('bench')").fetchone()
        assert found is not None
        connection.execute(
            """
            do $$
            declare v_job record; v_count int;
            begin
              loop
                v_count := 0;
                for v_job in select id, claims from penstock.claim(%d, 'default', 1000) loop
                  v_count := v_count + 1;
                  perform penstock.suspend(%d, v_job.id, v_job.claims, case when v_count %% 2 = 0
                    then '{"name": "sleep", "kind": "sleep", "number": 1, "seconds": 864000}'
                    else jsonb_build_object(
                      'name', 'wait', 'kind', 'event', 'number', 1, 'event', 'go', 'key', v_job.id) end);
                end loop;
                exit when v_count = 0;
                commit;
              end loop;
            end
            $$
            """.replace("%d", str(found[0]))
            .replace("%%", "%")
            .encode()
        )
        connection.execute("select penstock.close_lease(%s)", [found[0]])
        connection.execute("analyze")


async def claim_rate(app: Penstock, jobs: int) -> float:
    await app.engine.aenqueue([NewJob(kind="plain") for _ in range(jobs)], None)
    lease = await app.engine.arun(commands.OpenLease("bench"))
    claimed = 0
    began = time.perf_counter()
    while got := await app.engine.arun(commands.Claim(lease, "default", AT_ONCE)):
        claimed += len(got)
    took = time.perf_counter() - began
    assert claimed == jobs, (claimed, jobs)
    with psycopg.connect(app.url(), autocommit=True) as connection:
        connection.execute("delete from penstock.jobs where kind = 'plain'")
    await app.engine.arun(commands.CloseLease(lease))
    return claimed / took


if __name__ == "__main__":
    main()
