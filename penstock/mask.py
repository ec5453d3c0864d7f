"""Arguments and outputs as they may be shown: what looks like a secret is not."""

import re
from collections.abc import Mapping
from itertools import pairwise

MASK = "••••••••"

_SECRET = re.compile(
    r"pass(word|wd|phrase|code)?|pwd|secret|token|api_?key|(access|private|signing|encryption|service|session)_?key|key"
    r"|authorization|auth|credentials?|cookie|session|bearer|jwt|pin|cvv|cvc|iban|ssn|otp",
)
_SPLIT = re.compile(r"[^A-Za-z0-9]+|(?<=[a-z0-9])(?=[A-Z])")
_IN_TEXT = re.compile(
    r"(?P<scheme>\b[a-z][a-z0-9+.-]*://[^\s/:@]*:)(?P<password>[^\s/@]+)(?=@)"
    r"|(?P<bearer>\b[Bb]earer\s+)(?P<token>[A-Za-z0-9._~+/=-]{8,})"
    r"|(?P<jwt>\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*)"
)


def is_secret(name: str) -> bool:
    """By a word of it: `apiKey`, `smtp_password`, `X-Auth-Token`."""
    words = [word.lower() for word in _SPLIT.split(name) if word]
    pairs = [f"{first}_{second}" for first, second in pairwise(words)]
    return any(_SECRET.fullmatch(word) or _SECRET.fullmatch(f"{word.removesuffix('s')}") for word in [*words, *pairs])


def masked(value: object) -> object:
    """The same without secrets: values of names that say so, passwords in addresses, tokens in texts."""
    if isinstance(value, Mapping):
        return {name: _hidden(each) if is_secret(str(name)) else masked(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [masked(each) for each in value]
    return masked_text(value) if isinstance(value, str) else value


def masked_text(text: str) -> str:
    return _IN_TEXT.sub(_mask, text)


def _mask(found: re.Match[str]) -> str:
    return f"{found['scheme'] or found['bearer'] or ''}{MASK}"


def _hidden(value: object) -> object:
    """Nothing is no secret, and neither is yes or no."""
    return value if value is None or isinstance(value, bool) or value == "" else MASK
