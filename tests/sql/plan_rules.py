"""What every plan of a hot statement must keep to, whatever the tables hold and however little is known of them."""

from collections.abc import Mapping, Sequence, Set

from tests.sql.crowd_rows import holds_the_crowd
from tests.sql.explain import Plan, Scan

TIMES = 8
"""How often a test makes its call: from the sixth time on a function may have chosen its generic plan."""

SMALL = 32
"""Blocks of a table that a statement may read from end to end, if it is planned anew each time and will see more."""


def check(
    plans: Sequence[Plan], expected: Mapping[str, Set[str]], *, most_blocks: int = 1_000, planned_anew: bool = False
) -> None:
    """Each statement that contains a text of `expected` reads jobs by exactly these indexes; all keep to the rules."""
    for text, indexes in expected.items():
        found = [plan for plan in plans if text in plan.text and plan.scans]
        assert found, f"no statement has the text {text!r}; there were:\n" + "\n".join(sorted({p.text for p in plans}))
        for plan in found:
            used = {
                scan.index for scan in plan.scans if not (planned_anew and (_is_small(scan) or _is_left_over(scan)))
            }
            assert used == indexes or (planned_anew and used < indexes), f"{used}, not {indexes}, in\n{plan}"
    for plan in plans:
        for scan in plan.scans:
            if planned_anew and _is_small(scan):
                continue
            assert "Seq" not in scan.how, f"reads all of {scan.partition} in\n{plan}"
            bounded = scan.condition or scan.limited or not scan.executed
            assert bounded, f"reads {scan.index} from end to end in\n{plan}"
        assert not plan.jit, f"would be compiled, which takes longer than to run it:\n{plan}"
        assert plan.blocks <= most_blocks, f"reads {plan.blocks} blocks in\n{plan}"


def _is_small(scan: Scan) -> bool:
    return "Seq" in scan.how and scan.blocks <= SMALL


def _is_left_over(scan: Scan) -> bool:
    """A partition that holds only the dead rows of earlier tests: one index is as good as another."""
    return scan.table != "jobs" and not holds_the_crowd(scan.partition)
