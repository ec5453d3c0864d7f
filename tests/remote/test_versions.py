"""A worker over HTTP and its server are of two versions: each looks at the other's when they meet."""

import httpx
import pytest

from penstock import Penstock, ProgramTooOld, ServerTooOld
from penstock.engine.commands import ExtendLease
from penstock.engine.http import contract
from tests.kit.serving import KEY
from tests.remote.serving import Api, working

OPEN = {"worker": "by hand", "queues": ["default"]}


def says(contract_: int, serves: int) -> dict[str, str]:
    return {contract.HEADER: f"{contract_}; serves={serves}"}


async def test_both_sides_say_their_contract(client: httpx.AsyncClient) -> None:
    answer = await client.post("/api/work/open-lease", json=OPEN)
    assert answer.status_code == 200, "whoever says nothing of its version is taken as it is"
    assert answer.headers[contract.HEADER] == f"{contract.CONTRACT}; serves={contract.SERVES}"
    newer = says(contract.CONTRACT + 7, contract.SERVES)
    assert (await client.post("/api/work/open-lease", json=OPEN, headers=newer)).status_code == 200


async def test_a_server_refuses_a_worker_that_it_no_longer_serves(client: httpx.AsyncClient) -> None:
    answer = await client.post("/api/work/open-lease", json=OPEN, headers=says(0, 0))
    assert answer.status_code == 426
    assert answer.json()["detail"] == (
        "the server serves workers from contract 1, and this one is of 0: upgrade Penstock on the worker "
        "(pip install -U penstock)"
    )
    garbage = {contract.HEADER: "9" * 5000}
    assert (await client.post("/api/work/open-lease", json=OPEN, headers=garbage)).status_code == 200


async def test_a_worker_does_not_start_with_a_server_from_before_what_it_needs(
    app: Penstock, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contract, "CONTRACT", 2)
    with pytest.raises(ServerTooOld, match=r"is of contract 1, and this worker needs 2: upgrade .* on the server"):
        await app.run_worker(api=api.address, key=KEY)


async def test_a_worker_does_not_start_with_a_server_from_before_there_were_contracts(
    app: Penstock, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(contract.SAID, contract.HEADER)
    with pytest.raises(ServerTooOld, match=r"does not say .* upgrade Penstock on the server, and only then on its w"):
        await app.run_worker(api=api.address, key=KEY)


async def test_a_worker_that_is_too_old_says_so_and_ends(
    app: Penstock, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(contract, "SERVES", 2)
    with pytest.raises(ProgramTooOld, match="serves workers from contract 2, and this one is of 1: upgrade"):
        await app.run_worker(api=api.address, key=KEY)
    monkeypatch.undo()
    monkeypatch.setitem(contract.SAID, contract.HEADER, "9; serves=8")  # a server that lets the worker find out
    with pytest.raises(ProgramTooOld, match="serves workers from contract 8"):
        await app.run_worker(api=api.address, key=KEY)


async def test_a_worker_looks_again_when_its_server_is_replaced(
    app: Penstock, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with working(app, api) as worker:
        monkeypatch.setitem(contract.SAID, contract.HEADER, "9; serves=1")
        assert (await worker.engine.arun(ExtendLease(worker.lease))).alive
        monkeypatch.setitem(contract.SAID, contract.HEADER, "9; serves=9")
        with pytest.raises(ProgramTooOld):
            await worker.engine.arun(ExtendLease(worker.lease))
        monkeypatch.undo()
