"""The units of a plan on any executor of ``concurrent.futures``: processes, a cluster, whatever has ``submit``.

Results are files in the plan's folder, which all workers must see; a future only says that one may be there. So a
worker that dies, hangs or answers twice changes nothing in what comes out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from multiprocessing import active_children

from kgtrec.data.collection import Collection
from kgtrec.errors import KgtrecError
from kgtrec.ranking.plans import RankPlan, collected_block, do_unit
from kgtrec.ranking.rank import Progress, Ranked
from kgtrec.ranking.tiles import NanTileError, nan_error
from kgtrec.workers import processes

ATTEMPTS = 3
PATIENCE = 600  # seconds without any unit done, after which those that run are given to somebody else too
_LONGER = 5.0  # or this many times the longest time without
_POLL = 0.2  # seconds
_PARTING = 5.0  # seconds that a process has to end by itself
_ANSWER = 10.0  # seconds that a scheduler has to answer


@contextmanager
def local_workers(workers: int) -> Iterator[Executor]:
    """Processes of this machine, which are ended at the end: what they have done is on the disk."""
    others = set(active_children())
    with processes(workers) as pool:
        own = set(active_children()) - others
        try:
            yield pool
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in own:
                process.join(_PARTING)
            for process in own:
                process.kill()  # one that hangs


Start = Callable[[], AbstractContextManager[Executor]]


@dataclass(slots=True)
class _Course:
    """Which units are under way."""

    folder: str
    attempts: dict[int, int] = field(default_factory=dict)  # unit -> how often it was given to a worker
    failures: dict[int, list[BaseException]] = field(default_factory=dict)  # unit -> what became of it
    running: dict[Future[None], int] = field(default_factory=dict)
    last: float = field(default_factory=time.monotonic)  # when a unit was done last, or those under way given out again
    longest: float = 0.0  # seconds without any unit done

    def give(self, executor: Executor, unit: int) -> None:
        self.attempts[unit] = self.attempts.get(unit, 0) + 1
        self.running[executor.submit(do_unit, self.folder, unit)] = unit


def done_in_order(
    plan: RankPlan,
    collection: Collection,
    start: Start,
    *,
    progress: Progress | None = None,
    patience: float = PATIENCE,
) -> Iterator[Ranked]:
    """Do all units of a plan that are not done, and give the results block by block.

    A unit whose worker fails is given to another one, three times at most. When no unit has been done for long, those
    that are under way are given out once more. If all workers are lost at once, new ones are started.

    Parameters
    ----------
    plan : RankPlan
    collection : Collection
        The plan's.
    start : callable
        Starts an executor: a context manager.
    progress : callable, optional
        Called with the number of questions that are done with all entities.
    patience : float, seconds
        How long no unit may be done before those under way are given out again; at least five times the longest time
        without so far.

    Raises
    ------
    KgtrecError
        If a score is NaN; if a unit fails three times, with the last error; or if no workers can be had. What is done
        stays in the plan's folder.
    """
    n_shards, left = len(plan.shards), set(plan.left())
    course = _Course(str(plan.folder.resolve()))
    given, deaths = 0, 0  # blocks that were given on; losses of all workers since a unit was done
    while True:
        lost: BaseException | None = None
        at_start = len(left)
        try:
            with start() as executor:
                for unit in sorted(left):
                    course.give(executor, unit)
                for number in range(given, len(plan.questions)):
                    own = set(range(number * n_shards, (number + 1) * n_shards))
                    while left & own:
                        _step(plan, collection, executor, course, left, patience)
                    yield collected_block(plan, collection, number)
                    if progress is not None:
                        progress(plan.questions[number])
                    given = number + 1
                return
        except (BrokenExecutor, CancelledError) as error:
            lost = error
        course.running.clear()
        course.attempts.clear()  # of workers that are gone
        left = set(plan.left())
        deaths = 1 + (deaths if len(left) == at_start else 0)
        if deaths >= ATTEMPTS:
            raise KgtrecError(
                f"{plan.folder}: expected workers, and lost all of them {ATTEMPTS} times before a unit was done "
                f"({type(lost).__name__}: {lost}); {len(left):,} of {len(plan):,} units are left, and what is done "
                "stays there"
            ) from lost


def _step(
    plan: RankPlan, collection: Collection, executor: Executor, course: _Course, left: set[int], patience: float
) -> None:
    """Wait until a unit is done, or somebody has failed or waited for too long."""
    while True:
        done, _ = wait(course.running, timeout=_POLL, return_when=FIRST_COMPLETED)
        arrived = False
        for future in done:
            unit = course.running.pop(future)
            error = future.exception()
            if error is None and plan.path(unit).exists():
                left.discard(unit)
                arrived = True
            elif unit in left:
                _again(plan, collection, executor, course, unit, error)
        now = time.monotonic()
        if arrived:
            course.longest = max(course.longest, now - course.last)
            course.last = now
            return
        if now - course.last > max(patience, _LONGER * course.longest):
            _give_again(plan, executor, course, left)
            course.last = now


def _again(
    plan: RankPlan, collection: Collection, executor: Executor, course: _Course, unit: int, error: BaseException | None
) -> None:
    """Give a unit that failed to another worker, unless it cannot be done."""
    if isinstance(error, BrokenExecutor | CancelledError):
        raise error
    if isinstance(error, NanTileError):
        block = plan.block(unit // len(plan.shards))
        raise nan_error(collection, plan.candidates, block, error) from None
    failures = course.failures.setdefault(unit, [])
    failures.append(error or FileNotFoundError(f"no result {plan.path(unit)}; do all workers see this folder?"))
    if len(failures) >= ATTEMPTS:
        last = failures[-1]
        raise KgtrecError(
            f"{plan.folder}: {plan.told(unit)} has failed {ATTEMPTS} times: {type(last).__name__}: {last}; what is "
            "done stays there"
        ) from last
    course.give(executor, unit)


def _give_again(plan: RankPlan, executor: Executor, course: _Course, left: set[int]) -> None:
    """Give units that are under way for long to other workers too."""
    for unit in [unit for unit in left if plan.path(unit).exists()]:
        left.discard(unit)  # a future that never says so
    begun = {unit for future, unit in course.running.items() if future.running() and unit in left}
    late = begun or left
    if hopeless := sorted(unit for unit in late if course.attempts[unit] >= ATTEMPTS):
        raise KgtrecError(
            f"{plan.folder}: expected {plan.told(hopeless[0])} to be done by one of the {ATTEMPTS} workers that it was "
            "given to, found none that answers; what is done stays there, and --patience waits longer"
        )
    for unit in sorted(late):
        course.give(executor, unit)


@contextmanager
def dask_workers(address: str) -> Iterator[Executor]:
    """The workers of a Dask scheduler, such as ``tcp://host:8786``; all must see the plan's folder.

    Raises
    ------
    KgtrecError
        If Dask is not installed, or nobody answers at the address.
    """
    try:
        from distributed import Client
    except ImportError:
        raise KgtrecError('expected Dask for --scheduler; pip install "kgtrec[distributed]"') from None
    try:
        client = Client(address, timeout=_ANSWER)
    except (OSError, TimeoutError, ValueError) as error:
        raise KgtrecError(f"expected a Dask scheduler at {address}, found none that answers ({error})") from None
    with client:
        yield client.get_executor(pure=False)
