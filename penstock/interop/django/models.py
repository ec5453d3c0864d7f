"""Jobs for Django to read: a model over the stable view `jobs_view`. Whatever changes a job goes through the engine."""

from typing import Any, NoReturn

from django.db import models

from penstock.interop.django.settings import read_settings
from penstock.job import JobState
from penstock.json import readable
from penstock.sql import quote_schema

PERMISSIONS = (("retry_job", "Can retry jobs"), ("cancel_job", "Can cancel jobs"))


def view_name() -> str:
    """Quoted, so that Django takes it as it is."""
    return f'"{quote_schema(read_settings().schema).strip(chr(34))}"."jobs_view"'


class StoredJSON(models.JSONField):
    """What the database holds: see penstock.json.readable()."""

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        try:
            return super().from_db_value(value, expression, connection)
        except (ValueError, RecursionError):
            return super().from_db_value(readable(value), expression, connection)


class Job(models.Model):
    """A job, live or ended: Job.objects.filter(kind="shop.tasks.send_receipt", state="failed")."""

    id = models.UUIDField(primary_key=True)
    queue = models.TextField()
    kind = models.TextField()
    state = models.TextField(choices=[(str(state), str(state)) for state in JobState])
    priority = models.IntegerField()
    attempt = models.IntegerField()
    max_attempts = models.IntegerField()
    parent = models.UUIDField(null=True)
    owner = models.TextField(null=True)
    org = models.TextField(null=True)
    args = StoredJSON()
    progress = StoredJSON(null=True)
    output = StoredJSON(null=True)
    errors = StoredJSON(null=True)
    cancel_requested = models.BooleanField()
    worker = models.TextField(null=True)
    created_at = models.DateTimeField()
    run_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        managed = False
        app_label = "penstock"
        db_table = view_name()
        default_permissions = ("view",)
        permissions = PERMISSIONS

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"

    def save(self, *args: Any, **kwargs: Any) -> NoReturn:
        del args, kwargs
        raise TypeError("a job is changed by its task, or by app.jobs: this only shows it")

    def delete(self, *args: Any, **kwargs: Any) -> NoReturn:
        self.save(*args, **kwargs)
