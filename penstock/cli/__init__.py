"""The `penstock` command."""

from penstock_command import main

__all__ = ["main"]
