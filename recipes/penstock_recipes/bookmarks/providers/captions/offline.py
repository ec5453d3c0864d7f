"""A caption of what is known anyway: size, colours and words."""

from penstock_recipes.bookmarks.pictures import Picture

_QUOTED = 200


class OfflineCaptioner:
    """“A wide picture, 1200 × 630, mostly dark blue and white, with the words “Penstock, jobs on Postgres”.”"""

    async def caption(self, data: bytes, picture: Picture, text: str) -> str:  # noqa: ARG002
        parts = [f"A {_shape(picture)} picture, {picture.width} × {picture.height}"]
        if picture.colours:
            parts.append(f"mostly {_listed(picture.colours)}")
        if words := _shortened(" ".join(text.split())):
            parts.append(f"with the words “{words}”")
        return ", ".join(parts) + "."


def _shape(picture: Picture) -> str:
    ratio = picture.width / picture.height
    if ratio > 3:
        return "very wide"
    if ratio > 1.2:
        return "wide"
    if ratio < 1 / 3:
        return "very tall"
    return "tall" if ratio < 1 / 1.2 else "square"


def _listed(names: list[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _shortened(text: str) -> str:
    """Cut after a word."""
    if len(text) <= _QUOTED:
        return text
    cut = text[:_QUOTED]
    return (cut.rpartition(" ")[0] or cut) + "…"
