"""Pages for people: what is queued, what runs, what failed, and the buttons to do something about it."""

from penstock.server.dashboard.dashboard import Dashboard

__all__ = ["Dashboard"]
