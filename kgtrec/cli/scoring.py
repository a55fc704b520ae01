"""The options of the commands that score systems under qrels, which are the same for all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Any

import click

from kgtrec.cli.inputs import read_judgements, read_sampled, read_systems, systems_of
from kgtrec.cli.options import (
    PATH,
    Command,
    is_mixed,
    measure_option,
    mixed_option,
    option,
    seed_option,
    stacked,
    ties_option,
)

if TYPE_CHECKING:
    from kgtrec.data.answer_ranks import AnswerRanks
    from kgtrec.data.collection import Collection as Questions
    from kgtrec.data.qrels import Qrels
    from kgtrec.data.run import AnyRun
    from kgtrec.data.sampled_qrels import SampledQrels
    from kgtrec.data.table import Result
    from kgtrec.evaluation.scoring import ScoringOptions


_TIES = ties_option()
#: why ``--machine`` has no effect
NO_CAMPAIGN = "QRELS that are no campaign"
#: of the commands that estimate from the sample of a campaign
machine_option = option("--machine", "Of a campaign: machine that helps estimates, such as learned.", metavar="NAME")


@dataclass(frozen=True, slots=True)
class ScoringRequest:
    """The measures, and how systems are scored, as they were typed."""

    measures: tuple[str, ...]
    collection: str | None
    options: ScoringOptions  # without the collection

    def inputs(
        self, qrels: str, systems: Sequence[str]
    ) -> tuple[Qrels | Questions, Iterator[AnyRun | AnswerRanks], Sequence[str]]:
        """Return qrels, systems and measures, by default those of the kind of systems, as all verbs take them."""
        files, holds_ranks = systems_of(qrels, systems)
        return read_judgements(qrels), read_systems(files, holds_ranks), self.measures_of(holds_ranks)

    def inputs_of_sample(
        self, campaign: str, systems: Sequence[str], machine: str | None = None
    ) -> tuple[SampledQrels, Iterator[AnyRun | AnswerRanks], Sequence[str]]:
        """Return the same with the judged sample of a campaign."""
        files, holds_ranks = systems_of(campaign, systems)
        return read_sampled(campaign, machine), read_systems(files, holds_ranks), self.measures_of(holds_ranks)

    def measures_of(self, holds_ranks: Sequence[bool], *, only_answers: bool = False) -> Sequence[str]:
        """Return the measures that were asked for, or the default ones for such systems."""
        from kgtrec.evaluation.prepared import default_measures

        return self.measures or default_measures(ranks=all(holds_ranks), only_answers=only_answers)

    def keywords(self) -> ScoringOptions:
        """Return the keywords of all verbs that score."""
        from kgtrec.formats.collections import read_collection

        return {
            "collection": read_collection(self.collection) if self.collection else None,
            "mixed": is_mixed(),
            **self.options,
        }

    def per_stratum(self, verb: Any, per: str, labels: Sequence[str], systems: Sequence[str], **options: Any) -> Result:
        """Call a verb of kgtrec.meta with each stratum of the judgements of one or two files or collections."""
        from kgtrec.meta.strata import per_stratum

        judgements, ranked, _ = self.inputs(labels[0], systems)
        options |= {"systems": ranked, "measures": self.measures or None, **self.keywords()}
        return per_stratum(verb, per, judgements, *map(read_judgements, labels[1:]), **options)


def qrels_and_systems(command: Command) -> Command:
    """Add the arguments ``QRELS`` and ``SYSTEMS``."""
    systems = click.argument("systems", nargs=-1, required=True, type=click.Path())
    return click.argument("qrels", type=click.Path())(systems(command))


def scoring_options(default: str, ties: Callable[[Command], Command] = _TIES) -> Callable[[Command], Command]:
    """Add the common options, which the command gets as one :class:`ScoringRequest` ``scoring``.

    Parameters
    ----------
    default : str
        The default of ``--measure``.
    ties : decorator
        Another option ``--ties``.
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def scored(*, measures: tuple[str, ...], folder: str | None, **given: Any) -> Any:
            own: Any = {name: given.pop(name) for name in ("ties", "missing", "unlisted_answers", "seed")}
            return command(scoring=ScoringRequest(measures, folder, own), **given)

        return stacked(
            measure_option(default),
            ties,
            option("--missing", "Questions that a run lacks: score 0, or skip.", ("zero", "skip"), "zero"),
            option("--unlisted-answers", "Answers that qrels lack.", ("filtered", "candidates"), "filtered"),
            mixed_option,
            seed_option,
            option("--collection folder", "Collection of the questions, if the qrels are a file.", PATH),
        )(scored)

    return decorate
