"""What Django is told of Penstock: its name, its checks, and that `manage.py migrate` brings its schema."""

from django.apps import AppConfig
from django.core.checks import register
from django.db.models.signals import post_migrate


class PenstockConfig(AppConfig):
    name = "penstock.interop.django"
    label = "penstock"
    verbose_name = "Penstock"

    def ready(self) -> None:
        from penstock.interop.django.checks import check_settings, check_timeouts
        from penstock.interop.django.schema import bring_up_to_date

        register(check_settings)
        register(check_timeouts, deploy=True)
        post_migrate.connect(bring_up_to_date, sender=self, dispatch_uid="penstock schema")
