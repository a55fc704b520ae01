"""kgtrec's measures inside ir-measures: names, parameters, refusals, and its command line."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from pathlib import Path

import ir_measures
import pytest
from ir_measures import AP, nDCG

import kgtrec.ir_measures
from kgtrec.data.scores import ChanceTable
from kgtrec.errors import KgtrecError, MeasureError
from kgtrec.evaluation.chance import adjust
from kgtrec.evaluation.evaluate import evaluate
from kgtrec.formats.answer_ranks import read_answer_ranks
from kgtrec.formats.collections import read_collection
from kgtrec.ir_measures import (
    AAP,
    macro_AMRR,
    macro_MRR,
    micro_AMRI,
    micro_Hits,
    micro_MedianRank,
    micro_MR,
    micro_MRR,
    micro_WMR,
)
from kgtrec.measures.names import parse_measure
from kgtrec.measures.registry import registered
from tests.program import exit_code

CITIES = Path(__file__).parents[2] / "examples" / "cities"
QRELS = {"q1": {"a": 1, "b": 1}, "q2": {"c": 1}}
RUN = {"q1": {"x": 3.0, "a": 2.0, "b": 1.0, "y": 0.5}, "q2": {"c": 1.0, "x": 0.5}}
# ir-measures 0.4.3 reads names by a part of Python that 3.12 deprecates and 3.14 has removed
needs_parser = pytest.mark.skipif(sys.version_info >= (3, 14), reason="ir-measures' parser ends with Python 3.13")
pytestmark = pytest.mark.filterwarnings("ignore:(ast.\\w+|Attribute [sn]) is deprecated:DeprecationWarning")
LISTED = "micro_MRR(candidates='listed')"


@pytest.fixture(scope="module")
def cities(tmp_path_factory) -> Path:
    """A collection C, and the ranks and the run of a baseline in R."""
    folder = tmp_path_factory.mktemp("cities")
    splits = [CITIES / f"{split}.tsv" for split in ("train", "valid", "test")]
    assert exit_code("questions", *splits, "--out", folder / "C") == 0
    assert exit_code("rank", folder / "C", "--baseline", "rules", "--out", folder / "R") == 0
    return folder


def test_every_measure_that_ir_measures_lacks_is_registered():
    """Except one whose name Python cannot read; ir-measures' own names stay its own."""
    names = {each.name.replace(".", "_") for each in registered()}
    assert names - ir_measures.measures.registry.keys() == {"11pt_avg"}
    assert ir_measures.measures.registry["AP"] is AP
    assert all(ir_measures.measures.registry[name] is each for name, each in kgtrec.ir_measures.MEASURES.items())


@needs_parser
@pytest.mark.parametrize("measure", ["micro_MRR", "micro_Hits@10", LISTED, "micro_ZMR(flipped=False,candidates=7)"])
def test_a_measure_is_written_as_it_is_read(measure: str):
    assert str(ir_measures.parse_measure(measure)) == measure


def test_kgtrec_takes_its_measures_back():
    """As objects, under its own names."""
    assert [parse_measure(each).label for each in (micro_MRR, micro_Hits @ 10, AAP @ 20)] == [
        "micro.MRR",
        "micro.Hits@10",
        "AAP@20",
    ]
    scores = evaluate(QRELS, {"mine": RUN}, [macro_MRR, nDCG @ 2])
    assert scores.measures == ("macro.MRR", "nDCG@2")
    assert scores.value("mine", nDCG @ 2) == scores.value("mine", "nDCG@2")
    assert scores.value("mine", macro_MRR) == scores.value("mine", "macro.MRR")
    table = ChanceTable.of([("micro.MR", "both", 10, 5.0, 0.5)])
    assert adjust(micro_MR, 2.0, table) == adjust("micro.MR", 2.0, table)
    with pytest.raises(MeasureError, match=r"micro\.MR has no parameter 'candidates'"):
        parse_measure(micro_MR(candidates=5))


def test_worked_values():
    """a stands below x alone, and so does b without a; c stands first."""
    measures = [micro_MRR(candidates="listed"), micro_MR(candidates="listed"), macro_MRR]
    assert ir_measures.calc_aggregate([*measures, AP @ 10], QRELS, RUN) == {
        measures[0]: pytest.approx((1 / 2 + 1 / 2 + 1) / 3),
        measures[1]: pytest.approx(5 / 3),
        measures[2]: 0.75,
        AP @ 10: pytest.approx(((1 / 2 + 2 / 3) / 2 + 1) / 2),
    }
    evaluator = ir_measures.evaluator(measures, QRELS)
    assert [row.value for row in evaluator.iter_calc(RUN) if row.measure == measures[1]] == [2.0, 1.0]


