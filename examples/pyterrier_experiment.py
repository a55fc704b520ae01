"""A PyTerrier experiment on a knowledge graph: systems of kgtrec, and BM25 over the texts of its entities.

    pip install kgtrec ir_datasets python-terrier
    python examples/pyterrier_experiment.py OUT

BM25 needs Java, and Terrier, which PyTerrier downloads once; it is left out where there is neither.
"""

from __future__ import annotations

import sys
from pathlib import Path

import ir_datasets
import pyterrier as pt

import kgtrec
from kgtrec.ir_measures import macro_MRR, micro_MRR

out = Path(sys.argv[1])
cities = Path(__file__).parent / "cities"
train, valid, test = (kgtrec.read_triples(cities / f"{split}.tsv") for split in ("train", "valid", "test"))
collection = kgtrec.build_questions(train, valid, test)
kgtrec.write_collection(out / "C", collection)

# what is known of each entity is its description: "vienna: capital of austria. speaks german."
facts: dict[str, list[str]] = {}
for head, relation, tail in zip(*(train.to_frame()[column] for column in ("head", "relation", "tail")), strict=True):
    words = relation.replace("_", " ")
    facts.setdefault(head, []).append(f"{words} {tail}.")
    facts.setdefault(tail, []).append(f"{head} {words}.")
lines = (f"{entity}\t{' '.join(own)}\n" for entity, own in facts.items())
(out / "descriptions.tsv").write_text("entity\tdescription\n" + "".join(lines))

# from here on: kgtrec convert C texts --to ir-datasets, two lines to register the result, and PyTerrier as usual
from kgtrec.cli import main  # noqa: E402

main(
    ["convert", str(out / "C"), str(out / "texts"), "--to", "ir-datasets", "--descriptions", f"{out}/descriptions.tsv"]
)
texts = ir_datasets.create_dataset(*(str(out / "texts" / name) for name in ("docs.tsv", "queries.tsv", "qrels.txt")))
ir_datasets.registry.register("kgtrec/cities", texts)
dataset = pt.get_dataset("irds:kgtrec/cities")

systems = {}
for name in ("popularity", "rules"):
    main(["rank", str(out / "C"), "--baseline", name, "--out", str(out / "ranks")])
    systems[name] = pt.Transformer.from_df(pt.io.read_results(str(out / "ranks" / f"{name}.run.gz")))
try:
    pt.java.init()
    index = pt.IterDictIndexer(str(out / "index"), meta={"docno": 64}).index(dataset.get_corpus_iter(verbose=False))
    systems["bm25"] = pt.terrier.Retriever(index, wmodel="BM25")
except Exception as error:  # no Java, or no network to download Terrier
    print(f"without BM25: {error}")

topics, qrels = dataset.get_topics(), dataset.get_qrels()
measures = ["map", macro_MRR]
print(pt.Experiment(list(systems.values()), topics, qrels, measures, names=list(systems)).to_string(index=False))

# a mean over answers is not a mean of questions: pt.Evaluate gives the total
micro = micro_MRR(candidates="listed")
for name in ("popularity", "rules"):
    print(name, pt.Evaluate(systems[name](topics), qrels, [micro]))

# and back: what a PyTerrier system returns is a system of kgtrec
found = {name: system(topics) for name, system in systems.items()}
print(kgtrec.evaluate(collection, found, ["AP", "macro.MRR"], per="side").to_frame().to_string(index=False))
