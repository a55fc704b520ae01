"""kgtrec's measures as ir-measures' objects."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any, ClassVar

from ir_measures import Measure, ParamInfo
from ir_measures.measures import registry
from ir_measures.measures.base import Agg

from kgtrec.errors import MeasureError, nearest
from kgtrec.ir_measures.values import total
from kgtrec.measures import record
from kgtrec.measures.names import ParsedMeasure, parse_measure
from kgtrec.measures.registry import registered

CANDIDATES = "candidates"
LISTED = "listed"
_EXPECTED = "the number of candidates of each question, or 'listed' if the run lists all of them"


class KgtrecMeasure(Measure):
    """One of kgtrec's measures: ``micro_MRR``, ``micro_Hits @ 10``, ``micro_AMRI(candidates='listed')``.

    Parameters
    ----------
    **params
        The measure's own, such as ``cutoff``, and ``candidates``, which states what a run does not: how many candidates
        each question has, its answers included, or "listed".
    """

    KGTREC_NAME: ClassVar[str] = ""
    RECORD: ClassVar[record.Measure]

    def __init__(self, **params: Any) -> None:
        for name in params:
            if name not in self.SUPPORTED_PARAMS:
                raise MeasureError(f"{self.NAME} has no parameter {name!r}{nearest(name, self.SUPPORTED_PARAMS)}")
        super().__init__(**params)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self.NAME, self.params)

    def validate_params(self) -> None:
        """Check the parameters, by kgtrec's own rules.

        Raises
        ------
        MeasureError
            If one is wrong or missing.
        """
        if not self.validated:
            _ = self.parsed, self.candidates
            self.validated = True

    @property
    def parsed(self) -> ParsedMeasure:
        """The measure as kgtrec computes it; ``candidates`` is about the run, and is no part of it."""
        parameters = {name: value for name, value in self.params.items() if name != CANDIDATES}
        parsed = parse_measure(type(self)(**parameters))
        assert isinstance(parsed, ParsedMeasure)  # noqa: S101  # nosec B101  # the name is registered
        return parsed

    @property
    def candidates(self) -> int | str | None:
        """The number of candidates of each question, ``listed``, or None where it was not given."""
        candidates = self.params.get(CANDIDATES)
        is_number = isinstance(candidates, int) and not isinstance(candidates, bool) and candidates >= 1
        if candidates is None or candidates == LISTED or is_number:
            return candidates
        raise MeasureError(f"{self!r}: expected {_EXPECTED}, found {candidates!r}")

    @property
    def needs_candidates(self) -> bool:
        """Whether a run alone is not enough."""
        return self.RECORD.items == "answers" or self.RECORD.form != "plain"

    def aggregator(self) -> Agg:
        """Return kgtrec's own aggregator of the questions' values, which seldom takes their mean."""
        return _Total(repr(self))


class _Total(Agg):
    def __init__(self, label: str) -> None:
        self._label = label
        self._values: list[float] = []

    def add(self, value: float) -> None:
        self._values.append(value)

    def result(self) -> float:
        return total(self._label, self._values)


def measures(taken: Container[str]) -> dict[str, KgtrecMeasure]:
    """Return every registered measure by its name in ir-measures, without those of ir-measures itself (``taken``).

    ``micro.MRR`` becomes ``micro_MRR``, since ir-measures reads names as Python does; names that Python cannot read
    are left out.
    """
    named = ((record.name.replace(".", "_"), record) for record in registered())
    return {name: _measure(name, record) for name, record in named if name.isidentifier() and name not in taken}


def _again(name: str, parameters: Mapping[str, Any]) -> KgtrecMeasure:
    """A measure that was pickled; this package registers all when it is imported, also for unpickling."""
    return registry[name](**parameters)


def _measure(name: str, of: record.Measure) -> KgtrecMeasure:
    parameters: dict[str, ParamInfo] = {}
    if of.cutoff != "none":
        parameters[of.at] = ParamInfo(required=of.cutoff == "required", desc=f"the number after @: {of.at}")
    parameters |= {key: ParamInfo(default=default) for key, default in of.parameters.items()}
    if of.has_chance or of.items == "answers":
        parameters[CANDIDATES] = ParamInfo(desc=_EXPECTED)
    attributes = {
        "NAME": name,
        "PRETTY_NAME": of.name,
        "SHORT_DESC": of.description,
        "SUPPORTED_PARAMS": parameters,
        "AT_PARAM": of.at,
        "KGTREC_NAME": of.name,
        "RECORD": of,
        "__name__": name,
        "__doc__": f"{of.description}\n\n{of.source}",
        "__module__": __name__,
    }
    return type(f"_{name}", (KgtrecMeasure,), attributes)()
