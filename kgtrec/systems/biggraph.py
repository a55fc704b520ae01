"""PyTorch-BigGraph: the folder of checkpoints that ``torchbiggraph_train`` writes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, KgtrecError, one_of
from kgtrec.formats.hdf5 import hdf5_array, opened_hdf5
from kgtrec.formats.json_text import read_json
from kgtrec.systems.adapter import Adapter, Given
from kgtrec.systems.kinds import Scorer, Scoring
from kgtrec.systems.numbered_labels import labels_in, require_labels

_Matrix = NDArray[np.float64]
_Rows = NDArray[np.int64]

_CONFIG, _VERSION = "config.json", "checkpoint_version.txt"
_EMBEDDINGS = re.compile(r"embeddings_(?P<type>.+)_(?P<part>[0-9]+)(?:\.v(?P<version>[0-9]+))?\.h5")
_COMPARATORS = ("dot", "cos", "l2", "squared_l2")
#: operator -> its parameters and their dimensions, for one relation; dynamic relations have one more, and other names
_PARAMETERS: dict[str, dict[str, int]] = {
    "none": {},
    "translation": {"translation": 1},
    "diagonal": {"diagonal": 1},
    "complex_diagonal": {"real": 1, "imag": 1},
    "linear": {"linear_transformation": 2},
    "affine": {"linear_transformation": 2, "translation": 1},
}
_DYNAMIC_NAMES = {
    "translation": "translations",
    "diagonal": "diagonals",
    "linear_transformation": "linear_transformations",
}
_RENORM_EPS = 1e-7  # of torch's embedding, where a norm is bounded


@dataclass(frozen=True, slots=True, eq=False)
class _Relation:
    """One relation type of the settings; with dynamic relations the only one."""

    lhs: str  # entity type of heads
    rhs: str  # entity type of tails
    operator: str


@dataclass(frozen=True, slots=True, eq=False)
class _Model:
    """All that a score takes."""

    comparator: str
    has_bias: bool
    is_dynamic: bool
    relations: list[_Relation]
    E: dict[str, _Matrix]  # embeddings by entity type
    start: dict[str, int]  # where the numbers of a type begin
    n_entities: int
    #: side -> relation type -> parameter -> values; with dynamic relations the first axis is the relation
    parameters: dict[str, list[dict[str, _Matrix]]]

    def scores(self, anchor: _Rows, relation: _Rows, *, tails: bool) -> _Matrix:
        """(n, entities) scores; entities of another type than the relation's are minus infinity."""
        found = np.full((len(anchor), self.n_entities), -np.inf)
        kinds = np.zeros_like(relation) if self.is_dynamic else relation
        for number in np.unique(kinds):
            rows = np.flatnonzero(kinds == number)
            kind = self.relations[int(number)]
            own, other = (kind.lhs, kind.rhs) if tails else (kind.rhs, kind.lhs)
            place = anchor[rows] - self.start[own]
            known = (place >= 0) & (place < len(self.E[own]))
            rows, place = rows[known], place[known]
            points, candidates = self.E[own][place], self.E[other]
            # dynamic relations change the anchor, by the side's own parameters; others change tails alone
            if self.is_dynamic:
                side = "lhs" if tails else "rhs"
                values = {name: part[relation[rows]] for name, part in self.parameters[side][0].items()}
                points = _applied(kind.operator, values, points)
            elif tails:
                candidates = _applied(kind.operator, self.parameters["rhs"][int(number)], candidates)
            else:
                points = _applied(kind.operator, self.parameters["rhs"][int(number)], points)
            first = self.start[other]
            found[rows, first : first + len(candidates)] = self._compared(points, candidates)
        return found

    def _compared(self, points: _Matrix, candidates: _Matrix) -> _Matrix:
        if not self.has_bias:
            return _compared(self.comparator, points, candidates)
        biases = points[:, :1] + candidates[:, 0]
        return _compared(self.comparator, points[:, 1:], candidates[:, 1:]) + biases


