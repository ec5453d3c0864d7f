from bench import interop_pgmq


def test_the_same_messages_go_through_ours_and_the_real_pgmq(server: str) -> None:
    told = interop_pgmq.measured(server, batches=2, rounds=1, real=interop_pgmq.real_sql(None))
    assert isinstance(told["pgmq_ratio"], float)
    assert told["pgmq_ratio"] > 0
    rates = told["pgmq_messages_per_s"]
    assert isinstance(rates, dict)
    assert {name: set(steps) for name, steps in rates.items()} == {
        "penstock": {"send", "read", "archive", "all"}, "pgmq": {"send", "read", "archive", "all"},
    }  # fmt: skip
