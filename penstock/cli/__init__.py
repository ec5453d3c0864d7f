"""The `penstock` command."""

from penstock.cli.commands import main

__all__ = ["main"]
