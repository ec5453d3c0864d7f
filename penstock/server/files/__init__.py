"""Artifacts over HTTP: links, bytes, ranges and ZIPs."""
