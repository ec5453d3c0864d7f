"""A program for run_apart whose library is not installed."""


class Unreadable(Exception):
    pass


def prepare() -> None:
    import no_such_decoder  # type: ignore[import-not-found]  # noqa: F401
