"""A browser without a screen: keeps cookies, sends forms as a browser does, finds tokens in pages."""

import re
import time
from collections.abc import Mapping

import httpx
import msgspec
from joserfc import jws

from penstock.tokens import secret_key
from tests.kit.serving import KEY, SECRET

SAME = {"Sec-Fetch-Site": "same-origin"}
COOKIE = "penstock_session"


def token_of(subject: str, role: object, **claims: object) -> str:
    """A user's token with a role for the dashboard."""
    now = int(time.time())
    told: dict[str, object] = {"sub": subject, "role": "authenticated", "aud": "authenticated", "exp": now + 600}
    told |= {"app_metadata": {"penstock_role": role}, **claims}
    return jws.serialize_compact({"alg": "HS256"}, msgspec.json.encode(told), secret_key(SECRET))


class Browser:
    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client

    async def get(self, path: str, headers: Mapping[str, str] | None = None) -> httpx.Response:
        return await self.client.get(path, headers=headers)

    async def send(self, path: str, headers: Mapping[str, str] = SAME, **form: str) -> httpx.Response:
        return await self.client.post(path, data=form, headers=headers)

    async def sign_in(self, credential: str = KEY) -> "Browser":
        answer = await self.send("/login", credential=credential)
        assert answer.status_code == 303, answer.text
        return self

    async def form_token(self, page: str = "/") -> str:
        found = re.search(r'name="token" value="([0-9a-f]{64})"', (await self.get(page)).text)
        assert found, "no form on the page"
        return found[1]

    async def do(self, path: str, page: str = "/", **form: str) -> httpx.Response:
        """Sends a form of a page."""
        return await self.send(path, SAME, token=await self.form_token(page), **form)

    @property
    def cookie(self) -> str:
        return self.client.cookies[COOKIE]

    @cookie.setter
    def cookie(self, value: str) -> None:
        self.client.cookies.clear()
        self.client.cookies.set(COOKIE, value)
