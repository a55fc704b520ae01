"""Published tables: what any ranks give is never impossible, and each kind of impossible number is found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from kgtrec.data.scores import PublishedTable, PublishedValue
from kgtrec.data.table import Table
from kgtrec.errors import KgtrecError, KgtrecWarning, unwarned
from kgtrec.evaluation.published.check_paper import PaperCheck, check_paper
from kgtrec.evaluation.published.sizes import known_names
from kgtrec.formats.published_tables import read_published_table

EXAMPLES = Path(__file__).parents[3] / "examples" / "published"
CUTOFFS = (1, 3, 5, 10)


def checked(folder: Path, text: str, data_set: str = "fb15k-237", **sizes: int) -> PaperCheck:
    path = folder / "table.csv"
    path.write_text(text)
    return check_paper(read_published_table(path, data_sets=known_names()), data_set, **sizes)


def told(found: PaperCheck, severity: str) -> list[tuple[str, str]]:
    """Systems and measures of one severity."""
    return [(each.system, each.measure) for each in found.findings if each.severity == severity]


def numbers_of(ranks: np.ndarray, decimals: int, *, cut: bool, percent: bool, **about: str) -> list[PublishedValue]:
    """The measures of some ranks, with a few decimals."""
    exact = {"MR": ranks.mean(), "MRR": (1 / ranks).mean()} | {f"Hits@{k}": np.mean(ranks <= k) for k in CUTOFFS}
    values = []
    for name, value in exact.items():
        last = 10.0**-decimals * (0.01 if percent and name != "MR" else 1)
        printed = (np.floor(value / last + 1e-9) if cut else np.rint(value / last)) * last
        values.append(PublishedValue("a", f"micro.{name}", f"{printed:g}", float(printed), last, 2, **about))
    return values


@pytest.mark.slow
@given(
    data=st.data(),
    entities=st.integers(1, 300),
    half=st.booleans(),
    cut=st.booleans(),
    percent=st.booleans(),
    decimals=st.integers(0, 6),
)
def test_what_any_ranks_give_is_never_impossible(data, entities, half, cut, percent, decimals):
    """Rounded or cut, in decimals or percent, with ranks between two positions; filtered no worse than raw.

    Of whole ranks that are rounded nothing is doubtful either, chance aside.
    """
    n = data.draw(st.integers(1, 12))
    ranks = st.lists(st.integers(2, 2 * entities), min_size=2 * n, max_size=2 * n)
    raw = np.array(data.draw(ranks)) / 2
    filtered = np.maximum(raw - np.array(data.draw(ranks)) / 2, 1)
    if not half:
        raw, filtered = np.ceil(raw), np.ceil(filtered)
    values = [
        *numbers_of(raw, decimals, cut=cut, percent=percent, setting="raw"),
        *numbers_of(filtered, decimals, cut=cut, percent=percent, setting="filtered"),
    ]
    for side, own in (("head", filtered[:n]), ("tail", filtered[n:])):
        values += numbers_of(own, decimals, cut=cut, percent=percent, setting="filtered", side=side)
    found = check_paper(PublishedTable(tuple(values)), "made up", entities=entities, triples=n)
    assert told(found, "impossible") == []
    if not half and not cut:
        assert told(found, "doubtful") == []
    for each in found.bounds:
        ends = next(value.cut for value in values if value.measure == each.measure and value.text == each.printed)
        if not half and not cut:
            assert ends[1] >= each.low - 1e-5
            assert ends[0] <= each.high + 1e-5


@given(st.lists(st.integers(1, 104), min_size=40, max_size=40), st.floats(0.02, 0.3))
def test_a_number_outside_its_bounds_is_found(ranks, beyond):
    """An MRR above what Hits@1 and the rest at rank 2 give, or below what the rest at the end give."""
    values = numbers_of(np.array(ranks, float), 4, cut=False, percent=False)
    (bounds,) = (
        each
        for each in check_paper(PublishedTable(tuple(values)), "a", entities=104, triples=20).bounds
        if each.measure == "micro.MRR" and each.given == "Hits"
    )
    for outside in (bounds.high + beyond + 0.15, bounds.low - beyond):
        if 0.01 < outside <= 1:
            own = [value for value in values if value.measure.startswith("micro.Hits")]
            own.append(PublishedValue("a", "micro.MRR", f"{outside:.4f}", round(outside, 4), 1e-4, 2))
            found = check_paper(PublishedTable(tuple(own)), "a", entities=104, triples=20)
            assert told(found, "impossible") == [("a", "micro.MRR")]


def least_miss(values: list[PublishedValue], entities: int) -> float:
    """By how much ranks must miss the numbers, cut digits and half ranks allowed, by a linear program of its own."""
    rank = np.arange(2, 2 * entities + 1) / 2
    of = {"MR": rank / entities, "MRR": 1 / rank} | {f"Hits@{k}": (rank <= k).astype(float) for k in CUTOFFS}
    rows, ends = [], []
    for value in values:
        name = value.measure.removeprefix("micro.")
        scale = entities if name == "MR" else 1
        low, high = value.cut
        rows += [np.r_[of[name], -1], np.r_[-of[name], -1]]
        ends += [high / scale, -low / scale]
    every = np.r_[np.ones(len(rank)), 0][None]
    found = linprog(np.r_[np.zeros(len(rank)), 1], np.array(rows), ends, every, [1.0])
    assert found.status == 0
    return float(found.fun)


@given(
    ranks=st.lists(st.integers(1, 60), min_size=4, max_size=4),
    decimals=st.integers(1, 3),
    shifts=st.lists(st.sampled_from((0, 0, 1, -1, 2, -2, 9, -9)), min_size=6, max_size=6),
)
def test_numbers_are_impossible_together_exactly_where_no_ranks_give_them(ranks, decimals, shifts):
    """Whatever else is doubtful in the row: all its numbers are asked for at once."""
    values = []
    for value, shift in zip(numbers_of(np.array(ranks, float), decimals, cut=True, percent=False), shifts, strict=True):
        least, most = (1, 60) if value.measure == "micro.MR" else (0, 1)
        shifted = min(max(value.value + shift * value.unit, least), most)
        values.append(replace(value, value=shifted, text=f"{shifted:g}"))
    found = check_paper(PublishedTable(tuple(values)), "a", entities=60, triples=2)
    miss = least_miss(values, 60)
    if miss > 1e-4:
        assert told(found, "impossible")
    if miss < 1e-9:
        assert told(found, "impossible") == []


TABLES = {
    # .8 can be anything from .75 to .9, so that it fits both neighbours, which do not fit each other
    "model,H@1,H@3,H@10\nx,.88,.8,.84\n": {"impossible": "x Hits@10"},
    # no ranks have .458 with MR 17.8 and these Hits, cut or tied, although the Hits alone leave a way
    "model,MRR,MR,H@1,H@3,H@10\nx,.458,17.8,.413,.505,.634\n": {
        "impossible": "x MRR",
        "doubtful": "x MRR",
        "source": "linear program",
        "sizes": {"entities": 129, "triples": 309},
    },
    # 101 of 402 is not a number of one side, where only even counts come
    "model,side,Hits@1\na,tail,.2512\n": {
        "doubtful": "a Hits@1",
        "reason": "of 201 ranks of tails, 50 and 51 give these two",
        "data_set": "nations",
    },
    # with Hits@1 = .250 at most (1 + .2505) / 2 without ties, and below .7508 with all others at 1 1/2
    "model,MRR,Hits@1\na,.625,.250\nb,.740,.250\nc,.760,.250\n": {
        "doubtful": "b MRR",
        "impossible": "c MRR",
        "reason": "only with tied scores, whose ranks lie between two positions",
    },
    "model,MRR,Hits@1 (%),Hits@3 (%),Hits@10 (%)\na,.300,24.1,37.5,53.3\n": {
        "doubtful": "a MRR",
        "reason": "only if digits were cut off",
    },
    # a share above 1, a mean rank below 1 and one above the candidates, an index above 1, Hits@14 of 14 entities
    "model,MRR,MR,Hits@1,Hits@14,AMRI\na,1.2,.5,.1,.90,1.2\nb,.6,9,.5,1.0,.1\nc,.6,3,.5,1.0,.5\n": {
        "impossible": "a MRR, a MR, a Hits@14, a AMRI, b MR",
        "data_set": "nations",
    },
    # MR 177 on FB15k-237 is an AMRI of .9754 and an AMR of .0247
    "model,MR,AMRI,AMR\na,177,.975,.025\nb,177,.995,.021\n": {
        "doubtful": "b AMR, b AMRI",
        "bound": "0.0246739 to 0.0248137",
    },
    "model,head MRR,tail MRR,MRR\na,.20,.50,.35\nb,.20,.50,.30\n": {
        "impossible": "b MRR",
        "reason": "this is their mean: .20 (head), .50 (tail)",
    },
}


@pytest.mark.parametrize(("table", "expected"), TABLES.items())
def test_what_a_small_table_shows(tmp_path, table, expected):
    """By severity; part of the reason, the bound, or the source of one finding."""
    sizes = expected.get("sizes", {})
    found = checked(tmp_path, table, "mine" if sizes else expected.get("data_set", "fb15k-237"), **sizes)
    for severity in expected.keys() & {"impossible", "doubtful"}:
        names = (f"{system} {measure.removeprefix('micro.')}" for system, measure in told(found, severity))
        assert ", ".join(names) == expected[severity]
    for part in ("reason", "bound", "source"):
        assert any(expected.get(part, "") in getattr(finding, part) for finding in found.findings)


def test_each_number_of_the_impossible_example_is_found_with_its_reason():
    """Every system of it is named after what is wrong with it."""
    path = EXAMPLES / "impossible.csv"
    found = check_paper(read_published_table(path), "fb15k-237")
    assert told(found, "impossible") == [
        ("falling", "micro.Hits@10"),
        ("too high", "micro.MRR"),
        ("too low", "micro.MRR"),
        ("mean rank too low", "micro.MRR"),
        ("mean rank too high", "micro.MR"),
        ("worse than raw", "micro.MRR"),
        ("worse than raw", "micro.MR"),
    ]
    assert told(found, "doubtful") == [("like chance", "micro.MRR"), ("like chance", "micro.MR")]
    assert found.findings[0].reason == "every rank up to 3 is up to 10, and Hits@3 = 33.0"
    joint = found.findings[3]
    assert joint.source == "linear program over all ranks"
    assert joint.bound == "0.364244 to 0.392977"
    assert [each.line for each in found.findings[:4]] == [2, 3, 4, 7]


def test_a_table_of_a_paper_has_nothing_impossible():
    """Sun et al. (2019), table 5, FB15k-237: RotatE's MR of 177 is not distinguishable from pRotatE's 178."""
    found = check_paper(read_published_table(EXAMPLES / "sun-2019.csv", data_sets=known_names()))
    assert (found.count("impossible"), found.count("doubtful")) == (0, 0)
    first = found.findings[0]
    assert (first.system, first.printed, first.reason) == (
        "RotatE",
        "177",
        "its lead over pRotatE is no larger than rounding",
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "data_set", "sizes"),
    [
        ("rank-metrics/collated.tsv", "", {}),
        ("systems/fb15k-237/reference.tsv", "fb15k-237", {}),
        ("kgc-sparsity/result/FB-Test-O/evaluation.csv", "fb15k-237", {}),
        ("kgc-sparsity/result/FB-Test-S/evaluation.csv", "FB-Test-S", {"entities": 14_541, "triples": 1_023}),
        ("kgc-sparsity/result/FB-Test-S-C/evaluation.csv", "FB-Test-S-C", {"entities": 14_541, "triples": 2_738}),
    ],
)
def test_published_files_have_nothing_impossible(data, file, data_set, sizes):
    """At full precision every Hits@k is a count of ranks, and MRR is within its bounds."""
    with unwarned():
        table = read_published_table(data / file, data_sets=known_names())
    found = check_paper(table, data_set, **sizes)
    assert told(found, "impossible") == []
    assert [each.measure for each in found.findings if each.source.startswith("GRIM")] == []


def test_some_systems_of_hoyt_et_al_are_like_chance_on_nations(data):
    """ComplEx' Hits@3 and Hits@10 and TransE's MRR are within what random orders have, TransE's Hits@1 is below."""
    with unwarned():
        table = read_published_table(data / "rank-metrics" / "collated.tsv", data_sets=known_names())
    found = check_paper(table)
    assert {(each.system, each.data_set, each.measure) for each in found.findings if each.severity == "doubtful"} == {
        ("complex", "nations", "micro.Hits@10"),
        ("complex", "nations", "micro.Hits@3"),
        ("transe", "nations", "micro.Hits@1"),
        ("transe", "nations", "micro.MRR"),
    }


