"""The record that every measure is registered with; CLI help, docs, law tests and reports read it."""

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
    """What a parameter of a measure may be."""

    type: type  # int, float, bool, str or dict (of whole numbers to whole numbers)
    low: float | None = None  # least value, inclusive
    high: float | None = None  # greatest value, inclusive
    choices: tuple[Any, ...] = ()  # () = any value of the type


@dataclass(frozen=True, slots=True)
class Chance:
    """What an item comes to when every order of its candidates is equally likely.

    Functions of ``(candidates, **parameters)`` for answers, ``(relevant, candidates, **parameters)`` for questions, all
    (n_items,).
    """

    expectation: Callable[..., NDArray[np.float64]]
    variance: Callable[..., NDArray[np.float64]]


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure, as a family over its cutoff and parameters (``nDCG`` stands for nDCG@5, nDCG@20, ...).

    A measure over answers is a function of ``(rank, **parameters)``, both (n_answers,); one over questions is a
    function of ``(JudgedRanking, **parameters)`` and yields (n_questions,). What stands behind ``@`` is passed under
    the name ``at``, by default as ``cutoff=``; where it is optional and not given, as None.
    """

    name: str  # as a user writes it, without cutoff: "micro.MRR", "AP"
    value: Callable[..., NDArray[np.float64]]
    items: Items  # what the value is one number of
    description: str  # one sentence, no formula markup
    source: str  # citation
    bounds: tuple[float, float] = (0.0, 1.0)
    better: Literal["higher", "lower", "neither"] = "higher"
    cutoff: Literal["required", "optional", "none"] = "none"
    parameters: Mapping[str, Any] = field(default_factory=dict)  # name -> default; the type is the default's
    rules: Mapping[str, Rule] = field(default_factory=dict)  # name -> what it may be, where the default does not tell
    at: str = "cutoff"  # the parameter that @ sets; `cutoff` above says whether it must be there
    aggregate: Aggregate = "mean"  # how items become one number
    trec_eval: tuple[str, ...] = ()  # trec_eval's own names, "map_cut_{cutoff}" with its cutoff
    aliases: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # other names -> parameters that they fix
    # exact mean over all orders of tied candidates, as `value` but of (optimistic rank, pessimistic rank, **parameters)
    # or of (TiedRanking, **parameters); None where there is no closed form. Where the aggregate is no plain mean, it is
    # the mean of what is averaged (of ln r for geometric means); a median is that of all ranks that there could be
    expected: Callable[..., NDArray[np.float64]] | None = None
    form: Literal["plain", "ratio", "index", "z"] = "plain"  # the other three set the number against chance
    adjusts: str = ""  # the name of the measure that those three set against chance
    chance: Chance | None = None  # of each item, for means over items; None: of all items together, or not known
    has_chance: bool = False  # whether what chance would give is known, in whichever way
    optimum: float = 1.0  # the number of a system that ranks every answer first
    lower_is_better: bool = False  # of the plain form, which a z form turns round
    binary: bool = False  # True: for qrels of grades 0 and 1
    sees_wrong: bool = False  # whether what is judged not relevant counts otherwise than what is unjudged
    sees_unsampled: bool = False  # whether a negative grade (pooled, not sampled) counts otherwise than no grade
    weighting: Literal["question", "relation"] | None = None  # what always counts alike; None: as the user says
