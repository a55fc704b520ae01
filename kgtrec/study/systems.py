"""The systems of a study, and the measures that they are compared by."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kgtrec.errors import KgtrecError, nearest
from kgtrec.study.config import Source, StudyConfig

_ALL = "all"


@dataclass(frozen=True, slots=True)
class System:
    """One system, and where its answer ranks or run come from."""

    name: str
    source: Source | None  # None: a baseline
    kind: str  # "scores", "baseline", "ranks" or "run"


def systems_of(config: StudyConfig) -> tuple[System, ...]:
    """The systems that a configuration names, by name; an error if two have the same."""
    from kgtrec.baselines import BASELINES
    from kgtrec.formats.trec.runs import default_name

    names: list[str] = []
    for name in config.systems.baselines:
        if name != _ALL and name not in BASELINES:
            known = (*BASELINES, _ALL)
            raise KgtrecError(f"no baseline {name!r}{nearest(name, known)}; there are {', '.join(known)}")
        chosen = [record.name for record in BASELINES.values() if not record.is_control]
        names += chosen if name == _ALL else [name]
    found = [System(source.path.stem, source, "scores") for source in config.systems.scores]
    found += [System(name, None, "baseline") for name in dict.fromkeys(names)]
    found += [System(default_name(source.path), source, "ranks") for source in config.systems.ranks]
    found += [System(default_name(source.path), source, "run") for source in config.systems.runs]
    first: dict[str, System] = {}
    for system in found:
        other = first.setdefault(system.name, system)
        if other is not system:
            places = " and ".join(each.source.shown if each.source else "a baseline" for each in (other, system))
            raise KgtrecError(f"expected systems of different names, found {system.name!r} twice: {places}")
    return tuple(sorted(found, key=lambda system: system.name))


def spelled(measures: Iterable[str]) -> list[str]:
    """Measures in kgtrec's spelling, each once, as correlations have them: MRR and recip_rank are RR."""
    from kgtrec.measures.names import parse_measures
    from kgtrec.meta.known_measures import known_measure

    known = [known_measure(measure.label) for measure in parse_measures(list(measures))]
    return list(dict.fromkeys(each.name for each in known if each is not None))
