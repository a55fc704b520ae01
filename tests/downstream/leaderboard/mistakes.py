"""Mistakes that a type checker has to find: where it does not, the `type: ignore` is an error itself."""

from __future__ import annotations

import kgtrec
from kgtrec import Collection, Run, Scores


def no_such_verb(run: Run) -> None:
    kgtrec.evaluat(run)  # type: ignore[attr-defined]


def no_such_name_of_a_subject() -> None:
    kgtrec.meta.powr()  # type: ignore[attr-defined]


def no_such_option(collection: Collection, run: Run) -> Scores:
    return kgtrec.evaluate(collection, run, tie="expected")  # type: ignore[call-arg]


def no_such_way_with_missing_questions(collection: Collection, run: Run) -> Scores:
    return kgtrec.evaluate(collection, run, missing="later")  # type: ignore[arg-type]


def a_number_for_a_text(collection: Collection, run: Run) -> Scores:
    return kgtrec.evaluate(collection, run, per=3)  # type: ignore[arg-type]


def another_result(collection: Collection, run: Run) -> float:
    return kgtrec.evaluate(collection, run)  # type: ignore[return-value]


def no_such_field(scores: Scores) -> None:
    print(scores.numbers)  # type: ignore[attr-defined]


def a_frozen_field(run: Run) -> None:
    run.name = "mine"  # type: ignore[misc]


def what_may_be_missing(scores: Scores) -> float:
    return float(scores.low[0, 0, 0])  # type: ignore[index]