def test_the_wrong_number_of_test_triples_is_seen_by_the_digits(tmp_path):
    """.2525 of 402 ranks is between 101 and 102 of them; of 40,932 a count comes near enough."""
    text = "model,Hits@1\na,.2525\n"
    found = checked(tmp_path, text, "nations")
    assert told(found, "doubtful") == [("a", "micro.Hits@1")]
    assert found.findings[0].reason == (
        "of 402 ranks on both sides, 101 and 102 give these two; another number comes from other test triples, a mean "
        "over runs, or an expectation over ties, and not from one side, 201 ranks"
    )
    assert checked(tmp_path, "model,Hits@1\na,.2512\n", "nations").findings == ()
    assert checked(tmp_path, text, "fb15k-237").findings == ()
    assert checked(tmp_path, "model,Hits@1\na,.2525 ± .001\n", "nations").findings == ()


def test_the_digits_of_scores_tell_how_many_test_triples_there_were(data):
    """Zhou et al. (2022): at a depth of the pool only the 1,023 triples and its new positives fit Hits@1 to 10."""
    path = data / "kgc-sparsity" / "result" / "FB-Test-S-C" / "pooling_depth.csv"
    with unwarned():
        table = read_published_table(path)
    triples = [1023 + new for new in (0, 118, 287, 428, 614, 786, 965, 1168, 1327, 1520, 1715)]
    for depth in (0, 4, 10):
        own = PublishedTable(
            tuple(
                value
                for value in table.values
                if value.part == f"Depth {depth}" and value.measure.startswith("micro.Hits")
            )
        )
        assert len(own) == 130
        off = [
            sum(each.source.startswith("GRIM") for each in check_paper(own, "S-C", entities=14_541, triples=n).findings)
            for n in triples
        ]
        assert off[depth] == 0
        assert min(off[:depth] + off[depth + 1 :]) > 90


