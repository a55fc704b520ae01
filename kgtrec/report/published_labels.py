"""What was found in published label files, as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kgtrec.report.tables import aligned


def published_labels_text(counts: Mapping[str, int], findings: Iterable[str]) -> str:
    """The findings, a line each, and a table of counts.

    Examples
    --------
    >>> findings = ["human_labeled.txt:185: label ' N' has blanks around it"]
    >>> print(published_labels_text({"seeds": 1023}, findings), end="")
    human_labeled.txt:185: label ' N' has blanks around it
    <BLANKLINE>
    seeds  1,023
    """
    lines = "".join(f"{finding}\n" for finding in findings)
    return (lines + "\n" if lines else "") + aligned([[name, f"{count:,}"] for name, count in counts.items()], 1)


def guidelines_text(source: str, person: str) -> str:
    """The guidelines.md of a campaign that was judged elsewhere."""
    return (
        "# Guidelines\n\n"
        f"These labels were not made with kgtrec. They are those that were published at {source}, and were made as "
        "described in Zhou, Chen, He, Ye, Sun (2022), Re-thinking Knowledge Graph Completion Evaluation from an "
        "Information Retrieval Perspective, SIGIR, section 4.\n\n"
        f"The published files name nobody and give no time: every judgement is that of `{person}`, on the day on which "
        "the paper was presented.\n"
    )
