"""Numbered units of work for workers that may die, hang or answer twice; what comes out does not depend on them."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

from kgtrec.errors import KgtrecError

ATTEMPTS = 3
PATIENCE = 600  # seconds without any unit done, after which those that run are given to somebody else too
_LONGER = 5.0  # or this many times the longest time without
_POLL = 0.2  # seconds

#: starts an executor; called again when all its workers are lost
Start = Callable[[], AbstractContextManager[Executor]]
#: gives a unit to a worker
Give = Callable[[int], Future[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Units:
    """What a kind of work says about its units; here results come with the futures, and are not kept elsewhere."""

    total: int
    where: str  # begins messages
    kept: str = "give the command again"  # ends messages
    longer: str = ""  # ends the one about a unit that takes too long

    def told(self, unit: int) -> str:
        """A unit in words."""
        return f"part {unit + 1:,} of {self.total:,}"

    def is_stored(self, unit: int) -> bool:
        """Whether a result is there, although no future says so."""
        return False

    def lacking(self, unit: int) -> Exception | None:
        """What is wrong with a unit whose future says that it is done."""
        return None

    def hopeless(self, unit: int, error: BaseException) -> Exception | None:
        """The error to raise for one that no other worker would avoid."""
        return error if isinstance(error, KgtrecError) else None


def done(
    units: Units,
    numbers: Iterable[int],
    begin: Callable[[], AbstractContextManager[Give]],
    *,
    patience: float = PATIENCE,
) -> Generator[tuple[int, Any], None, None]:
    """Do units in any order, and give each number with its result.

    A unit whose worker fails is given to another one, three times at most. When no unit has been done for long, those
    that are under way are given out once more. If all workers are lost at once, new ones are started.

    Parameters
    ----------
    units : Units
    numbers : iterable of int
        Of the units that are to be done.
    begin : callable
        Starts workers: a context manager with a function that gives one a unit.
    patience : float, seconds
        How long no unit may be done before those under way are given out again; at least five times the longest time
        without so far.

    Raises
    ------
    KgtrecError
        If a unit fails three times, with the last error; or if no workers can be had.
    """
    course = _Course(units, set(numbers))
    deaths = 0  # losses of all workers since a unit was done
    while course.left:
        at_start = len(course.left)
        try:
            with begin() as give:
                for unit in sorted(course.left):
                    course.give(give, unit)
                while course.left:
                    yield from course.step(give, patience)
                return
        except (BrokenExecutor, CancelledError) as error:
            lost = error
        course.running.clear()
        course.attempts.clear()  # of workers that are gone
        yield from course.stored()
        deaths = 1 + (deaths if len(course.left) == at_start else 0)
        if deaths >= ATTEMPTS:
            raise KgtrecError(
                f"{units.where}: expected workers, and lost all of them {ATTEMPTS} times before a unit was done "
                f"({type(lost).__name__}: {lost}); {len(course.left):,} of {units.total:,} units are left, and "
                f"{units.kept}"
            ) from lost


@dataclass(slots=True)
class _Course:
    """Which units are under way."""

    units: Units
    left: set[int]
    attempts: dict[int, int] = field(default_factory=dict)  # unit -> how often it was given to a worker
    failures: dict[int, list[BaseException]] = field(default_factory=dict)  # unit -> what became of it
    running: dict[Future[Any], int] = field(default_factory=dict)
    last: float = field(default_factory=time.monotonic)  # when a unit was done last, or those under way given out again
    longest: float = 0.0  # seconds without any unit done

    def give(self, give: Give, unit: int) -> None:
        self.attempts[unit] = self.attempts.get(unit, 0) + 1
        self.running[give(unit)] = unit

    def stored(self) -> list[tuple[int, Any]]:
        """Those left whose results are there."""
        found = sorted(unit for unit in self.left if self.units.is_stored(unit))
        self.left.difference_update(found)
        return [(unit, None) for unit in found]

    def step(self, give: Give, patience: float) -> list[tuple[int, Any]]:
        """Wait until units are done."""
        while True:
            ended, _ = wait(self.running, timeout=_POLL, return_when=FIRST_COMPLETED)
            arrived, failed = [], []
            for future in sorted(ended, key=self.running.__getitem__):
                unit, error = self.running[future], self._error(future)
                if error is not None and unit in self.left:
                    failed.append((future, error))
                    continue
                del self.running[future]
                if unit in self.left:
                    self.left.discard(unit)
                    arrived.append((unit, future.result()))
            if not arrived:  # otherwise they are seen again: what is done is given on first
                for future, error in failed:
                    self._again(give, self.running.pop(future), error)
            now = time.monotonic()
            if arrived:
                self.longest = max(self.longest, now - self.last)
                self.last = now
                return arrived
            if now - self.last > max(patience, _LONGER * self.longest):
                self.last = now
                arrived = self.stored()  # of futures that never say so
                self._give_again(give)
                if arrived:
                    return arrived

    def _error(self, future: Future[Any]) -> BaseException | None:
        if future.cancelled():
            return CancelledError()
        return future.exception() or self.units.lacking(self.running[future])

    def _again(self, give: Give, unit: int, error: BaseException) -> None:
        """Give a unit that failed to another worker, unless it cannot be done."""
        if isinstance(error, BrokenExecutor | CancelledError):
            raise error
        if (hopeless := self.units.hopeless(unit, error)) is not None:
            raise hopeless from None
        failures = self.failures.setdefault(unit, [])
        failures.append(error)
        if len(failures) >= ATTEMPTS:
            raise KgtrecError(
                f"{self.units.where}: {self.units.told(unit)} has failed {ATTEMPTS} times: {type(error).__name__}: "
                f"{error}; {self.units.kept}"
            ) from error
        self.give(give, unit)

    def _give_again(self, give: Give) -> None:
        """Give units that are under way for long to other workers too."""
        begun = {unit for future, unit in self.running.items() if future.running() and unit in self.left}
        late = begun or self.left
        if hopeless := sorted(unit for unit in late if self.attempts[unit] >= ATTEMPTS):
            raise KgtrecError(
                f"{self.units.where}: expected {self.units.told(hopeless[0])} to be done by one of the {ATTEMPTS} "
                f"workers that it was given to, found none that answers; {self.units.kept}{self.units.longer}"
            )
        for unit in sorted(late):
            self.give(give, unit)
