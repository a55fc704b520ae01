"""The ranks of a study: every system on every collection."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.qrels import Qrels
from kgtrec.data.streamed_run import AnyRun
from kgtrec.errors import CollectionError, KgtrecWarning
from kgtrec.formats.files import sha256_of
from kgtrec.formats.output.folders import ENTITY_IDS, ENTITY_LABELS, TOPICS, UNITS
from kgtrec.formats.parquet import parts_of
from kgtrec.formats.trec.origins import origin_path
from kgtrec.study.bench import Bench
from kgtrec.study.collections import Collections
from kgtrec.study.config import WHOLE, LabelSet, Source
from kgtrec.study.labels import Labels, qrels_name
from kgtrec.study.steps import Steps
from kgtrec.study.systems import System
from kgtrec.study.units import is_shared, write_shared

if TYPE_CHECKING:
    from kgtrec.systems.kinds import Factors, ScoreBlocks

_LONGEST = 50  # characters of a system's name in the name of a step; at most 200 bytes in UTF-8


class Ranks:
    """Ranks each system on each collection once."""

    def __init__(self, bench: Bench, collections: Collections, labels: Labels) -> None:
        self._bench, self._collections, self._labels = bench, collections, labels
        self._steps: dict[tuple[str, str], tuple[str, Path]] = {}
        self._read: dict[str, list[AnswerRanks | AnyRun]] = {}

    def require_alike(self) -> None:
        """Raise an error if answer ranks cannot be compared; ranks that the study makes itself always can."""
        from kgtrec.evaluation.belonging import different_systems
        from kgtrec.formats.answer_ranks import read_answer_ranks

        given = [system for system in self._bench.systems if system.kind == "ranks" and system.source is not None]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", KgtrecWarning)  # of mixtures that are allowed each step tells
            read = (read_answer_ranks(system.source.path).renamed(system.name) for system in given if system.source)
            for _ in different_systems(read, None, mixed=self._bench.config.systems.mixed) if given else ():
                pass

    def step(self, base: str, system: System) -> tuple[str, Path]:
        """The checksum of a system's ranks on a collection, as an input of steps, and the file with the ranks."""
        if (base, system.name) not in self._steps:
            self._steps[base, system.name] = self._ranked_or_found(base, system)
        return self._steps[base, system.name]

    def _ranked_or_found(self, base: str, system: System) -> tuple[str, Path]:
        if system.source is not None and system.kind in ("ranks", "run"):
            sums = self._bench.inputs.sums_of(_files_of(system.source))
            return " ".join(sums.values()), system.source.path
        on_it = [labels for labels in self._bench.config.labels if labels.collection == base]
        inputs = {"collection": Steps.key_of(self._collections.step(base))}
        inputs |= {
            f"labels {labels.name}": sha256_of(self._labels.steps[labels.name] / qrels_name(None)) for labels in on_it
        }
        options: dict[str, Any] = {"system": system.name, "filter": list(self._bench.config.systems.filtered_by)}
        if system.source is None:
            options |= {"baseline": system.name, "seed": self._bench.config.seed}
        else:
            own = system.source
            is_archive = system.source.path.suffix.lower() == ".npz"
            names = (
                (ENTITY_LABELS, "relations.txt")
                if is_archive
                else (TOPICS, ENTITY_LABELS, ENTITY_IDS, origin_path(own.path).name)
            )
            beside = [own.beside(own.path.with_name(name)) for name in names]
            inputs |= self._bench.inputs.sums_of([system.source, *(each for each in beside if each.path.is_file())])
            if not is_archive:
                inputs["whole"] = Steps.key_of(self._collections.step(WHOLE))

        name = f"ranks-{base}-{_plain(system.name)}"
        units = self._bench.folder / UNITS / Steps.folder_name(name, inputs=inputs, options=options)

        def make(folder: Path) -> None:
            from kgtrec.ranking.system import grid_of
            from kgtrec.ranking.write import write_ranked
            from kgtrec.systems.kinds import Factors

            collection, found = self._collections[base], self._output(base, system)
            choices: dict[str, Any] = {
                "depth": 0,
                "filtered_by": self._bench.config.systems.filtered_by,
                "judged": self._union(base),
            }
            if isinstance(found, Factors) and is_shared(self._bench, units):
                write_shared(self._bench, units, grid_of(collection, found, **choices), folder)
            else:
                write_ranked(collection, found, folder, progress=self._bench.progress, **choices)

        step = self._bench.do(name, make, inputs=inputs, options=options)
        return Steps.key_of(step), step / f"{system.name}.ranks.parquet"

    def _output(self, base: str, system: System) -> Factors | ScoreBlocks:
        """What is ranked: a factorised system, or blocks of scores."""
        from kgtrec.systems.kinds import ScoreBlocks

        collection = self._collections[base]
        if system.source is None:
            from kgtrec.baselines import baseline_blocks

            return ScoreBlocks.of(system.name, baseline_blocks(system.name, collection, seed=self._bench.config.seed))
        with warnings.catch_warnings():
            if base != WHOLE:  # a sample leaves out questions on purpose
                warnings.filterwarnings("ignore", r".*left out \d+ questions", KgtrecWarning)
            if system.source.path.suffix.lower() == ".npz":
                from kgtrec.formats.factorised import read_factor_archive
                from kgtrec.systems.score_files import by_question

                archive = read_factor_archive(system.source.path)
                return by_question(system.name, archive, system.source.path).factors(collection)
            from kgtrec.formats.score_matrix import read_score_matrix

            blocks = read_score_matrix(system.source.path, collection, made_for=self._collections[WHOLE])
            return ScoreBlocks.of(system.name, blocks)

    def _union(self, base: str) -> Qrels | None:
        """All pairs that any label set judges on a collection: each needs a rank."""
        collection = self._collections[base]
        pairs = []
        for labels in self._bench.config.labels:
            if labels.collection == base and labels.kind not in ("test", "sample"):
                qrels = self._labels.qrels(labels.name)
                entity = collection.entities.encode(qrels.entities.labels)
                if np.any(entity < 0):
                    name = qrels.entities[int(np.argmin(entity))]
                    raise CollectionError(f"label set {labels.name!r}: entity {name!r} is not in the collection")
                question = collection.topics_of(qrels.questions).astype(np.int64)
                pairs.append(question[qrels.question] * len(collection.entities) + entity[qrels.entity])
        if not pairs:
            return None
        question, entity = np.divmod(np.unique(np.concatenate(pairs)), len(collection.entities))
        return Qrels.of(
            question.astype(np.int32),
            entity.astype(np.int32),
            np.zeros(len(entity), np.int32),
            collection.questions.ids,
            collection.entities,
        )

    def __getitem__(self, base: str) -> list[AnswerRanks | AnyRun]:
        """The systems' answer ranks, or runs, on a collection; large runs are read part by part when they are used."""
        if base not in self._read:
            from kgtrec.formats.answer_ranks import read_answer_ranks
            from kgtrec.formats.trec.streamed_runs import read_any_run

            trust = self._bench.config.systems.trust_ids

            def read(system: System, path: Path) -> AnswerRanks | AnyRun:
                if system.kind == "run":
                    return read_any_run(path, name=system.name, trust_ids=trust)
                return read_answer_ranks(path, trust_ids=trust).renamed(system.name)

            self._read[base] = [read(system, self.step(base, system)[1]) for system in self._bench.systems]
        return self._read[base]

    def inputs(self, *several: LabelSet) -> dict[str, str]:
        """The inputs of scores under these label sets, with their checksums."""
        found = {}
        for labels in several:
            found[f"labels {labels.name}"] = Steps.key_of(self._labels.steps[labels.name])
            found[f"collection {labels.collection}"] = Steps.key_of(self._collections.step(labels.collection))
            for system in self._bench.systems:
                found[f"{system.name} on {labels.collection}"] = self.step(labels.collection, system)[0]
        return found


def _files_of(source: Source) -> list[Source]:
    """The files of a run or of answer ranks, which may be in parts, and the origin beside them."""
    if source.path.is_dir():
        return [source.within(part.name) for part in parts_of(source.path)]
    origin = source.beside(origin_path(source.path))
    return [source, *([origin] if origin.path.is_file() else [])]


def _plain(name: str) -> str:
    """A system's name for the name of a step; a long name is cut, as the key after it makes the whole unique."""
    return "".join(character if character.isalnum() or character in "._@-" else "_" for character in name)[:_LONGEST]
