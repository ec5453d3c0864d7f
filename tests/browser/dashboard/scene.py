"""A small company at work: an application with jobs in every state, a worker, and a server, to be looked at."""

import asyncio
import math
import random
import struct
import zlib
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID, uuid4

from penstock import Backoff, Context, Fail, Flow, Penstock, batch
from penstock.engine import commands
from penstock.job import JobState
from tests.kit.serving import Served, served
from tests.kit.until import until
from tests.kit.working import working

SLOTS = {"mail": 10, "exports": 4, "calls": 4, "default": 4, "readings": 12}


@dataclass
class Scene:
    served: Served
    app: Penstock
    goes_on: dict[str, asyncio.Event]
    """The call of a recording that is being transcribed ends when it is set."""
    running: UUID
    failed: UUID
    succeeded: UUID
    scheduled: UUID
    flow: UUID
    reading: UUID
    """A flow with two rows that are too wide to be drawn job by job."""
    asking: UUID
    """It waits for a person."""
    waiting: UUID
    """It waits for an event."""
    operation: UUID

    @property
    def address(self) -> str:
        return self.served.address


def make_app(url: str | None, folder: Path, goes_on: dict[str, asyncio.Event]) -> Penstock:
    app = Penstock(url, folder=folder, artifacts=folder / "artifacts")

    @app.job(queue="mail", max_attempts=3, backoff=Backoff.constant(0.01))
    async def send_mail(to: str, subject: str = "Your invoice", api_key: str = "") -> dict[str, str]:
        """Mail to those who cannot be reached fails."""
        if "nowhere" in to:
            raise ConnectionError(f"mx.nowhere.example: connection refused while sending to {to}")
        return {"message_id": f"<{abs(hash(to)) % 10**8}@mail.example>"}

    @app.job(queue="exports")
    async def render_invoice(ctx: Context, number: int, token: str = "") -> dict[str, object]:
        await ctx.step("totals", _totals, number)
        await ctx.artifacts.put(f"invoice-{number}.pdf", _pdf(f"Invoice {number}"))
        await ctx.artifacts.put("chart.png", _png(320, 120))
        await ctx.artifacts.put("beep.wav", _wav(), duration=0.5)
        await ctx.artifacts.put("lines.json", b'{"lines": [{"item": "Consulting", "net": 1200}], "currency": "EUR"}')
        return {"number": number, "pages": 1}

    @app.job(queue="calls", max_attempts=2)
    async def transcribe_call(ctx: Context, recording: str, speakers: int = 2) -> str:
        await ctx.progress(percent=42, phase="transcribe", message="Minute 7 of 16")
        await goes_on[recording].wait()
        await ctx.progress(percent=90, phase="summarise", message="Writing the summary")
        return "They agreed to meet on Thursday."

    @app.job(queue="default")
    async def collect() -> int:
        return 1

    @app.job(queue="imports")
    async def import_contacts(source: str) -> int:
        return 12

    @app.job(queue="default")
    async def publish_release(ctx: Context, version: str) -> str:
        answer = await ctx.approve(f"Publish {version}?", details={"changes": 12, "tests": "green"}, name="the release")
        return "published" if answer.approved else "kept back"

    @app.job(queue="default")
    async def ship_order(ctx: Context, order: int) -> str:
        paid: dict[str, str] = await ctx.wait_for("paid", key=str(order), name="payment")
        return f"shipped, paid by {paid['by']}"

    add_reading(app, goes_on)

    @app.cron("0 6 * * 1-5", tz="Europe/Berlin")
    async def nightly_report() -> int:
        """What the figures of the day were."""
        return 1

    return app


CHAPTERS = 16
WRITTEN, SPOKEN, LOST = 10, 4, 3
"""Of the chapters of a reading: the texts that are done, the recordings that are, and the one that failed."""


