"""The systems that `make bench-worker` measures: one runner program each, all spoken with alike.

A runner is started as `<runner> <mode> <url> [jobs]` and speaks in lines over its pipes, see protocol.py.
"""
