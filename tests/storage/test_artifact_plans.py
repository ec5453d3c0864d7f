"""Looking for artifacts stays cheap, however many there are."""

import pytest

from penstock.engine import commands
from tests.engine.hand import Hand
from tests.kit.fixtures import Connect

MANY = 20_000


@pytest.fixture
def hand(connect: Connect) -> Hand:
    hand = Hand(connect())
    # its reads would be counted with ours
    hand.do("alter table penstock.artifacts set (autovacuum_enabled = false)")
    hand.do(
        "insert into penstock.artifacts (id, job, created_at, size, digest, state, kind, name, path, content_type,"
        " expires_at) select penstock.uuid7(), gen_random_uuid(), now(), 1, '', 'stored', 'k', 'n', n, 'c',"
        " now() + interval '1 day' from generate_series(1, %s) as n",
        MANY,
    )
    hand.do("analyze penstock.artifacts")
    return hand


def blocks_read(hand: Hand) -> int:
    """Of the table and its indexes, so far."""
    count: int = hand.value(
        "select sum(heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read)"
        " from pg_statio_all_tables where relid = 'penstock.artifacts'::regclass"
    )
    return count


def test_a_sweep_with_nothing_to_do_reads_a_handful_of_blocks(hand: Hand) -> None:
    hand.do("set stats_fetch_consistency = none")
    hand.run(commands.ArtifactsDue(600))
    hand.do("select pg_stat_force_next_flush()")
    before = blocks_read(hand)
    assert hand.run(commands.ArtifactsDue(600)) == 0
    assert hand.run(commands.StaleArtifacts(600, None, 100)) == []
    hand.do("select pg_stat_force_next_flush()")
    assert blocks_read(hand) - before < 50


def test_the_artifacts_of_a_job_are_found_by_its_id(hand: Hand) -> None:
    job = hand.value("select job from penstock.artifacts limit 1")
    hand.do("set stats_fetch_consistency = none")
    hand.run(commands.ArtifactsOfJob(job))
    hand.do("select pg_stat_force_next_flush()")
    before = blocks_read(hand)
    assert [each.job for each in hand.run(commands.ArtifactsOfJob(job))] == [job]
    assert len(hand.run(commands.ArtifactsOfJobs([job]))) == 1
    hand.do("select pg_stat_force_next_flush()")
    assert blocks_read(hand) - before < 50
