"""What is published of a campaign: the parts of its folder of qrels, before they are written."""

from __future__ import annotations

from importlib.resources import files
from typing import Any, Literal

import numpy as np

from kgtrec.campaign.decide import decisions_of
from kgtrec.campaign.machines import is_by_machine, with_machine
from kgtrec.campaign.qrels import (
    QrelsReport,
    deepest_rank,
    of_topics,
    question_level,
    report_qrels,
    triple_level,
    with_judgements,
)
from kgtrec.data.campaign import Campaign
from kgtrec.data.collection import Collection
from kgtrec.data.judgements import ROLES, Decisions
from kgtrec.data.machines import MachineVerdicts
from kgtrec.data.qrels import Qrels
from kgtrec.data.questions import Questions, completed_rows
from kgtrec.data.triples import Triples
from kgtrec.errors import KgtrecError, counted
from kgtrec.pooling.trivial import triples_under


def publication_of(
    campaign: Campaign,
    *,
    level: Literal["question", "triple"] = "question",
    depth: int | None = None,
    base: Collection | None = None,
    named: Questions | None = None,
    known: Triples | None = None,
    machine: tuple[str, MachineVerdicts] | None = None,
) -> tuple[QrelsReport, dict[str, Any]]:
    """Make the qrels of a campaign, to be published.

    Parameters
    ----------
    campaign : Campaign
    level : {"question", "triple"}
        Whether the questions are those that were pooled for, or those that the positive triples make.
    depth : int, optional
        Of the pool, down to which triples are used. Default: all.
    base : Collection, optional
        Of which a whole collection is to be made.
    named : Questions, optional
        With the ids of questions that were not pooled for. Default: those of ``base``.
    known : Triples, optional
        Triples to filter for new questions, beside those of ``base``.
    machine : tuple of str and MachineVerdicts, optional
        A machine's name and verdicts, which count where people have not settled a triple.

    Returns
    -------
    QrelsReport
    dict
        The parts of the folder, as :func:`kgtrec.formats.collections.write_qrels_folder` takes them.

    Raises
    ------
    KgtrecError
        If nothing is judged and nothing was known before.

    Examples
    --------
    See ``kgtrec campaign qrels``.
    """
    pool, known_answers = campaign.pool, campaign.known_answers
    decisions, deepest = decisions_of(campaign), deepest_rank(pool)
    decisions = decisions if machine is None else with_machine(decisions, machine[1])
    depth = deepest if depth is None else min(depth, deepest)  # below the pool there is nothing, and no file for it
    depths = range(depth + 1)
    collection = None
    if level == "triple":
        named = base.questions if named is None and base is not None else named
        several = [triple_level(pool, known_answers, decisions, at, named=named) for at in depths]
        questions, by_depth = several[-1][0], [qrels for _, qrels in several]
        if base is not None:
            collection = of_topics(base, questions, by_depth[-1], known)
    elif base is not None:
        collections = [with_judgements(base, pool, decisions, at) for at in depths]
        collection, questions, by_depth = collections[-1], base.questions, [made.qrels for made in collections]
    else:
        questions = pool.questions
        by_depth = [question_level(pool, known_answers, decisions, at) for at in depths]
    if len(by_depth[-1]) == 0:
        raise KgtrecError("nothing is judged and nothing was known before, so there are no qrels yet")
    report = report_qrels(pool, known_answers, campaign.automatic, decisions, depth, level=level)
    is_new = level == "triple" and named is not None and (named.ids.encode(pool.questions.ids.labels) < 0).any()
    # a new id such as head-new0 is in no run; "" where nobody knows whose some ids are
    stamp = collection.stamp if collection is not None else "" if is_new else known_answers.collection
    parts = {
        "questions": questions,
        "by_depth": tuple(by_depth),  # at depth 0, 1, ...; the last one has all
        "readme": readme_text(report, campaign, is_collection=base is not None, machine=machine and machine[0]),
        "report": {"collection": stamp} | report.to_dict() | ({} if machine is None else {"machine": machine[0]}),
        "marked": None if machine is None else (machine[0], _by_machine(campaign, decisions, questions, collection)),
        "command": {
            "name": "campaign qrels",
            "level": level,
            "depth": depth,
            "pool": campaign.settings.get("files", {}),
        },
        "collection": collection,  # with the questions and the last qrels
    }
    return report, parts


def _by_machine(campaign: Campaign, decisions: Decisions, questions: Questions, collection: Collection | None) -> Qrels:
    """The pairs whose grade is a machine's."""
    rows = np.flatnonzero(is_by_machine(decisions))
    triples = campaign.pool.triples.take(rows)
    if collection is not None:
        questions, triples = collection.questions, triples_under(collection, triples)
    question, entity, row = completed_rows(questions, triples)
    grade = decisions.verdict[rows][row].astype(np.int32)
    return Qrels.of(question, entity, grade, questions.ids, questions.entities)


def readme_text(report: QrelsReport, campaign: Campaign, *, is_collection: bool, machine: str | None = None) -> str:
    """Write the README of published qrels, in Markdown: contents, how they were made, how to use and cite them."""
    from jinja2 import Environment, StrictUndefined

    events, settings = campaign.judgements, campaign.settings
    people = {name: len(np.unique(events.annotator[events.role == code])) for code, name in enumerate(ROLES)}
    words = Environment(undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True)  # noqa: S701  # nosec B701 # Markdown
    words.filters |= {"counted": counted, "thousands": "{:,}".format}
    return words.from_string((files("kgtrec.campaign") / "readme.jinja").read_text(encoding="utf-8")).render(
        report=report,
        n_runs=len(campaign.pool.runs),
        strategy=(settings.get("pool") or {}).get("strategy"),
        is_alone=settings.get("annotators_per_triple") == 1,
        rules={name[6:]: n for name, n in report.negatives_from.items() if name.startswith("rule: ") and n},
        people={name: n for name, n in people.items() if n},
        is_collection=is_collection,
        machine=machine,
        by_machine=[triples.get("machine", 0) for triples in (report.positives_from, report.negatives_from)],
    )
