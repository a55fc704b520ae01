"""kgtrec campaign plan."""

from __future__ import annotations

import math
import shlex
from typing import Any

import click

from kgtrec.cli.common import say
from kgtrec.cli.inputs import read_systems, systems_of
from kgtrec.cli.options import (
    COUNT,
    MOST_COUNT,
    PATH,
    SHARE,
    Real,
    is_mixed,
    measure_option,
    mixed_option,
    option,
    seed_option,
    ties_option,
)
from kgtrec.cli.output import Output, output_options
from kgtrec.data.design import DESIGNS, PRIOR
from kgtrec.errors import KgtrecError
from kgtrec.report.progress import progress_bar

TABLES = ("systems", "differences")
_GOALS = ("shares", "target", "budget", "hours")


def _target(_: click.Context, __: click.Parameter, text: str | None) -> tuple[str, float] | None:
    if text is None:
        return None
    measure, width = "", text
    if " " in text.strip():
        measure, width = text.strip().rsplit(maxsplit=1)
    try:
        half_width = float(width.removeprefix("±").removeprefix("+-"))
    except ValueError:
        half_width = math.nan
    if not (measure and 0 < half_width < math.inf):
        raise click.BadParameter(f"expected a measure and a half-width, such as 'nDCG@20 0.01', found {text!r}")
    return measure, half_width


@click.command(name="plan")
@click.argument("campaign", type=click.Path())
@click.argument("systems", nargs=-1, type=click.Path(), metavar="[SYSTEMS]...")
@measure_option("P, nDCG and AP at the pool's depth")
@option(
    "--target", "Smallest share that gives intervals of this half-width.", metavar="'MEASURE WIDTH'", callback=_target
)
@option("--budget", "Greatest share that needs at most this many more verdicts.", COUNT)
@option("--hours", "Greatest share that needs at most this many more hours.", Real(0, MOST_COUNT, min_open=True))
@option(
    "--share shares", "This share of the triples; repeatable. Default: a few.", Real(0, 1, min_open=True), multiple=True
)
@option("--extend", "Draw the sample of the one share that is planned.", is_flag=True)
@option("--strategy", "Design of a sample. Default: two-level.", DESIGNS)
@option("--prior", "Probability of Y before any verdict.", SHARE, PRIOR)
@ties_option()
@option("--collection folder", "Collection whose other answers are filtered in runs.", PATH)
@mixed_option
@seed_option
@output_options(TABLES, has_figures=True)
def command(
    campaign: str,
    systems: tuple[str, ...],
    measures: tuple[str, ...],
    extend: bool,
    folder: str | None,
    output: Output,
    **options: Any,
) -> None:
    """Plan how much of the pool of CAMPAIGN people judge: the widths of intervals that a share of its triples gives,
    for SYSTEMS or the pooled runs.

    \b
    # the share for a half-width of 0.01
    kgtrec campaign plan CAMPAIGN ranks --target "nDCG@20 0.01"
    # draw the sample
    kgtrec campaign plan CAMPAIGN --share 0.3 --extend

    Docs: docs/pooling.md
    """
    from kgtrec.campaign.plan import SHARES, plan
    from kgtrec.campaign.rounds import draw_round
    from kgtrec.formats.campaign.folder import read_campaign
    from kgtrec.formats.collections import read_collection

    options["shares"] = options["shares"] or None
    given = [name for name in _GOALS if options[name] is not None]
    if len(given) > 1:
        raise click.UsageError("expected one of --share, --target, --budget and --hours, found several")
    if extend and (not given or len(options["shares"] or "1") > 1):
        raise KgtrecError(
            "expected one share, or a goal that gives one, with --extend, found "
            f"{'several' if given else 'none'}; see --share, --target, --budget and --hours"
        )
    files, holds_ranks = systems_of(campaign, systems)
    with progress_bar("planning", len(options["shares"] or SHARES), "shares") as advance:
        planned = plan(
            read_campaign(campaign),
            list(read_systems(files, holds_ranks)) if files else None,
            measures or None,
            progress=advance,
            collection=read_collection(folder) if folder else None,
            mixed=is_mixed(),
            **options,
        )
    output.show(planned, TABLES if output.is_laid_out else TABLES[:1] if output.form != "json" else None)
    say(f"note: {planned.tables()[0].note}")
    own = shlex.quote(campaign)
    [*_, share] = planned.shares
    if extend:
        drawn = draw_round(campaign, share, strategy=options["strategy"])
        say(f"{campaign}: {drawn.design!r}, a share of {share:g}")
        say(f"next: kgtrec campaign assign {own}")
    elif given and len(planned.shares) == 1 and share > planned.own:
        say(f"next: kgtrec campaign plan {own} --share {share:g} --extend")