def _rounded(scores: Callable[[_Rows, _Rows], _Matrix]) -> Scoring:
    """Scores in float32; numbers beyond it become infinity, which the ranking takes or names."""

    def found(anchor: _Rows, relation: _Rows) -> NDArray[np.float32]:
        with np.errstate(over="ignore", invalid="ignore"):
            return scores(anchor, relation).astype(np.float32)

    return found


def _applied(operator: str, values: dict[str, _Matrix], points: _Matrix) -> _Matrix:
    """What the operator makes of each point; values are of one relation, or of one for each point."""
    if operator == "none":
        return points
    if operator == "translation":
        return points + values["translation"]
    if operator == "diagonal":
        return points * values["diagonal"]
    if operator == "complex_diagonal":
        a, b = np.split(points, 2, axis=1)
        real, imag = values["real"], values["imag"]
        return np.concatenate([a * real - b * imag, a * imag + b * real], axis=1)
    matrix = values["linear_transformation"]
    turned: _Matrix = np.einsum("nij,nj->ni", matrix, points) if matrix.ndim == 3 else points @ matrix.T
    return turned + values["translation"] if operator == "affine" else turned


def _compared(comparator: str, points: _Matrix, candidates: _Matrix) -> _Matrix:
    from scipy.spatial.distance import cdist

    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        if comparator in ("dot", "cos"):
            product = points @ candidates.T
            if comparator == "cos":  # after the product, so that right angles stay 0
                product /= np.linalg.norm(points, axis=1)[:, None]
                product /= np.linalg.norm(candidates, axis=1)
            return product
        found: _Matrix = -cdist(points, candidates, "euclidean" if comparator == "l2" else "sqeuclidean")
        return found


def _read(path: Path, given: Given) -> Scorer:
    config = _settings(path)
    version = _version(path)
    relations = _relations(path, config)
    is_dynamic = config.get("dynamic_relations") is True
    folders = _folders(path, config, given)
    types = list(dict.fromkeys(kind for each in relations for kind in (each.lhs, each.rhs)))
    partitions = {kind: _partitions(path, kind, version) for kind in types}
    E = {kind: _bounded(path, config, np.concatenate(parts)) for kind, parts in partitions.items()}
    ends = np.cumsum([len(E[kind]) for kind in types])
    start = {kind: int(end) - len(E[kind]) for kind, end in zip(types, ends, strict=True)}
    n_entities = int(ends[-1])
    if given.entities is None:
        entities = _vocabulary(path, [name for kind in types for name in _names(path, folders, kind, partitions[kind])])
    else:
        entities = labels_in(given.entities)
    require_labels(entities, n_entities, "entities", path=path)
    named = _relation_labels(path, folders, config, relations, given, is_dynamic=is_dynamic)
    parameters = _parameters(path, version, relations, E, is_dynamic=is_dynamic, n_dynamic=len(named))
    if config.get("global_emb", True) is True and not is_dynamic:
        E = _with_global(path, version, E)
    comparator, has_bias = config.get("comparator", "cos"), config.get("bias") is True
    model = _Model(comparator, has_bias, is_dynamic, relations, E, start, n_entities, parameters)
    one_type = len(types) == 1
    remarks = () if one_type else ("entities of another type than a relation's rank last, and tie",)
    operators = ", ".join(dict.fromkeys(each.operator for each in relations))
    return Scorer(
        path.resolve().name,
        entities,
        named,
        _rounded(partial(model.scores, tails=True)),
        _rounded(partial(model.scores, tails=False)),
        f"a PyTorch-BigGraph model ({operators} with {comparator})",
        6,
        remarks,
    )


def _settings(path: Path) -> dict[str, Any]:
    config = read_json(path / _CONFIG)
    if not isinstance(config, dict) or not isinstance(config.get("relations"), list):
        raise FormatError(
            "expected the settings of torchbiggraph_train, with relations, found others", path=path / _CONFIG
        )
    one_of("a comparator among", config.get("comparator", "cos"), _COMPARATORS, path=path / _CONFIG)
    entities = config.get("entities")
    if isinstance(entities, dict) and any(isinstance(e, dict) and e.get("featurized") for e in entities.values()):
        raise FormatError("expected entities of their own embeddings, found featurized ones", path=path / _CONFIG)
    return config


