"""Text that Postgres takes, as a type for pydantic."""

from typing import Annotated

from pydantic import AfterValidator


def _can_be_stored(text: str) -> str:
    if "\x00" in text:
        raise ValueError("must not have NUL characters")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("must not have lone surrogates") from None
    return text


StorableText = Annotated[str, AfterValidator(_can_be_stored)]
