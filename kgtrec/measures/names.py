"""The one parser of measure names: ``NAME[(parameter=value, ...)][@cutoff]``, as ir-measures writes them."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.errors import MeasureError, nearest, warn

# importing a module of definitions registers them
from kgtrec.measures import answers as _answers  # noqa: F401
from kgtrec.measures import lists as _lists  # noqa: F401
from kgtrec.measures.ir_measures_adapter import ProvidedMeasure as ProvidedMeasure
from kgtrec.measures.ir_measures_adapter import is_foreign, label_of, provided, provided_names, provided_record, wrapped
from kgtrec.measures.record import Items, Measure, Rule
from kgtrec.measures.registry import lookup, registered, spellings

_FORM = re.compile(r"(?P<name>[^\s()@,]+)\s*(?:\((?P<arguments>.*)\))?\s*(?:@\s*(?P<at>[^\s()@,]+))?", re.DOTALL)
# up to a blank or comma that is not inside brackets; brackets inside quotes are none
_PART = re.compile(r"""(?:\((?:'[^']*'|"[^"]*"|[^()'"])*\)|[^\s,])+""")
_LONG_NUMBER = re.compile(r"\d{40,}")  # no float is written with so many digits
_MOST = 2**31 - 1  # the greatest grade or position
_PYKEEN_FORMS = {"": "", "adjusted_": "A", "z_": "Z"}
_PYKEEN_HITS = re.compile(r"(?P<form>adjusted_|z_|)hits_at_(?P<k>\d{1,9})")
_PYKEEN_SIDES, _PYKEEN_TIES = ("both", "head", "tail"), ("optimistic", "pessimistic", "realistic", "avg")
_PYKEEN_NAMES = {
    "arithmetic_mean_rank": "micro.MR",
    "adjusted_arithmetic_mean_rank": "micro.AMR",
    "adjusted_arithmetic_mean_rank_index": "micro.AMRI",
    "z_arithmetic_mean_rank": "micro.ZMR",
    "inverse_arithmetic_mean_rank": "micro.IMR",
    "median_rank": "micro.MedianRank",
    "geometric_mean_rank": "micro.GMR",
    "adjusted_geometric_mean_rank_index": "micro.AGMRI",
    "z_geometric_mean_rank": "micro.ZGMR",
    "inverse_geometric_mean_rank": "micro.IGMR",
    "harmonic_mean_rank": "micro.HMR",
    "inverse_harmonic_mean_rank": "micro.MRR",
    "adjusted_inverse_harmonic_mean_rank": "micro.AMRR",
    "z_inverse_harmonic_mean_rank": "micro.ZMRR",
}
_SPOKEN = {"mean_reciprocal_rank": "MRR", "mean_rank": "MR", "h": "Hits"}  # other names in PyKEEN and in papers
# names in ranx, and in torchmetrics behind "retrieval", without their "_" and "-"
_NEIGHBOURS = {
    "hitrate": "Success",
    "precision": "P",
    "recall": "R",
    "rprecision": "Rprec",
    "averageprecision": "AP",
    "normalizeddcg": "nDCG",
    "ndcgburges": "nDCG(dcg='exp-log2')",
    "reciprocalrank": "RR",
    "retrievalmap": "AP",
    "retrievalmrr": "RR",
}
_KINDS = {int: "a whole number", float: "a number", bool: "True or False", str: "a quoted text"}
_SUMS_OVER_PLACES = frozenset({"AP", "nDCG", "P", "Q", "R", "RBP", "RBPResidual", "Rprec", "Rprec_mult", "relative_P"})


@dataclass(frozen=True, slots=True)
class ParsedMeasure:
    """A registered measure with its parameters, ready to be computed."""

    record: Measure
    parameters: Mapping[str, Any]  # every parameter of the measure, including the cutoff
    label: str  # as the user wrote it

    @property
    def items(self) -> Items:
        return self.record.items

    @property
    def own_parameters(self) -> dict[str, Any]:
        """The parameters that the measure's functions take; the sign of a z form is not one of them."""
        return {name: value for name, value in self.parameters.items() if name != "flipped"}

    @property
    def sees_wrong(self) -> bool:
        """Whether a candidate judged not relevant counts differently from an unjudged one.

        Examples
        --------
        >>> [parse_measure(name).sees_wrong for name in ("bpref", "AP@20", "AP(judged_only=True)", "P(rel=0)@5")]
        [True, False, True, True]
        """
        own, gains = self.parameters, self.parameters.get("gains") or {}
        return self.record.sees_wrong or own.get("judged_only") is True or own.get("rel") == 0 or 0 in gains

    @property
    def sees_unsampled(self) -> bool:
        """Whether a negative grade counts differently from no grade.

        Examples
        --------
        >>> [parse_measure(name).sees_unsampled for name in ("bpref", "infAP", "nDCG(gains={-1:1})")]
        [False, True, True]
        """
        return self.record.sees_unsampled or min(self.parameters.get("gains") or {}, default=0) < 0

    @property
    def sees_grades(self) -> bool:
        """Whether relevant candidates of different grades count differently.

        Examples
        --------
        >>> [parse_measure(name).sees_grades for name in ("nDCG@20", "RBP", "AP(rel=2)", "AP", "micro.MRR")]
        [True, True, True, False, False]
        """
        return "gains" in self.parameters or self.parameters.get("rel", 1) not in (0, 1)

    def by_relevance(self, highest: int) -> bool:
        """Return whether a relevant candidate, or one of a higher grade, that moves up never makes it worse.

        Parameters
        ----------
        highest : int
            The highest grade of the qrels.

        Examples
        --------
        >>> names = "AP@20", "bpref", "nDCG", "nDCG(gains={1:4,2:9})"
        >>> [parse_measure(name).by_relevance(2) for name in names]
        [True, True, True, True]
        >>> names = "Judged@10", "infAP", "P(rel=0)@5", "nDCG(gains={1:4})"
        >>> [parse_measure(name).by_relevance(2) for name in names]
        [False, False, False, False]
        """
        gains = self.parameters.get("gains") or {}
        gain = [max(gains.get(grade, grade), 0) for grade in range(1, highest + 1)]
        return (
            self.record.by_relevance
            and self.record.better != "neither"
            and self.parameters.get("rel") != 0
            and gain == sorted(gain)
            and not any(of_wrong > 0 for grade, of_wrong in gains.items() if grade < 1)
        )

    @property
    def sums_over_places(self) -> bool:
        """Whether it sums over the positions of a list, so that half positions do not belong to any order.

        Examples
        --------
        >>> [parse_measure(name).sums_over_places for name in ("AP@20", "nDCG", "RR", "macro.Hits@3", "micro.MRR")]
        [True, True, False, False, False]
        """
        return self.record.name in _SUMS_OVER_PLACES

    def __call__(self, *inputs: Any) -> NDArray[np.float64]:
        """Values of the items, from the ranks of answers or from a JudgedRanking."""
        return self.record.value(*inputs, **self.own_parameters)

    def of_answers(self, ranks: Any, *, is_open: bool) -> NDArray[np.float64]:
        """Values of answers; their means over the orders of tied candidates if the order is open.

        ``ranks`` has the columns ``rank``, ``best``, ``worst`` and ``candidates``.
        """
        sizes = (ranks.candidates,) if self.record.sees_candidates else ()
        return self.expected(ranks.best, ranks.worst, *sizes) if is_open else self(ranks.rank, *sizes)

    def expected(self, *inputs: Any) -> NDArray[np.float64]:
        """Return means of the items' values over all orders of tied candidates.

        They come from the optimistic and pessimistic ranks of answers, or from a TiedRanking.

        Raises
        ------
        MeasureError
            If the measure has no closed form.
        """
        if self.record.expected is None:
            raise MeasureError(
                f"{self.label} has no exact expectation over the orders of tied candidates; choose another rule for "
                "ties: realistic, optimistic or pessimistic"
            )
        return self.record.expected(*inputs, **self.own_parameters)


AnyMeasure = ParsedMeasure | ProvidedMeasure


def parse_measure(measure: Any) -> AnyMeasure:
    """Parse the name of a measure.

    Parameters
    ----------
    measure : str or measure object
        ``NAME[(parameter=value, ...)][@cutoff]`` with ir-measures' names (``nDCG(dcg='exp-log2')@20``), trec_eval's
        (``ndcg_cut_20``), PyKEEN's (``hits_at_10``, which becomes ``micro.Hits@10``), those of ranx and torchmetrics
        (``hit_rate@10``, which becomes ``Success@10``), or kgtrec's own (``micro.Hits@10``); or one of ir-measures'
        objects (``nDCG @ 20``), or an earlier result of this function.

    Returns
    -------
    ParsedMeasure or ProvidedMeasure
        The second is computed by ir-measures' providers, and ir-measures is imported only then.

    Raises
    ------
    MeasureError
        If the name is unknown (the nearest names are given) or could be a measure over answers or over questions
        (``MRR``), or a parameter or the cutoff is wrong or missing.

    Examples
    --------
    >>> parse_measure("map_cut_20").record.name, parse_measure("map_cut_20").parameters
    ('AP', {'rel': 1, 'judged_only': False, 'cutoff': 20})
    >>> parse_measure("Sucess@10")
    Traceback (most recent call last):
    kgtrec.errors.MeasureError: unknown measure 'Sucess@10'; did you mean Success@10?
    """
    if isinstance(measure, AnyMeasure):
        return measure
    if not isinstance(measure, str):
        if not is_foreign(measure):
            raise MeasureError(
                f"expected a measure's name or one of ir-measures' measures, found {type(measure).__name__}"
            )
        if own := wrapped(measure):
            return own
        measure = label_of(measure)
    label = measure.strip()
    if long := _LONG_NUMBER.search(label):
        raise MeasureError(
            f"{label[:40]}...: expected numbers below {_MOST + 1:,} in a measure's name, found one of "
            f"{len(long[0]):,} digits"
        )
    label = named_by_pykeen(label) or _named_by_neighbours(label) or label
    if wrong := two_meanings(label):
        raise MeasureError(wrong)
    parsed = _lookup(label)
    if parsed is None:
        raise MeasureError(_unknown(label, _split(label)[0]))
    return parsed


def _lookup(label: str) -> ParsedMeasure | ProvidedMeasure | None:
    """The measure of a label whose name is known here or in ir-measures; None for other names."""
    name, arguments, at = _split(label)
    if known := lookup(name):
        return ParsedMeasure(known[0], _parameters(known[0], label, known[1], arguments, at), label)
    record = provided_record(name)
    return None if record is None else provided(record, label, _parameters(record, label, {}, arguments, at))


def digits_of(measure: str) -> int:
    """Return the number of decimals of a measure: 2 for ranks, sums and z values, 4 for others and unknown ones."""
    record = _record_of(measure)
    return 2 if record and (record.form == "z" or record.bounds[0] >= 1 or record.aggregate == "sum") else 4


def better_of(measure: str) -> str:
    """Return which values of a measure are better; "higher" if the name is unknown."""
    record = _record_of(measure)
    return record.better if record else "higher"


def _record_of(measure: str) -> Measure | None:
    try:
        return parse_measure(measure).record
    except MeasureError:
        return None


def two_meanings(label: str) -> str | None:
    """Return the message about a bare name.

    Examples
    --------
    >>> two_meanings("Hits")
    'Hits: expected micro.Hits@10, over answers, as link-prediction papers report it, or macro.Hits@10, over questions'
    >>> two_meanings("micro.MRR")
    """
    if (meanings := _meanings(label)) is None:
        return None
    micro, macro = (name + "@10" * name.endswith("Hits") for name in meanings)
    return f"{label}: expected {micro}, over answers, as link-prediction papers report it, or {macro}, over questions"


def over_answers(label: str) -> str:
    """Read a measure's name in a table: a bare one is over answers, as link-prediction papers report it.

    Examples
    --------
    >>> over_answers("MRR"), over_answers("H@10"), over_answers("macro.MRR"), over_answers("RR")
    ('micro.MRR', 'micro.Hits@10', 'macro.MRR', 'RR')
    """
    meanings = _meanings(label)
    return label if meanings is None else meanings[0]


def warn_of_bare(names: Iterable[str], place: str) -> None:
    """Warn once of the bare names among those of a table of others.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as noted:
    ...     warn_of_bare(["MRR", "H@10", "AP"], "table.csv")
    >>> print(noted[0].message)
    table.csv: read MRR, H@10 as micro.MRR, micro.Hits@10, over answers, as link-prediction papers report them
    """
    if bare := {name: over_answers(name) for name in names if two_meanings(name)}:
        read = f"{', '.join(bare)} as {', '.join(bare.values())}"
        warn(f"{place}: read {read}, over answers, as link-prediction papers report them")


def _meanings(label: str) -> tuple[str, str] | None:
    """The measure over answers and the one over questions that share a name; None if it has one meaning."""
    form = _FORM.fullmatch(label := label.strip())
    if form is None or lookup(form["name"]) is not None:
        return None
    named = {record.name.casefold(): record.name for record in registered()}
    name, after = _SPOKEN.get(form["name"].casefold(), form["name"]), label[len(form["name"]) :]
    micro, macro = (named.get(f"{level}.{name}".casefold()) for level in ("micro", "macro"))
    return None if micro is None or macro is None else (micro + after, macro + after)


def named_by_pykeen(label: str) -> str | None:
    """Return the measure that one of PyKEEN's names means, None if it is not one of them.

    Raises
    ------
    MeasureError
        If the name includes a side or a rank type, as keys of PyKEEN's results do.

    Examples
    --------
    >>> named_by_pykeen("inverse_harmonic_mean_rank"), named_by_pykeen("adjusted_hits_at_10"), named_by_pykeen("RR")
    ('micro.MRR', 'micro.AHits@10', None)
    """
    *before, name = label.split(".")
    hits = _PYKEEN_HITS.fullmatch(name)
    ours = f"micro.{_PYKEEN_FORMS[hits['form']]}Hits@{int(hits['k'])}" if hits else _PYKEEN_NAMES.get(name)
    if ours is None or not before:
        return ours
    side, ties = ([each for each in before if each in known] for known in (_PYKEEN_SIDES, _PYKEEN_TIES))
    if len(side) + len(ties) != len(before):
        return None
    raise MeasureError(
        f"{label}: expected a measure's name alone, such as {ours}, found a key of PyKEEN's results; "
        "--ties sets the rank type, and --per side gives each side"
    )


def _named_by_neighbours(label: str) -> str | None:
    """The measure over questions that a name of ranx or torchmetrics means, such as ``hit_rate@10``."""
    form = _FORM.fullmatch(label)
    if form is None or lookup(form["name"]):
        return None
    name = re.sub("[_-]", "", form["name"].casefold())
    ours = _NEIGHBOURS.get(name) or _NEIGHBOURS.get(name.removeprefix("retrieval"))
    return ours and ours + label[len(form["name"]) :]


def parse_measures(measures: Any) -> list[AnyMeasure]:
    """Parse several measures: one text of names, separated by blanks or commas, or an iterable of names and objects.

    Repeated labels are dropped.

    Examples
    --------
    >>> [measure.label for measure in parse_measures("RR, nDCG(gains={1: 2, 2: 5})@20 RR")]
    ['RR', 'nDCG(gains={1: 2, 2: 5})@20']
    """
    many = isinstance(measures, Iterable) and not isinstance(measures, str) and not is_foreign(measures)
    parsed_by_label: dict[str, AnyMeasure] = {}
    for item in measures if many else [measures]:
        for part in _PART.findall(item) if isinstance(item, str) else [item]:
            parsed = parse_measure(part)
            parsed_by_label.setdefault(parsed.label, parsed)
    if not parsed_by_label:
        raise MeasureError("expected at least one measure, found none")
    return list(parsed_by_label.values())


def describe_measures() -> list[Measure]:
    """Describe every registered measure, for documentation and help.

    Names have the form of their cutoff, ``AP[@k]`` or ``P@k``; aliases are those that trec_eval does not have.

    Examples
    --------
    >>> [about.trec_eval for about in describe_measures() if about.name == "AP[@k]"]
    [('map', 'map_cut_{cutoff}')]
    """
    return [
        replace(
            measure,
            name=measure.name + _cutoff_form(measure),
            aliases={alias: fixed for alias, fixed in measure.aliases.items() if alias not in measure.trec_eval},
        )
        for measure in registered()
    ]


def _cutoff_form(measure: Measure) -> str:
    sign = "@k" if measure.at == "cutoff" else f"@{measure.at}"
    return {"none": "", "required": sign, "optional": f"[{sign}]"}[measure.cutoff]


def _split(label: str) -> tuple[str, dict[str, Any], Any]:
    """Name, parameters and the text after @ (None if there is none) of one measure."""
    if label.startswith("sampled."):
        raise MeasureError(
            f"{label} is computed among sampled candidates, and cannot be compared with measures over all: kgtrec meta "
            "sampled gives bounds on the full ones, and the sampled values of full ranks"
        )
    form = _FORM.fullmatch(label)
    if form is None:
        raise MeasureError(f"expected a measure as NAME, NAME@cutoff or NAME(parameter=value)@cutoff, found {label!r}")
    at = None if form["at"] is None else _number(form["at"])
    return form["name"], _arguments(label, form["arguments"] or ""), at


def _arguments(label: str, text: str) -> dict[str, Any]:
    try:
        call = ast.parse(f"_({text})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or any(word.arg is None for word in call.keywords):
            raise ValueError
        return {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):  # the last two: from deep nesting
        raise MeasureError(
            f"{label}: expected parameters as (name=value, ...) with numbers, True, False, quoted texts "
            f"or {{grade: gain}} as values, found ({text})"
        ) from None


def _number(text: str) -> Any:
    """A number after @, or the text itself, which the measure's rule will refuse."""
    try:
        return int(text) if re.fullmatch(r"[+-]?\d+", text) else float(text)
    except ValueError:
        return text


def _parameters(
    measure: Measure, label: str, fixed: Mapping[str, Any], arguments: Mapping[str, Any], at: Any
) -> dict[str, Any]:
    """All parameters of a measure: its defaults, those that its alias fixes, and the user's."""
    takes_at = measure.cutoff != "none"
    allowed = [*measure.parameters, *([measure.at] if takes_at else [])]
    values = dict(arguments)
    if at is not None:
        if not takes_at:
            raise MeasureError(f"{label}: {measure.name} takes no cutoff{_takes(measure)}")
        if measure.at in values:
            raise MeasureError(f"{label}: expected one {measure.at}, found both @{at} and {measure.at}=")
        values[measure.at] = at
    for name, value in fixed.items():
        if name in values:
            raise MeasureError(f"{label}: the name itself sets {name}; write {measure.name}(...) instead")
        values[name] = _number(value) if isinstance(value, str) else value
    for name in values:
        if name not in allowed:
            raise MeasureError(
                f"{label}: {measure.name} has no parameter {name!r}{nearest(name, allowed)}{_takes(measure)}"
            )
    checked = {name: _checked(measure, label, name, value) for name, value in values.items()}
    if measure.cutoff == "required" and checked.get(measure.at) is None:
        example = "10" if measure.at == "cutoff" else "0.5"
        raise MeasureError(f"{label}: {measure.name} needs a {measure.at}, such as {measure.name}@{example}")
    if measure.cutoff == "optional":
        checked.setdefault(measure.at, None)
    return {**measure.parameters, **checked}


def _takes(measure: Measure) -> str:
    """The clause that says what may follow a name."""
    parts = [f"{name}={default!r}" for name, default in measure.parameters.items() if default is not None]
    parts += [f"{name}=..." for name, default in measure.parameters.items() if default is None]
    inside = f"({', '.join(parts)})" if parts else ""
    return f"; it is written {measure.name}{inside}{_cutoff_form(measure)}"


def _checked(measure: Measure, label: str, name: str, value: Any) -> Any:
    """A parameter's value in its right type."""
    rule = measure.rules.get(name)
    if rule is None:
        rule = Rule(int, low=1) if name == "cutoff" else Rule(type(measure.parameters[name]))
    if value is None and name in measure.parameters and measure.parameters[name] is None:
        return None
    if rule.type is dict:
        if isinstance(value, dict) and all(type(part) is int and _fits(part) for part in (*value, *value.values())):
            return value
        raise MeasureError(
            f"{label}: expected {name} as {{grade: gain, ...}} in whole numbers up to {_MOST:,}, found {value!r}"
        )
    if rule.type is int and type(value) in (int, float) and abs(value) > _MOST:
        least = -_MOST if rule.low is None else rule.low
        raise MeasureError(f"{label}: expected a whole number from {least:,} to {_MOST:,} as {name}, found {value}")
    if rule.type is float and type(value) is int:
        value = float(value)
    fits = type(value) is rule.type and _fits(value) and (not rule.choices or value in rule.choices)
    if not fits or (rule.low is not None and value < rule.low) or (rule.high is not None and value > rule.high):
        raise MeasureError(f"{label}: expected {_expected(rule)} as {name}, found {value!r}")
    return value


def _fits(value: Any) -> bool:
    """Whether arrays of grades and positions can be compared with a number."""
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, int) or abs(value) <= _MOST


def _expected(rule: Rule) -> str:
    if rule.choices:
        return " or ".join(map(repr, rule.choices))
    if rule.low is not None and rule.high is not None:
        return f"{_KINDS[rule.type]} from {rule.low:g} to {rule.high:g}"
    return _KINDS[rule.type] + (f" of at least {rule.low:g}" if rule.low is not None else "")


def _unknown(label: str, name: str) -> str:
    """The message about an unknown name: the nearest ones, with the user's own parameters and cutoff."""
    number = re.search(r"\d+$", name)
    after = label[len(name) :]
    # of names that differ only in case, the last one is shown: kgtrec's own spelling
    names = [*provided_names(), *spellings(number[0] if number else "10"), *(measure.name for measure in registered())]
    folded = {known.casefold(): known + after for known in names}
    if in_room := folded.get(f"micro.{name}".casefold()):
        return f"unknown measure {label!r}; did you mean {in_room}?"
    hint = nearest(label, [known + after for known in names if _is_measure(known + after)]) or nearest(name, names)
    return f"unknown measure {label!r}" + (
        hint
        or "; known are ir-measures' names (AP@20, nDCG@20), trec_eval's (map_cut_20, bpref), micro.MRR and the like"
    )


def _is_measure(label: str) -> bool:
    try:
        return _lookup(label) is not None
    except MeasureError:
        return False