def _relations(path: Path, config: dict[str, Any]) -> list[_Relation]:
    found = []
    for each in config["relations"]:
        operator = each.get("operator", "none") if isinstance(each, dict) else None
        if operator is None or not all(isinstance(each.get(key), str) for key in ("lhs", "rhs")):
            raise FormatError(f"expected relations with lhs and rhs, found {each!r}", path=path / _CONFIG)
        one_of("an operator among", operator, _PARAMETERS, path=path / _CONFIG)
        found.append(_Relation(each["lhs"], each["rhs"], operator))
    if not found or (config.get("dynamic_relations") is True and len(found) != 1):
        raise FormatError(
            f"expected {'one relation type, as dynamic relations have it' if found else 'relations'}, found "
            f"{len(found)}",
            path=path / _CONFIG,
        )
    return found


def _version(path: Path) -> str:
    """The ending of the files of the last finished checkpoint: ".v50", or "" for files without a version."""
    if (path / _VERSION).is_file():
        text = (path / _VERSION).read_text(errors="replace").strip()
        if not re.fullmatch("[0-9]{1,18}", text):
            raise FormatError(f"expected the number of a checkpoint, found {text[:40]!r}", path=path / _VERSION)
        return f".v{text}"
    versions = {match["version"] for file in path.iterdir() if (match := _EMBEDDINGS.fullmatch(file.name))}
    if len(versions) != 1:
        raise FormatError(
            f"expected embeddings of one checkpoint, or {_VERSION}, found "
            + (f"those of {len(versions)}" if versions else "none"),
            path=path,
        )
    version = versions.pop()
    return "" if version is None else f".v{version}"


def _partitions(path: Path, kind: str, version: str) -> list[_Matrix]:
    """The embeddings of an entity type, partition by partition."""
    files = {}
    for file in path.iterdir():
        match = _EMBEDDINGS.fullmatch(file.name)
        if match and match["type"] == kind and (f".v{match['version']}" if match["version"] else "") == version:
            files[int(match["part"])] = file
    if sorted(files) != list(range(len(files))) or not files:
        raise FormatError(
            f"expected embeddings_{kind}_0{version}.h5 and its other partitions, found "
            + (", ".join(files[part].name for part in sorted(files)) or "none"),
            path=path,
        )
    parts = []
    for part in range(len(files)):
        with opened_hdf5(files[part]) as file:
            parts.append(hdf5_array(file, "embeddings", files[part], dimensions=2).astype(np.float64))
    if len({part.shape[1] for part in parts}) > 1:
        raise FormatError(f"expected partitions of {kind} of one dimension, found several", path=path)
    return parts


def _bounded(path: Path, config: dict[str, Any], E: _Matrix) -> _Matrix:
    """Embeddings as PyTorch-BigGraph looks them up: with ``max_norm``, none is longer."""
    bound = config.get("max_norm")
    if bound is None:
        return E
    if isinstance(bound, bool) or not isinstance(bound, int | float) or not bound > 0:
        raise FormatError(f"expected a number above 0 as max_norm, found {bound!r}", path=path / _CONFIG)
    norm = np.linalg.norm(E, axis=1, keepdims=True)
    found: _Matrix = np.where(norm > bound, E * (bound / (norm + _RENORM_EPS)), E)
    return found


def _folders(path: Path, config: dict[str, Any], given: Given) -> list[Path]:
    named = config.get("entity_path")
    places = [given.data, path, Path(named) if isinstance(named, str) else None]
    return [place for place in places if place is not None]


def _named_list(path: Path, folders: list[Path], name: str, option: str) -> list[str]:
    found = next((folder / name for folder in folders if (folder / name).is_file()), None)
    if found is None:
        raise FormatError(
            f"expected {name} of the folder entity_path, found no such file; name that folder with --data, or the "
            f"labels with --{option}",
            path=path,
        )
    names = read_json(found)
    if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
        raise FormatError("expected a list of names, found something else", path=found)
    return names


