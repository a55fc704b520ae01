"""The results of a study as a report: tables, figures, and sentences about what the numbers support."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.arrow import compute as pc
from kgtrec.data.collection import CATEGORIES
from kgtrec.data.scores import Scores
from kgtrec.data.table import Block, Column, Facts, Items, Report, Section, Table, Text, key_text
from kgtrec.errors import KgtrecError
from kgtrec.formats.output.folders import EXPLORATION
from kgtrec.kernels.statistics.compact_letters import compact_letters
from kgtrec.measures.names import better_of, digits_of, parse_measure
from kgtrec.meta.power import distinct_tests, families_table, power_columns
from kgtrec.report import figures
from kgtrec.report.cells import count_text, letters_of, numbered
from kgtrec.study.config import Study
from kgtrec.study.findings import STABLE, Finding, Findings, listed, name_of_test, of_main_test, sentence, sizes_needed

_KINDS = {
    "test": "all test triples",
    "sample": "a sample of the test triples",
    "qrels": "given judgements",
    "campaign": "judgements of a pool by a campaign",
    "published": "published judgements of a pool",
}
_SHOWN_SHARES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.95)
_MOST_SWAPS = 60
_BIBTEX = """@software{{kgtrec,
  author  = {{{{The kgtrec developers}}}},
  title   = {{kgtrec: {{TREC}}-style evaluation of knowledge-graph completion}},{version}
  year    = {{2026}}
}}"""
_CITATIONS = (
    "Zhou, Chen, He, Ye, Sun (2022). Re-thinking Knowledge Graph Completion Evaluation from an Information Retrieval "
    "Perspective. SIGIR.",
)


def study_report(study: Study) -> Report:
    """Return the report of a study.

    Parameters
    ----------
    study : Study
        The study, with the results so far.

    Returns
    -------
    Report
        With sections for the parts that the study has. The same study gives the same report.

    Raises
    ------
    KgtrecError
        If the study has no scores.
    """
    if not study.part("scores"):
        raise KgtrecError(f"expected a study with scores, found none in {study.title!r}")
    return _Composer(study).report()


class _Composer:
    def __init__(self, study: Study) -> None:
        self.study = study
        self.main = study.main[0]
        self.keys = _keys(facts.name for facts in study.labels)
        self.pair_keys = _keys(study.part("correlation"))
        self.findings, self.found = Findings(study), list[str]()
        self.confidence = f"{study.options.confidence:.0%}"
        self.main_scores = {labels: own[self.main] for labels, own in self.findings.scores.items()}

    def report(self) -> Report:
        parts: list[tuple[str, str, Callable[[], Iterator[Block]]]] = [
            ("labels", "What the systems are evaluated on", self._labels),
            ("scores", "Scores of the systems", self._scores),
            ("agreement", "Do the label sets rank the systems in the same order?", self._agreement),
            ("depths", "What changes with a deeper pool?", self._depths),
            ("stability", "How many test triples does a measure need?", self._stability),
            ("power", "Which measures distinguish systems?", self._power),
            ("ties", "How much do scores depend on ties?", self._ties),
        ]
        # these methods also add to self.found
        sections = [Section(key, title, blocks) for key, title, made in parts if (blocks := tuple(made()))]
        if self.study.notes:
            sections.append(Section("notes", "Warnings", (Items(tuple(self._notes())),)))
        summary = Section("summary", "In short", tuple(self._summary()))
        made = self.study.provenance
        version = made.versions.get("kgtrec", "")
        cited = (_BIBTEX.format(version=f"\n  version = {{{version}}}," * bool(version)), *_CITATIONS)
        beside = EXPLORATION if self.study.exploration else ""
        return Report(self.study.title, (summary, *sections), self.study.subtitle, made, cited, beside)

    def _summary(self) -> Iterator[Block]:
        study = self.study
        first = study.labels[0]
        tested = self.findings
        answers: list[Finding] = [*tested.best_systems(), *tested.swaps(), *tested.counts()]
        yield Text(tuple(map(sentence, answers)), is_lead=True)
        if sum(any(map(_known, own.values())) for own in self.main_scores.values()) > 1:
            rows = [
                {"system": system, "labels": labels, "value": value}
                for labels, own in self.main_scores.items()
                for system, value in own.items()
            ]
            yield figures.slope_chart(
                pa.Table.from_pylist(rows), title=f"{self.main} of the systems under each label set", measure=self.main
            )
        yield Facts(
            (
                ("systems", count_text(len(study.systems))),
                ("measures", count_text(len(study.measures))),
                ("label sets", count_text(len(study.labels))),
                (f"questions of {first.name}", count_text(first.questions)),
                (f"answers of {first.name}", count_text(first.answers)),
            )
        )
        if study.about:
            yield Text(study.about)
        if self.found:
            yield Items(tuple(self.found))

    def _add(self, findings: Iterable[Finding]) -> None:
        self.found += map(sentence, findings)

    def _notes(self) -> Iterator[str]:
        """Each warning once, with its label sets and systems."""
        systems: dict[tuple[tuple[str, ...], str], list[str]] = {}
        for note in self.study.notes:
            own = next((name for name in self.study.systems if note.text.startswith(f"{name}: ")), "")
            text = note.text.removeprefix(f"{own}: ") if own else note.text
            systems.setdefault((note.labels, text), []).append(own)
        for (labels, text), names in systems.items():
            head = [f"label set{'s' * (len(labels) > 1)} {listed(labels)}"] if labels else []
            if len(names) > 1:
                head.append("each system" if len(names) == len(self.study.systems) else f"each of {listed(names)}")
            elif names[0]:
                head.append(names[0])
            sentence_text = ": ".join(filter(None, (", ".join(head), text)))
            yield f"{sentence_text[:1].upper()}{sentence_text[1:]}" if labels else sentence_text

    # label sets

    def _labels(self) -> Iterator[Block]:
        sets = self.study.labels
        data = {
            "label set": [facts.name for facts in sets],
            "what": [facts.about or _KINDS[facts.kind] for facts in sets],
            "questions": [facts.questions for facts in sets],
            "answers": [facts.answers for facts in sets],
            "per question": [facts.answers / max(facts.questions, 1) for facts in sets],
            "judged wrong": pa.array([facts.judged_wrong for facts in sets], pa.int64()),
            "pooled": pa.array([facts.triples for facts in sets], pa.int64()),
            "depth": pa.array([facts.depth for facts in sets], pa.int64()),
        }
        labels = {"per question": "answers per question", "pooled": "pooled triples", "depth": "pool depth"}
        is_pooled = any(facts.triples is not None for facts in sets)
        shown = list(data) if is_pooled else list(data)[:-2]
        yield Table(
            "label-sets",
            "The label sets",
            "An answer counts once for each question that it answers. A test triple answers its head question and its "
            "tail question. A candidate that is not judged is unknown, not wrong.",
            pa.table(data),
            tuple(Column(name, labels.get(name, ""), digits=2) for name in shown),
        )
        shared = {name: [facts.name for facts in sets if facts.collection == name] for name in self.study.collections}
        found = [
            {"collection": ", ".join(shared[name]) or name, "category": category, **report["categories"][category]}
            for name, report in self.study.collections.items()
            if "categories" in report
            for category in CATEGORIES
        ]
        if found:
            yield Table(
                "categories",
                "Relations by category",
                "Relations are classified by the mean number of tails per head and the mean number of heads per tail.",
                pa.Table.from_pylist(found),
                (Column("collection"), Column("category"), Column("relations"), Column("test_triples", "test triples")),
            )

    # scores

    def _scores(self) -> Iterator[Block]:
        parts = self.study.part("parts")
        for name, table in self.study.part("scores").items():
            scores = _scores_of(table, self.study)
            interval = f"{self.confidence} interval" + (f" over {scores.population}" if scores.drawn else "")
            differ, test = self._apart(name)
            yield score_table(
                scores, differ, key=f"scores-{self.keys[name]}", title=f"Scores on {name}", interval=interval, test=test
            )
            chosen = _where(table, "measure", self.study.main)
            yield figures.score_intervals(
                chosen,
                key=f"intervals-{self.keys[name]}",
                title=f"Scores on {name} with their intervals",
                interval=interval,
            )
            if name in parts:
                cells = _where(parts[name], "measure", [self.main]).drop_columns(["measure"])
                if any(map(_known, cells.column("value").to_pylist())):
                    yield figures.heat_map(
                        _by_category(cells),
                        key=f"by-category-{self.keys[name]}",
                        value=self.main,
                        title=f"{self.main} on {name} by relation category and side",
                    )

    def _apart(self, name: str) -> tuple[dict[str, NDArray[np.bool_]] | None, str]:
        """The pairs that differ significantly under each measure, and the name of the test."""
        tested = self.findings.p.get(name)
        if not tested:
            return None, ""
        place = {system: row for row, system in enumerate(self.study.systems)}
        differ = {
            measure: np.zeros((len(place),) * 2, np.bool_) for measure in tested if measure in self.study.measures
        }
        for measure, own in differ.items():
            for pair, p in tested[measure].items():
                if p < self.study.options.alpha:
                    one, other = (place[system] for system in pair)
                    own[[one, other], [other, one]] = True
        return differ, name_of_test(self.findings.tests[name])

    # label sets against each other

    def _agreement(self) -> Iterator[Block]:
        for pair, table in self.study.part("correlation").items():
            one, other = pair.split("/")
            key = self.pair_keys[pair]
            yield self._correlations(key, one, other, table)
            parts = self.study.part("correlation-parts").get(pair)
            if parts is not None and any(map(_known, parts.column("value").to_pylist())):
                cells = _by_category(
                    parts.rename_columns(["system" if name == "measure" else name for name in parts.column_names])
                )
                yield figures.heat_map(
                    cells,
                    key=f"agreement-{key}",
                    value="tau-b",
                    diverging=True,
                    title=f"Agreement of {one} and {other} by relation category and side",
                    caption=f"Kendall's tau-b between the rankings of the systems on {one} and on {other}, for each "
                    "relation category and side (blue: above 0; orange: below 0; white: 0). -: undefined, for example "
                    "if all systems have the same score.",
                )
            yield from self._swaps(key, one, other)

    def _correlations(self, key: str, one: str, other: str, table: pa.Table) -> Table:
        coefficients = self.study.options.coefficients
        rows: dict[str, dict[str, Any]] = {measure: {"measure": measure} for measure in self.study.measures}
        for row in table.to_pylist():
            name = row["coefficient"]
            rows[row["measure"]] |= {name: row["value"], f"{name} low": row.get("low"), f"{name} high": row.get("high")}
        columns = [
            Column("measure"),
            *(
                Column(name, figures.CORRELATIONS[name], 3, low=f"{name} low", high=f"{name} high")
                for name in coefficients
            ),
            Column("swapped", "pairs in opposite order", 0),
            Column("significant", "significantly on both", 0),
        ]
        first = figures.CORRELATIONS[coefficients[0]]
        caption = (
            f"Correlation of the rankings of {len(self.study.systems)} systems on {one} and on {other}. Below each "
            f"value: {self.confidence} resampling range, questions resampled. 1: the same order. Of "
            f"{count_text(math.comb(len(self.study.systems), 2))} pairs of systems, those in opposite order, and those "
            "of them whose difference is significant on both, as adjusted. -: not tested."
        )
        fixed = self.study.part("correlation-fixed").get(f"{one}/{other}")
        if fixed is not None:
            for row in _where(fixed, "coefficient", coefficients[:1]).to_pylist():
                rows[row["measure"]]["fixed"] = row["value"]
            columns.append(Column("fixed", f"{first}, relations as in {one}", 3))
            caption += f" Last column: {first} with {other} reweighted to the relation distribution of {one}."
        turned = self.study.part("swaps").get(f"{one}/{other}")
        opposite = None if turned is None else turned.column("measure").to_pylist()
        for measure, row in rows.items():
            significant = self.findings.swapped(one, other, measure)
            row["swapped"] = None if opposite is None else float(opposite.count(measure))
            row["significant"] = None if significant is None else float(len(significant))
        names = [name for column in columns[1:] for name in (column.name, column.low, column.high) if name]
        schema = pa.schema({"measure": pa.string(), **dict.fromkeys(names, pa.float64())})
        data = pa.Table.from_pylist(list(rows.values()), schema)
        self._add(self.findings.correlated((one, other), table))
        return Table(f"correlation-{key}", f"{one} against {other}", caption, data, tuple(columns))

    def _swaps(self, key: str, one: str, other: str) -> Iterator[Block]:
        table = self.study.part("swaps").get(f"{one}/{other}")
        if table is None:
            return
        chosen = _where(table, "measure", self.study.main)
        if not chosen.num_rows:
            return
        chosen = chosen.select(["measure", "better", "worse", "first", "second"])
        columns = [
            Column("measure"),
            Column("better", f"ahead on {one}"),
            Column("worse", f"ahead on {other}"),
            Column("first", f"difference on {one}"),
            Column("second", f"difference on {other}"),
        ]
        tested = [name for name in (one, other) if name in self.findings.p]
        pairs = chosen.to_pylist()
        for name in tested:
            p = [
                self.findings.p[name].get(row["measure"], {}).get(frozenset((row["better"], row["worse"])), math.nan)
                for row in pairs
            ]
            chosen = chosen.append_column(f"p on {name}", pa.array(p, pa.float64()))
            columns.append(Column(f"p on {name}", form="p"))
        more = f" p: {name_of_test(self.findings.tests[tested[0]])}." if tested else ""
        if chosen.num_rows > _MOST_SWAPS:
            more += f" The first {_MOST_SWAPS} of {count_text(chosen.num_rows)}; the others are in the data."
            chosen = chosen.slice(0, _MOST_SWAPS)
        yield Table(
            f"swaps-{key}",
            f"Pairs that {one} and {other} put in opposite order",
            f"Under {listed(self.study.main)}; the pair with the largest difference on {one} is first.{more}",
            chosen,
            tuple(columns),
        )

    # depths

    def _depths(self) -> Iterator[Block]:
        coefficient = self.study.options.coefficients[0]
        correlation = figures.CORRELATIONS[coefficient]
        for name, table in self.study.part("depths").items():
            key = self.keys[name]
            if (grown := self.study.part("growth").get(name)) is not None and grown.num_rows:
                yield figures.pool_growth(grown, key=f"pool-growth-{key}", title=f"What each pool depth of {name} adds")
                self._add(self.findings.pooled(name, grown))
            own = _where(table, "coefficient", [coefficient])
            depths = own["depth"].to_pylist()
            first, last = min(depths), max(depths)
            names = ["measure", "depth", "tau", "low", "high"]
            drawn = own.select(["measure", "depth", "value", "low", "high"]).rename_columns(names)
            yield figures.tau_by_depth(
                drawn,
                key=f"tau-by-depth-{key}",
                title=f"The ranking of the systems by pool depth of {name}",
                correlation=correlation,
                reference=f"the labels of depth {first}",
            )
            yield Table(
                f"depths-{key}",
                f"{correlation} to depth {first} by pool depth of {name}",
                f"The numbers of the figure above. Below each value: {self.confidence} resampling range.",
                drawn.append_column("labels", pa.array(f"depth {depth}" for depth in depths)),
                (Column("measure"), Column("tau", digits=3, low="low", high="high", across="labels")),
            )
            at_last = own.filter(pc.equal(own["depth"], last))
            self._add(self.findings.correlated((f"depth {first}", f"depth {last} of {name}"), at_last))

    # stability

    def _stability(self) -> Iterator[Block]:
        correlation = figures.CORRELATIONS[self.study.options.coefficient]
        for name, table in self.study.part("stability").items():
            key = self.keys[name]
            yield figures.stability(
                table,
                key=f"stability-{key}",
                title=f"The ranking of the systems on samples of {name}",
                correlation=correlation,
            )
            shares = sorted(set(table["share"].to_pylist()))
            near = sorted({min(shares, key=lambda share: abs(share - wanted)) for wanted in _SHOWN_SHARES})
            data, sizes = table.filter(pc.is_in(table["share"], pa.array(near))), sizes_needed(table)
            needed = [sizes[measure] for measure in data["measure"].to_pylist()]
            percents = pa.array([row and 100 * row["share"] for row in needed], pa.float64())
            triples = pa.array([row and row["triples"] for row in needed], pa.int64())
            labels = pa.array(f"{share:.3g}" for share in data["share"].to_pylist())
            for column, values in (("% needed", percents), ("triples needed", triples), ("size", labels)):
                data = data.append_column(column, values)
            percent = {f"{share:.3g}": f"{share:.0%}" for share in near}
            shown = (
                Column("measure"),
                Column("% needed", f"% needed for {STABLE:g}", 0),
                Column("triples needed", "triples"),
                Column("mean", digits=3, low="low", high="high", across="size", names=percent),
            )
            repeats = table.column("repeats").to_pylist()[0]
            yield Table(
                f"stability-{key}",
                f"{correlation} between samples of {name} and all of {name}",
                f"Mean over {count_text(repeats)} random samples of each size; below it, the middle 95% of them. "
                f"Needed: the least size from which on these 95% are at least {STABLE:g}.",
                data,
                shown,
            )
            self._add(self.findings.enough(name, table))

    # power

    def _power(self) -> Iterator[Block]:
        alpha = self.study.options.alpha
        curves = self.study.part("p-values")
        for name, table in self.study.part("power").items():
            key = self.keys[name]
            test = of_main_test(table)[0]["test"]
            own = _where(curves[name], "test", [test])
            if own.num_rows:
                yield figures.p_value_curves(
                    own,
                    key=f"p-values-{key}",
                    title=f"p-values of all pairs of systems on {name}",
                    test=figures.TESTS[test],
                    alpha=alpha,
                )
            yield Table(
                f"power-{key}",
                f"Pairs of systems that each measure distinguishes on {name}",
                f"Two-tailed tests of {table['pairs'][0]} pairs, alpha {alpha:g}; adjusted by Holm's method; each "
                "share is of the column before it. Answers of one question are not independent. Clustered tests take "
                "this into account; plain t-tests over answers find too many differences significant. Smallest found: "
                "the smallest significant difference. Largest missed: the largest difference that is not significant.",
                table.take(pa.array(distinct_tests(table), pa.int64())),
                power_columns(alpha),
            )
        for name, table in self.study.part("families").items():
            yield families_table(table, alpha, f"families-{self.keys[name]}", f"Families of systems on {name}")

    # ties

    def _ties(self) -> Iterator[Block]:
        for name, table in self.study.part("ties").items():
            yield figures.tie_report(
                figures.by_policy(table),
                key=f"ties-{self.keys[name]}",
                title=f"Scores on {name} under every policy for ties",
            )
            shown = (
                Column("system"),
                Column("measure"),
                Column("tied", "share tied"),
                Column("mean_group", "mean group", 1),
                Column("largest_group", "largest group"),
                Column("apart", "apart", 4),
            )
            yield Table(
                f"ties-{self.keys[name]}",
                f"Ties on {name}",
                "Share of the answers that tie with another candidate, mean and largest number of candidates in such a "
                "tie, and difference between the optimistic and the pessimistic score.",
                table,
                shown,
            )
            self._add(self.findings.tied(name, table))


def score_table(
    scores: Scores,
    differ: Mapping[str, NDArray[np.bool_]] | None = None,
    *,
    key: str = "scores",
    title: str = "Scores",
    interval: str = "95% interval",
    test: str = "",
) -> Table:
    """Return a table with a row per system and a column per measure, sorted by the first measure, best on top.

    Parameters
    ----------
    scores : Scores
        Totals, with or without intervals.
    differ : mapping, optional
        Measure -> (n, n) symmetric bool array over ``scores.systems``: which pairs differ significantly. Systems that
        share a letter in the table do not differ significantly.
    key, title : str
    interval, test : str
        The names of the interval from ``scores.low`` to ``scores.high``, and of the test behind ``differ``.

    Returns
    -------
    Table

    Examples
    --------
    >>> scores = Scores(("a", "b"), ("RR",), np.array([[[0.2]], [[0.3]]]))
    >>> score_table(scores, {"RR": np.array([[False, True], [True, False]])}).data.to_pydict()
    {'system': ['b', 'a'], 'RR': [0.3, 0.2], 'RR groups': ['a', 'b']}
    """
    order = _best_first(scores.values[:, 0, 0], scores.measures[0]) if scores.measures else np.arange(0)
    columns: dict[str, pa.Array] = {"system": pa.array([scores.systems[place] for place in order], pa.string())}
    ends = {end: values for end, values in (("low", scores.low), ("high", scores.high)) if values is not None}
    shown = [Column("system")]
    for place, measure in enumerate(scores.measures):
        columns[measure] = pa.array(scores.values[order, place, 0])
        beside: dict[str, Any] = {end: f"{measure} {end}" for end in ends}
        columns |= {beside[end]: pa.array(values[order, place, 0]) for end, values in ends.items()}
        if differ is not None and measure in differ:
            beside["groups"] = f"{measure} groups"
            own = _best_first(scores.values[:, place, 0], measure)  # a is the letter of the best system
            letters = letters_of(compact_letters(differ[measure][np.ix_(own, own)]))
            of_system = dict(zip(own.tolist(), letters, strict=True))
            columns[beside["groups"]] = pa.array([of_system[system] for system in order], pa.string())
        shown.append(Column(measure, digits=digits_of(measure), better=parse_measure(measure).record.better, **beside))
    usual = [
        f"Below each score: {interval}." if scores.low is not None else "",
        "Bold: the best score of a measure." if len(scores.systems) > 1 else "",
        f"Systems that share a letter do not differ significantly{f' ({test})' if test else ''}." if differ else "",
    ]
    return Table(key, title, " ".join(filter(None, usual)), pa.table(columns), tuple(shown))


def _best_first(values: NDArray[np.float64], measure: str) -> NDArray[np.intp]:
    """Rows from the best to the worst, undefined ones last."""
    sign = 1.0 if better_of(measure) == "lower" else -1.0
    return np.argsort(sign * values, kind="stable")  # numpy puts NaN last


def _scores_of(table: pa.Table, study: Study) -> Scores:
    shape = (len(study.systems), len(study.measures), 1)

    def cube(name: str) -> NDArray[np.float64]:
        return np.asarray(table.column(name).to_numpy(), np.float64).reshape(shape)

    low, high = (cube(name) if name in table.column_names else None for name in ("low", "high"))
    drawn = table.column("drawn")[0].as_py() if "drawn" in table.column_names and table.num_rows else ""
    return Scores(study.systems, study.measures, cube("value"), {}, (), low, high, drawn=drawn)


def _where(table: pa.Table, column: str, kept: Sequence[str]) -> pa.Table:
    """The rows whose label is one of ``kept``."""
    return table.filter(pa.array([label in kept for label in table.column(column).to_pylist()], pa.bool_()))


def _by_category(table: pa.Table) -> pa.Table:
    """Rows in the order of the categories; rows of relations without a category are left out."""
    category, side = (table.column(name).to_pylist() for name in ("category", "side"))
    rows = [row for row, name in enumerate(category) if name in CATEGORIES]
    rows.sort(key=lambda row: (side[row], CATEGORIES.index(category[row])))
    return table.take(pa.array(rows, pa.int64()))


def _known(value: float | None) -> bool:
    return value is not None and not math.isnan(value)


def _keys(names: Iterable[str]) -> dict[str, str]:
    """Name of a label set -> its part of the keys of tables and figures."""
    several = list(names)
    return dict(zip(several, numbered(key_text(name) or "labels" for name in several), strict=True))
