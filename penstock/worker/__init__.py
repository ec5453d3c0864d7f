"""The worker: claims jobs, runs their handlers, and reports what became of them. One loop, one file."""

from penstock.worker.worker import Worker

__all__ = ["Worker"]
