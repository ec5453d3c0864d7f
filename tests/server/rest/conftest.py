"""The API over a database that has the adapters, asked as Supabase's clients ask."""

import pytest

from penstock.engine.postgres.migrate import migrate
from tests.server.api import Api, Asking


@pytest.fixture
def url(url: str) -> str:
    migrate(url, with_=["pgmq", "supabase"])
    return url


class Rest:
    """`rest.service.rpc("send", queue_name=…)`, with the schema that a client names by .schema()."""

    def __init__(self, asking: Asking) -> None:
        self.ask = asking

    async def rpc(self, name: str, schema: str | None = None, **arguments: object) -> object:
        """What a call returns that must be accepted."""
        headers = {"Content-Profile": schema} if schema else {}
        answer = await self.ask.post(f"/rest/v1/rpc/{name}", arguments, headers=headers)
        assert answer.status_code == 200, answer.text
        found: object = answer.json()
        return found


@pytest.fixture
def service(api: Api) -> Rest:
    return Rest(api.service)


@pytest.fixture
def user(api: Api) -> Rest:
    return Rest(api.user("alice"))


@pytest.fixture
def nobody(api: Api) -> Rest:
    return Rest(api.nobody)