def test_small_leads_are_told_by_their_kind(tmp_path):
    """Rounding, one of 402 ranks, and 1.96 standard errors; a large lead is not told."""
    text = "model,Hits@1\nbest,.25870\nrounded,.2587\none,.25622\nnoise,.20149\nfar,.05970\n"
    notes = [each.reason for each in checked(tmp_path, text, "nations").findings if each.severity == "note"]
    assert notes == [
        "its lead over rounded is no larger than rounding",
        "its lead over one is no larger than what one of 402 ranks can change, 0.00248756",
        "its lead over noise is smaller than 1.96 standard errors of two independent samples of 402 ranks; a paired "
        "test may find a difference",
    ]


def test_sizes_that_are_given_come_before_known_ones(tmp_path):
    """Without a size there is a warning, and Hits that fall are still found."""
    text = "model,MRR,MR,Hits@1,Hits@3\na,.35,3.0,.40,.30\n"
    with pytest.warns(KgtrecWarning, match="the size of mine is not known"):
        found = checked(tmp_path, text, "mine")
    assert told(found, "impossible") == [("a", "micro.Hits@3")]
    assert told(checked(tmp_path, text, "nations", entities=2, triples=10), "impossible") == [
        ("a", "micro.MRR"),
        ("a", "micro.MR"),
        ("a", "micro.Hits@3"),
    ]


