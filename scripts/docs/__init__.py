"""The documentation site: `python -m scripts.docs build`, `serve`."""
