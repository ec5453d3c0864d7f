"""Arguments and outputs as they may be shown: what looks like a secret is not.

Strangers choose the texts, and the event loop reads them. So each expression begins where no other of its matches can,
and never gives back what it has taken: it takes twice as long for twice the text, whatever that is. What a group has
taken stays taken by (?>…): with *+ behind it, some have no end before Python 3.11.5 (gh-106052).
"""

import re
from collections.abc import Mapping

MASK = "••••••••"

_ANYWHERE = (
    r"(?:pg|ssl)?pass(?:word|wd|phrase|code)|pwd|secret|token"
    r"|(?:api|access|private|signing|encryption|service|session)_?key"
    r"|authorization|credential|cookie|jwt|cvv|cvc|iban|ssn|otp"
)
_AS_A_NAME = r"pass|key|auth|session|bearer|pin"
"""These too where it is certain that they are names: in a text `key=` is of a sort, and `pass: 3` a number of tests."""

_SPLIT = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])")
_SECRET = re.compile(rf"(?<![^_])(?:{_ANYWHERE}|{_AS_A_NAME})s?(?![^_])")
_ADDRESS = re.compile(r"(?P<before>://[^\s/:@]*+:)[^\s/@]++(?=@)")
_BEARER = re.compile(r"(?P<before>\b(?i:bearer)\s++)[A-Za-z0-9._~+/=-]{8,}+")
_RUN = r"[A-Za-z0-9_-]"
# a run that is no JWT is passed over whole: within it there is none either
_JWT = re.compile(rf"\beyJ(?:{_RUN}{{8,}}+\.{_RUN}{{8,}}+\.{_RUN}*+|(?P<other>{_RUN}*+))")
# as of JSON, headers, libpq's words, Python's arguments, environments and addresses
_NAMED = re.compile(
    rf"(?P<before>(?:(?<![A-Za-z0-9])|(?<=[a-z0-9])(?=[A-Z]))(?i:{_ANYWHERE.replace('_?', '[_ -]?')})(?i:s?)"
    r"""(?>(?:\\?["'])?)[ \t]*+(?:=>|[:=]=|[:=])(?![:=])[ \t]*+(?>(?i:(?:bearer|basic|token)[ \t]++)?))"""
    r"""(?!(?i:none|null|true|false)\b|(?:""|'')(?![^\s,;&)}\]]))"""
    r"""(?:(?P<quote>["'])(?>(?:(?!(?P=quote))[^\\]|(?s:\\.))*)(?=(?P=quote))|[^\s,;&]++)"""
)


def is_secret(name: str) -> bool:
    """By a word of it: `apiKey`, `smtp_password`, `X-Auth-Token`."""
    return _SECRET.search(_SPLIT.sub("_", name).lower()) is not None


def masked(value: object) -> object:
    """The same without secrets: values of names that say so, passwords in addresses, tokens in texts."""
    if isinstance(value, Mapping):
        return {name: _hidden(each) if is_secret(str(name)) else masked(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [masked(each) for each in value]
    return masked_text(value) if isinstance(value, str) else value


def masked_text(text: str) -> str:
    """The same for what may say a secret anywhere, as errors do."""
    text = _JWT.sub(lambda found: found[0] if found["other"] is not None else MASK, text)
    text = _ADDRESS.sub(rf"\g<before>{MASK}", text)
    text = _BEARER.sub(rf"\g<before>{MASK}", text)
    return _NAMED.sub(lambda found: f"{found['before']}{found['quote'] or ''}{MASK}", text)


def _hidden(value: object) -> object:
    """Nothing is no secret, and neither is yes or no."""
    return value if value is None or isinstance(value, bool) or value == "" else MASK
