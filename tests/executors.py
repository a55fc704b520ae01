"""Executors that do their work in threads, and those that fail at some of it."""

from __future__ import annotations

from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager


@contextmanager
def threads():
    with ThreadPoolExecutor(2) as pool:
        yield pool


class Fickle(Executor):
    """Calls in threads, but for what a function of the call's last argument and of the attempt says."""

    def __init__(self, pool, becomes):
        self.pool, self.becomes, self.attempts = pool, becomes, {}

    def submit(self, work, given, unit):
        attempt = self.attempts[unit] = self.attempts.get(unit, 0) + 1
        what = self.becomes(unit, attempt)
        if what is None:
            return self.pool.submit(work, given, unit)
        future = Future()
        if what == "hangs":
            future.set_running_or_notify_cancel()
        elif what == "says done":
            future.set_result(None)
        else:
            future.set_exception(what)
        return future


def fickle(becomes):
    @contextmanager
    def start():
        with ThreadPoolExecutor(2) as pool:
            yield Fickle(pool, becomes)

    return start
