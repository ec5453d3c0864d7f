"""Every button of the dashboard is pressed in a real Chromium, and what it says comes true."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import get_args
from uuid import UUID

import pytest
from playwright.async_api import Page, expect

from penstock.engine import commands
from penstock.engine.commands import Action
from penstock.job import Job, JobState
from penstock.server.dashboard.pages import SECTIONS
from penstock.worker.maintenance import Maintenance
from tests.browser.dashboard.conftest import enter
from tests.browser.dashboard.scene import Scene
from tests.browser.dashboard.screenshots import pages
from tests.kit.browser import IN_A_BROWSER
from tests.kit.until import until
from tests.server.dashboard.browsing import token_of

FAR = 3600.0


@dataclass(frozen=True, slots=True)
class Case:
    """What is pressed where, and what must hold then of what `make` has made."""

    action: str
    make: Callable[[Scene], Awaitable[str]]
    """The id or the name of what the page is about."""
    page: str
    button: str
    holds: Callable[[Scene, str], Awaitable[bool]]
    fields: Mapping[str, str] = field(default_factory=dict)
    confirm: str = ""
    within: str = "main"
    opens: Sequence[str] = ()
    """What is clicked before, on the way to the button."""
    bulk: Action | None = None

    def __str__(self) -> str:
        return f"{self.bulk or self.button} {self.action}".replace("/", " ").strip()


async def a_job(shown: Scene, queue: str = "tried") -> str:
    mail = shown.app.handler("send_mail").using(delay=FAR, queue=queue)
    return str((await shown.app.aenqueue(mail.prepare(to="x@example.com"))).id)


async def a_cancelled_job(shown: Scene) -> str:
    id = await a_job(shown)
    await shown.app.jobs.acancel(UUID(id))
    return id


async def some_jobs(shown: Scene) -> str:
    """The queue that has them, and nobody works at."""
    queue = f"many-{len(await shown.app.queues.alist())}"
    await shown.app.queues.aset(queue, max_running=1)
    for _ in range(2):
        await a_job(shown, queue)
    return queue


async def some_cancelled_jobs(shown: Scene) -> str:
    queue = await some_jobs(shown)
    await shown.app.operator("ada").acancel(queue=queue)
    return queue


async def a_queue(shown: Scene) -> str:
    await shown.app.queues.aset("pressed", max_running=5)
    return "pressed"


async def a_paused_queue(shown: Scene) -> str:
    await shown.app.queues.apause(await a_queue(shown))
    return "pressed"


async def a_schedule(shown: Scene) -> str:
    await shown.app.schedules.aset("weekly", "0 8 * * MON", "send_mail", {"to": "x@example.com"})
    return "weekly"


async def a_paused_schedule(shown: Scene) -> str:
    await a_schedule(shown)
    await shown.app.operator("ada").apause_schedule("weekly")
    return "weekly"


async def a_question(shown: Scene) -> str:
    version = f"of job {len((await shown.app.jobs.alist(kind='publish_release')).jobs)}"
    handle = await shown.app.aenqueue(shown.app.handler("publish_release").prepare(version=version))
    await until(lambda: asked(shown, handle.id))
    return str(handle.id)


async def an_operation(shown: Scene) -> str:
    mail = shown.app.handler("send_mail").using(delay=FAR, queue="crowd")
    await shown.app.aenqueue_many([mail.prepare(to="x@example.com") for _ in range(1001)])
    return str((await shown.app.operator("ada").acancel(queue="crowd")).id)


async def asked(shown: Scene, id: UUID) -> bool:
    return await shown.app.engine.arun(commands.AskedOfJob(id)) is not None


async def job_of(shown: Scene, id: str) -> Job | None:
    return await shown.app.jobs.aget(UUID(id))


def job_has(**wanted: object) -> Callable[[Scene, str], Awaitable[bool]]:
    async def holds(shown: Scene, id: str) -> bool:
        job = await job_of(shown, id)
        return job is not None and all(getattr(job, name) == value for name, value in wanted.items())

    return holds


async def is_gone(shown: Scene, id: str) -> bool:
    return await job_of(shown, id) is None


def jobs_have(count: int = 2, **filter: object) -> Callable[[Scene, str], Awaitable[bool]]:
    async def holds(shown: Scene, queue: str) -> bool:
        found = await shown.app.jobs.alist(**{"queue": queue, **filter})  # type: ignore[arg-type]
        return len(found.jobs) == count

    return holds


def jobs_are(priority: int) -> Callable[[Scene, str], Awaitable[bool]]:
    async def holds(shown: Scene, queue: str) -> bool:
        return {job.priority for job in (await shown.app.jobs.alist(queue=queue)).jobs} == {priority}

    return holds


def queue_is(*, paused: bool = False, **settings: object) -> Callable[[Scene, str], Awaitable[bool]]:
    async def holds(shown: Scene, name: str) -> bool:
        [queue] = [queue for queue in await shown.app.queues.alist() if queue.name == name]
        return queue.paused is paused and settings.items() <= queue.settings.items()

    return holds


def schedule_is(*, paused: bool) -> Callable[[Scene, str], Awaitable[bool]]:
    async def holds(shown: Scene, name: str) -> bool:
        [schedule] = [schedule for schedule in await shown.app.schedules.alist() if schedule.name == name]
        return schedule.paused is paused

    return holds


async def it_ran(shown: Scene, name: str) -> bool:
    lines = await shown.app.audit.alist(limit=1)
    return (lines[0].action, lines[0].target) == ("run_schedule", name)


async def is_stopped(shown: Scene, id: str) -> bool:
    operation = await shown.app.operations.aget(UUID(id))
    return operation is not None and operation.state == "cancelled"


def answered(output: str) -> Callable[[Scene, str], Awaitable[bool]]:
    return job_has(state=JobState.SUCCEEDED, output=output)


JOB, QUEUE, SCHEDULE = "/jobs/{}", "/queues/{}", 'tr[data-key="{}"]'
FITTING = "text=With all that fit"
CASES = (
    Case("/jobs/{id}/retry", a_cancelled_job, JOB, "Retry", job_has(state=JobState.READY, queue="nobody"),
         {"#retry-queue": "nobody"}, "Retry"),
    Case("/jobs/{id}/cancel", a_job, JOB, "Cancel", job_has(state=JobState.CANCELLED), {"#cancel-reason": "enough"},
         "Cancel the job"),
    Case("/jobs/{id}/move", a_job, JOB, "Move", job_has(queue="elsewhere"), {"#move-queue": "elsewhere"}, "Move"),
    Case("/jobs/{id}/priority", a_job, JOB, "Priority", job_has(priority=7), {"#priority-number": "7"}, "Priority"),
    Case("/jobs/{id}/purge", a_cancelled_job, JOB, "Delete", is_gone, {}, "Delete it"),
    Case("/queues/pause", a_queue, QUEUE, "Pause", queue_is(paused=True), {}, "Pause it"),
    Case("/queues/resume", a_paused_queue, QUEUE, "Resume", queue_is(paused=False), {}, "Resume"),
    Case("/queues/limits", a_queue, QUEUE, "Limits", queue_is(max_running=3, rate=100),
         {"#max_running": "3", "#rate": "100"}, "Change the limits"),
    Case("/schedules/run", a_schedule, "/schedules", "Run now", it_ran, {}, "Run now", SCHEDULE),
    Case("/schedules/pause", a_schedule, "/schedules", "Pause", schedule_is(paused=True), {}, "Pause", SCHEDULE),
    Case("/schedules/resume", a_paused_schedule, "/schedules", "Resume", schedule_is(paused=False), {}, "Resume",
         SCHEDULE),
    Case("/approvals/answer", a_question, "/approvals", "Approve", answered("published"), {"[name=comment]": "go"},
         "Approve", 'article[data-key^="{}"]'),
    Case("/approvals/answer", a_question, "/approvals", "Refuse", answered("kept back"), {}, "Refuse",
         'article[data-key^="{}"]'),
    Case("/operations/cancel", an_operation, "/operations/{}", "Stop", is_stopped, {}, "Stop it"),
    Case("/jobs/change", some_jobs, "/jobs?queue={}", "Cancel them", jobs_have(state="cancelled"),
         {"#reason": "enough"}, opens=(FITTING, "details a >> text=Cancel"), bulk="cancel"),
    Case("/jobs/change", some_cancelled_jobs, "/jobs?queue={}&state=cancelled", "Retry them", jobs_have(state="ready"),
         opens=(FITTING, "details a >> text=Retry"), bulk="retry"),
    Case("/jobs/change", some_cancelled_jobs, "/jobs?queue={}&state=cancelled", "Delete them", jobs_have(0),
         opens=(FITTING, "details a >> text=Delete"), bulk="purge"),
    Case("/jobs/change", some_jobs, "/jobs?queue={}", "Move them", jobs_have(0), {"#to_queue": "tried"},
         opens=(FITTING, "details a >> text=Move"), bulk="move"),
    Case("/jobs/change", some_jobs, "/jobs?queue={}", "Change priority of them", jobs_are(9), {"#priority": "9"},
         opens=(FITTING, "details a >> text=Priority"), bulk="set_priority"),
)  # fmt: skip


@IN_A_BROWSER
@pytest.mark.parametrize("case", CASES, ids=str)
async def test_a_button_does_what_it_says(
    shown: Scene, operator: Page, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    # or the worker would be done with what is to be stopped
    monkeypatch.setattr(Maintenance, "_operate", lambda _: asyncio.sleep(0.1))
    made = await case.make(shown)
    await operator.goto(f"{shown.address}{case.page.format(made)}")
    for each in case.opens:
        await operator.locator("main").locator(each).first.click()
    button = operator.locator(case.within.format(made)).get_by_role("button", name=case.button, exact=True)
    form = operator.locator("main form[method=post]")
    if case.confirm:
        assert not await case.holds(shown, made)
        await button.click()
        form = operator.locator("dialog[open]")
        button = form.get_by_role("button", name=case.confirm, exact=True)
    for selector, value in case.fields.items():
        await form.locator(selector).fill(value)
    assert not await case.holds(shown, made), "asked first"
    await button.click()
    await expect(operator.get_by_role("status")).to_be_visible()
    await until(lambda: case.holds(shown, made))


def test_every_action_has_a_button_that_is_pressed_here() -> None:
    actions = {action.path for section in SECTIONS for action in section.actions}
    assert {case.action for case in CASES} == actions
    assert {case.bulk for case in CASES if case.bulk} == set(get_args(Action))


@IN_A_BROWSER
async def test_a_viewer_finds_no_form_on_any_page(shown: Scene, tab: Page) -> None:
    await enter(tab, shown, token_of("vera", "viewer"))
    for name, path in pages(shown).items():
        await tab.goto(f"{shown.address}{path}", wait_until="domcontentloaded")
        assert await tab.locator("main").count() == 1, name
        assert await tab.locator("main form[method=post], main dialog").count() == 0, name


@IN_A_BROWSER
async def test_a_stranger_finds_every_page_behind_the_sign_in(shown: Scene, tab: Page) -> None:
    for name, path in pages(shown).items():
        await tab.goto(f"{shown.address}{path}", wait_until="domcontentloaded")
        assert await tab.title() == "Sign in · Penstock", name
