"""The harness's end of the proxy."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.chaos.programs import Program


class Wire:
    """Workers and producers connect to `url`, which stays the same whatever happens to the server."""

    def __init__(self, program: Program, url: str) -> None:
        self._program = program
        # fewer round trips to connect, and none of them for ever
        self.url = make_conninfo(
            url, host="127.0.0.1", port=program.read_line(), sslmode="disable", gssencmode="disable", connect_timeout=5
        )

    def order(self, order: str) -> None:
        self._program.write_line(order)
        assert self._program.read_line() == "done"


@contextmanager
def open_wire(url: str, logs: Path) -> Iterator[Wire]:
    parts = conninfo_to_dict(url)
    program = Program("proxy", f"{parts['host']}/.s.PGSQL.{parts['port']}", log=logs / "proxy.log")
    try:
        yield Wire(program, url)
    finally:
        program.kill()
