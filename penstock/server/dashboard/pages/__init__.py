"""The pages, in the order of the navigation. A new one is a module here, with a `section`, and a template."""

from collections.abc import Sequence

from penstock.server.dashboard.page import Section
from penstock.server.dashboard.pages import (
    approvals,
    audit,
    changes,
    errors,
    flow,
    job,
    jobs,
    overview,
    queues,
    schedules,
    usage,
    workers,
)

SECTIONS: Sequence[Section] = (
    overview.section,
    jobs.section,
    changes.section,
    job.section,
    flow.section,
    queues.section,
    workers.section,
    schedules.section,
    approvals.section,
    errors.section,
    usage.section,
    audit.section,
)
