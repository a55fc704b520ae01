"""Measures that kgtrec does not compute itself but ir-measures' providers do (ERR, Compat, INST, ...)."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.qrels import Qrels
from kgtrec.data.run import Run
from kgtrec.errors import MeasureError, nearest
from kgtrec.measures.aggregate import aggregate
from kgtrec.measures.record import Aggregate, Items, Measure

if TYPE_CHECKING:
    import pandas as pd

_MOST = 2**31 - 1  # cutoffs and grades are stored in 32 bits


@dataclass(frozen=True, slots=True)
class ProvidedMeasure:
    """A measure that one of ir-measures' providers computes from a run."""

    record: Measure
    label: str  # as the user wrote it
    measure: Any  # ir_measures.Measure, with its own parameters
    parameters: ClassVar[Mapping[str, Any]] = {}
    own_parameters: ClassVar[Mapping[str, Any]] = {}

    @property
    def items(self) -> Items:
        return "questions"

    @property
    def needs_run_message(self) -> str:
        return (
            f"{self.label} is computed by ir-measures' providers, which need a run; evaluate the system's run instead"
        )

    def needs_whole_message(self, n_rows: int) -> str:
        """That the whole run has to be in memory for it."""
        return (
            f"{self.label} is computed by ir-measures' providers, which need the whole run in memory, found one of "
            f"{n_rows:,} rows that is read in parts; leave the measure out, or read the run with kgtrec.read_run"
        )

    @property
    def own_tie_rule_message(self) -> str:
        return f"{self.label} is computed by ir-measures' providers, which order ties in their own way; use --ties trec"

    def per_question(self, qrels: Qrels, run: Run) -> NDArray[np.float64]:
        """(n_questions,) values in the order of ``qrels.questions``; 0 where the provider gives none.

        Raises
        ------
        MeasureError
            If no provider of the measure is installed (the message says how to install one), or it fails.
        """
        return provided_values([self], qrels, run)[0]

    def aggregate(self, values: NDArray[np.float64]) -> float:
        return aggregate(values, self.record.aggregate)


def is_foreign(thing: Any) -> bool:
    """Whether ``thing`` is one of ir-measures' measures, without importing ir-measures to find out."""
    return any(
        (base.__module__, base.__name__) == ("ir_measures.measures.base", "Measure") for base in type(thing).__mro__
    )


def label_of(measure: Any) -> str:
    """The name of one of ir-measures' measures; those of kgtrec.ir_measures have a name of their own in kgtrec."""
    text, name = str(measure), getattr(measure, "KGTREC_NAME", None)
    return text if name is None else f"{name}{text.removeprefix(measure.NAME)}"


def wrapped(measure: Any) -> ProvidedMeasure | None:
    """A measure that only the object itself knows how to compute (``ir_measures.define``); None for all others."""
    return _provided(measure, str(measure)) if hasattr(measure, "runtime_impl") else None


def provided_names() -> list[str]:
    """The names that ir-measures knows; none if it cannot be imported."""
    try:
        import ir_measures
    except ImportError:
        return []
    return list(ir_measures.measures.registry)


def provided(label: str, name: str, arguments: Mapping[str, Any], at: Any) -> ProvidedMeasure | None:
    """The measure that has this ``name`` in ir-measures, or None.

    Raises
    ------
    MeasureError
        If a parameter or the cutoff is wrong or missing.
    """
    if name not in provided_names():
        return None
    import ir_measures

    base = ir_measures.measures.registry[name]
    parameters = dict(arguments)
    if at is not None:
        if base.AT_PARAM not in base.SUPPORTED_PARAMS:
            raise MeasureError(f"{label}: {name} takes no cutoff{_takes(base)}")
        if base.AT_PARAM in parameters:
            raise MeasureError(f"{label}: expected one {base.AT_PARAM}, found both @{at} and {base.AT_PARAM}=")
        parameters[base.AT_PARAM] = at
    for key, value in parameters.items():
        rule = base.SUPPORTED_PARAMS.get(key)
        if rule is None:
            raise MeasureError(
                f"{label}: {name} has no parameter {key!r}{nearest(key, base.SUPPORTED_PARAMS)}{_takes(base)}"
            )
        if rule.dtype is float and type(value) is int:
            parameters[key] = float(value)
        # bool is an int to Python, but not a cutoff
        if not rule.validate(parameters[key]) or (isinstance(value, bool) and rule.dtype is not bool):
            raise MeasureError(f"{label}: {value!r} is not allowed as {key} ({rule.desc}){_takes(base)}")
    given = {**base.params, **parameters}
    needed = [key for key, rule in base.SUPPORTED_PARAMS.items() if rule.required and key not in given]
    if needed:
        raise MeasureError(f"{label}: {name} needs {' and '.join(needed)}{_takes(base)}")
    for key, value in parameters.items():
        if isinstance(value, float) and not math.isfinite(value):
            raise MeasureError(f"{label}: expected a finite number as {key}, found {value!r}")
        least = 1 if key == "cutoff" else -_MOST
        if type(value) is int and not least <= value <= _MOST:
            raise MeasureError(f"{label}: expected a whole number from {least:,} to {_MOST:,} as {key}, found {value}")
    return _provided(base(**parameters), label)