def add_reading(app: Penstock, goes_on: dict[str, asyncio.Event]) -> None:
    """A book in sixteen chapters, stopped in the middle until the scene ends."""

    @app.job(queue="readings")
    async def calculation() -> int:
        return 1

    @app.job(queue="readings")
    async def write_chapter(ctx: Context, number: int) -> int:
        if number > WRITTEN:
            await ctx.progress(percent=10 * (number % 7), message="Writing")
            await goes_on["reading"].wait()
        return number

    @app.job(queue="default")
    async def print_chapter(number: int) -> int:
        return number

    @app.job(queue="readings")
    async def record_chapter(number: int) -> Fail | int:
        if number > SPOKEN:
            await goes_on["reading"].wait()
        return Fail("the voice does not know this script") if number == LOST else number

    @app.job(queue="readings")
    async def bind_book() -> None: ...


def reading(app: Penstock) -> Flow:
    flow = Flow(then=app.handler("bind_book").prepare(), policy="continue")
    charts = flow.add(app.handler("calculation").prepare(), phase="calculating", name="charts")
    for number in range(1, CHAPTERS + 1):
        text = flow.add(app.handler("write_chapter").prepare(number=number), phase="text", after=[charts])
        for kind, phase in (("print_chapter", "pdf"), ("record_chapter", "audio")):
            flow.add(app.handler(kind).prepare(number=number), phase=phase, after=[charts, text])
    return flow


@asynccontextmanager
async def scene(url: str | None, folder: Path, *, many: int = 40) -> AsyncIterator[Scene]:
    goes_on: dict[str, asyncio.Event] = defaultdict(asyncio.Event)
    async with make_app(url, folder, goes_on) as app:
        await asyncio.to_thread(app.migrate)
        async with served(app) as server, working(app, SLOTS, name="worker-berlin-1"):
            await remember(app)
            await _err(app)
            made = await _play(app, many)
            yield Scene(server, app, goes_on, *made)
            for event in goes_on.values():
                event.set()


async def remember(app: Penstock) -> None:
    """The last hours, as workers would have reported them."""
    made = random.Random(7)
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    rows = []
    for minute in range(1, 360):
        at = now - timedelta(minutes=minute)
        wave = 1 + 0.45 * math.sin(minute / 23) + 0.15 * math.sin(minute / 5)
        for queue, often, slow in (("mail", 140, 5), ("exports", 22, 9), ("calls", 3, 15)):
            done = max(0, round(often * wave * made.uniform(0.85, 1.15)))
            failed = made.choice((0, 0, 0, 0, 1)) if queue != "mail" else made.choice((0, 1, 2))
            waited, ran = [0] * 18, [0] * 18
            for _ in range(done):
                waited[min(17, max(0, round(made.gauss(4 + 2 * wave, 1.4))))] += 1
                ran[min(17, max(0, round(made.gauss(slow, 1.2))))] += 1
            rows.append((at, queue, done, failed, failed * 2, waited, ran))
    async with app.atransaction() as connection, connection.cursor() as cursor:
        for named in (True, False):
            await cursor.executemany(
                "insert into penstock.statistics (seconds, at, queue, kind, succeeded, failed, retried, cancelled,"
                " waited, ran, waited_seconds, ran_seconds) values (60, %s, %s, '', %s, %s, %s, 0, %s, %s, 1, 1)"
                " on conflict (seconds, queue, kind, at) do update set"
                " succeeded = statistics.succeeded + excluded.succeeded, failed = statistics.failed + excluded.failed,"
                " retried = statistics.retried + excluded.retried,"
                " waited = array(select a + b from unnest(statistics.waited, excluded.waited) as t(a, b)),"
                " ran = array(select a + b from unnest(statistics.ran, excluded.ran) as t(a, b))",
                [(at, queue if named else "", *rest) for at, queue, *rest in rows],
            )


