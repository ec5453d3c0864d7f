"""The first line of the `penstock` command: Ctrl-C ends it without a word while the rest is being imported, and what is
not installed is said in one line."""

import gc
import signal
import sys


def main() -> None:
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    # what is imported stays: to look it through again and again for what may go takes a tenth of the start
    gc.disable()
    try:
        from penstock.extras import needs

        with needs("cli", "the penstock command"):
            import penstock.engine.postgres  # noqa: F401 - first: it says what is missing when psycopg finds no libpq
            from penstock.cli.commands import main
    except ImportError as error:
        if not hasattr(error, "extra"):  # a MissingExtra, which may be why its class cannot be imported
            raise
        sys.exit(f"error: {error}")
    gc.freeze()
    gc.enable()
    main()
