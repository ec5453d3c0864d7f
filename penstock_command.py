"""The first line of the `penstock` command: Ctrl-C ends it without a word while the rest is being imported."""

import signal


def main() -> None:
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from penstock.cli import main

    main()
