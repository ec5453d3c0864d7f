"""DATABASES and PENSTOCK: where the jobs are, and what is wrong with the settings."""

from typing import Any

from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.test import SimpleTestCase, override_settings
from psycopg.conninfo import conninfo_to_dict

from penstock.interop.django.discovery import known
from penstock.interop.django.settings import address_of, read_settings

BACKEND = "penstock.interop.django.PenstockBackend"


class Addresses(SimpleTestCase):
    databases = {"default"}

    def address(self, **settings: Any) -> dict[str, Any]:
        """Of an alias with these settings."""
        connections.settings["given"] = connections.configure_settings(
            {"default": {"ENGINE": "django.db.backends.postgresql", "NAME": "shop", **settings}}
        )["default"]
        try:
            return conninfo_to_dict(address_of("given"))
        finally:
            del connections["given"]
            del connections.settings["given"]

    def test_is_what_django_connects_with(self) -> None:
        options = {"sslmode": "verify-full", "sslrootcert": "/etc/ca.pem", "connect_timeout": 3, "passfile": "/pg pass"}
        given = self.address(HOST="db.internal", PORT=6432, USER="ada", PASSWORD="it's a @secret/", OPTIONS=options)
        self.assertEqual(
            given,
            {
                "dbname": "shop", "host": "db.internal", "port": "6432", "user": "ada", "password": "it's a @secret/",
                "client_encoding": "UTF8", "sslmode": "verify-full", "sslrootcert": "/etc/ca.pem",
                "connect_timeout": "3", "passfile": "/pg pass",
            },
        )  # fmt: skip

    def test_leaves_out_what_is_djangos_alone(self) -> None:
        options = {"pool": True, "prepare_threshold": None, "server_side_binding": True, "isolation_level": 4}
        settings: dict[str, Any] = {"DISABLE_SERVER_SIDE_CURSORS": True, "CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True}
        self.assertEqual(self.address(OPTIONS=options, **settings), {"dbname": "shop", "client_encoding": "UTF8"})

    def test_knows_services_and_roles(self) -> None:
        self.assertEqual(self.address(NAME="", OPTIONS={"service": "shop"})["service"], "shop")
        options = {"assume_role": "owner", "options": "-c statement_timeout=5s"}
        self.assertEqual(self.address(OPTIONS=options)["options"], "-c statement_timeout=5s -c role=owner")

    def test_another_way_leads_to_the_same_database(self) -> None:
        with override_settings(PENSTOCK={"URL": "postgresql://db.internal:5432/whatever"}):
            given = conninfo_to_dict(read_settings().address())
        self.assertEqual(
            (given["host"], given["dbname"]), ("db.internal", connections["default"].settings_dict["NAME"])
        )

    def test_another_database_has_an_address_of_its_own(self) -> None:
        with override_settings(PENSTOCK={"DATABASE": None, "URL": "postgresql://jobs.internal/jobs"}):
            self.assertEqual(read_settings().address(), "postgresql://jobs.internal/jobs")
            self.assertFalse(read_settings().is_where("default"))


class Checks(SimpleTestCase):
    databases = {"default"}

    def found(self, **settings: Any) -> list[tuple[str, str]]:
        with override_settings(**settings):
            return [(str(each.id), str(each.msg)) for each in run_checks() if "penstock" in str(each.id)]

    def test_what_is_wrong_with_penstock_is_said(self) -> None:
        self.assertEqual(
            self.found(PENSTOCK={"POOLSIZE": 1}),
            [("penstock.E001", "PENSTOCK['POOLSIZE'] is no setting; did you mean 'POOL_SIZE'?")],
        )
        [(_, said)] = self.found(PENSTOCK={"DATABASE": "lite"})
        self.assertIn("DATABASES['lite'] is sqlite, and jobs live in PostgreSQL", said)
        [(_, said)] = self.found(PENSTOCK={"DATABASE": "nowhere"})
        self.assertIn("is 'nowhere', which is not in DATABASES", said)
        [(_, said)] = self.found(PENSTOCK={"DATABASE": None})
        self.assertIn("needs a URL", said)
        [(_, said)] = self.found(PENSTOCK={"URL": "mysql://user:secret@db/x"})
        self.assertNotIn("secret", said)
        with override_settings(PENSTOCK={"DATABASE": "nowhere"}), self.assertRaises(ImproperlyConfigured):
            read_settings()

    def test_what_is_wrong_with_a_backend_is_said(self) -> None:
        def tasks(**options: Any) -> dict[str, Any]:
            return {"TASKS": {"default": {"BACKEND": BACKEND, "QUEUES": [], "OPTIONS": options}}}

        self.assertEqual([id for id, _ in self.found(**tasks(database="nowhere"))], ["penstock.E002"])
        self.assertEqual([id for id, _ in self.found(**tasks(enqueue="soon"))], ["penstock.E003"])
        self.assertEqual([id for id, _ in self.found(**tasks(attempts=3))], ["penstock.E004"])
        self.assertEqual(
            [id for id, _ in self.found(**tasks(enqueue="transaction", database="lite"))], ["penstock.E005"]
        )
        self.assertEqual(self.found(**tasks(max_attempts=3, enqueue="on_commit")), [])

    def test_a_task_that_no_worker_would_import_is_named(self) -> None:
        from tests.interop.django.shop import views

        self.addCleanup(known.pop, views.hidden.module_path)

        def found() -> list[tuple[str, str]]:
            return [each for each in self.found() if "views" in each[1]]

        [(id, said)] = found()
        self.assertEqual(id, "penstock.W001")
        self.assertIn(f"workers do not import {views.__name__}", said)
        with override_settings(PENSTOCK={"IMPORTS": [views.__name__]}):
            self.assertEqual(found(), [])

    def test_a_connection_that_would_wait_for_ever_is_found_before_it_is_deployed(self) -> None:
        def found() -> list[str]:
            return [str(each.msg) for each in run_checks(include_deployment_checks=True) if each.id == "penstock.W002"]

        said = found()
        self.assertEqual([each.partition(" ")[0] for each in said], ["DATABASES['default']", "DATABASES['direct']"])
        options = connections["default"].settings_dict["OPTIONS"]
        options["connect_timeout"] = 5
        self.addCleanup(options.pop, "connect_timeout")
        self.assertNotIn(said[0], found())
