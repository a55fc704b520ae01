"""kgtrec campaign qrels."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from kgtrec.campaign.qrels import LEVELS
from kgtrec.cli.common import say
from kgtrec.cli.options import PATH, at_least, force_option, option
from kgtrec.errors import CollectionError, counted, in_file

if TYPE_CHECKING:
    from kgtrec.data.campaign import Campaign
    from kgtrec.data.collection import Collection


@click.command(name="qrels")
@click.argument("campaign", type=click.Path())
@option("--out", "Folder to write.", PATH, required=True)
@option("--level", "Questions: pooled, or of true triples.", LEVELS, "question")
@option("--collection folder", "Write a collection, with the train and valid of this one.", PATH)
@option("--known", "Triples to filter, such as valid.tsv; repeatable.", PATH, multiple=True)
@option("--topics", "For --level triple: topics with the ids of the other questions.", PATH)
@option("--depth", "Use triples down to this pool depth. Default: all.", at_least(0))
@option("--machine", "Machine whose verdicts count where people settled nothing.", metavar="NAME")
@force_option
def command(
    campaign: str,
    out: str,
    level: Literal["question", "triple"],
    folder: str | None,
    known: tuple[str, ...],
    topics: str | None,
    depth: int | None,
    machine: str | None,
) -> None:
    """Turn the verdicts of CAMPAIGN into qrels, at every depth of the pool.

    \b
    # qrels.txt and qrels.depthN.txt
    kgtrec campaign qrels CAMPAIGN --out qrels
    # a whole collection
    kgtrec campaign qrels CAMPAIGN --level triple --collection C --known valid.tsv --out C2

    Docs: docs/qrels.md
    """
    from kgtrec.campaign.publish import publication_of
    from kgtrec.cli.inputs import read_questions
    from kgtrec.data.identity import require_one_numbering
    from kgtrec.formats.campaign.folder import read_campaign
    from kgtrec.formats.campaign.machines import read_machine
    from kgtrec.formats.collections import require_qrels_writable, write_qrels_folder
    from kgtrec.formats.trec.topics import read_topics
    from kgtrec.formats.triples import read_triples
    from kgtrec.report.show import shown

    require_qrels_writable(out)
    if known and (folder is None or level != "triple"):
        raise click.UsageError("--known is for new questions of a collection: --level triple --collection COLLECTION")
    if topics and (folder is not None or level != "triple"):
        raise click.UsageError("--topics is for new questions without a collection: --level triple, no --collection")
    read = read_campaign(campaign)
    base = None
    if folder is not None:
        base = read_questions(folder)
        _check_collection(read, folder, base)
    named = None
    if topics:
        with in_file(Path(topics)):
            named = read_topics(topics).questions()
            require_one_numbering(named, read.pool.questions)
    further = None
    if known:
        first, *others = map(read_triples, known)
        further = first.joined(*others)
    said = None if machine is None else (machine, read_machine(campaign, machine, read.pool))
    with in_file(campaign):
        report, parts = publication_of(
            read, level=level, depth=depth, base=base, named=named, known=further, machine=said
        )
    text = shown(report, "table")
    write_qrels_folder(out, report_text=text, **parts)
    click.echo(text, nl=False)
    if machine is not None:
        n = report.positives_from.get("machine", 0) + report.negatives_from.get("machine", 0)
        what = "warning" if n else "note"
        say(f"{what}: {counted(n, 'triple')} judged by {machine} alone, which nobody has checked")
    if unjudged := sum(report.unjudged.values()):
        n = len(read.pool)
        say(f"note: {unjudged:,} of {n:,} pooled triples are not settled; kgtrec campaign status shows more")
    if read.design is not None:
        say(
            "note: people judge a sample of this pool, and measures under these qrels take the rest for wrong; "
            f"estimates of the whole pool's values: kgtrec evaluate {shlex.quote(campaign)} RUNS"
        )
    if level == "triple" and base is not None and not known:
        say(
            "note: the collection knows valid triples of its own questions only; name the valid file with --known, or "
            "some of its answers may stay among the candidates of new questions"
        )
    to, qrels = shlex.quote(out), shlex.quote(str(Path(out, "qrels.txt")))
    way = f"next: kgtrec rank {to} SCORES --out RANKS, then kgtrec evaluate {to} RANKS"
    if base is None or level == "question":
        way = (
            f"next: kgtrec evaluate {qrels} RUNS -m nDCG@20 -m AP@20 -m Judged@10, or to make answer ranks for it\n"
            f"      kgtrec rank COLLECTION SCORES --judged {qrels} --out RANKS"
        )
    say(f"wrote {out}\n{way}")


def _check_collection(read: Campaign, folder: str, base: Collection) -> None:
    """Say that a pool was made for another collection; refuse it where triples hold ids that each gives anew."""
    pooled = read.known_answers.collection
    if not pooled or pooled == base.stamp:
        return
    text = f"the pool was made for collection {pooled}, and {folder} is {base.stamp}"
    if base.labels is not None:
        raise CollectionError(
            f"{text}, where e0, e1, ... may stand for other entities; give the collection that was pooled for, or make "
            "both without --ids"
        )
    say(f"note: {text}; going on with its triples")
