"""Penstock beside other systems. Each module needs its own library, and nothing here is imported by itself."""
