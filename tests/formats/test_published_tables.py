"""Tables as papers print them: headings, digits, marks, units; and what is refused."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtrec.data.scores import PublishedTable
from kgtrec.errors import FormatError, KgtrecError, KgtrecWarning
from kgtrec.evaluation.published.check_paper import check_paper
from kgtrec.formats.published_tables import read_published_table

NAMES = ("fb15k-237", "wn18rr", "yago3-10")


def read(folder: Path, text: str, **options: str) -> PublishedTable:
    path = folder / "table.csv"
    path.write_text(text, encoding="utf-8")
    return read_published_table(path, data_sets=NAMES, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("heading", "expected"),
    [
        ("MRR", ("micro.MRR", "", "", "both")),
        ("MRR ↑", ("micro.MRR", "", "", "both")),
        ("$\\uparrow$ MRR", ("micro.MRR", "", "", "both")),
        ("Mean Reciprocal Rank", ("micro.MRR", "", "", "both")),
        ("inverse_harmonic_mean_rank", ("micro.MRR", "", "", "both")),
        ("mean rank", ("micro.MR", "", "", "both")),
        ("arithmetic_mean_rank", ("micro.MR", "", "", "both")),
        ("Hits@10", ("micro.Hits@10", "", "", "both")),
        ("H@1", ("micro.Hits@1", "", "", "both")),
        ("hit@3", ("micro.Hits@3", "", "", "both")),
        ("hits_at_5", ("micro.Hits@5", "", "", "both")),
        ("Hits 10", ("micro.Hits@10", "", "", "both")),
        ("micro_hits@7", ("micro.Hits@7", "", "", "both")),
        ("macro.MRR", ("macro.MRR", "", "", "both")),
        ("AMRI", ("micro.AMRI", "", "", "both")),
        ("adjusted_arithmetic_mean_rank_index", ("micro.AMRI", "", "", "both")),
        ("adjusted_arithmetic_mean_rank", ("micro.AMR", "", "", "both")),
        ("MR (raw)", ("micro.MR", "", "raw", "both")),
        ("Filtered Hits@10", ("micro.Hits@10", "", "filtered", "both")),
        ("tail MRR", ("micro.MRR", "", "", "tail")),
        ("FB15k-237 MRR", ("micro.MRR", "fb15k-237", "", "both")),
        ("WN18RR/H@10", ("micro.Hits@10", "wn18rr", "", "both")),
        ("MRR (YAGO3-10)", ("micro.MRR", "yago3-10", "", "both")),
    ],
)
def test_headings_say_what_is_below(tmp_path, heading, expected):
    (found,) = read(tmp_path, f'model,"{heading}"\na,1\n').values
    assert (found.measure, found.data_set, found.setting, found.side) == expected


@pytest.mark.parametrize(
    "heading",
    [
        *("AP@20", "z_hits_at_10", "adjusted_hits_at_1", "geometric_mean_rank", "harmonic mean rank", "Hits", "Hits@0"),
        *("adjusted_inverse_harmonic_mean_rank", "median rank", "WN99 MRR", "P_10", "time", "head tail MRR", "MRRs"),
    ],
)
def test_other_headings_are_left_out(tmp_path, heading):
    with pytest.warns(KgtrecWarning, match="left out .*, which are not MR, MRR, Hits@k, AMR or AMRI"):
        (found,) = read(tmp_path, f"model,MR,{heading}\na,1,2\n").values
    assert found.measure == "micro.MR"


@pytest.mark.parametrize(
    ("cell", "value", "unit", "is_mean"),
    [
        (".338", 0.338, 0.001, False),
        ("0.3380", 0.338, 0.0001, False),
        ("**.338**", 0.338, 0.001, False),
        ("\\textbf{.338}", 0.338, 0.001, False),
        ("\\underline{.338}†", 0.338, 0.001, False),
        ("$.338$", 0.338, 0.001, False),
        (".338*", 0.338, 0.001, False),
        (".338 ± .002", 0.338, 0.001, True),
        (".338 (.002)", 0.338, 0.001, True),
        (".338 \\pm .002", 0.338, 0.001, True),
        (".338+/-.002", 0.338, 0.001, True),
        ("33.8%", 0.338, 0.001, False),
        ("33.8 \\%", 0.338, 0.001, False),
        ("3.38e-1", 0.338, 0.001, False),
    ],
)
def test_cells_keep_their_digits(tmp_path, cell, value, unit, is_mean):
    (found,) = read(tmp_path, f"model,MRR\na,{cell}\n").values
    assert (found.text, found.is_mean) == (cell, is_mean)
    assert (found.value, found.unit) == pytest.approx((value, unit))
    low, high = found.rounded
    assert (low, high) == pytest.approx((value - unit / 2, value + unit / 2))
    assert found.cut == pytest.approx((value - unit / 2, value + unit))


def test_thousands_have_commas_in_quotes(tmp_path):
    (found,) = read(tmp_path, 'model,MR\na,"7,000"\n').values
    assert (found.value, found.unit) == (7000.0, 1.0)


def test_empty_cells_and_dashes_are_no_numbers(tmp_path):
    found = read(tmp_path, "model,MR,MRR,H@1,H@3,H@10\na,1,,-,–,n/a\n")  # noqa: RUF001
    assert [each.measure for each in found.values] == ["micro.MR"]


@pytest.mark.parametrize(
    "text",
    ["model,FB15k-237 MRR,WN18RR MRR,macro.MRR,H@10\na,.3,.4,.2,.5\n", "model,measure,value\na,MRR,.3\na,Hits@10,.5\n"],
)
def test_one_warning_says_that_bare_names_are_over_answers(tmp_path, text):
    """As in tables of scores; macro.MRR has said what it is."""
    with pytest.warns(KgtrecWarning) as told:
        read(tmp_path, text)
    assert [str(each.message).partition(": ")[2] for each in told] == [
        "read MRR, Hits@10 as micro.MRR, micro.Hits@10, over answers, as link-prediction papers report them"
    ]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("model,MRR,H@1,H@10\na,.3,22.1,45\nb,.01,0.4,2\n", [0.3, 0.221, 0.45, 0.01, 0.004, 0.02]),
        ("model,MRR\na,3.38\nb,.3\nc,.2\n", [3.38, 0.3, 0.2]),
    ],
)
def test_each_kind_of_share_has_one_unit(tmp_path, text, values):
    """Hits@k are percentages in the first, so 0.4 is too, and MRR is not; 3.38 among decimals is no percentage."""
    assert [each.value for each in read(tmp_path, text).values] == pytest.approx(values)


def test_a_cell_with_a_percent_sign_speaks_for_itself(tmp_path):
    """Other cells are decimals if most of them are at most 1, and percentages if most are above."""
    mixed = read(tmp_path, "model,H@1,H@10\na,.241,.533\nb,26.6%,54.4\\%\n").values
    assert [each.value for each in mixed] == pytest.approx([0.241, 0.533, 0.266, 0.544])
    assert [each.unit for each in mixed] == pytest.approx([0.001] * 4)
    first = read(tmp_path, "model,MRR\na,33.8%\nb,24.1\nc,.9\nd,30\n").values
    assert [each.value for each in first] == pytest.approx([0.338, 0.241, 0.009, 0.3])


def test_the_unit_can_be_told(tmp_path):
    text = "model,MRR,H@1\na,.9,.5\n"
    assert [each.value for each in read(tmp_path, text, unit="percent").values] == pytest.approx([0.009, 0.005])
    assert read(tmp_path, "model,MRR\na,33\n", unit="decimals").values[0].value == 33
    with pytest.raises(KgtrecError, match="expected unit to be one of decimals, percent, found 'percents'"):
        read(tmp_path, text, unit="percents")


def test_columns_say_it_for_a_row(tmp_path):
    text = "Method\tDataset\tSetting\tSide\tDepth\tcount\tMRR\na\tFB15K237\tRaw\thead\t2\t1,046.0\t.3\n"
    (found,) = read(tmp_path, text).values
    assert (found.system, found.data_set, found.setting, found.side) == ("a", "fb15k-237", "raw", "head")
    assert (found.part, found.count, found.line) == ("Depth 2", 1046, 2)


def test_a_table_may_be_long(tmp_path):
    """As kgtrec evaluate writes it."""
    with pytest.warns(KgtrecWarning, match="table.csv:4: left out 'AP@20', which is not"):
        found = read(tmp_path, "system,measure,value\na,micro.MRR,0.3\na,micro.MR,12\na,AP@20,0.2\n")
    assert [(each.measure, each.value) for each in found.values] == [("micro.MRR", 0.3), ("micro.MR", 12.0)]


@given(
    rows=st.lists(st.text(alphabet='0123456789.,%-e±()*\\{}"\t ', max_size=30), max_size=6),
    header=st.sampled_from(["MRR,H@1", "MR,MRR,Hits@3,Hits@1", "setting,MRR", "side,MR,AMRI", "count,Hits@1", "MR"]),
    entities=st.sampled_from([1, 2, 14_541]),
)
def test_any_table_is_checked_or_refused(tmp_path_factory, rows, header, entities):
    """Nothing but a KgtrecError comes out of a file, whatever is in it, and what is read can be checked."""
    path = tmp_path_factory.mktemp("any") / "table.csv"
    path.write_text("\n".join([f"model,{header}", *(f"a{place},{row}" for place, row in enumerate(rows))]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", KgtrecWarning)
        try:
            found = read_published_table(path)
        except FormatError:
            return
    assert len(found) > 0
    assert check_paper(found, "any", entities=entities, triples=5).n_values == len(found)
