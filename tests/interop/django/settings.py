"""Of a small Django project, whose tests are those of the backend: DATABASE_URL says where its database is."""

import os
from typing import Any

import django
from psycopg.conninfo import conninfo_to_dict

_given = conninfo_to_dict(os.environ["DATABASE_URL"])

SECRET_KEY = "for tests"
USE_TZ = True
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
ROOT_URLCONF = "tests.interop.django.urls"
DATABASES: dict[str, dict[str, Any]] = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": _given["dbname"],
        "USER": _given.get("user"),
        "PASSWORD": _given.get("password"),
        "HOST": _given.get("host"),
        "PORT": _given.get("port"),
        "CONN_MAX_AGE": None,
    },
    "lite": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"},
}
DATABASES["direct"] = DATABASES["default"] | {"TEST": {"MIRROR": "default"}}
DATABASE_ROUTERS = ["tests.interop.django.settings.NoTablesInLite"]
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.sessions",
    "penstock.interop.django",
    "tests.interop.django.shop",
    *(["django_tasks"] if django.VERSION < (6, 0) else []),
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
TASKS = {
    "default": {"BACKEND": "penstock.interop.django.PenstockBackend", "QUEUES": ["default", "queue_1"]},
    "immediate": {"BACKEND": "penstock.interop.django.ImmediateBackend", "QUEUES": []},
    "lite": {"BACKEND": "penstock.interop.django.PenstockBackend", "OPTIONS": {"database": "lite"}},
    "mirrored": {"BACKEND": "penstock.interop.django.PenstockBackend", "OPTIONS": {"database": "direct"}},
    "on_commit": {"BACKEND": "penstock.interop.django.PenstockBackend", "OPTIONS": {"enqueue": "on_commit"}},
    "now": {"BACKEND": "penstock.interop.django.PenstockBackend", "OPTIONS": {"enqueue": "now"}},
    "patient": {"BACKEND": "penstock.interop.django.PenstockBackend", "OPTIONS": {"max_attempts": 2}},
}


class NoTablesInLite:
    def allow_migrate(self, db: str, app_label: str, **_: object) -> bool | None:
        return False if db == "lite" else None