def _takes(base: Any) -> str:
    """The clause that says what may follow a name of ir-measures."""
    inside = ", ".join(f"{key}=..." for key in base.SUPPORTED_PARAMS if key != base.AT_PARAM)
    cutoff = base.SUPPORTED_PARAMS.get(base.AT_PARAM)
    sign = "" if cutoff is None else "@k" if cutoff.required else "[@k]"
    return f"; it is written {base.NAME}{f'({inside})' if inside else ''}{sign}"


def _provided(measure: Any, label: str) -> ProvidedMeasure:
    how: Aggregate = "sum" if type(measure.aggregator()).__name__ == "SumAgg" else "mean"
    record = Measure(
        name=str(measure.NAME or label),
        value=_no_value,
        items="questions",
        description=str(getattr(measure, "SHORT_DESC", None) or "A measure of ir-measures."),
        source="ir-measures (https://ir-measur.es), by one of its providers",
        bounds=(-np.inf, np.inf),  # ir-measures does not say
        aggregate=how,
    )
    return ProvidedMeasure(record, label, measure)


def _no_value(*_: Any, **__: Any) -> NDArray[np.float64]:
    raise MeasureError("a measure of ir-measures' providers is computed from a run, not from ranks")


def provided_values(measures: Sequence[ProvidedMeasure], qrels: Qrels, run: Run) -> NDArray[np.float64]:
    """Values of several measures, for which the frames are made once.

    The providers are given numbers instead of labels, so that no label can confuse them, and instead of scores
    the positions in the run's order, so that all of them see one order of tied candidates.

    Parameters
    ----------
    measures : sequence of ProvidedMeasure
    qrels : Qrels
    run : Run
        Its vocabularies need not be those of the qrels.

    Returns
    -------
    (len(measures), n_questions) float array
        In the order of ``qrels.questions``; 0 where the provider gives none.

    Raises
    ------
    MeasureError
        As :meth:`ProvidedMeasure.per_question`.
    """
    import ir_measures

    frames = _frames(qrels, run)
    values = np.zeros((len(measures), len(qrels.questions)))
    row_of = {_id(question): question for question in range(len(qrels.questions))}
    for row, measure in enumerate(measures):
        try:
            for result in ir_measures.iter_calc([measure.measure], *frames):
                question = row_of.get(result.query_id)  # gdeval gives the mean as one more question
                if question is not None:
                    values[row, question] = result.value
        except Exception as error:  # providers raise errors of any kind
            raise MeasureError(_failure(measure, error)) from error
    return values


def _id(code: int) -> str:
    """What the providers see instead of a label; gdeval needs numbers for questions, and reads 0 as no question."""
    return str(code + 1)


def _frames(qrels: Qrels, run: Run) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Qrels and run as ir-measures takes them."""
    import pandas as pd

    def ids(codes: NDArray[np.int32]) -> NDArray[np.object_]:
        return np.array([_id(code) for code in range(int(codes.max(initial=-1)) + 1)], object)[codes]

    entities = qrels.entities.extended(run.entities.labels)
    question = qrels.questions.encode(run.questions.labels)[run.question]
    judged = {"query_id": ids(qrels.question), "doc_id": ids(qrels.entity), "relevance": qrels.grade}
    known = question >= 0
    listed = {
        "query_id": ids(question[known]),
        "doc_id": ids(entities.encode(run.entities.labels)[run.entity[known]]),
        "score": -np.flatnonzero(known).astype(np.float64),
    }
    return pd.DataFrame(judged), pd.DataFrame(listed)


def _failure(measure: ProvidedMeasure, error: Exception) -> str:
    """The error message, with the way out if ir-measures names one."""
    ways = re.findall(r"^ - (\S+) \((.*)\)$", str(error), re.MULTILINE)
    if ways:
        ways_out = " or ".join(f"{name} ({how})" for name, how in ways)
        return f"{measure.label} needs a provider of ir-measures that is not installed: {ways_out}"
    if "Unsupported measures" in str(error):
        uncut = "cutoff" in measure.measure.SUPPORTED_PARAMS and "cutoff" not in measure.measure.params
        way_out = f" without a cutoff; try {measure.record.name}@10" if uncut else ""
        return f"no provider of ir-measures computes {measure.label}{way_out}"
    return f"ir-measures could not compute {measure.label}: {type(error).__name__}: {error}"
