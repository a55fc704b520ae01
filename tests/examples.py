"""How many examples a law gets that needs more, or fewer, than others."""

from __future__ import annotations

from hypothesis import settings

_USUAL = 20


def examples(n: int) -> int:
    """``n`` if the profile has at least 20 examples, as few as in proportion if it has fewer."""
    return max(1, n * min(settings.default.max_examples, _USUAL) // _USUAL)
