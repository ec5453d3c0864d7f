"""Who a request comes from."""

from dataclasses import dataclass, replace
from typing import Literal
from uuid import UUID

Role = Literal["anon", "authenticated", "service_role"]


@dataclass(frozen=True, slots=True)
class Identity:
    """A caller: the database role it acts under, and its claims as JSON text, which the database's policies read."""

    role: Role
    subject: str | None = None
    orgs: tuple[str, ...] = ()
    claims: str = "{}"
    watches: UUID | None = None
    """The one job that it may see, and nothing else: it came with a watch token."""
    name: str = ""
    """Of a service, which has no subject: what the audit calls it."""

    @property
    def is_service(self) -> bool:
        """Whether it may do everything, on nobody's behalf."""
        return self.role == "service_role"


ANONYMOUS = Identity("anon", claims='{"role":"anon"}')
SERVICE = Identity("service_role", claims='{"role":"service_role"}', name="the service key")
SERVICE_TOKEN = replace(SERVICE, name="a service token")
"""By a JWT whose role is service_role."""
