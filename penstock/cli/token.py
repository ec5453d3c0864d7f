"""`penstock token`: a token for trying out the server."""

import re
import time
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated

import typer

from penstock.cli.options import DEFAULT_FOLDER, Folder, Json
from penstock.cli.output import explained, print_json
from penstock.errors import InvalidInput

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


class Role(StrEnum):
    ANON = "anon"
    AUTHENTICATED = "authenticated"
    SERVICE_ROLE = "service_role"


def token(
    sub: Annotated[str | None, typer.Option(help="The user: the subject of the token, owner of the jobs.")] = None,
    org: Annotated[str | None, typer.Option(help="The organisation the user belongs to.")] = None,
    role: Annotated[Role, typer.Option(help="What the token's bearer may do.")] = Role.AUTHENTICATED,
    expires: Annotated[str, typer.Option(help="For how long it works: 90s, 15m, 1h, 7d.")] = "1h",
    audience: Annotated[
        str,
        typer.Option(
            envvar="PENSTOCK_JWT_AUDIENCE", show_envvar=True, help="Whom it is for; the server's setting of that name."
        ),
    ] = "authenticated",
    issuer: Annotated[
        str | None,
        typer.Option(
            envvar="PENSTOCK_JWT_ISSUER", show_envvar=True, help="Who issued it, when the server checks that."
        ),
    ] = None,
    secret: Annotated[
        str | None,
        typer.Option(
            envvar="PENSTOCK_JWT_SECRET",
            show_envvar=True,
            show_default=False,
            help="The server's JWT secret. Better in the environment, where other users of the machine do not see it.",
        ),
    ] = None,
    header: Annotated[
        bool, typer.Option("--header", help="Print it as a header, for curl -H @-, which keeps it out of `ps`.")
    ] = False,
    folder: Folder = DEFAULT_FOLDER,
    json: Json = False,
) -> None:
    """Mint a token for development, as Supabase would issue it: penstock token --sub ada --org acme."""
    with explained(json):
        from penstock.tokens import mint, secret_file

        if not secret and secret_file(folder).exists():
            secret = secret_file(folder).read_text("ascii")
        if not secret:
            raise InvalidInput(
                "secret",
                "set PENSTOCK_JWT_SECRET to the secret that the server has, or give --secret; `penstock up` makes one "
                f"and keeps it in {secret_file(folder)}",
            )
        seconds = read_duration(expires)
        minted = mint(secret, sub, org, role.value, seconds, audience, issuer)
        if json:
            until = datetime.fromtimestamp(int(time.time()) + seconds, UTC)
            print_json({"token": minted, "role": role.value, "sub": sub, "org": org, "expires_at": until})
        else:
            typer.echo(f"Authorization: Bearer {minted}" if header else minted)


def read_duration(text: str) -> int:
    """Seconds of '90s', '15m', '1h' or '7d'."""
    found = re.fullmatch(r"([1-9][0-9]{0,8})([smhd])", text.strip())
    if found is None:
        raise InvalidInput("expires", f"must be a time such as 90s, 15m, 1h or 7d, not {text!r}")
    return int(found[1]) * UNITS[found[2]]
