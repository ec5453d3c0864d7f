"""The API's description, made once in a process for all who read it."""

from penstock import Penstock
from penstock.server import Server, ServerSettings

DESCRIPTION = Server(Penstock("postgresql://nowhere"), ServerSettings()).asgi.openapi()
