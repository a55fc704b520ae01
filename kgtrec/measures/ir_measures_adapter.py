"""Measures that kgtrec does not compute itself but ir-measures' providers do (ERR, Compat, INST, ...)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.qrels import Qrels
from kgtrec.data.run import AnyRun, Run
from kgtrec.errors import MeasureError
from kgtrec.measures.record import Items, Measure, Rule

if TYPE_CHECKING:
    import pandas as pd


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

    def per_question(self, qrels: Qrels, run: AnyRun | None, ties: str | None = "trec") -> NDArray[np.float64]:
        """Compute the value of each question by the first provider that supports the measure.

        The providers see ordinal numbers instead of labels, and the positions in the run's order as scores, so that all
        of them see one order of tied candidates.

        Parameters
        ----------
        qrels : Qrels
        run : Run
            Its vocabularies need not be those of the qrels. Anything else is refused.
        ties : str, optional
            The rule for ties of the other measures; only ``trec`` is possible.

        Returns
        -------
        (n_questions,) float array
            In the order of ``qrels.questions``; 0 where the provider gives none.

        Raises
        ------
        MeasureError
            If no provider of the measure is installed (the message says how to install one), or it fails; or if there
            is no run in memory.
        """
        import ir_measures

        by_others = f"{self.label} is computed by ir-measures' providers, which"
        if run is None:
            raise MeasureError(f"{by_others} need a run; evaluate the system's run instead")
        if ties != "trec":
            raise MeasureError(f"{by_others} order ties in their own way; use --ties trec")
        if not isinstance(run, Run):  # but one that is read in parts
            raise MeasureError(
                f"{by_others} need the whole run in memory, found one of {run.n_rows:,} rows that is read in parts; "
                "leave the measure out, or read the run with kgtrec.read_run"
            )
        values = np.zeros(len(qrels.questions))
        row_of = {_id(question): question for question in range(len(qrels.questions))}
        try:
            for result in ir_measures.iter_calc([self.measure], *_frames(qrels, run)):
                if result.query_id in row_of:  # gdeval gives the mean as one more question
                    values[row_of[result.query_id]] = result.value
        except Exception as error:  # providers raise errors of any kind
            raise MeasureError(_failure(self, error)) from error
        return values


def is_foreign(thing: Any) -> bool:
    """Return whether ``thing`` is one of ir-measures' measures, without importing ir-measures to find out."""
    return any(
        (base.__module__, base.__name__) == ("ir_measures.measures.base", "Measure") for base in type(thing).__mro__
    )


def label_of(measure: Any) -> str:
    """Name one of ir-measures' measures; those of kgtrec.ir_measures have a name of their own in kgtrec."""
    text, name = str(measure), getattr(measure, "KGTREC_NAME", None)
    return text if name is None else f"{name}{text.removeprefix(measure.NAME)}"


def wrapped(measure: Any) -> ProvidedMeasure | None:
    """Wrap a measure that only the object itself can compute (``ir_measures.define``); None for all others."""
    if not hasattr(measure, "runtime_impl"):
        return None
    return ProvidedMeasure(_record(measure, str(measure)), str(measure), measure)


def provided_names() -> list[str]:
    """Return the names that ir-measures knows; none if it cannot be imported."""
    try:
        import ir_measures
    except ImportError:
        return []
    return list(ir_measures.measures.registry)


def provided_record(name: str) -> Measure | None:
    """Return the record of the measure that has this ``name`` in ir-measures, or None."""
    if name not in provided_names():
        return None
    import ir_measures

    return _record(ir_measures.measures.registry[name], name)


def provided(record: Measure, label: str, parameters: Mapping[str, Any]) -> ProvidedMeasure:
    """Return the measure of a record with checked parameters.

    Raises
    ------
    MeasureError
        If a parameter is missing.
    """
    import ir_measures

    base = ir_measures.measures.registry[record.name]
    chosen = {name: value for name, value in parameters.items() if value != record.parameters.get(name)}
    if missing := [name for name, rule in base.SUPPORTED_PARAMS.items() if rule.required and name not in chosen]:
        raise MeasureError(f"{label}: {record.name} needs {' and '.join(missing)}")
    return ProvidedMeasure(record, label, base(**chosen))


def _record(measure: Any, name: str) -> Measure:
    import ir_measures

    absent = ir_measures.ParamInfo().default  # type: ignore[no-untyped-call]
    at = measure.SUPPORTED_PARAMS.get(measure.AT_PARAM)
    others = {key: rule for key, rule in measure.SUPPORTED_PARAMS.items() if key != measure.AT_PARAM}
    return Measure(
        name,
        _no_value,
        "questions",
        str(getattr(measure, "SHORT_DESC", None) or "A measure of ir-measures."),
        "ir-measures (https://ir-measur.es), by one of its providers",
        bounds=(-np.inf, np.inf),  # ir-measures does not say
        cutoff="none" if at is None else "required" if at.required else "optional",
        at=measure.AT_PARAM,
        parameters={key: None if rule.default is absent else rule.default for key, rule in others.items()},
        rules={key: Rule(rule.dtype) for key, rule in others.items()},
        aggregate="sum" if type(measure.aggregator()).__name__ == "SumAgg" else "mean",
    )


def _no_value(*_: Any, **__: Any) -> NDArray[np.float64]:
    raise MeasureError("a measure of ir-measures' providers is computed from a run, not from ranks")


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
    if ways := re.findall(r"^ - (\S+) \((.*)\)$", str(error), re.MULTILINE):
        ways_out = " or ".join(f"{name} ({how})" for name, how in ways)
        return f"{measure.label} needs a provider of ir-measures that is not installed: {ways_out}"
    if "Unsupported measures" in str(error):
        uncut = "cutoff" in measure.measure.SUPPORTED_PARAMS and "cutoff" not in measure.measure.params
        way_out = f" without a cutoff; try {measure.record.name}@10" if uncut else ""
        return f"no provider of ir-measures computes {measure.label}{way_out}"
    return f"ir-measures could not compute {measure.label}: {type(error).__name__}: {error}"
