"""Everything an engine can be asked for."""

# ruff: noqa: F403
from penstock.engine.commands.artifacts import *
from penstock.engine.commands.command import *
from penstock.engine.commands.enqueue import *
from penstock.engine.commands.jobs import *
from penstock.engine.commands.operations import *
from penstock.engine.commands.queues import *
from penstock.engine.commands.statistics import *
from penstock.engine.commands.steps import *
from penstock.engine.commands.work import *
