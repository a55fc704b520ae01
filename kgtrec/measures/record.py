"""The record by which every measure is registered; CLI help, docs, law tests and reports read it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Items = Literal["answers", "questions"]
Aggregate = Literal[
    "mean",
    "sum",
    "median",
    "geometric mean",
    "floored geometric mean",
    "harmonic mean",
    "inverse mean",
    "inverse geometric mean",
]


@dataclass(frozen=True, slots=True)
class Rule:
    """The allowed values of a parameter of a measure."""

    type: type  # int, float, bool, str or dict (of whole numbers to whole numbers)
    low: float | None = None  # lowest value, inclusive
    high: float | None = None  # highest value, inclusive
    choices: tuple[Any, ...] = ()  # () = any value of the type


@dataclass(frozen=True, slots=True)
class Chance:
    """Expectation and variance of an item's value when every order of its candidates is equally likely.

    Functions of ``(candidates, **parameters)`` for answers, ``(relevant, candidates, **parameters)`` for questions, all
    (n_items,).
    """

    expectation: Callable[..., NDArray[np.float64]]
    variance: Callable[..., NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure, as a family over its cutoff and parameters (``nDCG`` includes nDCG@5, nDCG@20, ...).

    A measure over answers is a function of ``(rank, **parameters)``, both (n_answers,); one over questions is a
    function of ``(JudgedRanking, **parameters)`` and gives (n_questions,). The number after ``@`` is passed under
    the name ``at``, by default as ``cutoff=``; if it is optional and not given, as None.
    """

    name: str  # as a user writes it, without cutoff: "micro.MRR", "AP"
    value: Callable[..., NDArray[np.float64]]
    items: Items  # what the values belong to
    description: str  # one sentence, no formula markup
    source: str  # citation
    bounds: tuple[float, float] = (0.0, 1.0)
    better: Literal["higher", "lower", "neither"] = "higher"
    cutoff: Literal["required", "optional", "none"] = "none"
    parameters: Mapping[str, Any] = field(default_factory=dict)  # name -> default; the type is the default's
    rules: Mapping[str, Rule] = field(default_factory=dict)  # name -> allowed values, beyond the type
    at: str = "cutoff"  # the parameter that @ sets; `cutoff` above says whether it is required
    aggregate: Aggregate = "mean"  # how values of items become one number
    trec_eval: tuple[str, ...] = ()  # trec_eval's own names, "map_cut_{cutoff}" with its cutoff
    aliases: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # other names -> parameters that they fix
    # exact mean over all orders of tied candidates, as `value` but with (optimistic rank, pessimistic rank,
    # **parameters) or (TiedRanking, **parameters); None where there is no closed form. Where the aggregate is not a
    # plain mean, it is the mean of the averaged quantity (ln r for geometric means); a median is that of all possible
    # ranks
    expected: Callable[..., NDArray[np.float64]] | None = None
    # what one relevant candidate adds, of a measure over questions that is a sum of such credits; as `value` but with a
    # kgtrec.kernels.lists.credit.Place. A measure over answers needs none: it adds up its values
    credit: Callable[..., NDArray[np.float64]] | None = None
    form: Literal["plain", "ratio", "index", "z"] = "plain"  # the other three compare the number with chance
    adjusts: str = ""  # the name of the measure that those three compare with chance
    chance: Chance | None = None  # per item, for means over items; None: for all items together, or unknown
    has_chance: bool = False  # whether the value by chance is known
    optimum: float = 1.0  # the value of a system that ranks every answer first
    lower_is_better: bool = False  # of the plain form; a z form has the opposite sign
    binary: bool = False  # True: for qrels of grades 0 and 1
    sees_wrong: bool = False  # whether a candidate judged not relevant counts differently from an unjudged one
    sees_unsampled: bool = False  # whether a negative grade (pooled, not sampled) counts differently from no grade
    # whether it is never worse where a relevant candidate, or one of a higher grade, moves up or a wrong one down
    by_relevance: bool = True
    # the units that always count equally; or "beta": answers count by their popularity in train to that power
    weighting: Literal["question", "relation", "beta"] | None = None
    # whether the value of an answer depends on how many candidates it was ranked among: then `value` takes (rank,
    # candidates, **parameters), and `expected` (optimistic rank, pessimistic rank, candidates, **parameters)
    sees_candidates: bool = False
