"""The README of published qrels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kgtrec.campaign.qrels import QrelsReport
from kgtrec.errors import counted


def readme_text(
    report: QrelsReport, settings: Mapping[str, Any], runs: int, people: Mapping[str, int], *, is_collection: bool
) -> str:
    """The README of published qrels, in Markdown: contents, how they were made, how to use and cite them.

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
    who = ", ".join(counted(count, role) for role, count in people.items()) or "nobody yet"
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
        f"The candidates that {counted(runs, 'run')} put forward for {report.pooled_questions:,} "
        "questions were pooled"
        + (f" (strategy {strategy})" if strategy else "")
        + f", down to rank {report.depth}. For {report.nothing_pooled:,} questions no run put anything forward.",
        f"Of the true triples {report.positives_from['seeds']:,} were known before, "
        f"{report.positives_from['agreed']:,} were {agreed} and "
        f"{report.positives_from['adjudicated']:,} settled by an adjudicator. Of the false ones {automatic:,} were "
        f"judged by {counted(len(rules), 'rule')}, without a person"
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
