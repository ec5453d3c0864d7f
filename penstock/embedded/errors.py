"""What goes wrong with the private server."""


class EmbeddedError(Exception):
    """The private Postgres cannot do what was asked; the message says what to do about it."""
