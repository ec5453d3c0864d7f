"""Connections kept open: one pool for sync callers, one for each event loop. Opened when first needed."""

import asyncio
import os
import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import psycopg
from psycopg_pool import AsyncConnectionPool, ConnectionPool

SyncPool = ConnectionPool[psycopg.Connection[Any]]
AsyncPool = AsyncConnectionPool[psycopg.AsyncConnection[Any]]


class Pools:
    """Hands out autocommit connections. Forking and running several event loops one after another are fine."""

    def __init__(self, url: Callable[[], str], size: int) -> None:
        self.url = url
        self._size = size
        self._lock = threading.Lock()
        self._sync: SyncPool | None = None
        self._sync_pid = 0
        self._async: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncPool] = WeakKeyDictionary()

    def _settings(self) -> dict[str, Any]:
        return {
            "conninfo": self.url(),
            "min_size": 1,
            "max_size": self._size,
            "timeout": 30,
            "open": False,
            "kwargs": {"autocommit": True, "application_name": "penstock"},
        }

    def sync(self) -> SyncPool:
        with self._lock:
            if self._sync is None or self._sync_pid != os.getpid():
                pool: SyncPool = ConnectionPool(**self._settings())
                pool.open()
                self._sync, self._sync_pid = pool, os.getpid()
            return self._sync

    async def of_this_loop(self) -> AsyncPool:
        loop = asyncio.get_running_loop()
        pool = self._async.get(loop)
        if pool is None:
            pool = AsyncConnectionPool(**self._settings())
            self._async[loop] = pool
            await pool.open()
        return pool

    def close(self) -> None:
        with self._lock:
            if self._sync is not None and self._sync_pid == os.getpid():
                self._sync.close()
            self._sync = None

    async def aclose(self) -> None:
        pool = self._async.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            await pool.close()
        self.close()
