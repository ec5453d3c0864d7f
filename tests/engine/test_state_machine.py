from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.engine.conftest import Hands
from tests.engine.machine.client_rules import ClientRules
from tests.engine.machine.worker_rules import WorkerRules
from tests.engine.machine.world import CLIENTS, WORKERS


class Machine(ClientRules, WorkerRules):
    """Every operation of the engine, in any order."""


def test_whatever_happens_the_engine_does_as_its_model_and_every_job_comes_to_an_end(hands: Hands) -> None:
    each = [hands() for _ in range(1 + CLIENTS + WORKERS)]
    # an example takes a quarter of a second, so fewer than of others
    fewer = settings(max_examples=settings().max_examples // 5)
    run_state_machine_as_test(lambda: Machine(each), settings=fewer)  # type: ignore[arg-type]
