"""DGL-KE: the folder that ``dglke_train`` writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, one_of
from kgtrec.formats.json_text import read_json
from kgtrec.formats.numpy_files import mapped_matrix
from kgtrec.systems import formulas
from kgtrec.systems.adapter import Adapter, Given
from kgtrec.systems.kinds import Factors
from kgtrec.systems.numbered_labels import labels_beside, require_labels

_CONFIG = "config.json"
_ENTITIES, _RELATIONS = "_entity.npy", "_relation.npy"
_MODELS = ("TransE", "TransE_l1", "TransE_l2", "DistMult", "ComplEx", "RESCAL", "RotatE", "SimplE")
_EPS = 2.0  # DGL-KE's EMB_INIT_EPS, by which phases of RotatE are scaled
_SIMPLE_BOUND = 20.0  # beyond it DGL-KE cuts scores of SimplE


def _read(path: Path, given: Given) -> Factors:
    config = read_json(path / _CONFIG)
    if not isinstance(config, dict) or not isinstance(config.get("model_name"), str):
        raise FormatError("expected the settings of dglke_train with a model_name, found none", path=path / _CONFIG)
    model = config["model_name"]
    one_of("a model among", model, _MODELS, path=path / _CONFIG)
    E, R = (_matrix(path, config, ending) for ending in (_ENTITIES, _RELATIONS))
    _require_dimensions(path, model, E, R)
    entities, relations = _labels(path, config, given)
    require_labels(entities, len(E), "entities", path=path)
    require_labels(relations, len(R), "relations", path=path)
    return _system(model, E, R, config, path, entities, relations)


def _system(
    model: str,
    E: NDArray[Any],
    R: NDArray[Any],
    config: dict[str, Any],
    path: Path,
    entities: Vocabulary,
    relations: Vocabulary,
) -> Factors:
    name, kind = path.resolve().name, f"a DGL-KE model ({model})"
    if model == "TransE_l1":
        return formulas.minus_distance(E, R, 1).factors(name, entities, relations, kind)
    if model == "RotatE":
        scale = (_number(path, config, "gamma") + _EPS) / _number(path, config, "hidden_dim")
        phases = np.asarray(R, np.float64) / (scale / np.pi)
        return formulas.rotation_distance(E, phases).factors(name, entities, relations, kind)
    if model == "SimplE":
        remark = f"scores are cut at {_SIMPLE_BOUND:g} and -{_SIMPLE_BOUND:g}, as DGL-KE does; entities beyond tie"
        return formulas.simple(E, R, _SIMPLE_BOUND).factors(name, entities, relations, kind, (remark,))
    product = {
        "TransE": formulas.squared_distance,
        "TransE_l2": formulas.squared_distance,
        "DistMult": formulas.distmult,
        "ComplEx": formulas.complex_product,
        "RESCAL": formulas.rescal,
    }[model]
    return product(E, R).factors(name, entities, relations, kind)


def _matrix(path: Path, config: dict[str, Any], ending: str) -> NDArray[Any]:
    """The embeddings of the name that DGL-KE gives them, or the only ones of such a name."""
    named = path / f"{config.get('dataset')}_{config['model_name']}{ending}"
    found = [named] if named.is_file() else sorted(path.glob(f"*{ending}"))
    if len(found) != 1:
        those = ", ".join(each.name for each in found) or "none"
        raise FormatError(f"expected embeddings in {named.name}, found {those}", path=path)
    matrix = mapped_matrix(found[0])
    if matrix.dtype.kind != "f":
        raise FormatError(f"expected decimal numbers, found {matrix.dtype}", path=found[0])
    return matrix


def _require_dimensions(path: Path, model: str, E: NDArray[Any], R: NDArray[Any]) -> None:
    d, found = E.shape[1], R.shape[1]
    expected = d * d if model == "RESCAL" else d // 2 if model == "RotatE" else d
    if found != expected or (d % 2 and model in ("ComplEx", "RotatE", "SimplE")):
        even = ", an even number for entities" if model in ("ComplEx", "RotatE", "SimplE") else ""
        raise FormatError(
            f"expected relations of {expected} numbers each beside entities of {d}{even}, as {model} has them, found "
            f"relations of {found}",
            path=path,
        )


def _number(path: Path, config: dict[str, Any], key: str) -> float:
    value = config.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < np.inf:
        raise FormatError(f"expected a number above 0 as {key}, found {value!r}", path=path / _CONFIG)
    return float(value)


def _labels(path: Path, config: dict[str, Any], given: Given) -> tuple[Vocabulary, Vocabulary]:
    found = []
    # DGL-KE writes the name of the map of entities under "emp_file"
    for what, keys, own in (
        ("entities", ("emap_file", "emp_file"), given.entities),
        ("relations", ("rmap_file",), given.relations),
    ):
        named = [Path(config[key]).name for key in keys if isinstance(config.get(key), str)]
        names = dict.fromkeys([*named, f"{what}.tsv", f"{what}.dict"])
        found.append(labels_beside(path, own, (given.data, path), names, what))
    return found[0], found[1]


ADAPTERS = (
    Adapter(
        "dglke",
        "DGL-KE 0.1",
        f"the folder of dglke_train: {_CONFIG}, *{_ENTITIES}, *{_RELATIONS}; entities.tsv and relations.tsv beside, or "
        "in --data",
        "factors",
        "",
        lambda path: (path / _CONFIG).is_file() and any(path.glob(f"*{_ENTITIES}")),
        _read,
    ),
)
