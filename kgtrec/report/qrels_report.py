"""Where judgements came from, as text: a report, and the README of what is published."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kgtrec.campaign.qrels import QrelsReport
from kgtrec.report.tables import aligned

_UNSETTLED = {
    "open": "to be judged",
    "conflict": "annotators disagree",
    "doubted": "an annotator is unsure",
    "undecidable": "the adjudicator cannot tell",
}


def qrels_report_text(report: QrelsReport) -> str:
    """Questions, then who judged what, then what each depth added."""
    lines = [f"{report.level} level, pool depth {report.depth}", _questions(report)]
    lines.append(
        f"{report.pooled_questions:,} questions were pooled for, {report.nothing_pooled:,} of them without a single "
        f"candidate; {report.without_positive:,} have no positive"
    )
    lines.append(f"{report.judgements:,} judgements of entities for questions, out of these triples:")
    return "\n".join([*lines, "", _sources(report), _depths(report)])


def _questions(report: QrelsReport) -> str:
    if report.level == "question":
        return f"{report.questions:,} questions, those that were pooled for"
    return f"{report.questions:,} questions of the positive triples, {report.never_pooled:,} of them never pooled for"


def _sources(report: QrelsReport) -> str:
    unjudged = sum(report.unjudged.values())
    rows = [["triples", "", "share"]]
    total = max(1, report.positives + report.negatives + unjudged)
    for what, count, parts in (
        ("positive", report.positives, report.positives_from),
        ("negative", report.negatives, report.negatives_from),
        ("unjudged", unjudged, {_UNSETTLED[name]: count for name, count in report.unjudged.items()}),
    ):
        rows.append([what, f"{count:,}", f"{count / total:.1%}"])
        rows += [[f"  {name}", f"{part:,}", f"{part / total:.1%}"] for name, part in parts.items() if part]
    return aligned(rows, 1)


def _depths(report: QrelsReport) -> str:
    found = np.append(0, report.new_positives)
    rows = [["depth", "pooled", "judged", "positive", "new down to here", "negative", "questions"]]
    for depth in range(report.depth + 1):
        counts = (
            report.pooled_at[depth], report.judged_at[depth], report.positive_at[depth], found[depth],
            report.negative_at[depth], report.questions_at[depth],
        )  # fmt: skip
        rows.append(["seeds" if depth == 0 else str(depth), *(f"{count:,}" for count in counts)])
    return aligned(rows, 1)


def readme_text(
    report: QrelsReport, settings: Mapping[str, Any], runs: int, people: Mapping[str, int], *, is_collection: bool
) -> str:
    """The README of published qrels, in Markdown: what they are, how they were made, how to use and cite them.

    Parameters
    ----------
    report : QrelsReport
    settings : mapping
        Of the campaign: how its pool was made.
    runs : int
        How many were pooled.
    people : mapping
        Role to the number of people who judged in it.
    is_collection : bool
        Whether the folder is a whole collection.
    """
    made = settings.get("pool") or {}
    alone = settings.get("annotators_per_triple") == 1
    agreed = "said to be true by one annotator, who judged alone," if alone else "agreed on by the annotators"
    strategy = made.get("strategy")
    who = ", ".join(f"{count} {role}{'s' if count != 1 else ''}" for role, count in people.items()) or "nobody yet"
    level = {
        "question": "The questions are those that the pool was made for. Every judged triple gives its grade to both "
        "of its questions, where both are among them.",
        "triple": "Every positive triple, known before or judged true, makes both of its questions. So there are "
        f"questions that nothing was pooled for, {report.never_pooled:,} of {report.questions:,}: they have few "
        "judged non-answers, and answers that were found by chance, from the other side. `-new` in an id marks a "
        "question that the pool was not made for.",
    }[report.level]
    rules = [name for name in report.negatives_from if name.startswith("rule: ") and report.negatives_from[name]]
    automatic = sum(report.negatives_from[name] for name in rules)
    unjudged = sum(report.unjudged.values())
    files = [
        "- `topics.tsv`: `id TAB anchor TAB relation`; ids that begin with `head` ask for the head",
        "- `qrels.txt`: `question 0 entity grade`, 1 true, 0 false; what is absent is unjudged",
        f"- `qrels.depth0.txt` to `qrels.depth{report.depth}.txt`: with the triples that some run had at this rank or "
        "above; 0 has the answers known before alone",
        "- `report.txt`, `report.json`: where the judgements came from",
        "- `SHA256SUMS`: for `sha256sum -c SHA256SUMS`",
    ]
    if is_collection:
        files.append("- the other files make this folder a collection for `kgtrec rank` and `kgtrec evaluate`")
    paragraphs = [
        f"# Qrels at {report.level} level",
        f"{report.questions:,} questions with {report.judgements:,} judgements, out of {report.positives:,} true and "
        f"{report.negatives:,} false triples.",
        "## How they were made",
        f"The candidates that {runs} run{'s' if runs != 1 else ''} put forward for {report.pooled_questions:,} "
        "questions were pooled"
        + (f" (strategy {strategy})" if strategy else "")
        + f", down to rank {report.depth}. For {report.nothing_pooled:,} questions no run put anything forward.",
        f"Of the true triples {report.positives_from['seeds']:,} were known before, "
        f"{report.positives_from['agreed']:,} were {agreed} and "
        f"{report.positives_from['adjudicated']:,} settled by an adjudicator. Of the false ones {automatic:,} were "
        f"judged by {len(rules)} rule{'s' if len(rules) != 1 else ''}, without a person"
        + (f" ({', '.join(name.removeprefix('rule: ') for name in rules)})" if rules else "")
        + f". {unjudged:,} pooled triples are not settled and stand for nothing. Judged by: {who}.",
        level,
        "## Files",
        "\n".join(files),
        "## Use",
        "Judgements of pooled candidates say nothing about those that no pooled run had near the top: report Judged@10 "
        "beside every score of a system that was not pooled, and see `kgtrec campaign diagnostics`.",
        "    kgtrec evaluate qrels.txt mine.run.gz -m nDCG@20 -m AP@20 -m Judged@10",
        "## Cite",
        "The data set, whose licence and citation hold for these judgements too; and for the method Zhou, Chen, He, "
        "Ye, Sun (2022), Re-thinking Knowledge Graph Completion Evaluation from an Information Retrieval Perspective, "
        "SIGIR.",
    ]
    return "\n\n".join(paragraphs) + "\n"
