"""Checks whether runs, qrels, topics and entities fit together."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import Topics
from kgtrec.data.run import AnyRun
from kgtrec.data.vocabulary import Vocabulary

_NAMED = 3
_MANY, _MANY_OF = 3, 0.1  # unknown labels, and their share, from which they are not single typing errors
_NOWHERE = np.iinfo(np.int64).max
_FEWEST = 10  # labels, from which a number that is one too high is not an accident
_NUMBERED = re.compile(r"(.*\D|)([1-9][0-9]{0,17})")


@dataclass(frozen=True, slots=True)
class Finding:
    """One contradiction, and where it is."""

    source: str  # the file, or the caller's name for it
    message: str
    column: Literal["", "question", "entity"] = ""  # column to search in the source, "" if no row has it
    label: str = ""


def check_together(
    systems: Mapping[str, AnyRun | AnswerRanks],
    qrels: Mapping[str, Qrels],
    topics: Mapping[str, Topics],
    entities: Mapping[str, Vocabulary],
    *,
    partial: Collection[str] = (),
) -> list[Finding]:
    """Find contradictions between the files of one evaluation.

    Every question of a run or of qrels must be among the topics (for runs, among the questions of the qrels where no
    topics are given), and every run must have all of those; every topic must have a row in each qrels; every entity
    must be in the knowledge graph. Inputs that are not given are not checked.

    Parameters
    ----------
    systems, qrels, topics, entities : mappings
        From the name of each, such as its path.
    partial : collection of str
        Names of qrels that need not judge every topic.

    Returns
    -------
    list of Finding
        Empty if everything fits; in the order of the arguments.

    Examples
    --------
    >>> from kgtrec.data.run import Run
    >>> one = np.zeros(1, np.int32)
    >>> run = Run.of("transe", one, one, np.ones(1), Vocabulary.of(["tail7"]), Vocabulary.of(["paris"]))
    >>> topics = Topics(Vocabulary.of(["tail0"]), pa.array(["france"]), pa.array(["capital"]))
    >>> for finding in check_together({"transe.run": run}, {}, {"topics.tsv": topics}, {}):
    ...     print(f"{finding.source}: {finding.message}")
    transe.run: expected only questions of topics.tsv, found 1 other: 'tail7'
    transe.run: expected all questions of topics.tsv, found 1 missing: 'tail0'
    """
    asked = _union([own.ids.labels for own in topics.values()])
    judged = _union([_used(own.questions, own.question) for own in qrels.values()])
    in_graph = _union([own.labels for own in entities.values()])
    wanted, wanted_name = (asked, _names(topics)) if asked is not None else (judged, _names(qrels))
    findings: list[Finding] = []
    for source, own in systems.items():
        questions, listed = _used_by(own)
        findings += _strangers(source, questions, wanted, wanted_name, "question")
        findings += _missing(source, questions, wanted, f"all questions of {wanted_name}")
        findings += _strangers(source, listed, in_graph, _names(entities), "entity")
    for source, judgements in qrels.items():
        questions = _used(judgements.questions, judgements.question)
        findings += _strangers(source, questions, asked, _names(topics), "question")
        if source not in partial:
            findings += _missing(source, questions, asked, f"judgements for every topic of {_names(topics)}")
        findings += _strangers(
            source, _used(judgements.entities, judgements.entity), in_graph, _names(entities), "entity"
        )
    for source, topic in topics.items():
        anchors = pc.unique(topic.anchor)
        findings += _strangers(source, anchors, in_graph, _names(entities), "")
    return findings


def _used_by(system: AnyRun | AnswerRanks) -> tuple[pa.StringArray, pa.StringArray]:
    """The questions and entities of a system, each once, in order of first appearance; a run is sorted by question."""
    if isinstance(system, AnswerRanks):
        return _used(system.questions, system.question), _used(system.entities, system.entity)
    is_listed = np.zeros(len(system.questions), np.bool_)
    first = np.full(len(system.entities), _NOWHERE)
    for part in system.parts():
        is_listed[part.question] = True
        order_of_row = part.question.astype(np.int64) << 32 | np.arange(len(part))
        earlier = np.flatnonzero(order_of_row < first[part.entity])[::-1]
        first[part.entity[earlier]] = order_of_row[
            earlier
        ]  # of several rows the last that is written counts: the first one
    order = np.argsort(first, kind="stable")
    return (
        system.questions.decode(np.flatnonzero(is_listed)),
        system.entities.decode(order[: np.count_nonzero(first < _NOWHERE)]),
    )


def _used(vocabulary: Vocabulary, codes: np.ndarray[tuple[int], np.dtype[np.int32]]) -> pa.StringArray:
    """The labels of ``codes``, each once, in order of first appearance."""
    distinct, first = np.unique(codes, return_index=True)
    return vocabulary.decode(distinct[np.argsort(first)])


def _union(labels: list[pa.StringArray]) -> pa.StringArray | None:
    return pc.unique(pa.concat_arrays(labels)) if labels else None


def _names(sources: Mapping[str, object]) -> str:
    return " and ".join(sources)


def _strangers(
    source: str,
    labels: pa.StringArray,
    wanted: pa.StringArray | None,
    wanted_name: str,
    column: Literal["", "question", "entity"],
) -> Iterator[Finding]:
    what = {"": "anchors", "question": "questions", "entity": "entities"}[column]
    if wanted is not None and len(others := labels.filter(pc.invert(pc.is_in(labels, value_set=wanted)))):
        kind = "other" if len(others) == 1 else "others"
        message = f"expected only {what} of {wanted_name}, found {len(others)} {kind}: {_listed(others)}"
        message += _why_strangers(labels, others, wanted, what)
        yield Finding(source, message, column, others[0].as_py())


def _why_strangers(labels: pa.StringArray, others: pa.StringArray, wanted: pa.StringArray, what: str) -> str:
    """The probable cause, if visible: many labels are unknown, or the last number is one too high."""
    if len(others) >= _MANY and len(others) >= _MANY_OF * len(labels):
        return (
            f". That is {len(others) / len(labels):.0%} of its {len(labels):,} {what}: are they those of another "
            "collection, or numbered differently?"
        )
    number = _NUMBERED.fullmatch(others[0].as_py())
    if len(others) == 1 and number:
        one_less, zero = (f"{number[1]}{n}" for n in (int(number[2]) - 1, 0))
        known, used = set(wanted.to_pylist()), set(labels.to_pylist())
        if len(used) >= max(_MANY_OF * len(known), _FEWEST) and {one_less, zero} <= known and zero not in used:
            return f". It has no {zero!r}: are its {what} numbered from 1?"
    return ""


def _missing(source: str, labels: pa.StringArray, wanted: pa.StringArray | None, expected: str) -> Iterator[Finding]:
    if wanted is not None and len(absent := wanted.filter(pc.invert(pc.is_in(wanted, value_set=labels)))):
        yield Finding(source, f"expected {expected}, found {len(absent)} missing: {_listed(absent)}")


def _listed(labels: pa.StringArray) -> str:
    named = ", ".join(map(repr, labels[:_NAMED].to_pylist()))
    return named + (f" and {len(labels) - _NAMED} more" if len(labels) > _NAMED else "")
