"""The systems of a study, and the measures for their comparison."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from kgtrec.errors import KgtrecError
from kgtrec.study.config import Source, StudyConfig


@dataclass(frozen=True, slots=True)
class System:
    """One system, and the source of its scores, answer ranks or run."""

    name: str
    source: Source | None  # None: a baseline
    kind: str  # "scores", "baseline", "ranks" or "run"


def systems_of(config: StudyConfig) -> tuple[System, ...]:
    """Return the systems of a configuration, sorted by name; KgtrecError if two have the same name."""
    from kgtrec.formats.trec.runs import default_name
    from kgtrec.systems.baselines import baselines_of

    names = [record.name for name in config.systems.baselines for record in baselines_of(name)]
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
    """Return measures in kgtrec's spelling, each once, as in correlations: recip_rank is RR."""
    from kgtrec.measures.names import parse_measures
    from kgtrec.meta.known_measures import known_measure

    known = [known_measure(measure.label) for measure in parse_measures(list(measures))]
    return list(dict.fromkeys(each.name for each in known if each is not None))
