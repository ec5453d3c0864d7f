"""What goes over the wire, as shapes for pydantic. Workers import them too: nothing here needs a server."""

from typing import Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator

_MOST_FIELDS = 50


def _refuse_many(given: Any) -> Any:
    """Each field that is not known is an error of its own: of 70,000, a second and a half of them."""
    if isinstance(given, dict) and len(given) > _MOST_FIELDS:
        raise ValueError(f"has {len(given):,} fields")
    return given


FewFields = BeforeValidator(_refuse_many)
"""For what has fields and is no `Body`."""


class Body(BaseModel):
    """A field that is not known is refused, and so are more than any could have."""

    model_config = ConfigDict(extra="forbid")

    _few = model_validator(mode="before")(_refuse_many)
