"""PyTorch-BigGraph: the folder of checkpoints that ``torchbiggraph_train`` writes.

A model is a formula where a query holds against the entities' own vectors, else a scorer.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, KgtrecError, in_file, one_of
from kgtrec.formats.factor_folders import FactorArrays
from kgtrec.formats.hdf5 import hdf5_array, hdf5_matrix, opened_hdf5
from kgtrec.formats.json_text import read_json
from kgtrec.kernels.ranking.comparisons import Biased
from kgtrec.kernels.rows import JoinedRows, LargeArray
from kgtrec.systems.adapter import Adapter, ReadOptions
from kgtrec.systems.formulas import factorised, no_tails
from kgtrec.systems.kinds import Factors, Scorer
from kgtrec.systems.numbered_labels import labels_in, require_labels
from kgtrec.systems.operators import COMPARATORS, OPERATORS, applied, identity

_Matrix = NDArray[np.float64]
_Rows = NDArray[np.int64]

_CONFIG, _VERSION = "config.json", "checkpoint_version.txt"
_EMBEDDINGS = re.compile(r"embeddings_(.+)_([0-9]+)(\.v[0-9]+)?\.h5")
#: operator -> its parameters and their dimensions, for one relation; dynamic relations have one more, and other names
_PARAMETERS: dict[str, dict[str, int]] = {
    "none": {},
    "translation": {"translation": 1},
    "diagonal": {"diagonal": 1},
    "complex_diagonal": {"real": 1, "imag": 1},
    "linear": {"linear_transformation": 2},
    "affine": {"linear_transformation": 2, "translation": 1},
}
_RENORM_EPS = 1e-7  # of torch's embedding, where a norm is bounded


@dataclass(frozen=True, slots=True)
class RelationType:
    """One relation type of the settings; with dynamic relations the only one."""

    lhs: str  # entity type of heads
    rhs: str  # entity type of tails
    operator: str


@dataclass(frozen=True, slots=True, eq=False)
class BigGraphModel:
    """All that a score takes."""

    comparator: str
    has_bias: bool
    is_dynamic: bool
    relations: list[RelationType]
    E: dict[str, list[LargeArray]]  # embeddings by entity type, in partitions
    #: side -> relation type -> (relations, k) parameters; one row where relations are not dynamic
    parameters: dict[str, list[NDArray[Any]]]

    def system(self, name: str, entities: Vocabulary, relations: Vocabulary) -> Factors | Scorer:
        """Factors, if a query of it holds against each entity's own vector; else scores, with all vectors in memory.

        Raises
        ------
        KgtrecError
            If they do not fit.
        """
        types = list(dict.fromkeys(each.operator for each in self.relations))
        kind = f"a PyTorch-BigGraph model ({', '.join(types)} with {self.comparator})"
        operators = sorted({*types} - {"none"}) or ["none"]
        why_not = "" if self.is_dynamic else no_tails(operators[0], self.comparator)
        if len(self.E) > 1:
            why_not = (
                f"its entities are of several types ({', '.join(self.E)}), and the candidates of a relation of one"
            )
        elif len(operators) > 1:
            why_not = f"its relations have several operators ({', '.join(operators)}), and not one for all"
        if why_not:
            E = {each: self._in_memory(each) for each in self.E}
            remarks = () if len(E) == 1 else ("entities of another type than a relation's rank last, and tie",)
            tails, heads = (partial(self._scores, E, tails=side) for side in (True, False))
            return Scorer(name, entities, relations, tails, heads, kind, 6, remarks, why_not)
        (operator,), (parts,) = operators, self.E.values()
        none = identity(operator, parts[0].shape[1])[None]
        rows = [
            own if each.operator == operator else none
            for side in self.parameters.values()
            for each, own in zip(self.relations, side, strict=True)
        ]
        settings: dict[str, float | str] = {"operator": operator, "comparator": self.comparator, "bias": self.has_bias}
        vectors = parts[0] if len(parts) == 1 else JoinedRows(parts)
        about = "biggraph", settings, self.is_dynamic, entities, relations
        return factorised(name, FactorArrays(*about, vectors, R=np.concatenate(rows)), kind)

    def _in_memory(self, kind: str) -> _Matrix:
        parts = self.E[kind]
        try:
            return np.concatenate([np.asarray(part[:], np.float64) for part in parts])
        except MemoryError:
            shapes = " and ".join(str(part.shape) for part in parts)
            raise KgtrecError(f"expected embeddings of {kind} to fit in memory, found the shape {shapes}") from None

    @np.errstate(over="ignore", invalid="ignore")  # beyond float32 is infinity, which the ranking takes or names
    def _scores(self, E: dict[str, _Matrix], anchor: _Rows, relation: _Rows, *, tails: bool) -> NDArray[np.float32]:
        """(n, entities) scores; entities of another type than the relation's are minus infinity."""
        compared = COMPARATORS[self.comparator]
        if self.has_bias:
            compared = Biased(compared)
        ends = np.cumsum([len(scores) for scores in E.values()])
        start = {kind: int(end) - len(E[kind]) for kind, end in zip(E, ends, strict=True)}
        scores = np.full((len(anchor), int(ends[-1])), -np.inf)
        kinds = np.zeros_like(relation) if self.is_dynamic else relation
        for number in np.unique(kinds):
            rows = np.flatnonzero(kinds == number)
            kind = self.relations[int(number)]
            own, other = (kind.lhs, kind.rhs) if tails else (kind.rhs, kind.lhs)
            row = anchor[rows] - start[own]
            known = (row >= 0) & (row < len(E[own]))
            rows, row = rows[known], row[known]
            points, candidates = E[own][row], E[other]
            # dynamic relations change the anchor, by the side's own parameters; others change tails alone
            if self.is_dynamic:
                values = self.parameters["lhs" if tails else "rhs"][0][relation[rows]]
                points = applied(kind.operator, np.asarray(values, np.float64), points)
            else:
                values = np.asarray(self.parameters["rhs"][int(number)], np.float64)
                if tails:
                    candidates = applied(kind.operator, values, candidates)
                else:
                    points = applied(kind.operator, values, points)
            first = start[other]
            scores[rows, first : first + len(candidates)] = compared.block(points, candidates)
        return scores.astype(np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class _LookedUp:
    """Embeddings as PyTorch-BigGraph looks them up: none is longer than the bound, and what is common is added."""

    stored: LargeArray  # (n, d)
    bound: float | None
    common: _Matrix | None  # (d,)
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.float64))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.stored.shape

    def __len__(self) -> int:
        return len(self.stored)

    def __getitem__(self, rows: slice | NDArray[np.integer], /) -> _Matrix:
        vectors = np.asarray(self.stored[rows], np.float64)
        if self.bound is not None:
            norm = np.linalg.norm(vectors, axis=1, keepdims=True)
            vectors = np.where(norm > self.bound, vectors * (self.bound / (norm + _RENORM_EPS)), vectors)
        return vectors if self.common is None else vectors + self.common


