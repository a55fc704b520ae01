"""The parser of measure names."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kgtrec.errors import MeasureError
from kgtrec.measures.ir_measures_adapter import ProvidedMeasure
from kgtrec.measures.names import ParsedMeasure, describe_measures, parse_measure, parse_measures
from kgtrec.measures.registry import registered

ALIASES: dict[str, tuple[str, ...]] = {
    "AP": ("map", "MAP"),
    "AP@20": ("map_cut_20", "map_cut.20", "AP(cutoff=20)", " AP @ 20 "),
    "nDCG": ("ndcg",),
    "nDCG@5": ("NDCG@5",),
    "nDCG@10": ("ndcg_cut_10",),
    "RR": ("recip_rank",),
    "P@5": ("P_5", "Precision@5"),
    "R@100": ("recall_100", "Recall@100"),
    "Bpref": ("bpref", "BPref"),
    "Success@1": ("success_1",),
    "Rprec": ("RPrec",),
    "SetP": ("set_P",),
    "SetAP": ("set_map",),
    "SetP(relative=True)": ("set_relative_P", "SetRelP"),
    "SetR": ("set_recall",),
    "SetF": ("set_F",),
    "SetF(beta=2.0)": ("set_F(beta=2)",),
    "NumQ": ("num_q",),
    "NumRet": ("num_ret",),
    "NumRet(rel=1)": ("num_rel_ret", "NumRelRet"),
    "NumRel": ("num_rel",),
    "RBP(p=0.9)": ("rbp",),
    "IPrec(rounding=0.5)@0.1": ("iprec_at_recall_0.10",),
    "unj@5": ("unj_5",),
    "relative_P@5": ("relative_P_5",),
    "Rprec_mult@0.2": ("Rprec_mult_0.20",),
    "IPrec@1.0": ("IPrec@1",),
    "nDCG( dcg = 'exp-log2' ) @5": ('nDCG(dcg="exp-log2")@5',),
}
SAME = [(name, other) for other, names in ALIASES.items() for name in names]


@pytest.mark.parametrize(("name", "other"), SAME)
def test_aliases_stand_for_the_same_record_and_parameters(name: str, other: str):
    """trec_eval's spelling and ir-measures' are one measure."""
    first, second = parse_measure(name), parse_measure(other)
    assert isinstance(first, ParsedMeasure)
    assert isinstance(second, ParsedMeasure)
    assert first.record is second.record
    assert dict(first.parameters) == dict(second.parameters)


NEIGHBOURS = {
    "inverse_harmonic_mean_rank": "micro.MRR",
    "hits_at_10": "micro.Hits@10",
    "arithmetic_mean_rank": "micro.MR",
    "adjusted_arithmetic_mean_rank_index": "micro.AMRI",
    "z_hits_at_3": "micro.ZHits@3",
    "hit_rate@10": "Success@10",
    "precision@5": "P@5",
    "ndcg_burges@10": "nDCG(dcg='exp-log2')@10",
    "RetrievalMRR": "RR",
    "retrieval_normalized_dcg": "nDCG",
}


@pytest.mark.parametrize(("name", "ours"), NEIGHBOURS.items())
def test_names_of_pykeen_ranx_and_torchmetrics_are_answered_with_ours(name: str, ours: str):
    """Which say what they are over."""
    assert parse_measure(name).label == ours


def test_the_label_is_what_the_user_wrote():
    """Stripped, and nothing else, so that output can be matched to input."""
    assert parse_measure("  nDCG(judged_only=False)@20 ").label == "nDCG(judged_only=False)@20"


def test_parameters_hold_every_default():
    """An optional cutoff that is not given is None."""
    parsed = parse_measure("nDCG")
    assert parsed.parameters == {"dcg": "log2", "gains": None, "judged_only": False, "cutoff": None}
    assert parse_measure("micro.Hits@10").parameters == {"cutoff": 10}


WRONG = {
    "nDGC@20": "unknown measure 'nDGC@20'; did you mean nDCG@20",
    "map_ct_20": "unknown measure 'map_ct_20'; did you mean map_cut_20",
    "Hits@10": "Hits@10: expected micro.Hits@10, over answers, as link-prediction papers report it, or macro.Hits@10, "
    "over questions",
    "mrr": "mrr: expected micro.MRR, over answers, as link-prediction papers report it, or macro.MRR, over questions",
    "mean_reciprocal_rank": "mean_reciprocal_rank: expected micro.MRR, over answers, as link-prediction papers",
    "mean_rank": "mean_rank: expected micro.MR, over answers, as link-prediction papers report it, or macro.MR",
    "H@10": "H@10: expected micro.Hits@10, over answers, as link-prediction papers report it, or macro.Hits@10",
    "Hits": "Hits: expected micro.Hits@10, over answers, as link-prediction papers report it, or macro.Hits@10",
    "AMRI": "AMRI: expected micro.AMRI, over answers, as link-prediction papers report it, or macro.AMRI, over quest",
    "GMR": "unknown measure 'GMR'; did you mean micro.GMR?",
    "both.realistic.hits_at_10": "both.realistic.hits_at_10: expected a measure's name alone, such as micro.Hits@10, "
    "found a key of PyKEEN's results",
    "Compta": "unknown measure 'Compta'; did you mean Compat?",
    "zzz": "unknown measure 'zzz'; known are ir-measures' names",
    "P": "P: P needs a cutoff, such as P@10",
    "IPrec": "IPrec: IPrec needs a recall, such as IPrec@0.5",
    "ndcg_cut": "unknown measure 'ndcg_cut'; did you mean",
    "P@0": "P@0: expected a whole number of at least 1 as cutoff, found 0",
    "P@2.5": "P@2.5: expected a whole number of at least 1 as cutoff, found 2.5",
    "P@99999999999": "P@99999999999: expected a whole number from 1 to 2,147,483,647 as cutoff, found 99999999999",
    "SetF(beta=1e999)": "SetF(beta=1e999): expected a number of at least 0 as beta, found inf",
    "nDCG(gains={1: 99999999999})": "nDCG(gains={1: 99999999999}): expected gains as {grade: gain, ...} in whole",
    "P@x": "P@x: expected a whole number of at least 1 as cutoff, found 'x'",
    "IPrec@1.5": "IPrec@1.5: expected a number from 0 to 1 as recall, found 1.5",
    "Bpref@3": "Bpref@3: Bpref takes no cutoff; it is written Bpref(rel=1)",
    "AP(rl=2)@5": "AP(rl=2)@5: AP has no parameter 'rl'; did you mean rel?; it is written AP(rel=1, judged_only=",
    "AP(rel='a')": "AP(rel='a'): expected a whole number of at least 0 as rel, found 'a'",
    "AP(rel=-1)": "AP(rel=-1): expected a whole number of at least 0 as rel, found -1",
    "AP(rel=True)": "AP(rel=True): expected a whole number of at least 0 as rel, found True",
    "AP(judged_only=1)": "AP(judged_only=1): expected True or False as judged_only, found 1",
    "AP(cutoff=5)@6": "AP(cutoff=5)@6: expected one cutoff, found both @6 and cutoff=",
    "map_cut_5(cutoff=6)": "map_cut_5(cutoff=6): the name itself sets cutoff; write AP(...) instead",
    "AP(2)": "AP(2): expected parameters as (name=value, ...) with numbers",
    "AP(rel=rel)": "AP(rel=rel): expected parameters as (name=value, ...) with numbers",
    "AP(rel=2": "expected a measure as NAME, NAME@cutoff or NAME(parameter=value)@cutoff, found 'AP(rel=2'",
    "AP@": "expected a measure as NAME, NAME@cutoff or NAME(parameter=value)@cutoff, found 'AP@'",
    "@5": "expected a measure as NAME, NAME@cutoff or NAME(parameter=value)@cutoff, found '@5'",
    "": "expected a measure as NAME, NAME@cutoff or NAME(parameter=value)@cutoff, found ''",
    "RBP(p=2)": "RBP(p=2): expected a number from 0 to 1 as p, found 2.0",
    "nDCG(dcg='e')": "nDCG(dcg='e'): expected 'log2' or 'exp-log2' as dcg, found 'e'",
    "nDCG(gains=[1])": "nDCG(gains=[1]): expected gains as {grade: gain, ...} in whole numbers up to 2,147,483,647",
    "SetF(beta=-1)": "SetF(beta=-1): expected a number of at least 0 as beta, found -1.0",
    "ERR(x=1)@5": "ERR(x=1)@5: ERR has no parameter 'x'; it is written ERR[@k]",
    "ERR@0": "ERR@0: expected a whole number of at least 1 as cutoff, found 0",
    "ERR@a": "ERR@a: expected a whole number of at least 1 as cutoff, found 'a'",
    "INST": "INST: INST needs max_rel",
    "Compat@3": "Compat@3: Compat takes no cutoff; it is written Compat(p=0.95, normalize=True)",
}


@pytest.mark.parametrize(("name", "message"), WRONG.items())
def test_a_wrong_name_gets_one_error_that_says_what_is_allowed(name: str, message: str):
    """No traceback of the machinery, and the way out in the message."""
    with pytest.raises(MeasureError) as caught:
        parse_measure(name)
    assert str(caught.value).startswith(message)


def test_something_that_is_no_measure_is_refused():
    """A number is neither a name nor a measure object."""
    with pytest.raises(MeasureError, match="expected a measure's name or one of ir-measures' measures, found int"):
        parse_measure(3)


def test_several_measures_in_one_text():
    """Blanks and commas separate, except inside brackets and quotes; repetitions are dropped."""
    text = "AP@20,nDCG(dcg='exp-log2', gains={1: 2, 2: 5})@20 RR\tbpref, RR"
    labels = [measure.label for measure in parse_measures(text)]
    assert labels == ["AP@20", "nDCG(dcg='exp-log2', gains={1: 2, 2: 5})@20", "RR", "bpref"]


def test_several_measures_in_an_iterable():
    """Texts, measure objects and parsed measures mix; a tuple from the command line is one too."""
    import ir_measures

    measures = ("AP@20 RR", ir_measures.nDCG @ 5, parse_measure("P@1"), ir_measures.AP(rel=2) @ 3)
    assert [measure.label for measure in parse_measures(measures)] == ["AP@20", "RR", "nDCG@5", "P@1", "AP(rel=2)@3"]
    assert [measure.label for measure in parse_measures(ir_measures.AP @ 5)] == ["AP@5"]


def test_no_measure_at_all_is_an_error():
    """An empty text is more likely a mistake than a wish."""
    with pytest.raises(MeasureError, match="expected at least one measure, found none"):
        parse_measures(" , ")


def test_ir_measures_own_objects_become_native_where_kgtrec_computes_them():
    """All that its pytrec_eval provider serves have a kernel here; only MRR, there another name of RR, is bare."""
    import ir_measures

    assert isinstance(parse_measure(ir_measures.nDCG(dcg="exp-log2", gains={0: 1}) @ 10), ParsedMeasure)
    for name in ir_measures.measures.registry:
        measure = ir_measures.measures.registry[name]
        needs = {"cutoff": "@10", "recall": "@0.1"}
        required = [needs[key] for key, rule in measure.SUPPORTED_PARAMS.items() if rule.required and key in needs]
        if name != "MRR" and any(measure.NAME == served.NAME for served in ir_measures.pytrec_eval.SUPPORTED_MEASURES):
            assert isinstance(parse_measure(name + "".join(required)), ParsedMeasure), name


def test_what_only_ir_measures_has_is_handed_to_it():
    """ERR and Compat have no kernel here."""
    err = parse_measure("ERR@20")
    assert isinstance(err, ProvidedMeasure)
    assert (err.label, err.items, err.record.aggregate) == ("ERR@20", "questions", "mean")
    assert isinstance(parse_measure("Compat(p=0.8)"), ProvidedMeasure)


def test_native_names_load_no_heavy_module():
    """The parser runs in kgtrec --help, so pandas, scipy and ir-measures wait until they are needed."""
    code = (
        "import sys; from kgtrec.measures.names import parse_measures; parse_measures('AP@20 nDCG RR micro.MRR bpref');"
        "print([name for name in ('ir_measures', 'pandas', 'scipy', 'pytrec_eval') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_every_measure_is_described():
    """Help and documentation find a description, a source and trec_eval's name of each."""
    described = describe_measures()
    assert [about.name.partition("[")[0].partition("@")[0] for about in described] == [m.name for m in registered()]
    for about in described:
        assert about.description.endswith(".")
        assert about.source
        assert about.better in ("higher", "lower", "neither")
        assert about.bounds[0] < about.bounds[1]


def test_every_default_may_be_written_out():
    """Writing a measure's defaults changes nothing."""
    for measure in registered("questions"):
        at = {"required": "@1", "optional": "", "none": ""}[measure.cutoff]
        defaults = ", ".join(f"{name}={value!r}" for name, value in measure.parameters.items())
        written = parse_measure(f"{measure.name}({defaults}){at}")
        assert dict(written.parameters) == dict(parse_measure(measure.name + at).parameters)
