"""Verdicts that the rules do not allow, as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from kgtrec.campaign.verdict_rules import Refusal

_MOST_SHOWN = 20


def refusal_lines(refused: Sequence[Refusal]) -> Iterator[str]:
    """Return one line per refused verdict; if there are many, the first ones, and the number of each kind.

    Examples
    --------
    >>> list(refusal_lines([Refusal("ann.csv:2", "expected a link to the source of a Y, found none")]))
    ['ann.csv:2: expected a link to the source of a Y, found none']
    """
    yield from map(str, refused[:_MOST_SHOWN])
    if len(refused) > _MOST_SHOWN:
        yield f"... and {len(refused) - _MOST_SHOWN:,} more; in total"
        counts = Counter(refusal.reason for refusal in refused).most_common()
        for reason, number in counts[:_MOST_SHOWN]:
            yield f"  {number:,} times: {reason}"
        if len(counts) > _MOST_SHOWN:
            yield f"  {sum(number for _, number in counts[_MOST_SHOWN:]):,} times: other reasons"
