"""kgtrec meta compare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from kgtrec.cli.inputs import files_of, is_campaign, read_families_of
from kgtrec.cli.options import (
    at_least,
    confidence_option,
    family_option,
    names_option,
    option,
    refuse_idle,
    resamples_option,
)
from kgtrec.cli.output import Output, output_options
from kgtrec.cli.scoring import NO_CAMPAIGN, ScoringRequest, machine_option, qrels_and_systems, scoring_options
from kgtrec.errors import KgtrecError

if TYPE_CHECKING:
    from kgtrec.data.collection import Collection
    from kgtrec.data.qrels import Qrels

TABLES = ("measures", "side", "category", "relation", "questions")


@click.command(name="compare")
@qrels_and_systems
@scoring_options("those of kgtrec evaluate")
@option("--by", "Measure for groups and questions. Default: the first.", metavar="MEASURE")
@option("--top", "Questions to show.", at_least(0), 20)
@option("--relations", "Relations to show.", at_least(0), 10)
@names_option
@confidence_option
@resamples_option
@family_option
@machine_option
@output_options(TABLES)
def command(
    qrels: str,
    systems: tuple[str, ...],
    scoring: ScoringRequest,
    names: str | None,
    machine: str | None,
    families: tuple[str, ...],
    output: Output,
    **options: Any,
) -> None:
    """Compare two SYSTEMS (answer ranks or runs, or a folder of two) on QRELS: differences with intervals and tests, by
    relation, and the questions that differ most.

    \b
    # two systems
    kgtrec meta compare C ranks/transe.ranks.parquet ranks/rotate.ranks.parquet
    # two models, with several seeds of each
    kgtrec meta compare C ranks --family seeds

    Docs: docs/comparing.md
    """
    from kgtrec.evaluation.families import seeds_of
    from kgtrec.formats.trec.runs import default_name
    from kgtrec.meta.comparison import compare
    from kgtrec.meta.power import power

    files = files_of(systems)
    if len(files) != 2 and not families:
        way = ", or compare two models with all seeds of each (--family seeds)" * bool(
            seeds_of([*map(default_name, files)])
        )
        raise KgtrecError(f"expected two systems to compare, found {len(files)}; name two{way}")
    if is_campaign(qrels):
        refuse_idle(("names", "resamples", "families"), "a campaign")
        alpha = 1 - options["confidence"]
        sampled = scoring.inputs_of_sample(qrels, files, machine)
        output.show(power(*sampled, alpha=alpha, **scoring.keywords()), ["pairs"])
        return
    refuse_idle(("machine",), NO_CAMPAIGN)
    if families:
        refuse_idle(("names", "resamples", "by", "top", "relations"), "--family")
        family_of = read_families_of(families, files, range(2, 3))
        inputs = scoring.inputs(qrels, systems)
        found = power(*inputs, alpha=1 - options["confidence"], families=family_of, **scoring.keywords())
        output.show(found, ("families", "pairs"))
        return
    inputs, keywords = scoring.inputs(qrels, systems), scoring.keywords()
    shown_names = _names(names, inputs[0], keywords.get("collection"))
    comparison = compare(*inputs, names=shown_names, **options, **keywords)
    if output.part not in (None, *(table.key for table in comparison.tables())):
        raise KgtrecError(
            f"expected --collection together with --table {output.part}, found none; qrels do not have the topics it "
            "needs"
        )
    output.show(comparison, None if output.form in ("table", "json") else TABLES[:1])


def _names(path: str | None, judgements: Qrels | Collection, topics: Collection | None) -> dict[str, str]:
    """Display names of the entities of the collection, or of the qrels if there is no collection."""
    if path is None:
        return {}
    from kgtrec.data.collection import Collection
    from kgtrec.formats.campaign.folder import read_names

    whole = topics or judgements
    return read_names(path, (whole.labels if isinstance(whole, Collection) else None) or whole.entities)
