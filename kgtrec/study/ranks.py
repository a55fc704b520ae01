"""The ranks of a study: every system on all test triples, and on the samples of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.collection import Collection
from kgtrec.data.identity import question_places
from kgtrec.data.qrels import Qrels
from kgtrec.data.run import AnyRun
from kgtrec.errors import CollectionError, unwarned
from kgtrec.formats.files import sha256_of
from kgtrec.formats.output.folders import ENTITY_IDS, ENTITY_LABELS, TOPICS, UNFINISHED
from kgtrec.formats.parquet import parts_of
from kgtrec.formats.trec.origins import origin_path
from kgtrec.kernels.integer_keys import distinct, is_among
from kgtrec.study.config import WHOLE, LabelSet, Source
from kgtrec.study.labels import Collections, Labels, qrels_name
from kgtrec.study.step_runner import StepRunner, System
from kgtrec.study.steps import Steps

if TYPE_CHECKING:
    from kgtrec.systems.kinds import SystemOutput

_LONGEST = 50  # characters of a system's name in the name of a step; at most 200 bytes in UTF-8


class Ranks:
    """Ranks each system once, on all test triples; the ranks on a sample are a part of these."""

    def __init__(self, runner: StepRunner, collections: Collections, labels: Labels) -> None:
        self._runner, self._collections, self._labels = runner, collections, labels
        self._steps: dict[str, tuple[str, Path]] = {}
        self._read: dict[str, list[AnswerRanks | AnyRun]] = {}

    def require_alike(self) -> None:
        """Raise an error if answer ranks cannot be compared; ranks that the study makes itself always can."""
        from kgtrec.evaluation.belonging import different_systems
        from kgtrec.formats.answer_ranks import read_answer_ranks

        given = [system for system in self._runner.systems if system.kind == "ranks" and system.source is not None]
        with unwarned():  # each step warns of mixtures that are allowed
            read = (read_answer_ranks(system.source.path).renamed(system.name) for system in given if system.source)
            for ranks in different_systems(read, None, mixed=self._runner.config.systems.mixed) if given else ():
                self._require_filtered(ranks.name, ranks.filtered_by or ())
        self._require_filtered("the systems", self._runner.config.systems.filtered_by)

    def _require_filtered(self, name: str, filtered_by: Sequence[str]) -> None:
        """Raise CollectionError for a sample whose left-out triples would be candidates."""
        samples = [labels.name for labels in self._runner.config.labels if labels.kind == "sample"]
        if samples and "test" not in filtered_by:
            raise CollectionError(
                f"expected ranks filtered by test for the sample {samples[0]}, whose left-out triples are filtered, "
                f"found {name} filtered by {', '.join(filtered_by) or 'nothing'}"
            )

    def step(self, system: System) -> tuple[str, Path]:
        """Return the checksum of a system's ranks, as an input of steps, and the file with the ranks."""
        if system.name not in self._steps:
            self._steps[system.name] = self._ranked_or_found(system)
        return self._steps[system.name]

    def _ranked_or_found(self, system: System) -> tuple[str, Path]:
        if system.source is not None and system.kind in ("ranks", "run"):
            sums = self._runner.sums_of(_files_of(system.source))
            return " ".join(sums.values()), system.source.path
        judged = self._judged()
        inputs = {
            f"collection {name}": Steps.key_of(self._collections.step(name))
            for name in (WHOLE, *(labels.collection for labels in judged))
        }
        inputs |= {
            f"judged {labels.name}": sha256_of(self._labels.steps[labels.name] / qrels_name(None)) for labels in judged
        }
        options: dict[str, Any] = {"system": system.name, "filter": list(self._runner.config.systems.filtered_by)}
        if system.source is None:
            options |= {"baseline": system.name, "seed": self._runner.config.seed}
        else:
            own = system.source
            is_archive = own.path.suffix.lower() == ".npz"
            names = (
                (ENTITY_LABELS, "relations.txt")
                if is_archive
                else (TOPICS, ENTITY_LABELS, ENTITY_IDS, origin_path(own.path).name)
            )
            beside = [own.beside(own.path.with_name(name)) for name in names]
            inputs |= self._runner.sums_of([own, *(each for each in beside if each.path.is_file())])

        # a long name is cut, as the key after it makes the whole unique
        plain = "".join(sign if sign.isalnum() or sign in "._@-" else "_" for sign in system.name)[:_LONGEST]
        name = f"ranks-{plain}"
        unfinished = self._runner.folder / UNFINISHED / Steps.folder_name(name, inputs=inputs, options=options)

        def make(folder: Path) -> None:
            from kgtrec.ranking.write import write_ranked
            from kgtrec.systems.kinds import Factors

            collection, found = self._collections[WHOLE], self._output(system)
            write_ranked(
                collection,
                found,
                folder,
                depth=0,
                filtered_by=self._runner.config.systems.filtered_by,
                judged=self._union(),
                unfinished=unfinished,
                progress=self._runner.progress,
                **(self._runner.sharing if isinstance(found, Factors) else {}),
            )

        step = self._runner.do(name, make, inputs=inputs, options=options)
        return Steps.key_of(step), step / f"{system.name}.ranks.parquet"

    def _output(self, system: System) -> SystemOutput:
        """What is ranked: a factorised system, or blocks of scores."""
        from kgtrec.systems.kinds import ScoreBlocks

        collection = self._collections[WHOLE]
        if system.source is None:
            from kgtrec.systems.baselines import baseline_blocks

            return ScoreBlocks.of(system.name, baseline_blocks(system.name, collection, seed=self._runner.config.seed))
        from kgtrec.systems.registry import read_system

        path = system.source.path
        found = read_system(path, "factorised" if path.suffix.lower() == ".npz" else "matrix")
        return replace(found, name=system.name)

    def _union(self) -> Qrels | None:
        """All pairs that any label set judges: each needs a rank."""
        whole = self._collections[WHOLE]
        keys = []
        for labels in self._judged():
            question, entity = self._pairs(labels)
            place = question_places(self._collections[labels.collection], whole).place[question]
            keys.append(place.astype(np.int64) * len(whole.entities) + entity)
        if not keys:
            return None
        question, entity = np.divmod(distinct(np.concatenate(keys)), len(whole.entities))
        grade = np.zeros(len(entity), np.int32)
        return Qrels.of(question.astype(np.int32), entity.astype(np.int32), grade, whole.questions.ids, whole.entities)

    def _judged(self) -> list[LabelSet]:
        """The label sets whose pairs are not all answers of a collection."""
        return [labels for labels in self._runner.config.labels if labels.kind not in ("test", "sample")]

    def _pairs(self, labels: LabelSet) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """The judged pairs of a label set, as questions and entities of its collection."""
        collection, qrels = self._collections[labels.collection], self._labels.qrels(labels.name)
        entity = collection.entities.encode(qrels.entities.labels)
        if np.any(entity < 0):
            name = qrels.entities[int(np.argmin(entity))]
            raise CollectionError(f"label set {labels.name!r}: entity {name!r} is not in the collection")
        return collection.topics_of(qrels.questions)[qrels.question], entity[qrels.entity]

    def __getitem__(self, base: str) -> list[AnswerRanks | AnyRun]:
        """The systems' answer ranks, or runs, on a collection; large runs are read part by part when they are used."""
        if base not in self._read:
            from kgtrec.formats.answer_ranks import read_answer_ranks
            from kgtrec.formats.trec.streamed_runs import read_any_run

            of_any: dict[str, Any] = {"collection": ""} if self._runner.config.systems.mixed else {}
            judged = [self._pairs(labels) for labels in self._judged() if labels.collection == base]

            def read(system: System, path: Path) -> AnswerRanks | AnyRun:
                if system.kind == "run":
                    return replace(read_any_run(path, name=system.name), **of_any)
                ranks = replace(read_answer_ranks(path), name=system.name, **of_any)
                if base == WHOLE:
                    return ranks
                return ranks_on_sample(ranks, self._collections[WHOLE], self._collections[base], judged)

            self._read[base] = [read(system, self.step(system)[1]) for system in self._runner.systems]
        return self._read[base]

    def inputs(self, *several: LabelSet) -> dict[str, str]:
        """Return the inputs of scores under these label sets, with their checksums."""
        found = {}
        for labels in several:
            found[f"labels {labels.name}"] = Steps.key_of(self._labels.steps[labels.name])
            found[f"collection {labels.collection}"] = Steps.key_of(self._collections.step(labels.collection))
        return found | {system.name: self.step(system)[0] for system in self._runner.systems}


