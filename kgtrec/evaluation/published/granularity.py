"""Whether a printed mean of n numbers is one that n such numbers can have, as GRIM asks of means of whole numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator

from kgtrec.evaluation.published.findings import WAYS, PaperFinding, Row

_SOURCE = "GRIM, Brown and Heathers 2017"
_WHAT = {
    ("micro", "both"): "ranks on both sides",
    ("micro", "head"): "ranks of heads",
    ("micro", "tail"): "ranks of tails",
    ("macro", "both"): "questions",
}


def of_no_count(row: Row) -> Iterator[PaperFinding]:
    """Yield findings about Hits@k that are no count divided by the number of ranks.

    With one rank on either side of each test triple, n is twice their number: what is a mean over one side, of half as
    many ranks, is a multiple of 1/n too. Means over several runs are left out.
    """
    n = row.ranks
    if n is None:
        return
    for name in row.hits.values():
        value = row.values[name]
        if value.is_mean or any(_is_multiple(row.ends(name, way), n) for way in WAYS):
            continue
        below = math.floor(value.value * n)
        what = _WHAT.get((row.level, row.side), "ranks")
        reason = (
            f"of {n:,} {what}, {below:,} and {below + 1:,} give these two; another number comes from other test "
            "triples, a mean over runs, or an expectation over ties"
        )
        if row.level == "micro" and row.side == "both" and n % 2 == 0:
            reason += f", and not from one side, {n // 2:,} ranks"
        yield row.finding("doubtful", name, reason, _SOURCE, below / n, (below + 1) / n)


def _is_multiple(ends: tuple[float, float], n: int) -> bool:
    """Whether a count divided by n is between the ends.

    Examples
    --------
    >>> _is_multiple((0.2495, 0.2505), 402), _is_multiple((0.2485, 0.2495), 402)
    (False, True)
    """
    room = 1e-9 * n
    return math.floor(ends[1] * n + room) >= math.ceil(ends[0] * n - room)
