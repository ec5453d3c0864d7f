"""structlog: which job a line belongs to. A processor is a function, so nothing of structlog is needed here.

structlog.configure(processors=[add_job, structlog.contextvars.merge_contextvars, …])
"""

from collections.abc import MutableMapping
from typing import Any

from penstock.logs import current_job

__all__ = ["add_job"]


def add_job(_: Any, __: str, event_dict: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """A processor that adds job_id, job_kind and job_attempt to what is logged while a job runs: on the event loop, in
    a thread, in a process of its own. In `foreign_pre_chain` it does so for lines of the standard library's loggers,
    those of Penstock about a job among them.

    ```python
    from penstock.interop.structlog import add_job

    processors = [add_job]  # with those that you have: structlog.configure(processors=…)
    ```
    """
    record = event_dict.get("_record")
    if hasattr(record, "job_id"):
        # the worker speaks of a job when that has ended
        for name in ("job_id", "job_kind", "job_attempt"):
            event_dict.setdefault(name, getattr(record, name))
    elif (job := current_job.get()) is not None:
        event_dict.setdefault("job_id", str(job.id))
        event_dict.setdefault("job_kind", job.kind)
        event_dict.setdefault("job_attempt", job.attempt)
    return event_dict
