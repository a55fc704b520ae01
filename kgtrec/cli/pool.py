"""kgtrec pool."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from kgtrec.cli.campaign.next_steps import much_text, work_text
from kgtrec.cli.common import say
from kgtrec.cli.inputs import by_name, files_of, is_campaign, read_families_of, read_questions
from kgtrec.cli.options import (
    COUNT,
    PATH,
    SHARE,
    Real,
    choices_option,
    family_option,
    force_option,
    is_mixed,
    listed,
    listing_option,
    mixed_option,
    option,
    refuse_idle,
    seed_option,
)
from kgtrec.cli.output import FORMATS, Output, form_of
from kgtrec.data.campaign import ANNOTATORS_PER_TRIPLE, Automatic
from kgtrec.data.collection import Collection
from kgtrec.errors import FormatError, KgtrecError, counted, require
from kgtrec.formats.campaign.pools import require_writable, write_pool
from kgtrec.formats.entity_types import read_entity_types, read_relation_types
from kgtrec.formats.output.outputs import together, write_text
from kgtrec.formats.trec.qrels import read_qrels
from kgtrec.formats.trec.runs import default_name
from kgtrec.formats.trec.streamed_runs import read_any_run
from kgtrec.formats.trec.topics import read_label_lines
from kgtrec.formats.triples import describe_input, read_triples
from kgtrec.pooling.interactive import replay
from kgtrec.pooling.pool_runs import (
    CUTS,
    DEFAULT_LEAST,
    DEFAULT_STRATA,
    STRATEGIES,
    Strategy,
    known_answers_of,
    known_answers_of_triples,
    pool_runs,
    strategy_of,
)
from kgtrec.pooling.summary import summarise_pool
from kgtrec.pooling.trivial import WAYS, checked_ways, judge_trivial, trivial_counts
from kgtrec.report.progress import progress_bar
from kgtrec.report.show import shown

_RANKS = ".ranks.parquet"


def _strata(_: click.Context, __: click.Parameter, text: str) -> tuple[tuple[int, float], ...]:
    try:
        pairs = [part.split(":") for part in listed(text)]
        return tuple((int(last), float(fraction)) for last, fraction in pairs)
    except ValueError:
        raise click.BadParameter(f"expected last ranks and fractions such as 10:1,100:0.1, found {text!r}") from None


@click.command(name="pool")
@click.argument("collection", type=click.Path())
@click.argument("runs", nargs=-1, required=True, type=click.Path())
@option("--out", "Folder to write; required without --dry-run.", PATH, metavar="CAMPAIGN")
@option("--strategy", "Strategy of --list-strategies.", tuple(STRATEGIES), "depth", metavar="NAME")
@option("--depth", "Last rank that is pooled. Default: 10 for depth, 100 for others.", COUNT)
@option("--budget", "Number of triples, for the strategies that take one.", COUNT)
@option("--cut", "Filter triples before the cut, or after (raw).", CUTS, "filtered")
@option("--questions questions_path", "Ids of the questions to pool for, one per line.", PATH)
@option("--known --seeds known_path", "Known triples; only their questions are pooled.", PATH)
@family_option
@mixed_option
@seed_option
@option("--by-question", "Strategy take: questions take turns with their best candidates.", is_flag=True)
@option("--rrf-k k", "Strategy rrf: k.", Real(0), 60.0)
@option("--rbp-p p", "Strategy rbp: p.", Real(0, 1, max_open=True), 0.8)
@option(
    "--strata",
    "Strategy stratified: last ranks, shares.",
    default=",".join(f"{last}:{fraction:g}" for last, fraction in DEFAULT_STRATA),
    callback=_strata,
    metavar="RANK:SHARE,...",
)
@option("--share", "Strategies two-level, whole-questions: share.", SHARE, 0.2)
@option("--least", "Strategy stratified: smallest sample per stratum.", COUNT, DEFAULT_LEAST)
@option("--judged judged_path", "Qrels to replay, for strategies that ask one at a time.", PATH)
@choices_option("--trivial", choices=WAYS, about="Candidates that a rule judges as N, not people.")
@option("--entity-types", "For --trivial types: file of entity TAB type.", PATH)
@option("--relation-types", "For --trivial types: file of relation, head type, tail type.", PATH)
@option("--observed-types", "For --trivial types: use the types observed in train.", is_flag=True)
@option("--dry-run", "Show what --trivial judges; write nothing.", is_flag=True)
@option("--report report_path", "Write the report here too: .txt, .csv, .json or .tex.", PATH)
@force_option
@listing_option(
    "--list-strategies",
    "List the strategies and exit.",
    lambda: (f"{strategy.name:<11} {strategy.description} [{strategy.source}]" for strategy in STRATEGIES.values()),
)
def command(
    collection: str,
    runs: tuple[str, ...],
    out: str | None,
    strategy: str,
    questions_path: str | None,
    known_path: str | None,
    judged_path: str | None,
    trivial: tuple[str, ...],
    entity_types: str | None,
    relation_types: str | None,
    observed_types: bool,
    dry_run: bool,
    report_path: str | None,
    **options: Any,
) -> None:
    """Collect the top candidates of RUNS (or folders of them) for the questions of COLLECTION, for people to judge.

    \b
    # the top 10 of every run
    kgtrec pool C ranks --depth 10 --out campaign
    # a fifth of them, for estimates
    kgtrec pool C ranks --strategy two-level --share 0.2 --out campaign

    Docs: docs/pooling.md
    """
    chosen = strategy_of(strategy)
    files = _run_files(runs)
    others = {name for other in STRATEGIES.values() for name in other.parameters}
    refuse_idle(others.difference(chosen.parameters), f"--strategy {strategy}")
    _require_judgements(chosen, judged_path)
    if chosen.design and options["budget"] is not None:
        raise KgtrecError(
            f"strategy {strategy} takes no budget but --share, a share of the triples; kgtrec campaign plan CAMPAIGN "
            "--budget N --extend draws a sample of N verdicts from a pool of strategy depth"
        )
    if dry_run and not trivial:
        raise KgtrecError("expected --trivial together with --dry-run, found none; give types, category or both")
    if questions_path and known_path:
        raise KgtrecError("expected --questions or --known, found both; --known already selects the questions")
    if not out and not dry_run:
        raise KgtrecError("expected --out CAMPAIGN, the folder for the pool, found none")
    of_entities = read_entity_types(entity_types) if entity_types else None
    of_relations = read_relation_types(relation_types) if relation_types else None
    checked_ways(trivial, observed=observed_types, given=(of_entities, of_relations))  # before the runs are read
    report_form = form_of(report_path, forms=FORMATS[:-1], option="--report")
    if out and not dry_run:
        require_writable(out)
    test = read_questions(collection)
    rows, known_answers = known_answers_of_triples(test, read_triples(known_path)) if known_path else (None, None)
    if questions_path:
        rows = _question_rows(questions_path, test)
    family_of = read_families_of(options["families"], files)
    reading: dict[str, Any] = {"depth": options["depth"] or chosen.depth, "cut": options["cut"]}
    own: dict[str, Any] = {name: options[name] for name in chosen.parameters}
    budget, seed = options["budget"], options["seed"]
    read = (read_any_run(path, name=default_name(path)) for path in files)
    make = partial(replay, judged=read_qrels(judged_path)) if judged_path else pool_runs
    with progress_bar("pooling", len(files), "runs") as advance:
        pool = make(
            test,
            (replace(run, collection="") if is_mixed() else run for run in read),
            strategy="depth" if chosen.design else strategy,
            budget=budget,
            questions=rows,
            known_answers=known_answers,
            seed=seed,
            progress=advance,
            **reading,
            **({} if chosen.design else own),
        )
    types: dict[str, Any] = {"observed": observed_types, "entity_types": of_entities, "relation_types": of_relations}
    automatic = judge_trivial(pool, test, by=trivial, **types) if trivial else Automatic.none(len(pool))
    if dry_run:
        Output().show(trivial_counts(pool, automatic))
        return
    known, design = known_answers_of(pool, test, known_answers), None
    if chosen.design:
        from kgtrec.pooling.designs import draw_design

        design = draw_design(pool, known, automatic, strategy=strategy, seed=seed, **own)
        automatic = automatic.with_design(design)
    summary = summarise_pool(pool, family_of, automatic, known)
    # in an order that does not depend on the command line, so that equal pools have equal bytes
    inputs: list[tuple[str, str | None]] = [
        *(("run", file) for file in sorted(files, key=default_name)),
        *(("questions", questions_path), ("seeds", known_path), ("judged", judged_path)),
        *(("entity types", entity_types), ("relation types", relation_types)),
    ]
    made = {
        "strategy": strategy,
        "options": reading | ({"budget": budget} if chosen.needs_budget else {}) | own,
        "command": {
            "name": "pool",
            "trivial": trivial,
            "observed_types": observed_types,
            "questions": "seeds" if known_path else "file" if questions_path else "all",
        },
        "inputs": [describe_input(path, role=role) for role, path in inputs if path],
    }
    with together():
        if report_path:
            write_text(report_path, shown(summary, report_form))
        about: dict[str, Any] = {"collection": test.stamp, "seed": seed, "made": made, "design": design}
        write_pool(str(out), pool, known, automatic, family_of, **about)
    Output().show(summary)
    for_people, judged_by_rule = (int(part.sum()) for part in (automatic.for_people, automatic.is_automatic))
    by_rule = f"; a rule has judged {judged_by_rule:,} more" if judged_by_rule else ""
    say(f"wrote {out}: {work_text(for_people, ANNOTATORS_PER_TRIPLE)}{by_rule}")
    say(much_text(for_people))
    say(f"next: kgtrec campaign init {shlex.quote(str(out))}")


def _require_judgements(strategy: Strategy, judged: str | None) -> None:
    if strategy.interactive and not judged:
        raise KgtrecError(
            f"expected --judged QRELS with strategy {strategy.name}, which needs judgements one at a time, found none; "
            "for judgements by people see kgtrec.pooling.interactive in Python"
        )
    if judged and not strategy.interactive:
        asking = ", ".join(name for name, other in STRATEGIES.items() if other.interactive)
        raise KgtrecError(
            f"expected a strategy that needs judgements ({asking}) together with --judged, found {strategy.name}"
        )
    if judged and is_campaign(judged):
        raise KgtrecError(f"--judged: expected qrels, found the campaign {judged}; kgtrec campaign qrels makes qrels")


def _run_files(runs: Sequence[str]) -> list[str]:
    """The files of the runs; for a folder, all its runs sorted by name; answer ranks are left out with a note."""
    given = files_of(runs, runs=True)
    ranks = [path for path in given if path.endswith(_RANKS)]
    files = [path for path in given if path not in ranks]
    if ranks and not files:
        raise KgtrecError(
            f"{ranks[0]}: expected a run, found answer ranks, which contain only answers; give the run NAME.run instead"
        )
    if "-" in files:
        raise KgtrecError("expected runs as files, found standard input (-), which has no name")
    pooled = by_name(((default_name(path), path) for path in files), "runs")
    if ranks:
        without = sorted({Path(path).name.removesuffix(_RANKS) for path in ranks}.difference(pooled))
        say(
            f"note: {counted(len(ranks), 'file')} of answer ranks, such as {ranks[0]}, left out, as they contain only "
            f"answers; {counted(len(pooled), 'run')} pooled"
            + (f", and none of {', '.join(without[:3])}{', ...' if len(without) > 3 else ''}" if without else "")
        )
    return files


def _question_rows(path: str, test: Collection) -> NDArray[np.int32]:
    ids = read_label_lines(path)
    if not len(ids):
        raise FormatError("expected ids of questions, one per line, found an empty file", path)
    row = test.questions.ids.encode(ids.labels)
    expected = "expected ids of questions of the collection, one per line"
    require(row >= 0, lambda place: FormatError(f"{expected}, found {ids[place]!r}", path))
    return row
