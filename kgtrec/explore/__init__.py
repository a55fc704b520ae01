"""From a collection, its systems and label sets to the page that shows why the numbers are what they are."""

from __future__ import annotations

from kgtrec.data.lazy import offer

__all__ = offer(__name__, {"explore.explore": ("explore", "Exploration")})
