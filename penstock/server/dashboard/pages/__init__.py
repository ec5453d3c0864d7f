"""The pages, in the order of the navigation. A new one is a module here, with a `section`, and a template."""

from collections.abc import Sequence

from penstock.server.dashboard.page import Section
from penstock.server.dashboard.pages import job, jobs, overview, queues

SECTIONS: Sequence[Section] = (overview.section, jobs.section, job.section, queues.section)
