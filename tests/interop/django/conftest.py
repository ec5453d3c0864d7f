collect_ignore = ["shop"]
"""Tests of a Django project, which Django's own runner runs: see test_project.py."""
