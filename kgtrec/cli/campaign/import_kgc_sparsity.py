"""kgtrec campaign import-kgc-sparsity."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence

import click
import numpy as np

from kgtrec.cli.common import say
from kgtrec.cli.options import PATH, force_option, option
from kgtrec.data.campaign import Assignments
from kgtrec.errors import counted
from kgtrec.formats.campaign import folder as campaigns
from kgtrec.formats.campaign.judgements import append_judgements
from kgtrec.formats.campaign.kgc_sparsity import PERSON, SOURCE, read_kgc_sparsity, topics_of
from kgtrec.formats.campaign.pools import require_writable, write_pool_parts, writing_campaign
from kgtrec.formats.output import folders
from kgtrec.formats.output.outputs import write_text
from kgtrec.report.tables import aligned

_FINDINGS = "published-labels.txt"
_SHOWN = 3  # lines of each kind


@click.command(name="import-kgc-sparsity")
@click.argument("folder", metavar="DIR", type=click.Path())
@option("--out", "Folder to write; new or empty.", PATH, required=True, metavar="CAMPAIGN")
@option("--topics", "Topics with the question ids to use. Default: those published.", PATH)
@force_option
def command(folder: str, out: str, topics: str | None) -> None:
    """Import the labels that Zhou et al. (SIGIR 2022) published for FB15k-237, as a campaign, from the data folder of
    github.com/zhouying20/kgc-sparsity.

    \b
    # the labels, as a campaign
    kgtrec campaign import-kgc-sparsity kgc-sparsity/data --out FB-Test-S-C
    # then as qrels
    kgtrec campaign qrels FB-Test-S-C --out qrels

    Docs: docs/qrels.md
    """
    require_writable(out)
    published = read_kgc_sparsity(folder, topics=topics)
    text = published_labels_text(published.counts, map(str, published.findings))
    with writing_campaign(out) as part:
        write_pool_parts(
            part,
            published.pool,
            published.known_answers,
            published.automatic,
            {},
            {
                "annotators_per_triple": 1,  # one label per triple was published
                "pool": {"strategy": "depth", "command": "campaign import-kgc-sparsity", "source": SOURCE},
            },
        )
        write_text(part / folders.GUIDELINES, guidelines_text(SOURCE, PERSON))
        campaigns.write_templates(part, {})
        campaigns.write_sources(part, ())
        campaigns.write_names(part, {})
        judged = np.unique(published.judgements.triple).astype(np.int32)
        by = np.zeros(len(judged), np.int32)
        campaigns.write_assignments(part, published.pool, Assignments(by, judged, published.people.names))
        append_judgements(part / folders.JUDGEMENTS, published.pool, published.judgements)
        write_text(part / _FINDINGS, text)
        campaigns.write_people(part, published.people)
    short = findings_text(published.counts, [(finding.kind, str(finding)) for finding in published.findings], _FINDINGS)
    click.echo(short, nl=False)
    folder_given, named = shlex.quote(out), topics or topics_of(folder)
    say(
        f"wrote {out}\n"
        f"next: kgtrec campaign qrels {folder_given} --out qrels, or for the questions that the labels make\n"
        f"      kgtrec campaign qrels {folder_given} --level triple --topics {shlex.quote(str(named))} --out qrels"
    )


def published_labels_text(counts: Mapping[str, int], findings: Iterable[str]) -> str:
    """Give the findings, a line each, and a table of counts."""
    lines = "".join(f"{finding}\n" for finding in findings)
    return (lines + "\n" if lines else "") + aligned([[name, f"{count:,}"] for name, count in counts.items()], 1)


def findings_text(counts: Mapping[str, int], findings: Sequence[tuple[str, str]], file: str) -> str:
    """Give the same in short, for a terminal: the number of findings of each kind, and the first few lines.

    ``findings`` are kinds and lines; ``file`` holds all lines.

    Examples
    --------
    >>> print(findings_text({"seeds": 1023}, [("padded", "a.txt:185: label ' N' has blanks")], "found.txt"), end="")
    1 finding: padded
      a.txt:185: label ' N' has blanks
    <BLANKLINE>
    seeds  1,023
    """
    by_kind: dict[str, list[str]] = {}
    for kind, line in findings:
        by_kind.setdefault(kind, []).append(line)
    lines = []
    for kind, own in by_kind.items():
        lines.append(f"{counted(len(own), 'finding')}: {kind}")
        lines += [f"  {line}" for line in own[:_SHOWN]]
        if len(own) > _SHOWN:
            lines.append(f"  ... and {len(own) - _SHOWN:,} more in {file}")
    return published_labels_text(counts, lines)


def guidelines_text(source: str, person: str) -> str:
    """Give the guidelines.md of a campaign that was judged elsewhere."""
    return (
        "# Guidelines\n\n"
        f"These labels were not made with kgtrec. They are those that were published at {source}, and were made as "
        "described in Zhou, Chen, He, Ye, Sun (2022), Re-thinking Knowledge Graph Completion Evaluation from an "
        "Information Retrieval Perspective, SIGIR, section 4.\n\n"
        f"The published files name nobody and give no time: every judgement is that of `{person}`, on the day on which "
        "the paper was presented.\n"
    )
