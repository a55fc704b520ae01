"""What was found in published label files, as text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kgtrec.report.tables import aligned

_SHOWN = 3  # lines of each kind


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


def findings_text(counts: Mapping[str, int], findings: Sequence[tuple[str, str]], file: str) -> str:
    """The same in short, for a terminal: of each kind of finding how many there are, and the first few lines.

    Parameters
    ----------
    counts : mapping of str to int
    findings : sequence of (kind, line)
    file : str
        Where all lines are.

    Examples
    --------
    >>> findings = [("padded", "human_labeled.txt:185: label ' N' has blanks around it")]
    >>> print(findings_text({"seeds": 1023}, findings, "published-labels.txt"), end="")
    1 finding: padded
      human_labeled.txt:185: label ' N' has blanks around it
    <BLANKLINE>
    seeds  1,023
    """
    by_kind: dict[str, list[str]] = {}
    for kind, line in findings:
        by_kind.setdefault(kind, []).append(line)
    lines = []
    for kind, own in by_kind.items():
        lines.append(f"{len(own):,} finding{'' if len(own) == 1 else 's'}: {kind}")
        lines += [f"  {line}" for line in own[:_SHOWN]]
        if len(own) > _SHOWN:
            lines.append(f"  ... and {len(own) - _SHOWN:,} more in {file}")
    return published_labels_text(counts, lines)


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