def test_the_number_of_candidates_is_that_of_the_question():
    """With its answers: of 5, a and b each have 4, and (2 + 2 + 1 - 3) / (1.5 + 1.5 + 2) is above chance."""
    amri = ir_measures.calc_aggregate([micro_AMRI(candidates=5)], QRELS, RUN)
    assert amri == {micro_AMRI(candidates=5): pytest.approx(1 - (5 - 3) / (2.5 + 2.5 + 3 - 3))}


def test_a_cut_list_gives_what_it_shows():
    """Hits@1 is known without the answer that is below the end of the list; the mean rank is not."""
    cut = {"q1": {"x": 3.0, "a": 2.0, "y": 1.0}, "q2": {"c": 1.0, "x": 0.5}}
    hits, rank = (micro_Hits @ 1)(candidates=9), micro_MR(candidates=9)
    assert ir_measures.calc_aggregate([hits], QRELS, cut) == {hits: pytest.approx(1 / 3)}
    with pytest.raises(MeasureError, match=r"micro\.MR: .* question q1 .* is open, from 2 to 5\. Longer lists"):
        ir_measures.calc_aggregate([rank], QRELS, cut)


def test_a_tie_with_the_end_of_a_cut_list_is_open():
    """What is not listed may tie too."""
    tied = {"q1": {"a": 3.0, "b": 3.0}, "q2": {"c": 1.0, "x": 0.5}}
    with pytest.raises(MeasureError, match="is open"):
        ir_measures.calc_aggregate([micro_MR(candidates=9)], QRELS, tied)
    assert ir_measures.calc_aggregate([micro_MR(candidates="listed")], QRELS, tied)


def test_a_total_may_be_open_where_the_value_of_each_question_is_known():
    """Of q1 two of three answers are first, whatever c's tie comes to; with q2's two of rank 4, c is in the middle."""
    qrels = {"q1": {"a": 1, "b": 1, "c": 1}, "q2": {"d": 1, "e": 1}}
    q2 = {"v": 4.0, "w": 3.0, "x": 2.0, "d": 1.0, "e": 0.0, "y": -1.0}
    run = {"q1": {"a": 3.0, "b": 2.0, "c": 1.0, "x": 1.0}, "q2": q2}
    measure = micro_MedianRank(candidates=6)
    values = list(ir_measures.iter_calc([measure], qrels, run))
    assert [(row.query_id, row.value) for row in values] == [("q1", 1.0), ("q2", 4.0)]
    with pytest.raises(MeasureError, match=r"micro\.MedianRank: .* its total is open, from 1 to 4\. Longer lists"):
        ir_measures.calc_aggregate([measure], qrels, run)


@pytest.mark.parametrize(
    ("measure", "run", "message"),
    [
        (micro_MRR, RUN, "micro_MRR needs to know how many candidates each question has, which a run does not say"),
        (macro_AMRR, RUN, r"write macro_AMRR\(candidates='listed'\) if it lists all of them"),
        (micro_WMR, RUN, r"micro_WMR needs to know .*, or give kgtrec\.read_answer_ranks"),
        (micro_WMR(candidates="listed"), RUN, "weights by relation need the questions' topics"),
        (micro_MRR(candidates=3), RUN, "expected lists of at most 3 candidates, found 4 for question q1"),
        (micro_MRR(candidates="listed"), {"q2": {"c": 1.0}}, "found 0 listed, without the answer a"),
        (micro_MRR(candidates=0), RUN, r"micro_MRR\(candidates=0\): expected the number of candidates"),
        (micro_MRR(candidates="all"), RUN, "or 'listed' if the run lists all of them, found 'all'"),
        (micro_Hits(candidates=9), RUN, r"micro\.Hits needs a cutoff, such as micro\.Hits@10"),
    ],
)
def test_it_refuses_what_it_cannot_know(measure, run, message):
    with pytest.raises(KgtrecError, match=message):
        ir_measures.calc_aggregate([measure], QRELS, run)


def test_unknown_parameters_are_refused_where_they_are_written():
    with pytest.raises(MeasureError, match="micro_MRR has no parameter 'candidate'; did you mean candidates"):
        micro_MRR(candidate=3)


