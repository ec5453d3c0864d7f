"""Penstock's schema by `manage.py migrate`: the first time by a migration, and from then on whenever it is run."""

from typing import Any

from penstock.interop.django.application import the_app


def make_schema(apps: object, schema_editor: Any) -> None:
    """What the migration runs."""
    del apps
    _migrate(schema_editor.connection.alias)


def bring_up_to_date(*, using: str, **told: object) -> None:
    """After every `manage.py migrate`: a release of Penstock brings functions that no migration of Django knows of."""
    if "plan" in told:  # after a flush, which each TransactionTestCase ends with, there is none
        _migrate(using)


def _migrate(alias: str) -> None:
    app = the_app()
    # without an alias its database is none of Django's, whichever is being migrated
    if app.settings.migrate and app.settings.database in (alias, None):
        app.migrate()
