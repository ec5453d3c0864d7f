"""An application whose lines are structlog's, as its guide has it; for a worker of its own."""

import logging
import sys

import structlog
from structlog.types import Processor

from penstock import Penstock
from penstock.interop.structlog import add_job

shared: list[Processor] = [
    structlog.contextvars.merge_contextvars,
    add_job,
    structlog.stdlib.add_logger_name,
    structlog.stdlib.add_log_level,
    structlog.processors.format_exc_info,
]
structlog.configure(
    processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
    logger_factory=structlog.stdlib.LoggerFactory(),
)
lines = logging.StreamHandler(sys.stderr)
lines.setFormatter(
    structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, structlog.processors.JSONRenderer()],
    )
)
logging.basicConfig(level=logging.INFO, handlers=[lines])

log = structlog.get_logger("shop")
app = Penstock()


@app.job
async def on_loop(customer: str) -> None:
    structlog.contextvars.bind_contextvars(customer=customer)
    log.info("charged", amount=3)


@app.job
def in_thread(customer: str) -> None:
    structlog.contextvars.bind_contextvars(customer=customer)
    logging.getLogger("shop").info("packed in %s", "paper")


@app.job(isolate=True)
def isolated() -> None:
    log.info("drawn")


@app.job(max_attempts=1)
def fail() -> None:
    raise LookupError("nothing there")
