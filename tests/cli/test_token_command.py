"""`penstock token`: a token for trying out the server."""

from datetime import datetime

import msgspec
import pytest
from starlette.datastructures import Headers

from penstock.server.auth import Authenticator
from penstock.server.auth.identity import SERVICE_TOKEN, Identity
from penstock.server.settings import ServerSettings
from tests.cli.conftest import Command

SECRET = "a-secret-that-only-the-issuer-and-we-know"


@pytest.fixture
def penstock(homeless: Command) -> Command:
    return Command(homeless.environment | {"PENSTOCK_JWT_SECRET": SECRET})


async def identify(token: str, **settings: str) -> Identity:
    authenticator = Authenticator(ServerSettings(jwt_secret=SECRET, **settings))  # type: ignore[arg-type]
    return await authenticator.identify(Headers({"Authorization": f"Bearer {token}"}))


async def test_its_token_is_taken_by_the_server(penstock: Command) -> None:
    [token] = penstock.lines("token", "--sub", "ada", "--org", "acme")
    user = await identify(token)
    assert (user.role, user.subject, user.orgs) == ("authenticated", "ada", ("acme",))
    [token] = penstock.lines("token", "--role", "service_role")
    assert await identify(token) is SERVICE_TOKEN


async def test_audience_and_issuer_are_the_servers(penstock: Command) -> None:
    penstock.environment |= {"PENSTOCK_JWT_AUDIENCE": "reports", "PENSTOCK_JWT_ISSUER": "https://issuer.example"}
    [token] = penstock.lines("token", "--sub", "ada")
    assert (await identify(token, jwt_audience="reports", jwt_issuer="https://issuer.example")).subject == "ada"


async def test_json_says_what_it_is_and_when_it_ends(penstock: Command) -> None:
    told = penstock.json("token", "--sub", "ada", "--expires", "2d")
    user = await identify(told["token"])
    ends = datetime.fromisoformat(told["expires_at"]).timestamp()
    assert abs(msgspec.json.decode(user.claims)["exp"] - ends) <= 2
    assert (told["sub"], told["org"], told["role"]) == ("ada", None, "authenticated")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ((), "sub: an authenticated token needs a subject"),
        (("--sub", "ada", "--expires", "soon"), "expires: must be a time such as 90s, 15m, 1h or 7d"),
        (("--sub", "ada", "--expires", "0h"), "expires: must be a time"),
        (("--sub", "ada", "--secret", "short"), "jwt_secret: must have at least 32 characters"),
    ],
)
def test_what_is_wrong_is_explained_without_the_secret(
    penstock: Command, arguments: tuple[str, ...], complaint: str
) -> None:
    said = penstock.fails("token", *arguments)
    assert complaint in said
    assert SECRET not in said
    assert "Traceback" not in said


def test_without_a_secret_it_says_where_to_put_one(homeless: Command) -> None:
    assert "set PENSTOCK_JWT_SECRET" in homeless.fails("token", "--sub", "ada")


def test_its_help_does_not_show_the_secret(penstock: Command) -> None:
    assert SECRET not in "\n".join(penstock.lines("token", "--help"))
