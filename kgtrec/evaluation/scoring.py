"""How systems are scored against qrels: the options of every verb that scores them, checked once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypedDict, get_args

from kgtrec.data.collection import Collection, require_collection
from kgtrec.data.questions import SIDES, checked_sides
from kgtrec.errors import KgtrecError, one_of, whole_number
from kgtrec.kernels.ranking.positions import TIES

#: the measures that are computed by default, and those that answer ranks have in addition
MACRO_DEFAULTS = ("macro.MRR", "macro.Hits@1", "macro.Hits@3", "macro.Hits@10", "AP@20", "nDCG@20")
MICRO_DEFAULTS = ("micro.MR", "micro.MRR", "micro.Hits@1", "micro.Hits@3", "micro.Hits@10", "macro.MR")
#: every policy for ties; the first is for runs only, the last two take all orders or a random one
TIE_POLICIES = ("trec", *TIES, "expected", "nondeterministic")
Missing = Literal["zero", "skip"]
UnlistedAnswers = Literal["filtered", "candidates"]
#: what becomes of the answers of the collection that the qrels lack; the first is the default
UNLISTED_ANSWERS: tuple[UnlistedAnswers, ...] = get_args(UnlistedAnswers)

OVER_ANSWERS = "use measures over answers, such as micro.MRR"
#: breakdowns into answers, and why measures over questions have no values in them
OF_ANSWERS = {
    "answer": "not per answer; use --per question",
    "popularity": f"whose answers differ in popularity; {OVER_ANSWERS}, or --per anchor-popularity",
    "half-link": f"whose answers differ in half-links; {OVER_ANSWERS}",
    "missing-links": f"whose answers differ in missing links; {OVER_ANSWERS}",
}


def has_only_answers(per: str | None, weights: object) -> bool:
    """Check whether only measures over answers have values."""
    return per in OF_ANSWERS or weights == "popularity"


class ScoringOptions(TypedDict, total=False):
    """The fields of :class:`Scoring`, as keywords of the verbs."""

    collection: Collection | None
    ties: str | None
    missing: Missing
    unlisted_answers: UnlistedAnswers
    sides: Sequence[str]
    weights: str | Mapping[str, float] | None
    seed: int
    mixed: bool


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Scoring:
    """What :func:`kgtrec.evaluate` explains.

    Raises
    ------
    KgtrecError
        If an option is not one of its choices, or a path stands for the collection.
    """

    collection: Collection | None = None
    ties: str | None = None
    missing: Missing = "zero"
    unlisted_answers: UnlistedAnswers = "filtered"
    sides: Sequence[str] = SIDES
    weights: str | Mapping[str, float] | None = None
    seed: int = 0
    mixed: bool = False

    def __post_init__(self) -> None:
        if self.collection is not None:
            require_collection(self.collection)
        if self.ties is not None:
            one_of("a tie rule of", self.ties, TIE_POLICIES)
        one_of("missing to be one of", self.missing, get_args(Missing))
        one_of("unlisted_answers to be one of", self.unlisted_answers, UNLISTED_ANSWERS)
        object.__setattr__(self, "sides", checked_sides(self.sides))
        whole_number("seed", self.seed, least=None)

    def without(self, *options: str) -> Scoring:
        """Refuse options that the verb has no use for, if one has another value than its default."""
        for option in options:
            if getattr(self, option) != getattr(_DEFAULT, option):
                raise KgtrecError(f"expected no {option} here, found {getattr(self, option)!r}; leave it out")
        return self


_DEFAULT = Scoring()
