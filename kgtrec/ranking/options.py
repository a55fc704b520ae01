"""How a system is ranked: the options of every verb that ranks one, checked once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict, get_args

from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import SIDES, checked_sides
from kgtrec.data.triples import FILTERS, SPLITS
from kgtrec.errors import one_of, whole_number

Unknown = Literal["error", "last"]
UNKNOWN: tuple[Unknown, ...] = get_args(Unknown)


class ScoreKeywords(TypedDict, total=False):
    """The options of verbs that rank scores which are there already."""

    sides: Sequence[str]
    filtered_by: Sequence[str]
    depth: int
    judged: Qrels | None


class RankKeywords(ScoreKeywords, total=False):
    """The fields of :class:`RankOptions`, as keywords of the verbs."""

    unknown_entities: Unknown
    block: int | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RankOptions:
    """What :func:`kgtrec.rank_scores` and :func:`kgtrec.rank_model` explain.

    Raises
    ------
    KgtrecError
        If an option is not one of its choices.
    """

    sides: Sequence[str] = SIDES
    filtered_by: Sequence[str] = SPLITS
    depth: int = 100
    judged: Qrels | None = None
    unknown_entities: Unknown = "error"
    block: int | None = None

    def __post_init__(self) -> None:
        named = (self.filtered_by,) if isinstance(self.filtered_by, str) else tuple(self.filtered_by)
        for split in named:
            one_of("splits to filter by among", split, FILTERS)
        one_of("unknown_entities to be one of", self.unknown_entities, UNKNOWN)
        if self.block is not None:
            object.__setattr__(self, "block", whole_number("block", self.block, 1))
        object.__setattr__(self, "sides", checked_sides(self.sides))
        object.__setattr__(self, "filtered_by", tuple(split for split in FILTERS if split in named))
        object.__setattr__(self, "depth", whole_number("depth", self.depth))
