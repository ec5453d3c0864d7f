"""Readings and exports at once, their workers killed meanwhile: everything must end right, with the same files."""
