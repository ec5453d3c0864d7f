"""Which errors of a handler are worth another attempt."""

from dataclasses import dataclass

from penstock.errors import InvalidInput

Errors = type[BaseException] | tuple[type[BaseException], ...]


@dataclass(frozen=True, slots=True)
class RetryRule:
    """`only` these are tried again, None for all; `never` these, whatever `only` says."""

    only: tuple[type[BaseException], ...] | None
    never: tuple[type[BaseException], ...]

    @classmethod
    def of(cls, retry_on: Errors | None, no_retry_on: Errors) -> "RetryRule | None":
        """None when every error is tried again."""
        only = None if retry_on is None else _classes("retry_on", retry_on)
        never = _classes("no_retry_on", no_retry_on)
        return cls(only, never) if never or only is not None else None

    def is_final(self, error: BaseException) -> bool:
        """Whether the job has failed for good: of a group it is enough that one of its errors says so."""
        if isinstance(error, BaseExceptionGroup):
            return any(self.is_final(each) for each in error.exceptions)
        return isinstance(error, self.never) or not (self.only is None or isinstance(error, self.only))


def _classes(name: str, given: object) -> tuple[type[BaseException], ...]:
    classes = given if isinstance(given, tuple) else (given,)
    for each in classes:
        if not isinstance(each, type) or not issubclass(each, BaseException):
            raise InvalidInput(name, f"takes classes of exceptions, not {each!r}")
    return classes
