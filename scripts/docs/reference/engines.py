"""What each engine can do: by what it says of itself, in the words of its capabilities."""

import ast
import inspect
from dataclasses import fields, replace

from penstock.engine import protocol
from penstock.engine.bullmq.engine import BullmqEngine
from penstock.engine.http import HttpEngine
from penstock.engine.postgres.engine import PostgresEngine
from penstock.engine.protocol import Capabilities
from scripts.docs.reference.tables import code, table

ENGINES: dict[str, Capabilities] = {
    "Postgres": PostgresEngine.capabilities,
    "HTTP": HttpEngine.capabilities,
    "BullMQ": BullmqEngine.capabilities,
    "BullMQ beside Postgres": replace(BullmqEngine.capabilities, artifacts=True),
}
"""As users know them."""


def page() -> str:
    rows = [
        [code(name), about, *("yes" if getattr(can, name) else "no" for can in ENGINES.values())]
        for name, about in described().items()
    ]
    return "\n".join(
        [
            "# Engines",
            "",
            "What every engine does is held by one suite of tests that runs over each: claims and leases, outcomes,",
            "progress, cancellation, remembered steps, outputs of a flow, a completion with further jobs. Below is",
            "what not all of them do. One that does not refuses it by the name of the capability (`EngineCannot`),",
            "and the same suite checks that.",
            "",
            "A worker over HTTP does what its server's database does: only what takes a connection of its own is",
            "missing there. [BullMQ](../guides/bullmq.md) has a guide of its own, also with a database beside it.",
            "",
            table(["Capability", "", *ENGINES], rows),
        ]
    )


def described() -> dict[str, str]:
    """Each capability with the words that stand below it in the code."""
    [tree] = ast.parse(inspect.getsource(protocol.Capabilities)).body
    assert isinstance(tree, ast.ClassDef)
    words: dict[str, str] = {}
    for field, below in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and isinstance(below, ast.Expr):
            words[field.target.id] = " ".join(str(ast.literal_eval(below.value)).split())
    assert list(words) == [each.name for each in fields(Capabilities)], "a capability says nothing of itself"
    return words
