"""Jobs in Django's admin: to be looked at, retried and cancelled."""

import re
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django.contrib import admin, messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ChangeList
from django.core.paginator import Paginator
from django.db import models
from django.http import HttpRequest
from django.utils.html import format_html

from penstock.interop.django.application import the_app
from penstock.interop.django.models import Job
from penstock.interop.django.settings import read_settings
from penstock.job import JobState
from penstock.jobs import Filter, Jobs
from penstock.operations import Operator
from penstock.queue import Queues

BEFORE = "before"
"""Where a page begins, in its address: behind the last job of the one before."""
PER_PAGE = 50
MOST = 1000
_ID = re.compile(r"[0-9a-f-]{4,36}", re.IGNORECASE)


def _engine() -> Any:
    return the_app().on(_database())


def _database() -> str:
    alias = read_settings().database
    assert alias is not None  # else it is not registered
    return alias


class _ByChoice(admin.SimpleListFilter):
    """Whose choices are known without a look at every job."""

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        del request
        return queryset.filter(**{self.parameter_name: self.value()}) if self.value() else queryset


class ByState(_ByChoice):
    title = parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        del request, model_admin
        return [(str(state), str(state)) for state in JobState]


class ByQueue(_ByChoice):
    title = parameter_name = "queue"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        del request, model_admin
        names = {*the_app().queue_names, *(each.name for each in Queues(_engine()).list())}
        return [(name, name) for name in sorted(names)]


class ByKind(_ByChoice):
    title = parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: object) -> list[tuple[str, str]]:
        del request, model_admin
        app = the_app()
        app.add_tasks()
        return [(kind, kind) for kind in app.kinds]


class JobList(ChangeList):
    """A page by `search_jobs`, which takes a tenth of a second over any number of jobs: nothing is counted, and the
    next page begins behind the last job of this one."""

    def get_filters_params(self, params: Any = None) -> dict[str, Any]:
        found: dict[str, Any] = super().get_filters_params(params)
        found.pop(BEFORE, None)
        return found

    def get_results(self, request: HttpRequest) -> None:
        before = request.GET.get(BEFORE)
        try:
            start = UUID(before) if before else None
        except ValueError as error:
            raise IncorrectLookupParameters from error
        page = Jobs(_engine()).search(before=start, limit=self.list_per_page, **self._filter())
        names = [field.name for field in Job._meta.fields if field.name != "worker"]
        self.result_list = [Job(**{name: getattr(job, name) for name in names}) for job in page.jobs]
        self.result_count = len(self.result_list)
        self.full_result_count = None
        self.show_full_result_count = False
        self.show_admin_actions = True
        self.can_show_all = self.multi_page = False
        self.paginator = Paginator(self.result_list, self.list_per_page)
        self.searched_back_to = page.searched_back_to
        self.older = self.get_query_string({BEFORE: str(page.next)}) if page.next else None
        self.newest = self.get_query_string(remove=[BEFORE]) if before else None

    def _filter(self) -> Filter:
        """An id, or how it begins; anything else is looked for in the errors."""
        chosen: Filter = {}
        for name in ("state", "queue", "kind"):
            if given := self.params.get(name):
                chosen[name] = given
        if said := self.query.strip().replace("\x00", ""):
            chosen["id" if _ID.fullmatch(said) else "error"] = said
        return chosen


class JobAdmin(admin.ModelAdmin):
    list_display = ("id", "kind", "queue", "state", "tries", "created_at", "finished_at", "last_error")
    list_filter = (ByState, ByQueue, ByKind)
    list_per_page = PER_PAGE
    search_fields = ("id",)
    search_help_text = "How an id begins, or what an error says"
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    sortable_by = ()
    ordering = ("-id",)
    actions = ("retry", "cancel")
    fields = (
        "id", "kind", "queue", "state", "priority", "attempt", "max_attempts", "owner", "org", "parent", "worker",
        "created_at", "run_at", "started_at", "finished_at", "args", "progress", "output", "tracebacks",
    )  # fmt: skip
    readonly_fields = fields

    def get_queryset(self, request: HttpRequest) -> Any:
        return super().get_queryset(request).using(_database())

    def get_changelist(self, request: HttpRequest, **_: object) -> type[ChangeList]:
        del request
        return JobList

    @admin.display(description="attempt")
    def tries(self, job: Job) -> str:
        return f"{job.attempt} of {job.max_attempts}"

    @admin.display(description="error")
    def last_error(self, job: Job) -> str:
        said = str(job.errors[-1]["error"]) if job.errors else ""
        return said if len(said) <= 80 else f"{said[:79]}…"

    @admin.display(description="errors")
    def tracebacks(self, job: Job) -> str:
        errors: Sequence[dict[str, Any]] = job.errors or []
        text = "\n".join(f"{each.get('at')}\n{each.get('traceback') or each['error']}" for each in errors)
        return str(format_html("<pre>{}</pre>", text))

    @admin.action(description="Retry", permissions=["retry"])
    def retry(self, request: HttpRequest, queryset: Any) -> None:
        """Those that have failed or were cancelled."""
        self._change("retry", "retried", request, queryset)

    @admin.action(description="Cancel", permissions=["cancel"])
    def cancel(self, request: HttpRequest, queryset: Any) -> None:
        """Those that have not ended."""
        self._change("cancel", "cancelled", request, queryset)

    def _change(self, action: Any, done: str, request: HttpRequest, queryset: Any) -> None:
        ids = list(queryset.order_by().values_list("pk", flat=True)[: MOST + 1])
        if not 0 < len(ids) <= MOST:
            self.message_user(request, f"Choose at most {MOST} jobs at once.", messages.ERROR)
            return
        app = the_app()
        operated = Operator(_engine(), app.schedules, app.artifacts, f"admin:{request.user.get_username()}").change(
            action, ids=ids
        )
        level = messages.SUCCESS if operated.done else messages.WARNING
        self.message_user(request, f"{operated.done} of {len(ids)} jobs {done}.", level)

    def has_retry_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm("penstock.retry_job"))

    def has_cancel_permission(self, request: HttpRequest) -> bool:
        return bool(request.user.has_perm("penstock.cancel_job"))

    def has_add_permission(self, request: HttpRequest) -> bool:
        del request
        return False

    def has_change_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        del request, obj
        return False

    def has_delete_permission(self, request: HttpRequest, obj: models.Model | None = None) -> bool:
        del request, obj
        return False


if read_settings().database is not None:
    admin.site.register(Job, JobAdmin)