def test_what_cannot_be_checked_is_refused(tmp_path):
    """A size for several data sets, a size of 0, a data set for a table that has its own."""
    several = "model,dataset,MRR\na,nations,.3\na,umls,.3\n"
    with pytest.raises(KgtrecError, match="expected a table of one data set with its size, found nations, umls"):
        checked(tmp_path, several, "", entities=3)
    with pytest.raises(KgtrecError, match="expected a table of one data set, found the table's own: nations, umls"):
        checked(tmp_path, several)
    with pytest.raises(KgtrecError, match="expected a number of entities of at least 1, found 0"):
        checked(tmp_path, "model,MRR\na,.3\n", "mine", entities=0)


def test_its_tables_have_every_number(tmp_path):
    """Findings with bounds as numbers, and the bounds of each mean; data sets are shown where the table has some."""
    findings, bounds = checked(tmp_path, "model,MRR,Hits@1\na,.9,.2\n").tables()
    assert isinstance(findings, Table)
    assert findings.data.column("high").to_pylist() == pytest.approx([0.625])
    assert findings.data.column("line").to_pylist() == [2]
    assert bounds.data.column("given").to_pylist() == ["Hits"]
    assert findings.caption.startswith("table.csv: 2 numbers of 1 system: 1 impossible, 0 doubtful, 0 notes")


@given(st.lists(st.floats(0, 1), min_size=2, max_size=4), st.sampled_from(["fb15k-237", "nations", "mine"]))
def test_any_numbers_are_checked_without_an_error(values, data_set):
    """Also those that no ranks give."""
    names = ("MRR", "Hits@1", "Hits@3", "Hits@10")
    table = PublishedTable(
        tuple(
            PublishedValue("a", f"micro.{name}", f"{value:.3f}", round(value, 3), 1e-3, 2)
            for name, value in zip(names, values, strict=False)
        )
    )
    found = check_paper(table, data_set, entities=14_541, triples=20_466)
    assert found.n_values == len(values)
