"""Who a request comes from: service keys, tokens, and keys to check them with."""

from penstock.server.auth.authenticate import Authenticator
from penstock.tokens import mint

__all__ = ["Authenticator", "mint"]
