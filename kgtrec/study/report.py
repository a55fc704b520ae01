"""The results of a study as a report: tables, figures, and sentences with the numbers that they show."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from kgtrec.data.collection import CATEGORIES
from kgtrec.data.scores import Scores
from kgtrec.data.table import Block, Column, Facts, Items, Report, Section, Table, Text, key_text
from kgtrec.errors import KgtrecError
from kgtrec.measures.names import better_of, digits_of
from kgtrec.meta.power import SPEAKING
from kgtrec.report import figures
from kgtrec.report.cells import count_text, number_text, numbered
from kgtrec.study.config import Study
from kgtrec.study.score_table import score_table

_KINDS = {
    "test": "all test triples",
    "sample": "a sample of the test triples",
    "qrels": "given judgements",
    "campaign": "judgements of a pool by a campaign",
    "published": "published judgements of a pool",
}
_STABLE = 0.9  # with at least this mean tau, a sample ranks systems almost as the whole test set does
_SHOWN_SHARES = (0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.95)
_MOST_SWAPS = 60
_DIGITS = 3  # of a correlation in a sentence
_BIBTEX = """@software{{kgtrec,
  author  = {{{{The kgtrec developers}}}},
  title   = {{kgtrec: {{TREC}}-style evaluation of knowledge-graph completion}},{version}
  year    = {{2026}}
}}"""
_CITATIONS = (
    "Zhou, Chen, He, Ye, Sun (2022). Re-thinking Knowledge Graph Completion Evaluation from an Information Retrieval "
    "Perspective. SIGIR.",
)
Rows = list[dict[str, Any]]


def study_report(study: Study) -> Report:
    """The report of a study.

    Parameters
    ----------
    study : Study

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
        self.findings: list[str] = []
        self.confidence = f"{study.options.confidence:.0%}"
        self.main_scores = {  # label set -> system -> score
            name: {row["system"]: row["value"] for row in _where(table, "measure", [self.main]).to_pylist()}
            for name, table in study.part("scores").items()
        }

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
        # these methods also add to self.findings
        sections = [Section(key, title, blocks) for key, title, made in parts if (blocks := tuple(made()))]
        if self.study.notes:
            sections.append(Section("notes", "Warnings", (Items(tuple(self._notes())),)))
        summary = Section("summary", "In short", tuple(self._summary()))
        made = self.study.provenance
        version = made.versions.get("kgtrec", "")
        cited = (_BIBTEX.format(version=f"\n  version = {{{version}}}," * bool(version)), *_CITATIONS)
        return Report(self.study.title, (summary, *sections), self.study.subtitle, made, cited)

    def _summary(self) -> Iterator[Block]:
        study = self.study
        first = study.labels[0]
        answers = (self._best_system(), self._agreeing_labels(), self._best_measure())
        yield Text(tuple(filter(None, answers)), is_lead=True)
        if sum(any(map(_known, own.values())) for own in self.main_scores.values()) > 1:
            rows = [
                (system, labels, value) for labels, own in self.main_scores.items() for system, value in own.items()
            ]
            yield figures.slope_chart(
                pa.table(dict(zip(("system", "labels", "value"), map(list, zip(*rows, strict=True)), strict=True))),
                title=f"{self.main} of the systems under each label set",
                measure=self.main,
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
        if self.findings:
            yield Items(tuple(self.findings))

    # the answers at the top of the page

    def _best_system(self) -> str:
        """A sentence: which system is best, and whether this depends on the labels."""
        best: dict[str, list[str]] = {}  # systems -> the label sets under which they are best
        shown: dict[str, str] = {}
        choose = min if better_of(self.main) == "lower" else max
        for labels, own in self.main_scores.items():
            known = {system: value for system, value in own.items() if _known(value)}
            if known:
                top = choose(known.values())
                best.setdefault(_some([name for name, value in known.items() if value == top]), []).append(labels)
                shown[labels] = f"{number_text(top, digits_of(self.main), typeset=True)} on {labels}"
        if not best:
            return ""
        if len(best) > 1:
            told = "; ".join(f"{systems} on {_listed(labels)}" for systems, labels in best.items())
            return f"The best system by {self.main} depends on the labels: {told}."
        ((systems, under),) = best.items()
        values = _listed([shown[name] for name in under]) if len(under) < 5 else f"on {len(under)} label sets"
        verb = "are the best systems" if " and " in systems else "is the best system"
        return f"{systems} {verb}{' under every label set' * (len(under) > 1)} ({self.main} {values})."

    def _agreeing_labels(self) -> str:
        """A sentence: which label sets agree on the order of the systems, and how the others differ."""
        coefficient = self.study.options.coefficients[0]
        found: dict[str, float] = {}  # pair of label sets -> correlation
        for pair, table in self.study.part("correlation").items():
            for row in _where(table, "coefficient", [coefficient]).to_pylist():
                if row["measure"] == self.main and _known(row["value"]):
                    found[pair] = row["value"]
        alike = [pair.replace("/", " and ") for pair, value in found.items() if _agree(value) == "agree"]
        others = sorted((pair for pair in found if _agree(found[pair]) != "agree"), key=lambda pair: -found[pair])
        parts: list[str] = []

        def named(value: float) -> str:
            return f"{figures.CORRELATIONS[coefficient]} {_number(value)} under {self.main}"

        if alike:
            more = f" and {len(alike) - 3} more pairs" if len(alike) > 3 else ""
            parts = [f"Label sets {', '.join(alike[:3])}{more} agree on the order of the systems ({named(1)})"]
        for pair in others if len(others) < 3 else (others[0], others[-1]):
            told = pair.replace("/", " and ")
            number = (_number if parts else named)(found[pair])
            head = f"{told} differ" if parts else f"Label sets {told} differ on the order of the systems"
            parts.append(f"{head} ({number}{self._swapped(pair)})")
        if len(others) > 2:
            parts[-1] += f", the greatest difference among the {len(others)} pairs that differ"
        return f"{'; '.join(parts)}." if parts else ""

    def _swapped(self, pair: str) -> str:
        """The pairs of systems that two label sets put in opposite order, if there are one or two."""
        table = self.study.part("swaps").get(pair)
        rows = [] if table is None else _where(table, "measure", [self.main]).to_pylist()
        told = _listed([f"{row['better']} above {row['worse']}" for row in rows]) if 0 < len(rows) < 3 else ""
        return f"; only {pair.split('/')[0]} puts {told}" if told else ""

    def _best_measure(self) -> str:
        """A sentence: the measures that distinguish most pairs, and those that keep the order best across labels."""
        counts: dict[str, list[float]] = {}
        n_pairs = 0
        tested = self.study.part("power")
        for table in tested.values():
            for row in _where(table, "test", [_speaking(table)]).to_pylist():
                if _known(row["share_adjusted"]):
                    counts.setdefault(row["measure"], []).append(row["below_adjusted"])
                    n_pairs = row["pairs"]
        mean = {measure: sum(own) / len(tested) for measure, own in counts.items()}
        coefficient = self.study.options.coefficients[0]
        least: dict[str, float] = {}
        for table in self.study.part("correlation").values():
            for row in _where(table, "coefficient", [coefficient]).to_pylist():
                value = row["value"] if _known(row["value"]) else -math.inf
                least[row["measure"]] = min(least.get(row["measure"], math.inf), value)
        least = {measure: value for measure, value in least.items() if value > -math.inf}
        most, stable = (_ends(own)[0] if own else [] for own in (mean, least))
        both = [measure for measure in most if measure in stable]
        first = second = ""
        if most:
            on = f"on {_listed(list(tested))}" if len(tested) == 1 else "on average over the label sets"
            first = f"{_verb('distinguish', both or most)} the most pairs of systems "
            first += f"({mean[most[0]]:.3g} of {n_pairs:,} {on})"
        if stable:
            second = f"{_verb('keep', both or stable)} the order of systems best across label sets "
            second += f"({figures.CORRELATIONS[coefficient]} {_number(least[stable[0]])}"
            is_least = len(self.study.part("correlation")) > 1 and _agree(least[stable[0]]) != "agree"
            second += " or more)" if is_least else ")"
        if both:
            return f"{_all_or_some(both, mean, 'All measures')} {first} and {second}."
        parts = [f"{_some(measures)} {told}" for measures, told in ((most, first), (stable, second)) if told]
        return f"{'; '.join(parts)}." if parts else ""

    def _notes(self) -> Iterator[str]:
        """Each warning once, with its label sets and systems."""
        systems: dict[tuple[tuple[str, ...], str], list[str]] = {}
        for note in self.study.notes:
            own = next((name for name in self.study.systems if note.text.startswith(f"{name}: ")), "")
            text = note.text.removeprefix(f"{own}: ") if own else note.text
            systems.setdefault((note.labels, text), []).append(own)
        for (labels, text), names in systems.items():
            head = [f"label set{'s' * (len(labels) > 1)} {_listed(labels)}"] if labels else []
            if len(names) > 1:
                head.append("each system" if len(names) == len(self.study.systems) else f"each of {_listed(names)}")
            elif names[0]:
                head.append(names[0])
            told = ": ".join(filter(None, (", ".join(head), text)))
            yield f"{told[:1].upper()}{told[1:]}" if labels else told

    # label sets

    def _labels(self) -> Iterator[Block]:
        rows = [
            {
                "label set": facts.name,
                "what": facts.about or _KINDS[facts.kind],
                "questions": facts.questions,
                "answers": facts.answers,
                "per question": facts.answers / max(facts.questions, 1),
                "judged wrong": facts.judged_wrong,
                "pooled": facts.triples,
                "depth": facts.depth,
            }
            for facts in self.study.labels
        ]
        pooled = any(facts.triples is not None for facts in self.study.labels)
        shown = [
            Column("label set"),
            Column("what"),
            Column("questions"),
            Column("answers"),
            Column("per question", "answers per question", digits=2),
            Column("judged wrong"),
        ]
        shown += [Column("pooled", "pooled triples"), Column("depth", "pool depth")] if pooled else []
        schema = pa.schema(
            [
                ("label set", pa.string()),
                ("what", pa.string()),
                ("questions", pa.int64()),
                ("answers", pa.int64()),
                ("per question", pa.float64()),
                ("judged wrong", pa.int64()),
                ("pooled", pa.int64()),
                ("depth", pa.int64()),
            ]
        )
        yield Table(
            "label-sets",
            "The label sets",
            "An answer counts once for each question that it answers. A test triple answers its head question and its "
            "tail question. A candidate that is not judged is unknown, not wrong.",
            pa.Table.from_pylist(rows, schema),
            tuple(shown),
        )
        found = [
            {"collection": self._collection(name), "category": category, **report["categories"][category]}
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

    def _collection(self, name: str) -> str:
        """The name of a collection on the page: the names of the label sets with its questions."""
        return ", ".join(facts.name for facts in self.study.labels if facts.collection == name) or name

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
        pairs = self.study.part("pairs").get(name)
        if pairs is None or not pairs.num_rows:
            return None, ""
        test = _speaking(pairs)
        alpha = self.study.options.alpha
        place = {system: row for row, system in enumerate(self.study.systems)}
        differ = {measure: np.zeros((len(place),) * 2, np.bool_) for measure in self.study.measures}
        for row in _where(pairs, "test", [test]).to_pylist():
            if row["measure"] in differ and row["p_adjusted"] < alpha:
                one, other = place[row["first"]], place[row["second"]]
                differ[row["measure"]][[one, other], [other, one]] = True
        tested = set(pairs.column("measure").to_pylist())
        holm = "" if test == "tukey" else ", adjusted by Holm's method"
        return {measure: own for measure, own in differ.items() if measure in tested}, f"{figures.TESTS[test]}{holm}"

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
        wide: dict[str, dict[str, Any]] = {measure: {"measure": measure} for measure in self.study.measures}
        for row in table.to_pylist():
            wide[row["measure"]][row["coefficient"]] = row["value"]
            for end in ("low", "high"):
                wide[row["measure"]][f"{row['coefficient']} {end}"] = row.get(end)
        fixed = self.study.part("correlation-fixed").get(f"{one}/{other}")
        coefficients = self.study.options.coefficients
        if fixed is not None:
            for row in _where(fixed, "coefficient", coefficients[:1]).to_pylist():
                wide[row["measure"]]["fixed"] = row["value"]
        columns = [
            Column("measure"),
            *(
                Column(name, figures.CORRELATIONS[name], 3, "higher", f"{name} low", f"{name} high")
                for name in coefficients
            ),
        ]
        first = figures.CORRELATIONS[coefficients[0]]
        caption = (
            f"Correlation of the rankings of {len(self.study.systems)} systems on {one} and on {other}. Below each "
            f"value: {self.confidence} resampling range, questions resampled. 1: the same order."
        )
        if fixed is not None:
            columns.append(Column("fixed", f"{first}, relations as in {one}", 3, "higher"))
            caption += f" Last column: {first} with {other} reweighted to the relation distribution of {one}."
        names = [name for column in columns for name in (column.name, column.low, column.high) if name]
        data = pa.table(
            {
                name: pa.array([row.get(name, None if name == "measure" else math.nan) for row in wide.values()])
                for name in names
            }
        )
        self._tell_agreement(one, other, table, coefficients[0])
        return Table(f"correlation-{key}", f"{one} against {other}", caption, data, tuple(columns))

    def _tell_agreement(self, one: str, other: str, table: pa.Table, coefficient: str) -> None:
        rows = {row["measure"]: row for row in _where(table, "coefficient", [coefficient]).to_pylist()}
        known = {measure: row["value"] for measure, row in rows.items() if _known(row["value"])}
        if not known:
            return
        best, worst = _ends(known)
        name, highest, lowest = figures.CORRELATIONS[coefficient], _number(known[best[0]]), _number(known[worst[0]])
        text = f"Label sets {one} and {other} "
        if self.main in known:
            own = rows[self.main]
            text += f"{_agree(own['value'])} on the order of systems ({name} {_number(own['value'])} under {self.main}"
            if _known(own.get("low")):
                text += f", {self.confidence} resampling range {_number(own['low'])} to {_number(own['high'])}"
            text += ")"
            if best != worst:
                text += f"; they agree most under {_some(best)} ({highest}), least under {_some(worst)} ({lowest})"
            elif len(known) > 1:
                text += f"; the coefficient is the same under {_all_or_some(best, rows)}"
        elif best != worst:
            text += f"agree most on the order of systems under {_some(best)} ({name} {highest}), least under "
            text += f"{_some(worst)} ({lowest})"
        else:
            text += f"{_agree(known[best[0]])} on the order of systems ({name} {highest} under "
            text += f"{_all_or_some(best, rows)})"
        self.findings.append(f"{text}.")

    def _swaps(self, key: str, one: str, other: str) -> Iterator[Block]:
        table = self.study.part("swaps").get(f"{one}/{other}")
        if table is None:
            return
        counts: dict[str, int] = dict.fromkeys(self.study.measures, 0)
        for measure in table.column("measure").to_pylist():
            counts[measure] += 1
        n_pairs = len(self.study.systems) * (len(self.study.systems) - 1) // 2
        told = ", ".join(f"{measure} {count}" for measure, count in counts.items())
        found = f"in opposite order: {told}" if table.num_rows else "none in opposite order under any measure"
        yield Text((f"Of {count_text(n_pairs)} pairs of systems, {one} and {other} put {found}.",))
        chosen = _where(table, "measure", self.study.main)
        if not chosen.num_rows:
            return
        columns = [
            Column("measure"),
            Column("better", f"better on {one}"),
            Column("worse", f"better on {other}"),
            Column("first", f"difference on {one}"),
            Column("second", f"difference on {other}"),
        ]
        more = ""
        if "significant" in chosen.column_names:
            columns += [
                Column("first_p", f"p on {one}", form="p"),
                Column("second_p", f"p on {other}", form="p"),
                Column("significant", "significant on"),
            ]
            names = {"first": one, "second": other}
            verdicts = [names.get(text, text) for text in chosen.column("significant").to_pylist()]
            place = chosen.column_names.index("significant")
            chosen = chosen.set_column(place, "significant", pa.array(verdicts, pa.string()))
            more = " p: paired t-test of the difference, errors clustered by question, not adjusted."
        if chosen.num_rows > _MOST_SWAPS:
            more += f" The first {_MOST_SWAPS} of {count_text(chosen.num_rows)}; the others are in the data."
            chosen = chosen.slice(0, _MOST_SWAPS)
        yield Table(
            f"swaps-{key}",
            f"Pairs that {one} and {other} put in opposite order",
            f"Under {_listed(self.study.main)}; the pair with the largest difference on {one} is first.{more}",
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
                self._tell_growth(name, grown)
            own = _where(table, "coefficient", [coefficient])
            depths = sorted(set(own.column("depth").to_pylist()))
            drawn = pa.table(
                {"measure": own.column("measure"), "depth": own.column("depth"), "tau": own.column("value")}
            )
            yield figures.tau_by_depth(
                drawn,
                key=f"tau-by-depth-{key}",
                title=f"The ranking of the systems by pool depth of {name}",
                correlation=correlation,
                reference=f"the labels of depth {depths[0]}",
            )
            rows: dict[str, dict[str, Any]] = {measure: {"measure": measure} for measure in self.study.measures}
            for row in own.to_pylist():
                rows[row["measure"]][f"depth {row['depth']}"] = row["value"]
            names = [f"depth {depth}" for depth in depths]
            data = pa.table(
                {
                    "measure": list(rows),
                    **{each: pa.array([row.get(each, math.nan) for row in rows.values()]) for each in names},
                }
            )
            yield Table(
                f"depths-{key}",
                f"{correlation} to depth {depths[0]} by pool depth of {name}",
                "The numbers of the figure above; resampling ranges are in the data.",
                data,
                (Column("measure"), *(Column(each, each, 3) for each in names)),
            )
            self._tell_depths(name, rows, depths)

    def _tell_growth(self, name: str, grown: pa.Table) -> None:
        last = grown.slice(grown.num_rows - 1).to_pylist()[0]
        if last["triples"]:
            self.findings.append(
                f"For {name}, {count_text(last['triples'])} triples were pooled down to depth {last['depth']}; "
                f"{count_text(last['positives'])} of them ({last['positives'] / last['triples']:.1%}) were judged true."
            )

    def _tell_depths(self, name: str, rows: Mapping[str, Mapping[str, Any]], depths: Sequence[int]) -> None:
        correlation = figures.CORRELATIONS[self.study.options.coefficients[0]]
        last = f"depth {depths[-1]}"
        known = {measure: row[last] for measure, row in rows.items() if _known(row.get(last))}
        if not known:
            return
        best, worst = _ends(known)
        highest, lowest = _number(known[best[0]]), _number(known[worst[0]])
        if best != worst:
            told = (
                f"changes least under {_some(best)} ({correlation} {highest}) and most under {_some(worst)} ({lowest})"
            )
        else:
            every = _all_or_some(best, rows)
            told = "is the same" if _agree(known[best[0]]) == "agree" else "changes"
            told += f" under {every} ({correlation} {highest})"
        self.findings.append(f"From depth {depths[0]} to depth {depths[-1]} of {name}, the order of systems {told}.")

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
            by_measure: dict[str, Rows] = {}
            for row in table.to_pylist():
                by_measure.setdefault(row["measure"], []).append(row)
            shares = [row["share"] for row in next(iter(by_measure.values()))]
            near = sorted({min(shares, key=lambda share: abs(share - wanted)) for wanted in _SHOWN_SHARES})
            needed = {measure: _needed(rows) for measure, rows in by_measure.items()}
            columns: dict[str, Any] = {
                "measure": list(by_measure),
                "share": pa.array([100 * share if share else math.nan for share, _ in needed.values()], pa.float64()),
                "triples": pa.array([triples for _, triples in needed.values()], pa.int64()),
            }
            shown = [
                Column("measure"),
                Column("share", f"% needed for {_STABLE:g}", 0, "lower"),
                Column("triples", "triples"),
            ]
            for share in near:
                for place, end in enumerate(("mean", "low", "high")):
                    label = f"{share:.3g}" + (f" {end}" if place else "")
                    columns[label] = [
                        next(row[end] for row in rows if row["share"] == share) for rows in by_measure.values()
                    ]
                label = f"{share:.3g}"
                shown.append(Column(label, f"{share:.0%}", 3, "higher", f"{label} low", f"{label} high"))
            repeats = table.column("repeats").to_pylist()[0]
            yield Table(
                f"stability-{key}",
                f"{correlation} between samples of {name} and all of {name}",
                f"Mean over {count_text(repeats)} random samples of each size; below it, the middle 95% of them. "
                f"Needed: the least size from which on the mean is at least {_STABLE:g}.",
                pa.table(columns),
                tuple(shown),
            )
            self._tell_stability(name, needed)

    def _tell_stability(self, name: str, needed: Mapping[str, tuple[float | None, int | None]]) -> None:
        known = {measure: float(triples) for measure, (_, triples) in needed.items() if triples is not None}
        if not known:
            return
        most, least = _ends(known)

        def size(measures: Sequence[str]) -> str:
            return f"{count_text(known[measures[0]])} triples ({needed[measures[0]][0]:.0%})"

        text = (
            f"{_all_or_some(least, needed, 'All measures')} {_verb('order', least)} the systems almost as all of "
            f"{name} does (mean correlation of at least {_STABLE:g}) with {size(least)}"
        )
        if most != least:
            text += f"; {_some(most)} {_verb('need', most)} {size(most)}"
        if never := [measure for measure in needed if measure not in known]:
            text += f"; no size that was tried is enough for {_some(never)}"
        self.findings.append(f"{text}.")

    # power

    def _power(self) -> Iterator[Block]:
        alpha = self.study.options.alpha
        curves = self.study.part("p-values")
        for name, table in self.study.part("power").items():
            key = self.keys[name]
            test = _speaking(table)
            own = _where(curves[name], "test", [test])
            if own.num_rows:
                yield figures.p_value_curves(
                    own,
                    key=f"p-values-{key}",
                    title=f"p-values of all pairs of systems on {name}",
                    test=figures.TESTS[test],
                    alpha=alpha,
                )
            shown = (
                Column("measure"),
                Column("test"),
                Column("n_items", "items"),
                Column("pairs"),
                Column("below", f"p < {alpha:g}", better="higher"),
                Column("share", "share", 3, "higher"),
                Column("below_adjusted", "adjusted"),
                Column("share_adjusted", "share, adjusted", 3, "higher"),
                Column("area", "area under the curve", form="p"),
                Column("smallest", "smallest found", form="difference"),
                Column("largest_missed", "largest missed", form="difference"),
            )
            yield Table(
                f"power-{key}",
                f"Pairs of systems that each measure distinguishes on {name}",
                f"Two-tailed tests, alpha {alpha:g}; adjusted by Holm's method. Answers of one question are not "
                "independent. Clustered tests take this into account; plain t-tests over answers find too many "
                "differences significant. Smallest found: the smallest significant difference. Largest missed: the "
                "largest difference that is not significant.",
                _without_repeats(table),
                shown,
            )
            self._tell_power(name, _where(table, "test", [test]), test)

    def _tell_power(self, name: str, table: pa.Table, test: str) -> None:
        rows = {row["measure"]: row for row in table.to_pylist()}
        known = {measure: row["below_adjusted"] for measure, row in rows.items() if _known(row["share_adjusted"])}
        if not known:
            return
        most, least = _ends(known)
        told = f"{known[most[0]]} of {rows[most[0]]['pairs']} pairs of systems"
        told += f"; {_some(least)} {_verb('distinguish', least)} {known[least[0]]}" if most != least else ""
        self.findings.append(
            f"On {name}, {_all_or_some(most, rows)} {_verb('distinguish', most)} {told} ({figures.TESTS[test]}, alpha "
            f"{self.study.options.alpha:g}, adjusted)."
        )

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
            self._tell_ties(name, [row for row in table.to_pylist() if _known(row["apart"])])

    def _tell_ties(self, name: str, rows: Rows) -> None:
        if not rows:
            return
        top = max(rows, key=lambda row: row["apart"])
        if top["apart"] == 0:
            self.findings.append(f"On {name}, no score depends on how ties are broken.")
            return
        most = "less than 0.0001" if top["apart"] < 1e-4 else f"at most {number_text(top['apart'], 4, typeset=True)}"
        self.findings.append(
            f"On {name}, ties change a score by {most} ({top['measure']} of {top['system']}; {top['tied']:.2%} of its "
            "answers tie)."
        )


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


def _without_repeats(table: pa.Table) -> pa.Table:
    """The table without repeated rows: for measures over questions, the clustered test is the plain t-test."""
    rows = table.to_pylist()
    plain = {row["measure"] for row in rows if row["test"] == "t"}
    kept = [
        not (row["items"] == "questions" and row["test"] == "clustered" and row["measure"] in plain) for row in rows
    ]
    return table.filter(pa.array(kept, pa.bool_()))


def _speaking(table: pa.Table) -> str:
    there = set(table.column("test").to_pylist())
    return next(test for test in SPEAKING if test in there)


def _needed(rows: Rows) -> tuple[float | None, int | None]:
    """The least share, and its number of triples, from which on the mean is at least ``_STABLE``."""
    found: tuple[float | None, int | None] = (None, None)
    for row in reversed(rows):
        if not row["mean"] >= _STABLE:
            break
        found = row["share"], row["triples"]
    return found


def _known(value: float | None) -> bool:
    return value is not None and not math.isnan(value)


def _number(value: float) -> str:
    return number_text(value, _DIGITS, typeset=True)


def _ends(values: Mapping[str, float]) -> tuple[list[str], list[str]]:
    """The measures with the highest and those with the lowest rounded value; they may be the same measures."""
    told = {measure: round(value, _DIGITS) for measure, value in values.items()}
    ends = max(told.values()), min(told.values())
    highest, lowest = ([measure for measure, value in told.items() if value == end] for end in ends)
    return highest, lowest


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _some(names: Sequence[str]) -> str:
    """A few names, and the number of the others."""
    return _listed(names) if len(names) < 4 else f"{', '.join(names[:2])} and {len(names) - 2} more"


def _all_or_some(names: Sequence[str], of: Collection[str], everything: str = "all measures") -> str:
    """The names, or ``everything`` if they are all names in ``of``."""
    return everything if len(names) == len(of) > 1 else _some(names)


def _agree(value: float) -> str:
    """The verb for a correlation: agree if it is 1 after rounding, else differ."""
    return "agree" if round(value, _DIGITS) == 1 else "differ"


def _verb(verb: str, names: Sequence[str]) -> str:
    return verb if len(names) > 1 else f"{verb}es" if verb.endswith("sh") else f"{verb}s"


def _keys(names: Iterable[str]) -> dict[str, str]:
    """Name of a label set -> its part of the keys of tables and figures."""
    several = list(names)
    return dict(zip(several, numbered(key_text(name) or "labels" for name in several), strict=True))
