"""A task where no worker looks for one."""

from penstock.interop.django import task


@task
def hidden() -> None: ...