def _names(path: Path, folders: list[Path], kind: str, partitions: list[_Matrix]) -> list[str]:
    names: list[str] = []
    for part, rows in enumerate(partitions):
        name = f"entity_names_{kind}_{part}.json"
        found = _named_list(path, folders, name, "entities")
        if len(found) != len(rows):
            raise FormatError(
                f"expected {len(rows):,} names in {name}, one for each embedding of the partition, found "
                f"{len(found):,}; are they those of this model's data set?",
                path=path,
            )
        names += found
    return names


def _relation_labels(
    path: Path,
    folders: list[Path],
    config: dict[str, Any],
    relations: list[_Relation],
    given: Given,
    *,
    is_dynamic: bool,
) -> Vocabulary:
    if given.relations is not None:
        found = labels_in(given.relations)
    elif is_dynamic:
        found = _vocabulary(path, _named_list(path, folders, "dynamic_rel_names.json", "relations"))
    else:
        names = [each.get("name") for each in config["relations"]]
        if not all(isinstance(each, str) for each in names):
            raise FormatError("expected a name of each relation, found none", path=path / _CONFIG)
        found = _vocabulary(path, names)
    if not is_dynamic:
        require_labels(found, len(relations), "relations", path=path)
    return found


def _vocabulary(path: Path, labels: list[str]) -> Vocabulary:
    try:
        return Vocabulary.of(labels)
    except KgtrecError as error:
        raise FormatError(str(error), path=path) from None


def _parameters(
    path: Path, version: str, relations: list[_Relation], E: dict[str, _Matrix], *, is_dynamic: bool, n_dynamic: int
) -> dict[str, list[dict[str, _Matrix]]]:
    """Of each side that has some, each relation type's parameters."""
    sides = ("lhs", "rhs") if is_dynamic else ("rhs",)
    if all(each.operator == "none" for each in relations):
        return {side: [{} for _ in relations] for side in sides}
    source = path / f"model{version}.h5"
    found: dict[str, list[dict[str, _Matrix]]] = {}
    with opened_hdf5(source) as file:
        for side in sides:
            found[side] = []
            for number, each in enumerate(relations):
                d = E[each.lhs if side == "lhs" else each.rhs].shape[1]
                values = {}
                for name, dimensions in _PARAMETERS[each.operator].items():
                    stored = _DYNAMIC_NAMES.get(name, name) if is_dynamic else name
                    place = f"model/relations/{number}/operator/{side}/{stored}"
                    shape = (d // 2 if each.operator == "complex_diagonal" else d,) * dimensions
                    shape = (n_dynamic, *shape) if is_dynamic else shape
                    array = hdf5_array(file, place, source, dimensions=len(shape))
                    if array.shape != shape:
                        raise FormatError(f"expected {place} of shape {shape}, found {array.shape}", path=source)
                    values[name] = array.astype(np.float64)
                found[side].append(values)
    for each in relations:
        if E[each.lhs].shape[1] != E[each.rhs].shape[1]:
            raise FormatError(f"expected {each.lhs} and {each.rhs} of one dimension, found two", path=path)
    return found


def _with_global(path: Path, version: str, E: dict[str, _Matrix]) -> dict[str, _Matrix]:
    """The embeddings of each type and what is common to them."""
    source = path / f"model{version}.h5"
    with opened_hdf5(source) as file:
        common = {kind: hdf5_array(file, f"model/entities/{kind}/global_embedding", source, dimensions=1) for kind in E}
    for kind, found in common.items():
        if found.shape != E[kind].shape[1:]:
            raise FormatError(
                f"expected a global embedding of {E[kind].shape[1]} numbers for {kind}, found {len(found)}", path=source
            )
    return {kind: part + common[kind] for kind, part in E.items()}


ADAPTERS = (
    Adapter(
        "biggraph",
        "PyTorch-BigGraph 1.0",
        f"the folder of checkpoints of torchbiggraph_train: {_CONFIG}, embeddings_*.h5, model*.h5; entity_names_*.json "
        "and dynamic_rel_names.json beside, or in --data",
        "scores",
        "h5py",
        lambda path: (path / _CONFIG).is_file() and any(path.glob("embeddings_*.h5")),
        _read,
    ),
)
