"""kgtrec meta sampled."""

from __future__ import annotations

from typing import Any

import click

from kgtrec.cli.options import COUNT, confidence_option, measure_option, option, refuse_idle
from kgtrec.cli.output import Output, output_options
from kgtrec.data.sampled_ranks import DRAWS, Draw
from kgtrec.errors import KgtrecError
from kgtrec.kernels.ranking.positions import TIES, Ties

_LIKE = ("grail", "ultra", "adaprop", "pykeen")  # PROTOCOLS, which are slow to import


@click.command(name="sampled")
@click.argument("files", nargs=-1, required=True, type=click.Path())
@measure_option("micro.MRR, micro.Hits@1, micro.Hits@10, micro.MR")
@option("--candidates-total n_candidates", "Candidates that the samples were drawn from.", COUNT)
@option("--candidates n_sampled", "Answer ranks: candidates to sample per answer.", COUNT)
@option("--like", "Answer ranks: sample as this framework does.", _LIKE)
@option("--draw", "Whether a sample may have a candidate twice.", DRAWS, DRAWS[0])
@option("--ties", "How ties count. Default: realistic.", TIES)
@confidence_option
@option("--model", "Add an estimate that takes all candidates to be like the sample.", is_flag=True)
@output_options()
def command(
    files: tuple[str, ...],
    measures: tuple[str, ...],
    n_candidates: int | None,
    n_sampled: int | None,
    like: str | None,
    draw: Draw,
    ties: Ties | None,
    output: Output,
    **options: Any,
) -> None:
    """Show what scores of sampled candidates can say of full ranks, or, with --candidates or --like, what answer ranks
    would give in a sample.

    \b
    # scores of samples, as OGB's evaluator takes them
    kgtrec meta sampled scores.npz --candidates-total 2500603
    # answer ranks in samples of 500
    kgtrec meta sampled ranks --candidates 500

    Docs: docs/sampled-candidates.md
    """
    from kgtrec.cli.inputs import by_name, files_of
    from kgtrec.formats.answer_ranks import read_answer_ranks
    from kgtrec.formats.trec.runs import default_name
    from kgtrec.meta.sampled import PROTOCOLS, SAMPLED_MEASURES, expected_sampled, sampled_bounds
    from kgtrec.systems.sampled_scores import name_of, read_sampled_scores

    asked = measures or SAMPLED_MEASURES
    refuse_idle(("n_sampled", "draw"), "--like", when=like is not None)
    if n_sampled is None and like is None:
        refuse_idle(("ties",), "scores of samples, whose ties count half")
        of_samples = [
            read_sampled_scores(file, n_candidates=n_candidates, draw=draw)
            for file in by_name((name_of(file), file) for file in files).values()
        ]
        bounds = {name: options[name] for name in ("confidence", "model")}
        output.show(sampled_bounds(of_samples, asked, **bounds))
        return
    given = f"--{'like' if like else 'candidates'}"
    refuse_idle(("n_candidates", "confidence", "model"), f"{given}, which needs full ranks")
    named = by_name((default_name(file), file) for file in files_of(files))
    if other := next((file for file in named.values() if not file.endswith(".ranks.parquet")), None):
        raise KgtrecError(
            f"{other}: expected answer ranks (NAME.ranks.parquet of kgtrec rank) with --candidates; leave it out for "
            "scores of samples"
        )
    ranked = (read_answer_ranks(file).renamed(name) for name, file in named.items())
    drawn: dict[str, Any] = PROTOCOLS[like] if like else {"n_sampled": n_sampled, "draw": draw}
    output.show(expected_sampled(ranked, measures=asked, **drawn | ({} if ties is None else {"ties": ties})))
