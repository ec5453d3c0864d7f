"""What a test that opens connections of its own is given."""

from tests.kit.fixtures import Connect

__all__ = ["Connect"]