def ranks_on_sample(
    ranks: AnswerRanks, whole: Collection, sample: Collection, judged: Sequence[tuple[NDArray[Any], NDArray[Any]]] = ()
) -> AnswerRanks:
    """Return the answer ranks on a sample of test triples, from those on all of them, which are filtered by test.

    No count includes another answer of the question. So the answers that the sample leaves out are filtered if
    their rows are left out.

    Parameters
    ----------
    ranks : AnswerRanks
    whole, sample : Collection
    judged : sequence of (question, entity)
        Pairs as rows in the questions and entities of ``sample``, which keep their rows though it leaves them out.

    Raises
    ------
    CollectionError
        If the ranks are of another collection than ``whole``.
    """
    from kgtrec.evaluation.belonging import Belonging

    Belonging(whole)(ranks)
    row_of = np.full(len(whole.questions), -1, np.int64)
    row_of[question_places(sample, whole).place] = np.arange(len(sample.questions))
    question = row_of[whole.topics_of(ranks.questions)[ranks.question]]
    entity = sample.entities.encode(ranks.entities.labels)[ranks.entity]
    width = len(sample.entities)
    key = question * width + entity
    is_answer, is_judged = (
        is_among(
            key, np.concatenate([np.empty(0, np.int64), *(row.astype(np.int64) * width + at for row, at in pairs)])
        )
        for pairs in ([(sample.qrels.question, sample.qrels.entity)], judged)
    )
    kept = np.flatnonzero((question >= 0) & (is_answer | is_judged | ~ranks.answer))
    kept = kept[np.argsort(key[kept])]
    return AnswerRanks.of(
        ranks.name,
        sample,
        ranks.filtered_by,
        question=question[kept],
        entity=entity[kept],
        answer=is_answer[kept],
        cut=None if ranks.cut is None else ranks.cut[kept],
        **{name: getattr(ranks, name)[kept] for name in ("above", "tied", "n_other", "score")},
    )


def _files_of(source: Source) -> list[Source]:
    """The files of a run or of answer ranks, which may be in parts, and the origin beside them."""
    if source.path.is_dir():
        return [source.within(part.name) for part in parts_of(source.path)]
    origin = source.beside(origin_path(source.path))
    return [source, *([origin] if origin.path.is_file() else [])]
