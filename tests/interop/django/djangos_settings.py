"""The project in which Django's own tests run: their tasks are those of one of its applications."""

from tests.interop.django.settings import *  # noqa: F403

INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes", "penstock.interop.django", "tasks"]
ROOT_URLCONF = ""
