"""`penstock workers`: who works, where, and on what."""

from penstock.app import Penstock
from penstock.cli.output import print_json, print_table


def workers(app: Penstock, json: bool) -> None:
    """List the workers that are alive, and what each runs for how long."""
    found = app.workers.list()
    if json:
        print_json({"workers": found})
        return
    rows = []
    for worker in found:
        about = [
            worker.worker, worker.host, worker.pid, ", ".join(worker.queues),
            f"{worker.started_at.astimezone():%m-%d %H:%M:%S}", f"{worker.heard_at.astimezone():%m-%d %H:%M:%S}",
            len(worker.running) if worker.slots is None else f"{len(worker.running)}/{worker.slots}",
            None if worker.memory is None else f"{worker.memory / 1e6:,.0f} MB",
            None if worker.load is None else f"{worker.load:.0%}",
        ]  # fmt: skip
        if not worker.running:
            rows.append([*about, "nothing"])
        for place, job in enumerate(worker.running):
            stopping = ", asked to stop" if job.cancel_requested else ""
            running = f"{job.kind} {job.id} for {job.seconds:,.0f} s{stopping}"
            rows.append([*(about if place == 0 else [""] * len(about)), running])
    columns = ["worker", "host", "pid", "queues", "since", "heard of", "slots", "memory", "load", "runs"]
    print_table(columns, rows, empty="no workers")
