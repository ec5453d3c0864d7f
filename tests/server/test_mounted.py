"""Mounted into an application that uvicorn runs as it comes: it stops when told to, and its log has no tokens."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import httpx
import pytest

from penstock.server.auth import mint
from tests.kit.serving import KEY, SECRET


@contextmanager
def uvicorn(url: str, **settings: str) -> Iterator["tuple[str, subprocess.Popen[str]]"]:
    environment = {
        **os.environ, "DATABASE_URL": url, "PENSTOCK_SERVICE_KEY": KEY, "PENSTOCK_JWT_SECRET": SECRET, **settings,
    }  # fmt: skip
    command = [sys.executable, "-m", "uvicorn", "tests.server.mounted:outer", "--port", "0", "--no-use-colors"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment
    ) as process:
        try:
            assert process.stdout is not None
            for line in process.stdout:
                if found := re.search(r"running on (http://127\.0\.0\.1:\d+)", line):
                    break
            else:
                raise AssertionError("it did not start")
            yield f"{found[1]}/queue", process
        finally:
            process.kill()


async def test_streams_and_long_polls_do_not_keep_it_from_stopping_and_its_log_has_no_token(url: str) -> None:
    token = mint(SECRET, subject="alice")
    service = {"Authorization": f"Bearer {KEY}"}
    with uvicorn(url) as (api, process):
        async with httpx.AsyncClient(timeout=30) as client:
            user = {"Authorization": f"Bearer {token}"}
            started = await client.post(f"{api}/api/jobs", json={"kind": "work"}, headers=user)
            job = started.headers["location"]
            assert job.startswith(f"{api}/api/jobs/")
            refused = await client.get(f"{job}/stream", params={"access_token": KEY})
            assert refused.status_code == 401
            opening = {"worker": "w", "queues": ["idle"]}
            lease = await client.post(f"{api}/api/work/open-lease", json=opening, headers=service)
            body = {"lease": lease.json()["result"], "queues": ["idle"], "wait": 20}
            polling = asyncio.create_task(client.post(f"{api}/api/work/heartbeat", json=body, headers=service))
            async with client.stream("GET", f"{job}/stream", params={"access_token": token}) as stream:
                told = stream.aiter_text()
                assert "event: progress" in await anext(told) + await anext(told)
                process.send_signal(signal.SIGTERM)
                async for _ in told:
                    pass  # it ends, and is not cut off: that would raise
            assert (await polling).status_code == 200
        assert process.stdout is not None
        log = await asyncio.to_thread(process.stdout.read)
        assert process.wait(10) == -signal.SIGTERM
    assert log.count("access_token=... HTTP") == 2
    assert token not in log
    assert KEY not in log


TOLD = "a-secret-that-no-log-has"
JOB = f"/api/jobs/{uuid4()}"
SECRETS = [
    ("GET", f"{JOB}?access_token="), ("GET", f"{JOB}/stream?access_token="), ("GET", f"{JOB}/stream?access%5Ftoken="),
    ("GET", f"{JOB}/stream?watch="), ("GET", f"{JOB}?watch="), ("GET", "/api/jobs/none/stream?access_token="),
    ("GET", "/api/jobs/none?access_token="), ("GET", "/nothing/here?access_token="), ("POST", "/api/jobs?apikey="),
    ("OPTIONS", f"{JOB}/stream?access_token="), ("GET", f"/api/artifacts/{uuid4()}/file?expires=1&signature="),
    ("GET", "/storage/v1/object/sign/job-artifacts/x?token="), ("GET", "/login?once="), ("GET", "/jobs?access_token="),
    ("GET", "/healthz?access_token="), ("PUT", "/api/jobs?access_token="), ("GET", "/readyz?token="),
    ("GET", "/rest/v1/jobs?apikey="), ("GET", "/raising?token="),
]  # fmt: skip


@pytest.mark.parametrize("database", ["there", "away"])
async def test_nor_has_it_another_secret_whatever_is_answered(url: str, database: str) -> None:
    origin = {"Origin": "https://shop.example", "Access-Control-Request-Method": "GET"}
    away = "postgresql://nobody@127.0.0.1:1/none"
    with uvicorn(url if database == "there" else away, PENSTOCK_CORS_ORIGINS="https://shop.example") as (api, process):
        async with httpx.AsyncClient(timeout=30, headers=origin) as client:
            said = [(await client.request(method, f"{api}{path}{TOLD}")).status_code for method, path in SECRETS]
        process.send_signal(signal.SIGTERM)
        assert process.stdout is not None
        log = await asyncio.to_thread(process.stdout.read)
    assert (503 if database == "away" else 404) in said
    for (_, path), status in zip(SECRETS, said, strict=True):
        assert f'/queue{path}... HTTP/1.1" {status}' in log
    assert TOLD not in log
