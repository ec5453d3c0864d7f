import pytest

from penstock import Penstock, PenstockError


async def test_tick_inside_a_running_loop_says_what_to_write() -> None:
    with pytest.raises(PenstockError, match=r"await app\.atick\(\)"):
        Penstock("postgresql://nowhere/").tick()
