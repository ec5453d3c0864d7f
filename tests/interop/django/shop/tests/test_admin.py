"""Jobs in Django's admin."""

from typing import Any

from django.contrib.auth.models import Permission, User
from django.db import connection
from django.test import TestCase
from django.test.utils import CaptureQueriesContext

from penstock.interop.django import app
from penstock.interop.django.framework import TaskResultStatus
from penstock.interop.django.models import Job
from penstock.interop.django.testing import run_tasks
from penstock.operations import Audit
from tests.interop.django.shop import tasks

LIST = "/admin/penstock/job/"


class TheAdmin(TestCase):
    @classmethod
    def setUpTestData(cls) -> None:
        cls.root = User.objects.create_superuser("root")
        cls.viewer = User.objects.create_user("viewer", is_staff=True)
        cls.viewer.user_permissions.add(Permission.objects.get(codename="view_job"))

    def setUp(self) -> None:
        self.client.force_login(self.root)

    def listed(self, **query: str) -> list[str]:
        shown = self.client.get(LIST, query)
        self.assertEqual(shown.status_code, 200, shown.headers.get("Location"))
        return [str(job.id) for job in shown.context["cl"].result_list]

    def act(self, action: str, *results: Any) -> str:
        ids = [result.id for result in results]
        shown = self.client.post(LIST, {"action": action, "_selected_action": ids}, follow=True)
        return " ".join(str(message) for message in shown.context["messages"])

    def test_lists_finds_and_filters(self) -> None:
        with self.assertLogs(level="ERROR"):
            failed = tasks.raises.enqueue()
            run_tasks()
        waiting = tasks.noop.using(queue_name="queue_1").enqueue()
        self.assertEqual(self.listed(), [waiting.id, failed.id])
        self.assertEqual(self.listed(state="failed"), [failed.id])
        self.assertEqual(self.listed(queue="queue_1"), [waiting.id])
        self.assertEqual(self.listed(queue="default"), [failed.id])
        offered = self.client.get(LIST).content.decode()
        for choice in ("state=failed", "queue=default", "queue=queue_1", f"kind={tasks.noop.module_path}"):
            self.assertIn(choice, offered)
        self.assertEqual(self.listed(kind=tasks.noop.module_path), [waiting.id])
        self.assertEqual(self.listed(q="it was WRONG"), [failed.id])
        self.assertEqual(self.listed(q=waiting.id[:20]), [waiting.id])
        self.assertEqual(self.listed(q="%' or 1=1"), [])
        self.assertEqual(self.client.get(LIST, {"before": "x"}).status_code, 302)

    def test_pages_follow_each_other_and_nothing_is_counted(self) -> None:
        made = [app.prepare("greet", {"name": str(n)}) for n in range(120)]
        app.on("default").enqueue(made)
        with CaptureQueriesContext(connection) as asked:
            shown = self.client.get(LIST)
        self.assertNotIn("count(*)", " ".join(each["sql"].lower() for each in asked))
        found: list[str] = []
        query: str | None = ""
        while query is not None:
            shown = self.client.get(LIST + query)
            found += [str(job.id) for job in shown.context["cl"].result_list]
            query = shown.context["cl"].older
            self.assertIs("Older" in shown.content.decode(), query is not None)
        self.assertEqual(found, [str(job.id) for job in reversed(made)])

    def test_retries_and_cancels_and_says_who_did(self) -> None:
        with self.assertLogs(level="ERROR"):
            failed = tasks.raises.enqueue()
            run_tasks()
        waiting = tasks.noop.enqueue()
        self.assertEqual(self.act("retry", failed, waiting), "1 of 2 jobs retried.")
        failed.refresh()
        self.assertEqual(failed.status, TaskResultStatus.READY)
        self.assertEqual(self.act("cancel", failed, waiting), "2 of 2 jobs cancelled.")
        waiting.refresh()
        self.assertEqual(waiting.errors[0].exception_class.__name__, "JobCancelled")
        lines = Audit(app.on("default")).list(limit=2)
        self.assertEqual(
            [(line.who, line.action) for line in lines], [("admin:root", "cancel"), ("admin:root", "retry")]
        )

    def test_shows_a_job_and_changes_nothing_of_it(self) -> None:
        with self.assertLogs(level="ERROR"):
            failed = tasks.raises.enqueue("<b>")
            run_tasks()
        page = f"{LIST}{failed.id}/change/"
        shown = self.client.get(page).content.decode()
        self.assertIn("ValueError: &lt;b&gt;", shown)
        self.assertNotIn("<b>", shown.replace("<b>Warning", ""))
        self.assertEqual(self.client.post(page, {"state": "ready"}).status_code, 403)
        self.assertEqual(self.client.get(f"{LIST}add/").status_code, 403)
        self.assertEqual(self.client.post(f"{LIST}{failed.id}/delete/", {"post": "yes"}).status_code, 403)
        job = Job.objects.get(pk=failed.id)
        self.assertEqual((job.state, str(job)), ("failed", f"{tasks.raises.module_path} {failed.id}"))
        for change in (job.save, job.delete):
            with self.assertRaisesMessage(TypeError, "only shows it"):
                change()

    def test_shows_what_no_reader_of_json_takes(self) -> None:
        for args in ('{"n": 1e5000}', f'{{"n": {"[" * 2000}{"]" * 2000}}}'):
            result = tasks.noop.enqueue()
            with connection.cursor() as cursor:
                cursor.execute("update penstock.jobs set args = %s where id = %s", [args, result.id])
            self.assertEqual(self.listed()[0], result.id)
            self.assertEqual(self.client.get(f"{LIST}{result.id}/change/").status_code, 200)
            self.assertIn("n", Job.objects.get(pk=result.id).args)

    def test_who_may_only_look_may_not_change(self) -> None:
        waiting = tasks.noop.enqueue()
        self.client.force_login(self.viewer)
        self.assertEqual(self.listed(), [waiting.id])
        self.assertEqual(self.act("cancel", waiting), "")
        waiting.refresh()
        self.assertEqual(waiting.status, TaskResultStatus.READY)
        self.viewer.user_permissions.set([])
        self.assertEqual(self.client.get(LIST).status_code, 403)
