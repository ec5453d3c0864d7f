"""The state machine that drives the engine against a model of it. `tests/engine/test_state_machine.py` runs it."""
