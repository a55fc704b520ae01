"""How `kgtrec study` computes: one step after the other, each kept, so that it is not computed again."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from kgtrec.cli.common import counted, naming, progress, say
from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.collection import Collection
from kgtrec.data.decisions import Decisions
from kgtrec.data.identity import require_same_ids
from kgtrec.data.item_scores import ItemScores
from kgtrec.data.pool import Pool
from kgtrec.data.qrels import Qrels
from kgtrec.data.report import Input
from kgtrec.data.run import Run
from kgtrec.data.score_table import ScoreTable
from kgtrec.data.study import POOLED_KINDS, WHOLE, LabelFacts, LabelSet, Source, StudyConfig
from kgtrec.errors import CollectionError, FormatError, KgtrecError, KgtrecWarning, nearest
from kgtrec.formats.files import sha256_of
from kgtrec.formats.folders import ENTITY_IDS, ENTITY_LABELS, STEPS, TOPICS
from kgtrec.formats.origins import origin_path
from kgtrec.formats.outputs import write_text
from kgtrec.formats.steps import Steps
from kgtrec.formats.studies import COLLECTION, FACTS, NOTES, step_table, write_step_table

_PARTS = ("side", "category")  # what the systems are ranked on apart
_ALL = "all"
_LONGEST = 50  # characters of a system's name in that of a step, of which UTF-8 makes at most 200 bytes


@dataclass(frozen=True, slots=True)
class _System:
    """One system, and where its answer ranks or run come from."""

    name: str
    source: Source | None  # None: a baseline
    kind: str  # "scores", "baseline", "ranks" or "run"


class StudyRun:
    """One run through a study.

    Parameters
    ----------
    config : StudyConfig
    out : path
        The study's folder; its steps are in ``steps``.
    workers : int
        Processes, or threads, that share the work of one step.
    """

    def __init__(self, config: StudyConfig, out: Path, workers: int = 1) -> None:
        self.config, self.workers = config, workers
        self.steps = Steps(out / STEPS, lambda name: say(f"computing {name}"))
        self.inputs: dict[str, Input] = {}
        self.tables: dict[str, str] = {}  # PART/LABELS -> file within steps
        self.label_steps: dict[str, Path] = {}
        self.collection_steps: dict[str, Path] = {}
        self._sums: dict[Path, str] = {}
        self._states: dict[Path, tuple[int, int]] = {}  # when an input was changed, and its size, as its sum was taken
        self._collections: dict[str, Collection] = {}
        self._items: dict[tuple[str, int | None], dict[str, ItemScores]] = {}
        self._ranked: dict[str, list[AnswerRanks | Run]] = {}
        self._rank_steps: dict[tuple[str, str], tuple[str, Path]] = {}
        self._pools: dict[str, tuple[Pool, Decisions, Qrels]] = {}

    def check(self) -> None:
        """Refuse what cannot be before anything is computed."""
        if len(self.systems) < 2:
            raise KgtrecError(f"expected at least two systems to compare, found {self.systems[0].name} only")
        _ = self.main
        self._require_alike()
        for part, usual in (("power", self.measures), ("stability", self.measures), ("ties", self.main)):
            _ = self._measures_of(part, usual)

    def _require_alike(self) -> None:
        """Refuse answer ranks that cannot be compared; those that the study makes itself always can."""
        from kgtrec.belonging import different_systems
        from kgtrec.formats.answer_ranks import read_answer_ranks

        given = [system for system in self.systems if system.kind == "ranks" and system.source is not None]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", KgtrecWarning)  # of mixtures that are allowed each step tells
            read = (read_answer_ranks(system.source.path).renamed(system.name) for system in given if system.source)
            for _ in different_systems(read, None, mixed=self._mixed) if given else ():
                pass

    def compute(self) -> dict[str, Any]:
        """Every step; what ``manifest.json`` says of them."""
        for labels in self.config.labels:
            self._label_step(labels)
        for labels in self.config.labels:
            for system in self.systems:
                self._rank_step(labels.collection, system)
        for labels in self.config.labels:
            self._score_step(labels)
        chosen = self.config.label_set
        for name in self._asked("power", [labels.name for labels in self.config.labels]):
            self._power_step(chosen(name))
        for one, other in self.config.pairs:
            self._correlation_step(chosen(one), chosen(other))
        for labels in self.config.labels:
            if len(self._depths(labels)) > 1:
                self._depth_step(labels)
        first = [self.config.labels[0].name]
        for name in self._asked("ties", first):
            self._ties_step(chosen(name))
        for name in self._asked("stability", first):
            self._stability_step(chosen(name))
        found = len(self.steps.record) - self.steps.done
        say(f"{counted(self.steps.done, 'step')} computed, {found:,} found as they were")
        return {
            "systems": [system.name for system in self.systems],
            "measures": list(self.measures),
            "main": list(self.main),
            "labels": [json.loads((step / FACTS).read_text("utf-8")) for step in self.label_steps.values()],
            "collections": {name: str(step.name) for name, step in self.collection_steps.items()},
            "tables": self.tables,
            "steps": self.steps.record,
        }

    # what is asked for

    @cached_property
    def systems(self) -> tuple[_System, ...]:
        from kgtrec.baselines import BASELINES
        from kgtrec.formats.runs import default_name

        config = self.config.systems
        names: list[str] = []
        for name in config.baselines:
            if name != _ALL and name not in BASELINES:
                known = (*BASELINES, _ALL)
                raise KgtrecError(f"no baseline {name!r}{nearest(name, known)}; there are {', '.join(known)}")
            chosen = [record.name for record in BASELINES.values() if not record.is_control]
            names += chosen if name == _ALL else [name]
        found = [_System(source.path.stem, source, "scores") for source in config.scores]
        found += [_System(name, None, "baseline") for name in dict.fromkeys(names)]
        found += [_System(default_name(source.path), source, "ranks") for source in config.ranks]
        found += [_System(default_name(source.path), source, "run") for source in config.runs]
        first: dict[str, _System] = {}
        for system in found:
            other = first.setdefault(system.name, system)
            if other is not system:
                places = " and ".join(each.source.shown if each.source else "a baseline" for each in (other, system))
                raise KgtrecError(f"expected systems of different names, found {system.name!r} twice: {places}")
        return tuple(sorted(found, key=lambda system: system.name))

    @cached_property
    def measures(self) -> tuple[str, ...]:
        from kgtrec.evaluation import default_measures

        ranks = not any(system.kind == "run" for system in self.systems)
        return tuple(_spelled(self.config.measures or default_measures(ranks=ranks)))

    @cached_property
    def main(self) -> tuple[str, ...]:
        wanted = tuple(_spelled(self.config.main)) if self.config.main else ()
        for name in wanted:
            if name not in self.measures:
                raise KgtrecError(
                    f"expected main measures among {', '.join(self.measures)}, found {name!r}"
                    f"{nearest(name, self.measures)}"
                )
        usual = [name for name in ("micro.MRR", "macro.MRR", "AP@20") if name in self.measures]
        return wanted or tuple(usual) or self.measures[:1]

    def _asked(self, part: str, usual: Sequence[str]) -> Sequence[str]:
        found: Sequence[str] = self.config.parts[part].get("labels", usual)
        return found

    def _measures_of(self, part: str, usual: Sequence[str]) -> list[str]:
        given = self.config.parts[part].get("measures")
        return list(usual) if given is None else _spelled(given)

    def _options(self, part: str, *names: str, **usual: Any) -> dict[str, Any]:
        """The options of a part, the usual ones unless they are given."""
        given = self.config.parts[part]
        return usual | {name: given[name] for name in names if name in given}

    # inputs

    def _sum(self, source: Source) -> str:
        if source.path not in self._sums:
            self._states[source.path] = _state_of(source.path)
            self._sums[source.path] = digest = sha256_of(source.path)
            self.inputs[source.shown] = Input(source.shown, source.path.stat().st_size, digest)
        return self._sums[source.path]

    def _require_unchanged(self) -> None:
        """A step says which inputs it was made of: they may not change while it is made."""
        for path, state in self._states.items():
            if _state_of(path) != state:
                raise KgtrecError(f"{path}: expected a file that stays as it is, found that it changed while the study "
                                  "ran; run the study again")  # fmt: skip

    def _sums_of(self, sources: Iterable[Source]) -> dict[str, str]:
        return {source.shown: self._sum(source) for source in sources}

    # steps

    def _do(
        self,
        name: str,
        make: Callable[[Path], None],
        *,
        inputs: Mapping[str, str],
        options: Mapping[str, Any] | None = None,
    ) -> Path:
        def with_notes(folder: Path) -> None:
            with _noting() as notes, naming(Path(name)):
                make(folder)
            self._require_unchanged()
            for note in notes:
                say(f"note: {note}")
            write_text(folder / NOTES, json.dumps(notes, ensure_ascii=False, indent=1) + "\n")

        return self.steps.do(name, with_notes, inputs=inputs, options=options)

    def _collection_step(self, name: str) -> Path:
        if name in self.collection_steps:
            return self.collection_steps[name]
        from kgtrec.formats.triples import input_files

        data = self.config.data
        labels = None if name == WHOLE else self.config.label_set(name)
        options: dict[str, Any] = {"columns": data.columns, **data.options}
        if data.splits is None:
            if labels is not None:
                raise KgtrecError(
                    f"label set {name!r} is a sample of test triples: expected train, valid and test in [data], found "
                    "a collection"
                )
            ready = data.ready
            files = [ready.within(path.name) for path in sorted(ready.path.iterdir()) if path.is_file()]
        else:
            files = [split.beside(path) for split in data.splits for path in input_files(split.path)]
        if labels is not None:
            if labels.source is not None:
                files += [labels.source.beside(path) for path in input_files(labels.source.path)]
            else:
                options |= {"size": labels.size, "seed": labels.seed}

        def make(folder: Path) -> None:
            from kgtrec.formats.collections import write_collection

            write_collection(folder / COLLECTION, self._built(labels), command={"name": "study", **options})

        step = self._do(f"collection-{name}", make, inputs=self._sums_of(files), options=options)
        self.collection_steps[name] = step
        return step

    def _built(self, labels: LabelSet | None) -> Collection:
        from kgtrec.formats.collections import read_collection
        from kgtrec.formats.triples import read_triples
        from kgtrec.questions import build_questions

        data = self.config.data
        if data.splits is None:
            return read_collection(data.ready.path)
        train, valid, test = (read_triples(source.path, columns=data.columns) for source in data.splits)
        sample: Any = None
        if labels is not None:
            sample = labels.size if labels.source is None else read_triples(labels.source.path, columns=data.columns)
        seed = 0 if labels is None else labels.seed
        return build_questions(train, valid, test, sample=sample, seed=seed, **data.options)

    def collection(self, name: str) -> Collection:
        """The collection of a sample, or of all test triples."""
        from kgtrec.formats.collections import read_collection

        step = self._collection_step(name)
        if name not in self._collections:
            self._collections[name] = read_collection(step / COLLECTION)
        return self._collections[name]

    def _label_step(self, labels: LabelSet) -> None:
        base = self._collection_step(labels.collection)
        inputs = {"collection": Steps.key_of(base), **self._sums_of(_files_of(labels))}
        depths = None if labels.depths is None else list(labels.depths)
        options = {"kind": labels.kind, "depths": depths, "about": labels.about, "collection": labels.collection}
        if labels.kind == "qrels" and not self.config.systems.trust_ids:
            self._require_own(labels)

        def make(folder: Path) -> None:
            from kgtrec.formats.qrels import write_qrels

            by_depth = self._judged(labels)
            for depth, qrels in by_depth.items():
                write_qrels(folder / _qrels_name(depth), qrels)
            self._write_facts(folder, labels, by_depth)

        step = self._do(f"labels-{labels.name}", make, inputs=inputs, options=options)
        self.label_steps[labels.name] = step
        if (step / step_table("growth")).is_file():
            self._add(step, "growth", labels.name)

    def _require_own(self, labels: LabelSet) -> None:
        """Refuse a file of qrels that is known to be of another collection, also where the step is there already."""
        from kgtrec.formats.qrels import collection_beside

        found, expected = collection_beside(labels.path), self.collection(labels.collection).fingerprint
        if found not in ("", expected):
            raise CollectionError(
                f"{labels.path}: expected qrels of collection {expected}, found those of collection {found}, where "
                "the same ids may stand for other questions; build them for this one, or say that they stand for the "
                "same (trust_ids = true under [systems])"
            )

    def _judged(self, labels: LabelSet) -> dict[int | None, Qrels]:
        """The judgements, and those at each depth of a pool; None stands for all."""
        from kgtrec.judged_qrels import deepest_rank, question_level

        collection = self.collection(labels.collection)
        if labels.kind in POOLED_KINDS:
            pool, decisions, seeds = self._pool(labels)
            whole = question_level(pool, seeds, decisions)
            require_same_ids(collection, pool.questions, where=f"label set {labels.name!r}")
            deepest = deepest_rank(pool)
            depths = range(deepest + 1) if labels.depths is None else [at for at in labels.depths if at <= deepest]
            found: dict[int | None, Qrels] = {None: whole}
            return found | {depth: question_level(pool, seeds, decisions, depth) for depth in depths}
        if labels.kind == "qrels":
            from kgtrec.formats.qrels import read_qrels

            qrels = read_qrels(labels.path)
            try:
                collection.topics_of(qrels.questions)
            except CollectionError as error:
                raise FormatError(str(error), path=labels.path) from None
            return {None: qrels}
        return {None: collection.qrels}

    def _pool(self, labels: LabelSet) -> tuple[Pool, Decisions, Qrels]:
        if labels.name not in self._pools:
            from kgtrec.adjudicate import decide, decisions_of

            if labels.kind == "campaign":
                from kgtrec.formats.campaigns import read_campaign

                read = read_campaign(labels.path)
                self._pools[labels.name] = read.pool, decisions_of(read), read.seeds
            else:
                from kgtrec.formats.kgc_sparsity import read_kgc_sparsity

                topics = self._collection_step(labels.collection) / COLLECTION / "topics.tsv"
                published = read_kgc_sparsity(labels.path, topics=topics)
                decisions = decide(published.pool, published.automatic, published.judgements, per_triple=1)
                self._pools[labels.name] = published.pool, decisions, published.seeds
        return self._pools[labels.name]

    def _write_facts(self, folder: Path, labels: LabelSet, by_depth: Mapping[int | None, Qrels]) -> None:
        qrels = by_depth[None]
        triples = depth = None
        if labels.kind in POOLED_KINDS:
            pool, decisions, _ = self._pool(labels)
            triples, depth = len(pool), int(pool.depth.max(initial=0))
            at = np.arange(1, depth + 1)
            positive = np.sort(pool.depth[decisions.verdict == 1])
            write_step_table(folder, "growth", pa.table({
                "depth": at, "triples": np.searchsorted(np.sort(pool.depth), at, side="right"),
                "positives": np.searchsorted(positive, at, side="right"),
            }))  # fmt: skip
        facts = LabelFacts(
            labels.name, labels.kind, labels.collection, labels.about,
            len(np.unique(qrels.question[qrels.grade >= 1])), int((qrels.grade >= 1).sum()),
            int((qrels.grade == 0).sum()), triples, depth,
        )  # fmt: skip
        write_text(folder / FACTS, json.dumps(asdict(facts), ensure_ascii=False, indent=1) + "\n")

    def _depths(self, labels: LabelSet) -> list[int]:
        names = (path.name for path in self.label_steps[labels.name].glob("qrels.depth*.txt"))
        return sorted(int(name.removeprefix("qrels.depth").removesuffix(".txt")) for name in names)

    def qrels(self, name: str, depth: int | None = None) -> Qrels:
        """The judgements of a label set, all or down to a depth."""
        from kgtrec.formats.qrels import read_qrels

        return read_qrels(self.label_steps[name] / _qrels_name(depth))

    def _rank_step(self, base: str, system: _System) -> tuple[str, Path]:
        """What stands for a system's ranks on a collection as an input, and the file that has them."""
        if (base, system.name) not in self._rank_steps:
            self._rank_steps[base, system.name] = self._ranked_or_found(base, system)
        return self._rank_steps[base, system.name]

    def _ranked_or_found(self, base: str, system: _System) -> tuple[str, Path]:
        if system.source is not None and system.kind in ("ranks", "run"):
            origin = system.source.beside(origin_path(system.source.path))
            sums = self._sums_of([system.source, *([origin] if origin.path.is_file() else [])])
            return " ".join(sums.values()), system.source.path
        on_it = [labels for labels in self.config.labels if labels.collection == base]
        inputs = {"collection": Steps.key_of(self._collection_step(base))}
        inputs |= {f"labels {labels.name}": sha256_of(self.label_steps[labels.name] / _qrels_name(None))
                   for labels in on_it}  # fmt: skip
        options: dict[str, Any] = {"system": system.name, "filter": list(self.config.systems.filtered_by)}
        if system.source is None:
            options |= {"baseline": system.name, "seed": self.config.seed}
        else:
            own = system.source
            is_archive = system.source.path.suffix.lower() == ".npz"
            names = (ENTITY_LABELS, "relations.txt") if is_archive else (
                TOPICS, ENTITY_LABELS, ENTITY_IDS, origin_path(own.path).name,
            )  # fmt: skip
            beside = [own.beside(own.path.with_name(name)) for name in names]
            inputs |= self._sums_of([system.source, *(each for each in beside if each.path.is_file())])
            if not is_archive:
                inputs["whole"] = Steps.key_of(self._collection_step(WHOLE))

        def make(folder: Path) -> None:
            from kgtrec.cli.systems import write_system

            write_system(
                self.collection(base), self._blocks(base, system), system.name, folder, depth=0,
                filtered_by=self.config.systems.filtered_by, judged=self._union(base),
            )  # fmt: skip

        step = self._do(f"ranks-{base}-{_plain(system.name)}", make, inputs=inputs, options=options)
        return Steps.key_of(step), step / f"{system.name}.ranks.parquet"

    def _blocks(self, base: str, system: _System) -> Any:
        collection = self.collection(base)
        if system.source is None:
            from kgtrec.baselines import baseline_blocks

            return baseline_blocks(system.name, collection, seed=self.config.seed)
        with warnings.catch_warnings():
            if base != WHOLE:  # a sample of the questions is meant to leave out the others
                warnings.filterwarnings("ignore", r".*left out \d+ questions", KgtrecWarning)
            if system.source.path.suffix.lower() == ".npz":
                from kgtrec.formats.factorised import read_factorised

                return read_factorised(system.source.path, collection)
            from kgtrec.formats.score_matrix import read_score_matrix

            return read_score_matrix(system.source.path, collection, made_for=self.collection(WHOLE))

    def _union(self, base: str) -> Qrels | None:
        """All pairs that some label set judges on a collection: they need a rank."""
        collection = self.collection(base)
        pairs = []
        for labels in self.config.labels:
            if labels.collection == base and labels.kind not in ("test", "sample"):
                qrels = self.qrels(labels.name)
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
            question.astype(np.int32), entity.astype(np.int32), np.zeros(len(entity), np.int32),
            collection.questions.ids, collection.entities,
        )  # fmt: skip

    def _ranks(self, base: str) -> list[AnswerRanks | Run]:
        """The systems' answer ranks, or runs, on a collection."""
        if base not in self._ranked:
            from kgtrec.formats.answer_ranks import read_answer_ranks
            from kgtrec.formats.runs import read_run

            trust = self.config.systems.trust_ids

            def read(system: _System, path: Path) -> AnswerRanks | Run:
                if system.kind == "run":
                    return read_run(path, name=system.name, trust_ids=trust)
                return read_answer_ranks(path, trust_ids=trust).renamed(system.name)

            self._ranked[base] = [read(system, self._rank_step(base, system)[1]) for system in self.systems]
        return self._ranked[base]

    def _inputs(self, *several: LabelSet) -> dict[str, str]:
        """What scores under label sets depend on."""
        found = {}
        for labels in several:
            found[f"labels {labels.name}"] = Steps.key_of(self.label_steps[labels.name])
            found[f"collection {labels.collection}"] = Steps.key_of(self._collection_step(labels.collection))
            for system in self.systems:
                found[f"{system.name} on {labels.collection}"] = self._rank_step(labels.collection, system)[0]
        return found

    def items(self, labels: LabelSet, depth: int | None = None) -> dict[str, ItemScores]:
        """What each system scores on each item."""
        from kgtrec.per_item import item_scores

        key = labels.name, depth
        if key not in self._items:
            if len(self._items) > 2:  # those of a large collection are large
                self._items.clear()
            self._items[key] = item_scores(
                self.qrels(*key), self._ranks(labels.collection), list(self.measures),
                collection=self.collection(labels.collection), ties=self.config.ties, seed=self.config.seed,
                mixed=self._mixed,
            )  # fmt: skip
        return self._items[key]

    @property
    def _mixed(self) -> bool:
        return self.config.systems.mixed

    def _scoring(self) -> dict[str, Any]:
        return {"measures": list(self.measures), "ties": self.config.ties, "seed": self.config.seed} | self._mixture()

    def _mixture(self) -> dict[str, bool]:
        """What the options of a step say of what is allowed: nothing, where mixtures are refused and ids checked."""
        allowed = {"mixed": self._mixed, "trust_ids": self.config.systems.trust_ids}
        return {name: True for name, is_allowed in allowed.items() if is_allowed}

    def _bootstrap(self) -> dict[str, Any]:
        return {"confidence": self.config.options.confidence, "resamples": self.config.resamples}

    def _table(self, labels: LabelSet, measures: Sequence[str], **options: Any) -> ScoreTable:
        from kgtrec.meta.sparsity import label_scores

        table = label_scores(
            {labels.name: self.qrels(labels.name)}, self._ranks(labels.collection), list(measures),
            collection=self.collection(labels.collection), ties=self.config.ties, seed=self.config.seed,
            mixed=self._mixed, **options,
        )  # fmt: skip
        return replace(table.at(labels=labels.name), name=labels.name)

    def _score_step(self, labels: LabelSet) -> None:
        confidence = self.config.options.confidence
        options = self._scoring() | {"confidence": confidence, "main": list(self.main)}

        def make(folder: Path) -> None:
            from kgtrec.evaluation import evaluate

            scores = evaluate(
                self.qrels(labels.name), self._ranks(labels.collection), list(self.measures),
                collection=self.collection(labels.collection), ties=self.config.ties, seed=self.config.seed,
                mixed=self._mixed, confidence=confidence,
            )  # fmt: skip
            write_step_table(folder, "scores", scores.to_table())
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", KgtrecWarning)  # a category may well be empty
                parts = self._table(labels, self.main, per=_PARTS).to_table()
            write_step_table(folder, "parts", parts)

        self._tables_step("scores", [labels], make, options, ("scores", "parts"))

    def _power_step(self, labels: LabelSet) -> None:
        options = self._options(
            "power", "tests", "repeats", "resample",
            tests=["t", "clustered"], alpha=self.config.options.alpha, repeats=1000,
        )  # fmt: skip
        measures = self._measures_of("power", self.measures)

        def make(folder: Path) -> None:
            from kgtrec.meta.power import power
            from kgtrec.per_item import item_scores

            items = (
                self.items(labels)
                if measures == list(self.measures)
                else item_scores(
                    self.qrels(labels.name), self._ranks(labels.collection), measures,
                    collection=self.collection(labels.collection), ties=self.config.ties, seed=self.config.seed,
                    mixed=self._mixed,
                )
            )  # fmt: skip
            total = len(items) * len(options["tests"])
            with progress(f"power {labels.name}", total, "tests") as advance:
                found = power(items, seed=self.config.seed, workers=self.workers, progress=advance, **options)
            write_step_table(folder, "power", found.summary_table())
            write_step_table(folder, "pairs", found.to_table())
            write_step_table(folder, "p-values", found.curve_table())

        everything = self._scoring() | options | {"measures": measures}
        self._tables_step("power", [labels], make, everything, ("power", "pairs", "p-values"))

    def _correlation_step(self, one: LabelSet, other: LabelSet) -> None:
        names = (one.name, other.name)
        coefficients = list(self.config.options.coefficients)
        options = self._scoring() | self._bootstrap() | {
            "coefficients": coefficients, "fixed_relations": self.config.fixed_relations, "main": list(self.main),
        }  # fmt: skip

        def make(folder: Path) -> None:
            from kgtrec.meta.correlation import correlate, swaps
            from kgtrec.meta.sparsity import relation_shares, sparsity

            first, second = self.items(one), self.items(other)
            found = correlate(
                first, second, coefficients=coefficients, names=names, seed=self.config.seed,
                paired=one.collection == other.collection, **self._bootstrap(),
            )  # fmt: skip
            write_step_table(folder, "correlation", found.to_table())
            write_step_table(folder, "swaps", swaps(first, second).to_table())
            parts = sparsity([self._table(each, self.main, per=_PARTS) for each in (one, other)], coefficients="tau")
            write_step_table(folder, "correlation-parts", _second_only(parts.to_table(), other.name))
            if self.config.fixed_relations:
                shares = relation_shares(self.qrels(one.name), self.collection(one.collection))
                tables = [self._table(one, self.measures), self._table(other, self.measures, relations=shares)]
                fixed = sparsity(tables, coefficients=coefficients)
                write_step_table(folder, "correlation-fixed", _second_only(fixed.to_table(), other.name))

        tables = ["correlation", "swaps", "correlation-parts"]
        tables += ["correlation-fixed"] if self.config.fixed_relations else []
        self._tables_step("correlation", [one, other], make, options, tables)

    def _depth_step(self, labels: LabelSet) -> None:
        depths = self._depths(labels)
        coefficients = list(self.config.options.coefficients)
        options = self._scoring() | self._bootstrap() | {"coefficients": coefficients, "depths": depths}

        def make(folder: Path) -> None:
            from kgtrec.meta.correlation import correlate

            first, tables = self.items(labels, depths[0]), []
            with progress(f"depths {labels.name}", len(depths), "depths") as advance:
                for depth in depths:
                    found = correlate(
                        first, self.items(labels, depth), coefficients=coefficients, seed=self.config.seed,
                        **self._bootstrap(),
                    ).to_table()  # fmt: skip
                    at = pa.array([depth] * found.num_rows, pa.int64())
                    tables.append(found.drop_columns(["first", "second"]).add_column(1, "depth", at))
                    self._items = {(labels.name, depths[0]): first}
                    advance(1)
            write_step_table(folder, "depths", pa.concat_tables(tables))

        self._tables_step("depths", [labels], make, options, ["depths"])

    def _ties_step(self, labels: LabelSet) -> None:
        measures = self._measures_of("ties", self.main)
        policies = self.config.parts["ties"].get("policies")

        def make(folder: Path) -> None:
            from kgtrec.ties import compare_ties

            found = compare_ties(
                self.qrels(labels.name), self._ranks(labels.collection), measures, policies=policies,
                seed=self.config.seed, mixed=self._mixed,
            )  # fmt: skip
            write_step_table(folder, "ties", found.to_table())

        options = {"measures": measures, "policies": policies, "seed": self.config.seed} | self._mixture()
        self._tables_step("ties", [labels], make, options, ["ties"])

    def _stability_step(self, labels: LabelSet) -> None:
        options = self._options(
            "stability", "sizes", "repeats", "micro", "macro",
            repeats=50, coefficient=self.config.options.coefficient,
        )  # fmt: skip
        measures = self._measures_of("stability", self.measures)

        def make(folder: Path) -> None:
            from kgtrec.meta.stability import SIZES, stability

            sizes = options.get("sizes", SIZES)
            with progress(f"stability {labels.name}", len(sizes) * options["repeats"], "subsamples") as advance:
                found = stability(
                    self.qrels(labels.name), self._ranks(labels.collection), measures,
                    collection=self.collection(labels.collection), ties=self.config.ties, seed=self.config.seed,
                    mixed=self._mixed,
                    workers=self.workers, progress=advance, **options,
                )  # fmt: skip
            write_step_table(folder, "stability", found.to_table())
            write_step_table(folder, "stability-scores", found.scores_table())

        everything = self._scoring() | options | {"measures": measures}
        self._tables_step("stability", [labels], make, everything, ("stability", "stability-scores"))

    def _tables_step(
        self,
        name: str,
        several: Sequence[LabelSet],
        make: Callable[[Path], None],
        options: Mapping[str, Any],
        tables: Iterable[str],
    ) -> None:
        """A step that makes tables of scores under one label set, or under two."""
        names = [labels.name for labels in several]
        step = self._do("-".join([name, *names]), make, inputs=self._inputs(*several), options=options)
        for table in tables:
            self._add(step, table, *names)

    def _add(self, step: Path, part: str, *names: str) -> None:
        self.tables["/".join([part, *names])] = f"{step.name}/{step_table(part)}"