async def _err(app: Penstock) -> None:
    """Errors of the day before."""
    made = random.Random(3)
    now = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    texts = (
        ("send_mail", "mail", "ConnectionError", "mx.nowhere.example: connection refused while sending to <text>", 30),
        ("render_invoice", "exports", "TimeoutError", "the font service did not answer within <number> s", 6),
        ("transcribe_call", "calls", "ValueError", "recording <text> has no audio", 2),
    )
    async with app.atransaction() as connection:
        for kind, queue, type, message, often in texts:
            group = uuid4()
            for hour in range(24):
                count = round(often * made.random() * (1.6 if hour < 6 else 0.6))
                if count:
                    await connection.execute(
                        "insert into penstock.failures (id, hour, kind, queue, type, message, attempts, jobs, last_at)"
                        " values (%s, %s, %s, %s, %s, %s, %s, %s, %s)",
                        [group, now - timedelta(hours=hour), kind, queue, type, message, count, count // 3, now],
                    )


async def _play(app: Penstock, many: int) -> tuple[UUID, ...]:
    await app.queues.apause("imports")
    await app.queues.aset("exports", max_running=3, rate=100, rate_period=60)
    mail, invoice, call = (app.handler(kind) for kind in ("send_mail", "render_invoice", "transcribe_call"))
    contacts, collect = app.handler("import_contacts"), app.handler("collect")
    jobs = [mail.using(owner=f"user-{n % 7}", org="acme").prepare(to=f"ada{n}@example.com") for n in range(many)]
    await app.aenqueue_many([*jobs, *(contacts.prepare(source=f"crm-{n}.csv") for n in range(17))])
    failed = await app.aenqueue(
        mail.using(owner="user-3", org="acme").prepare(to="bob@nowhere.example", api_key="sk-live-0123456789")
    )
    done = await app.aenqueue(invoice.using(owner="user-1", org="acme").prepare(number=2041, token="tok_secret"))
    later = await app.aenqueue(mail.using(delay=7200).prepare(to="late@example.com", subject="A reminder"))
    parts = [collect.prepare(), call.prepare(recording="call-18.ogg"), contacts.prepare(source="a.csv")]
    flow = await app.aenqueue(batch(parts))
    unwanted = await app.aenqueue(contacts.prepare(source="test.csv"))
    book = await app.aenqueue(reading(app))
    asking = await app.aenqueue(app.handler("publish_release").using(owner="user-4").prepare(version="2.1"))
    waiting = await app.aenqueue(app.handler("ship_order").using(owner="user-5").prepare(order=7))
    running = await app.aenqueue(call.using(owner="user-2", org="globex").prepare(recording="call-17.ogg"))

    async def settled() -> bool:
        states = [await app.jobs.aget(handle.id) for handle in (failed, done, running)]
        wanted = [JobState.FAILED, JobState.SUCCEEDED, JobState.RUNNING]
        ready = [job is not None and job.state is state for job, state in zip(states, wanted, strict=True)]
        parts = await app.engine.arun(commands.FlowJobs(book.id))
        written = sum(part.state is JobState.RUNNING for part in parts) == SLOTS["readings"]
        printed = sum(part.state is JobState.SUCCEEDED for part in parts) == 2 * WRITTEN + SPOKEN
        asked = len(await app.engine.arun(commands.Approvals())) == 1
        return all(ready) and bool(states[2] and states[2].progress) and written and printed and asked

    ada = app.operator("ada@example.com (5b1f)")
    await ada.apause_queue("imports")
    operation = await ada.acancel(ids=[unwanted.id], reason="a test")
    await app.aemit("shipped", key="6", payload={"by": "rail"})
    await until(settled, 60)
    handles = (running, failed, done, later, flow, book, asking, waiting)
    return *(handle.id for handle in handles), operation.id


async def _totals(number: int) -> dict[str, float]:
    return {"net": 1200.0, "vat": 228.0, "gross": 1428.0}


def _png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    rows = b"".join(
        b"\0" + b"".join(bytes((40, 110 + 100 * x // width, 140 + 90 * y // height)) for x in range(width))
        for y in range(height)
    )
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def _wav() -> bytes:
    samples = bytes(128 + (60 if n // 20 % 2 else -60) for n in range(4000))
    form = struct.pack("<HHIIHH", 1, 1, 8000, 8000, 1, 8)
    body = b"WAVEfmt " + struct.pack("<I", len(form)) + form + b"data" + struct.pack("<I", len(samples)) + samples
    return b"RIFF" + struct.pack("<I", len(body)) + body


def _pdf(text: str) -> bytes:
    drawn = f"BT /F1 24 Tf 72 720 Td ({text}) Tj ET".encode()
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R"
        b" /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d >>\nstream\n%s\nendstream" % (len(drawn), drawn),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    made, places = b"%PDF-1.4\n", []
    for number, each in enumerate(objects, 1):
        places.append(len(made))
        made += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
    return made + end + b"trailer << /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, len(made))
