"""Pages of the documentation that benchmarks write into, each between two markers."""

from pathlib import Path


def write_between(page: Path, begin: str, end: str, text: str) -> None:
    """What stands outside of the markers is left as it is."""
    before, begun, rest = page.read_text().partition(begin)
    _, ended, after = rest.partition(end)
    if not begun or not ended:
        raise SystemExit(f"{page} has no lines {begin!r} and {end!r} to write the figures between")
    page.write_text(f"{before}{begin}\n\n{text.strip()}\n\n{end}{after}")
