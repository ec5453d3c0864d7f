"""The recipes' pages, in a real browser."""