class _Checkpoint:
    """The folder of the last finished checkpoint, and its settings."""

    def __init__(self, path: Path, options: ReadOptions) -> None:
        self.path, self.options, self.config = path, options, read_json(path / _CONFIG)
        config = self.config
        if not isinstance(config, dict) or not isinstance(config.get("relations"), list):
            raise self.wrong("expected the settings of torchbiggraph_train, with relations, found others")
        self.comparator = config.get("comparator", "cos")
        one_of("a comparator among", self.comparator, COMPARATORS, path=path / _CONFIG)
        entities = config.get("entities")
        if isinstance(entities, dict) and any(isinstance(e, dict) and e.get("featurized") for e in entities.values()):
            raise self.wrong("expected entities of their own embeddings, found featurized ones")
        self.is_dynamic = config.get("dynamic_relations") is True
        self.relations = [self._relation(each) for each in config["relations"]]
        if not self.relations or (self.is_dynamic and len(self.relations) != 1):
            expected = "one relation type, as dynamic relations have it" if self.relations else "relations"
            raise self.wrong(f"expected {expected}, found {len(self.relations)}")
        self.bound = config.get("max_norm")  # the longest norm of embeddings that are looked up; None: any
        if self.bound is not None and (
            isinstance(self.bound, bool) or not isinstance(self.bound, int | float) or not self.bound > 0
        ):
            raise self.wrong(f"expected a number above 0 as max_norm, found {self.bound!r}")
        self.embeddings: dict[str, dict[str, dict[int, Path]]] = {}  # version -> type -> partition -> file
        for file in path.iterdir():
            if match := _EMBEDDINGS.fullmatch(file.name):
                self.embeddings.setdefault(match[3] or "", {}).setdefault(match[1], {})[int(match[2])] = file
        self.version = self._version()
        types = dict.fromkeys(kind for each in self.relations for kind in (each.lhs, each.rhs))
        self.partitions = {kind: self._partitions(kind) for kind in types}
        self.d = {kind: parts[0].shape[1] for kind, parts in self.partitions.items()}

    def wrong(self, message: str) -> FormatError:
        """Make the error about the settings."""
        return FormatError(message, path=self.path / _CONFIG)

    def _relation(self, value: Any) -> RelationType:
        operator = value.get("operator", "none") if isinstance(value, dict) else None
        if operator is None or not all(isinstance(value.get(key), str) for key in ("lhs", "rhs")):
            raise self.wrong(f"expected relations with lhs and rhs, found {value!r}")
        one_of("an operator among", operator, OPERATORS, path=self.path / _CONFIG)
        return RelationType(value["lhs"], value["rhs"], operator)

    def _version(self) -> str:
        """The ending of the files: ".v50", or "" for files without a version."""
        source = self.path / _VERSION
        if source.is_file():
            text = source.read_text(errors="replace").strip()
            if not re.fullmatch("[0-9]{1,18}", text):
                raise FormatError(f"expected the number of a checkpoint, found {text[:40]!r}", path=source)
            return f".v{text}"
        if len(self.embeddings) != 1:
            found = f"those of {len(self.embeddings)}" if self.embeddings else "none"
            raise FormatError(f"expected embeddings of one checkpoint, or {_VERSION}, found {found}", path=self.path)
        return next(iter(self.embeddings))

    def _partitions(self, kind: str) -> list[LargeArray]:
        """The embeddings of an entity type, partition by partition."""
        files = self.embeddings.get(self.version, {}).get(kind, {})
        if sorted(files) != list(range(len(files))) or not files:
            raise FormatError(
                f"expected embeddings_{kind}_0{self.version}.h5 and its other partitions, found "
                + (", ".join(files[part].name for part in sorted(files)) or "none"),
                path=self.path,
            )
        parts = [hdf5_matrix(files[part], "embeddings") for part in range(len(files))]
        for what, several in (
            ("dimension", {part.shape[1] for part in parts}),
            ("type", {part.dtype for part in parts}),
        ):
            if len(several) > 1:
                raise FormatError(f"expected partitions of {kind} of one {what}, found several", path=self.path)
        return parts

    def names(self, file: str, option: str) -> list[str]:
        """Read the names in a file of the data set's folder, in whose place ``option`` may name labels."""
        named = self.config.get("entity_path")
        folders = (self.options.data, self.path, Path(named) if isinstance(named, str) else None)
        source = next((folder / file for folder in folders if folder and (folder / file).is_file()), None)
        if source is None:
            raise FormatError(
                f"expected {file} of the folder entity_path, found no such file; name that folder with --data, or the "
                f"labels with --{option}",
                path=self.path,
            )
        names = read_json(source)
        if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
            raise FormatError("expected a list of names, found something else", path=source)
        return names

    def entity_labels(self) -> Vocabulary:
        """Read the labels of all entity types, one after the other."""
        if self.options.entities is not None:
            return labels_in(self.options.entities)
        labels = []
        for kind, partitions in self.partitions.items():
            for part, rows in enumerate(partitions):
                file = f"entity_names_{kind}_{part}.json"
                names = self.names(file, "entities")
                if len(names) != len(rows):
                    raise FormatError(
                        f"expected {len(rows):,} names in {file}, one for each embedding of the partition, found "
                        f"{len(names):,}; are they those of this model's data set?",
                        path=self.path,
                    )
                labels += names
        with in_file(self.path):
            return Vocabulary.of(labels)

    def relation_labels(self) -> Vocabulary:
        """Read the labels of relation types, or of dynamic relations."""
        if self.options.relations is not None:
            return labels_in(self.options.relations)
        if self.is_dynamic:
            names = self.names("dynamic_rel_names.json", "relations")
        else:
            names = [each.get("name") for each in self.config["relations"]]
            if not all(isinstance(each, str) for each in names):
                raise self.wrong("expected a name of each relation, found none")
        with in_file(self.path):
            return Vocabulary.of(names)

    def parameters(self, n_relations: int) -> dict[str, list[NDArray[Any]]]:
        """Read each relation type's parameters, of each side that has some: a row for each relation."""
        sides, n_rows = (("lhs", "rhs"), n_relations) if self.is_dynamic else (("rhs",), 1)
        if all(each.operator == "none" for each in self.relations):
            return {side: [np.zeros((n_rows, 0)) for _ in self.relations] for side in sides}
        for each in self.relations:
            if self.d[each.lhs] != self.d[each.rhs]:
                raise FormatError(f"expected {each.lhs} and {each.rhs} of one dimension, found two", path=self.path)
            if each.operator == "complex_diagonal" and self.d[each.lhs] % 2:
                raise FormatError(
                    "expected an even dimension for the operator complex_diagonal, found an odd one", path=self.path
                )
        source = self.path / f"model{self.version}.h5"
        parameters: dict[str, list[NDArray[Any]]] = {side: [] for side in sides}
        with opened_hdf5(source) as file:
            for side, (number, each) in itertools.product(sides, enumerate(self.relations)):
                values = [np.zeros((1, 0))]
                for name, axes in _PARAMETERS[each.operator].items():
                    stored = f"{name}s" if self.is_dynamic and name not in ("real", "imag") else name
                    place = f"model/relations/{number}/operator/{side}/{stored}"
                    d = self.d[each.lhs] // 2 if each.operator == "complex_diagonal" else self.d[each.lhs]
                    shape = (*(n_rows,) * self.is_dynamic, *(d,) * axes)
                    array = hdf5_array(file, place, source, dimensions=len(shape))
                    if array.shape != shape:
                        raise FormatError(f"expected {place} of shape {shape}, found {array.shape}", path=source)
                    values.append(array.reshape(n_rows, -1))
                parameters[side].append(np.concatenate(values[1:] or values, axis=1))
        return parameters

    def looked_up(self) -> dict[str, list[LargeArray]]:
        """Give the embeddings of each type as they are looked up, without empty partitions."""
        common: dict[str, _Matrix] = {}  # what is added to all entities of a type
        if self.config.get("global_emb", True) is True and not self.is_dynamic:
            source = self.path / f"model{self.version}.h5"
            with opened_hdf5(source) as file:
                for kind, d in self.d.items():
                    found = hdf5_array(file, f"model/entities/{kind}/global_embedding", source, dimensions=1)
                    if found.shape != (d,):
                        raise FormatError(
                            f"expected a global embedding of {d} numbers for {kind}, found {len(found)}", path=source
                        )
                    common[kind] = found.astype(np.float64)
        return {
            kind: [
                part if self.bound is None and kind not in common else _LookedUp(part, self.bound, common.get(kind))
                for part in [part for part in parts if len(part)] or parts[:1]
            ]
            for kind, parts in self.partitions.items()
        }


@Adapter.of(
    "biggraph",
    "PyTorch-BigGraph 1.0",
    f"the folder of checkpoints of torchbiggraph_train: {_CONFIG}, embeddings_*.h5, model*.h5; entity_names_*.json "
    "and dynamic_rel_names.json beside, or in --data",
    "factors",
    "h5py",
    lambda path: (path / _CONFIG).is_file() and any(path.glob("embeddings_*.h5")),
)
def _read(path: Path, options: ReadOptions) -> Factors | Scorer:
    checkpoint = _Checkpoint(path, options)
    entities = checkpoint.entity_labels()
    n_entities = sum(len(part) for parts in checkpoint.partitions.values() for part in parts)
    require_labels(entities, n_entities, "entities", path=path)
    relations = checkpoint.relation_labels()
    if not checkpoint.is_dynamic:
        require_labels(relations, len(checkpoint.relations), "relations", path=path)
    model = BigGraphModel(
        checkpoint.comparator,
        checkpoint.config.get("bias") is True,
        checkpoint.is_dynamic,
        checkpoint.relations,
        parameters=checkpoint.parameters(len(relations)),
        E=checkpoint.looked_up(),
    )
    return model.system(path.resolve().name, entities, relations)
