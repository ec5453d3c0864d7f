"""A program for the sandbox whose library is not installed."""


class Refused(Exception):
    pass


def prepare() -> None:
    import no_such_decoder  # type: ignore[import-not-found]  # noqa: F401
