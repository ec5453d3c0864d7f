"""Figures are what their names say."""

import pytest

from bench.figures import percentile


@pytest.mark.parametrize(
    ("count", "p", "rank"), [(100, "p50", 50), (100, "p99", 99), (200, "p99", 198), (10, "p99", 10), (1, "p50", 1)]
)
def test_a_percentile_is_the_value_of_its_rank_and_not_the_one_after_it(count: int, p: str, rank: int) -> None:
    assert percentile([float(n) for n in range(count, 0, -1)], p) == rank
