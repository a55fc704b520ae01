"""Executors that do their work in threads, and those that fail at some of it."""

from __future__ import annotations

import pickle
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager


@contextmanager
def threads():
    with ThreadPoolExecutor(2) as pool:
        yield pool


class Copying(Executor):
    """Gives every call a copy of its arguments, as another process would have them."""

    def submit(self, function, /, *arguments, **options):
        future = Future()
        copy, own = pickle.loads(pickle.dumps((function, arguments)))  # noqa: S301
        future.set_result(copy(*own))
        return future


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
        else:
            future.set_exception(what)
        return future


def fickle(becomes):
    @contextmanager
    def start():
        with ThreadPoolExecutor(2) as pool:
            yield Fickle(pool, becomes)

    return start
