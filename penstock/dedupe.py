"""Deterministic keys: the same work gives the same key, whatever the order of its arguments."""

import json
from collections.abc import Mapping


def dedupe_key(kind: str, org: str | None, args: Mapping[str, object]) -> str:
    """`<kind>::<org|global>::<sorted-json>`. The engine stores a long key as its SHA-256."""
    payload = json.dumps(args, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return f"{kind}::{org or 'global'}::{payload}"