def test_answer_ranks_have_their_own_numbers(cities: Path):
    """A second number is refused; with a collection, measures over relations have a value too."""
    ranks = read_answer_ranks(cities / "R" / "rules.ranks.parquet")
    collection = read_collection(cities / "C")
    found = ir_measures.calc_aggregate([micro_AMRI, micro_WMR], collection, ranks)
    scores = evaluate(collection, ranks, "micro.AMRI micro.WMR").values[0, :, 0]
    assert [found[micro_AMRI], found[micro_WMR]] == scores.tolist()
    with pytest.raises(MeasureError, match="expected no candidates= for the answer ranks rules"):
        ir_measures.calc_aggregate([micro_AMRI(candidates=45)], collection, ranks)


def test_the_provider_computes_ir_measures_own_too(cities: Path):
    """From answer ranks, by its name in ir-measures' registry."""
    provider = ir_measures.providers.registry["kgtrec"]
    ranks = read_answer_ranks(cities / "R" / "rules.ranks.parquet")
    qrels = list(ir_measures.read_trec_qrels(str(cities / "C" / "qrels.txt")))
    found = provider.calc_aggregate([AP @ 20, micro_MRR], qrels, ranks)
    assert list(found.values()) == [float(x) for x in evaluate(qrels, ranks, [AP @ 20, micro_MRR]).values[0, :, 0]]


def test_values_are_added_up_only_where_their_mean_is_the_total():
    """Programs that take means of questions give no other number than kgtrec."""
    measures = [macro_MRR, micro_MR(candidates="listed")]
    macro, micro = ([row.value for row in ir_measures.iter_calc([each], QRELS, RUN)] for each in measures)
    assert sum(macro) == 1.5
    assert (macro[0] + 1.0, 1.0 + macro[0]) == (1.5, 1.5)
    for add in (lambda: sum(micro), lambda: 0.0 + micro[0], lambda: micro[0] + micro[1]):
        with pytest.raises(KgtrecError, match=r"micro\.MR: expected its total from the measure's aggregator"):
            add()


@pytest.mark.parametrize("measure", [micro_MRR, micro_Hits @ 10, AAP(candidates=7) @ 3], ids=str)
def test_measures_can_be_pickled(measure):
    """As ir-measures' own can, for programs of several processes; another process finds them too."""
    found = pickle.loads(pickle.dumps(measure))  # noqa: S301  # its own bytes
    assert (type(found), found) == (type(measure), measure)
    code = f"import pickle; print(pickle.loads({pickle.dumps(measure)!r}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(measure)


def test_an_unknown_name_has_the_nearest():
    with pytest.raises(AttributeError, match="no attribute 'macro_MR2'; did you mean macro_MR"):
        kgtrec.ir_measures.macro_MR2  # noqa: B018


def test_a_pickled_value_is_a_number():
    found = next(iter(ir_measures.iter_calc([micro_MR(candidates="listed")], QRELS, RUN)))
    assert type(pickle.loads(pickle.dumps(found.value))) is float  # noqa: S301  # its own bytes


@needs_parser
@pytest.mark.slow
def test_the_command_line_of_ir_measures(cities: Path):
    """All digits are those of kgtrec evaluate with the answer ranks."""

    def ran(*measures: str) -> subprocess.CompletedProcess[str]:
        files = cities / "C" / "qrels.txt", cities / "R" / "rules.run.gz"
        command = [sys.executable, "-m", "kgtrec.ir_measures", *files, *measures, "--places", "-1"]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    names = "micro.MRR", "micro.AMRI", "micro.AMRR", "macro.AMRR", "AAP@20", "AnDCG@20"
    asked = [re.sub(r"(@\d+)?$", r"(candidates='listed')\1", name.replace(".", "_"), count=1) for name in names]
    done = ran(*asked)
    assert done.returncode == 0, done.stderr
    found = [line.split("\t") for line in done.stdout.splitlines()]
    scores = evaluate(cities / "C", cities / "R" / "rules.ranks.parquet", names).values[0, :, 0]
    assert [name for name, _ in found] == asked
    assert [float(value) for _, value in found] == scores.tolist()
    refused = ran("micro_MRR")
    assert refused.returncode == 1
    assert refused.stderr.startswith("Error: micro_MRR needs to know how many candidates")