@contextmanager
def _noting() -> Iterator[list[str]]:
    """Gather what is warned of, each warning once; others than ours go on."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield notes
    for warning in caught:
        if not issubclass(warning.category, KgtrecWarning):
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        elif (text := str(warning.message)) not in notes:
            notes.append(text)


def _files_of(labels: LabelSet) -> list[Source]:
    """What a label set is read from, its collection aside."""
    if labels.source is None or labels.kind == "sample":
        return []
    if labels.source.path.is_file():
        return [labels.source]
    if labels.kind == "published":
        from kgtrec.formats.kgc_sparsity import DEPTHS, FILTERED, FINAL, HUMAN, POSITIVE, SEED_LINES, SEEDS

        folder = labels.source.within("data") if (labels.source.path / "data").is_dir() else labels.source
        named = [folder.within(name) for name in (SEEDS, SEED_LINES, FINAL, POSITIVE, DEPTHS, HUMAN, FILTERED)]
        return [source for source in named if source.path.is_file()]
    return [labels.source.within(path.name) for path in sorted(labels.source.path.iterdir()) if path.is_file()]


def _second_only(table: pa.Table, name: str) -> pa.Table:
    """The rows that compare with the second label set, and not the first with itself."""
    return table.filter(pa.array([label == name for label in table.column("second").to_pylist()]))


def _qrels_name(depth: int | None) -> str:
    return "qrels.txt" if depth is None else f"qrels.depth{depth}.txt"


def _plain(name: str) -> str:
    """A name as one of a step, which a long one only begins; the key after it tells them apart."""
    return "".join(character if character.isalnum() or character in "._@-" else "_" for character in name)[:_LONGEST]


def _spelled(measures: Iterable[str]) -> list[str]:
    """Measures in kgtrec's spelling, each once, as correlations have them: MRR and recip_rank are RR."""
    from kgtrec.measures.names import parse_measures
    from kgtrec.meta.known_measures import known_measure

    known = [known_measure(measure.label) for measure in parse_measures(list(measures))]
    return list(dict.fromkeys(each.name for each in known if each is not None))


def _state_of(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_mtime_ns, found.st_size
