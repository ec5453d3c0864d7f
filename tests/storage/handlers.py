"""Handlers for processes of their own, which import them by name."""

import os

from penstock import Context, SyncContext


def store(ctx: SyncContext, text: str) -> None:
    ctx.artifacts.put("a.txt", f"{os.getpid()} {text}".encode())


async def store_async(ctx: Context, text: str) -> None:
    await ctx.artifacts.put("a.txt", f"{os.getpid()} {text}".encode())
