"""Damaged and hostile files of every format that kgtrec reads.

Valid examples are changed at the level of bytes: bits flip, pieces are lost, doubled or moved, tokens that readers
stumble over come in. Whatever such a file holds, its reader gives a value or one clear error, and soon.

    python -m tests.fuzz --count 200000                     # inputs of each format
    python -m tests.fuzz --format "runs as text" --first 17 --count 1 --keep case

Input N of a format is the same on every machine, whatever else is run.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from kgtrec.campaign.tasks import tasks_for
from kgtrec.collection.questions import build_questions
from kgtrec.data.answer_ranks import AnswerRanks
from kgtrec.data.collection import Collection
from kgtrec.data.triples import Triples
from kgtrec.data.vocabulary import Vocabulary
from kgtrec.errors import FormatError, KgtrecError, KgtrecWarning
from kgtrec.evaluation.chance import chance_table
from kgtrec.formats.alignment import read_alignment_system, read_pairs
from kgtrec.formats.answer_ranks import read_answer_ranks, write_answer_ranks
from kgtrec.formats.campaign.expert_samples import read_expert_sample, write_expert_sample
from kgtrec.formats.campaign.filled_tasks import read_tasks
from kgtrec.formats.campaign.folder import (
    JUDGEMENTS,
    read_campaign,
    read_names,
    read_people,
    read_sources,
    read_templates,
)
from kgtrec.formats.campaign.gold import read_gold
from kgtrec.formats.campaign.judgements import read_judgements
from kgtrec.formats.campaign.kgc_sparsity import read_kgc_sparsity
from kgtrec.formats.campaign.label_studio import read_label_studio, read_users
from kgtrec.formats.campaign.pools import read_families, read_pool, read_settings
from kgtrec.formats.campaign.tasks import write_tasks
from kgtrec.formats.chance_tables import chance_csv, read_chance_table
from kgtrec.formats.collections import read_collection, write_collection
from kgtrec.formats.entity_types import read_entity_types, read_relation_types
from kgtrec.formats.output.folders import SETTINGS
from kgtrec.formats.published_tables import read_published_table
from kgtrec.formats.relation_shares import read_relation_shares
from kgtrec.formats.score_matrix import read_score_matrix
from kgtrec.formats.score_tables import looks_like_table, read_score_table
from kgtrec.formats.sniff import read_any, sniff
from kgtrec.formats.trec.origins import Origin, origin_path, write_origin
from kgtrec.formats.trec.qrels import read_qrels
from kgtrec.formats.trec.runs import read_run
from kgtrec.formats.trec.topics import read_label_lines, read_topics
from kgtrec.formats.triples import read_triples
from kgtrec.ranking.system import rank_system
from kgtrec.study.config_file import read_study_config
from kgtrec.study.folder import MANIFEST, NOTES, STEPS, read_study
from kgtrec.study.report import study_report
from kgtrec.study.steps import STEP, Steps
from kgtrec.systems.ogb import is_submission
from kgtrec.systems.registry import read_system
from tests.campaign_folders import folder_of
from tests.campaigns_by_hand import campaign_of
from tests.formats.campaign.test_label_studio import USERS, YES, annotation, minimal, region, task
from tests.fuzz_large import targets_of_large_models
from tests.fuzz_targets import Target, npy, parts
from tests.published_labels import FILES, published
from tests.study.test_folder import write_study

SECONDS = 10  # that one input may take

#: what readers stumble over
TOKENS = [
    b"\0",
    b"\xef\xbb\xbf",
    b"\r",
    b"\r\n",
    b"\n",
    b"\n\n",
    b"\t",
    b"\t\t",
    b" ",
    b"#",
    b'"',
    b'""',
    b"'",
    b",",
    b";",
    b"-1",
    b"0",
    b"1e999",
    b"-1e-999",
    b"nan",
    b"NaN",
    b"inf",
    b"-inf",
    b"Infinity",
    b"1_000",
    b"0x10",
    b"1.5",
    b"True",
    b"9" * 19,
    b"2147483648",
    b"-2147483649",
    b"18446744073709551616",
    b"9" * 400,
    b"1" * 5000,
    b"[" * 2000,
    b"{" * 2000,
    b"(" * 2000,
    b'{"a":' * 1200,
    b"]" * 10,
    b"\\ud800",
    b"\\udfff",
    b"\\u0000",
    b"\xed\xa0\x80",
    b"\xff",
    b"\xff\xfe",
    b"\xc3",
    b"\xe2\x80\xae",
    "\N{ARABIC-INDIC DIGIT ONE}".encode(),
    "\N{LINE SEPARATOR}".encode(),
    b"\x1b[31m",
    b"null",
    b"true",
    b"[]",
    b"{}",
    b"\x1f\x8b",
    b"PAR1",
    b"PK\x03\x04",
    b"\x93NUMPY",
    b"\x85",
    b"\x1c",
    b"=",
    b"\\",
    b"/",
    b"../",
    b"%s",
    b"{0}",
    b"${HOME}",
    b"\x7f" * 4,
    b"\xff" * 4,
    b"\0" * 8,
    b"\x80\x00\x00\x00",
]


class TooSlowError(BaseException):
    """An input took longer than it may."""


def mutated(rng: random.Random, data: bytes) -> bytes:
    """The data after one to six changes."""
    changed = bytearray(data)
    for _ in range(min(1 + int(rng.expovariate(0.7)), 6)):
        _change(rng, changed)
    return bytes(changed)


def _change(rng: random.Random, data: bytearray) -> None:
    place = rng.randrange(len(data) + 1)
    length = min(int(rng.paretovariate(0.8)), 64)
    kind = rng.randrange(9)
    if kind == 0 and data:
        data[min(place, len(data) - 1)] ^= 1 << rng.randrange(8)
    elif kind == 1 and data:
        data[min(place, len(data) - 1)] = rng.randrange(256)
    elif kind == 2:
        data[place:place] = bytes(rng.randrange(256) for _ in range(min(length, 8)))
    elif kind == 3:
        del data[place : place + length]
    elif kind == 4 and rng.random() < 0.3:
        del data[place:]
    elif kind == 5:
        begin = rng.randrange(len(data) + 1)
        data[place:place] = data[begin : begin + length] * rng.choice((1, 1, 1, 2, 50))
    elif kind == 6:
        # a word or number gives way to a token
        end = place
        while end < len(data) and chr(data[end]).isalnum():
            end += 1
        data[place:end] = rng.choice(TOKENS)
    elif kind == 7:
        data[place:place] = rng.choice(TOKENS)
    else:
        lines = data.split(b"\n")
        rng.shuffle(lines)
        data[:] = b"\n".join(lines[: rng.randint(1, len(lines))] + lines[: rng.randint(0, 2)])


def inputs(target: Target, name: str, seed: int, first: int, count: int) -> Iterator[tuple[int, bytes]]:
    """Number and bytes of each input."""
    for number in range(first, first + count):
        rng = random.Random(f"{seed} {name} {number}")  # noqa: S311  # nothing here is secret
        yield number, mutated(rng, rng.choice(target.examples))


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise TooSlowError where the block takes longer."""

    def stop(*_: object) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def outcome(target: Target, data: bytes) -> str:
    """``read`` or ``refused``; anything else is a bug, and told as its trace."""
    target.put(data)
    try:
        with limited(SECONDS), warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", KgtrecWarning)
            target.read()
    except KgtrecError as error:
        # whoever shows the message must be able to
        return "refused" if str(error).strip() else "a KgtrecError without a message"
    except MemoryError:
        return "refused"
    except OSError as error:
        return "refused" if error.errno is not None else traceback.format_exc()
    except TooSlowError:
        return f"over {SECONDS} seconds:\n{traceback.format_exc()}"
    except Exception:
        return traceback.format_exc()
    return "read"


# models of other programs

TRACES = [
    "".join(
        "{epoch: 1, event: example_rank, filter_splits: [train, valid, test], job_id: 1-a, o: 1, p: 0, rank: 2, "
        f"rank_filtered: {rank}, s: 0, split: test, task: {task}}}\n"
        for task, rank in (("sp", 1), ("po", 2))
    )
]
DGLKE = '{"model_name": "ComplEx", "dataset": "w", "gamma": 12.0, "hidden_dim": 2, "emp_file": "entities.tsv"}'


def _write_dictionaries(folder: Path) -> None:
    (folder / "entity_ids.del").write_text("0\tann\n1\tbob\n")
    (folder / "relation_ids.del").write_text("0\tlikes\n")


def _write_embeddings(folder: Path) -> None:
    texts = {"config.json": DGLKE, "entities.tsv": "0\tann\n1\tbob\n", "relations.tsv": "0\tlikes\n"}
    for name, text in texts.items():
        if not (folder / name).exists():
            (folder / name).write_text(text)
    for name, rows in (("entity", 2), ("relation", 1)):
        if not (path := folder / f"w_ComplEx_{name}.npy").exists():
            path.write_bytes(npy(np.eye(rows, 4)))


def _read_beside(write: Callable[[Path], None], kind: str) -> Callable[[Path], object]:
    """Reads a model of which one file is changed; the others are written beside it."""

    def read(path: Path) -> object:
        write(path.parent)
        system = read_system(path.parent, kind)
        return system.name, list(system.entities) if hasattr(system, "entities") else None

    return read


# the formats


def formats(folder: Path) -> dict[str, Callable[[], Target]]:
    """Every format by its name; its example files are made in ``folder`` when it is called."""
    made: dict[str, Callable[[], Target]] = {}

    def file(name: str, file_name: str, read: Callable[[Path], object], *examples: bytes | str) -> None:
        place = folder / name.replace(" ", "-")

        def build() -> Target:
            place.mkdir(parents=True, exist_ok=True)
            path = place / file_name
            data = [each.encode() if isinstance(each, str) else each for each in examples]
            return Target(data, path.write_bytes, lambda: read(path))

        made[name] = build

    file(
        "runs as text",
        "a.run",
        _read_labels(read_run),
        RUN,
        "# a\n" + RUN.replace(" ", "\t"),
        RUN.replace("\n", "\r\n"),
    )
    file("runs as gzip", "a.run.gz", _read_labels(read_run), gzip.compress(RUN.encode(), mtime=0))
    file("runs as zstd", "a.run.zst", _read_labels(read_run), _zstd(RUN.encode()))
    file("runs as Parquet", "a.parquet", _read_labels(read_run), *_parquets(RUN_TABLE, {"format": "run", "name": "a"}))
    file("qrels as text", "qrels.txt", _read_labels(read_qrels), QRELS, "\ufeff" + QRELS.replace(" ", "\t"))
    file("qrels as Parquet", "qrels.parquet", _read_labels(read_qrels), *_parquets(QRELS_TABLE, {"format": "qrels"}))
    file("topics", "topics.tsv", read_topics, TOPICS)
    file("files of any kind", "file", lambda path: (sniff(path), read_any(path)), RUN, QRELS, TOPICS)
    file("triples as text", "train.tsv", read_triples, TRIPLES, TRIPLES.replace("\n", "\r\n"))
    file(
        "triples between blanks",
        "train.txt",
        partial(read_triples, delimiter="whitespace"),
        TRIPLES.replace("\t", "  "),
    )
    file(
        "triples between commas",
        "train.csv",
        partial(read_triples, delimiter=",", columns="htr"),
        TRIPLES.replace("\t", ","),
    )
    file("N-Triples", "kg.nt", partial(read_triples, literals="keep"), NTRIPLES)
    file("score tables", "scores.csv", lambda path: (looks_like_table(path), read_score_table(path)), *SCORE_TABLES)
    file("published tables", "paper.csv", partial(read_published_table, data_sets=["fb15k-237"]), *PUBLISHED_TABLES)
    file("chance tables", "chance.csv", read_chance_table, chance_csv(chance_table(_collection())))
    file("relation shares", "shares.tsv", read_relation_shares, "likes\t3\nknows\t1e-3\nborn in\t0.5\n")
    file("entity types", "types.tsv", read_entity_types, "ann\tperson\nann\tpoet\ntea\tdrink\n")
    file("relation types", "types.tsv", read_relation_types, "likes\tperson\tdrink\nknows\tperson\tperson\n")
    file("alignments", "test.tsv", lambda path: read_pairs(path, 3, 4), "0\t2\n1\t0\n\n2\t3\n")
    file(
        "labelled alignments",
        "test.tsv",
        lambda path: read_pairs(path, Vocabulary.of("abc"), Vocabulary.of("xyz")),
        "a\tx\nb\tz\n",
    )
    file("similarities", "a.npy", lambda path: read_alignment_system(path).shape, *_npys(np.eye(3, 4)))
    file(
        "label lists",
        "e.txt",
        lambda path: (read_label_lines(path), read_label_lines(path, column=1)),
        "ann\tx\nbob\ty\ntea\tz\n",
    )
    file("traces of LibKGE", "trace.yaml", _read_beside(_write_dictionaries, "libkge-trace"), *TRACES)
    for what, name, data in (
        ("settings", "config.json", DGLKE),
        ("embeddings", "w_ComplEx_entity.npy", npy(np.eye(2, 4))),
        ("labels", "entities.tsv", "0\tann\n1\tbob\n"),
    ):
        file(f"{what} of DGL-KE", name, _read_beside(_write_embeddings, "dglke"), data)
    file("study configurations", "study.toml", partial(read_study_config, environment={}), *STUDY_CONFIGS)
    file("Label Studio exports", "export.json", partial(read_label_studio, users=USERS), *_exports())
    file("Label Studio users", "users.tsv", read_users, "user\tperson\n3\tann\nbob@example.org\tbob\n4\tbob\n")
    file(
        "names",
        "names.tsv",
        partial(read_names, entities=Vocabulary.of(["fr", "de"])),
        "label\tname\nfr\tFrance\nde\tGermany\n",
    )
    file("people", "people.tsv", read_people, "person\trole\tactive\nann\tannotator\tyes\nbob\texpert\tno\n")
    file(
        "gold",
        "gold.tsv",
        read_gold,
        "head\trelation\ttail\tverdict\texplanation\nno\tcapital\toslo\tY\t\nno\tcapital\tbergen\tN\tOslo is\n",
        "head\trelation\ttail\tverdict\na\t@near\tb\tY\n",
    )
    file(
        "templates", "templates.tsv", read_templates, "relation\ttemplate\ncapital\tIs {tail} the capital of {head}?\n"
    )
    file("sources", "sources.txt", read_sources, "# where to look\nen.wikipedia.org\nwikidata.org\n")
    file("families", "runs.tsv", read_families, "run\tfamily\ntranse\ttranslation\nrotate\n")
    for kind in ("csv", "jsonl"):
        made[f"tasks as {kind}"] = partial(_tasks, folder / kind, kind, "ann")
    made["tasks as xlsx"] = partial(_tasks, folder / "xlsx", "xlsx", "ann")
    for part in ("worksheets/sheet1.xml", "styles.xml", "workbook.xml", "_rels/workbook.xml.rels"):
        made[f"workbooks' {part}"] = partial(_workbook_part, folder / part.replace("/", "-"), f"xl/{part}")
    made["tasks without a person"] = partial(_tasks, folder / "anybody", "csv", None)
    made["score matrices"] = partial(_score_matrix, folder / "matrix")
    made["orders of a matrix"] = partial(_order, folder / "order")
    made["origins of runs"] = partial(_origin, folder / "origin")
    made["factorised systems"] = partial(_archive, folder / "archive")
    made["arrays in archives"] = partial(_array_in_archive, folder / "arrays")
    made["aligned vectors"] = partial(_vectors, folder / "vectors")
    made["answer ranks"] = partial(_ranks, folder / "ranks")
    made["metadata of Parquet"] = partial(_metadata, folder / "metadata")
    made["schemas of Parquet"] = partial(_schemas, folder / "schemas")
    for numbers in ("openke", "libkge"):
        made[f"triples of {numbers}"] = partial(_numbered_triples, folder / numbers, numbers)
    made["collections"] = partial(_collection_parts, folder / "collections")
    made["campaigns"] = partial(_campaign_parts, folder / "campaigns")
    made["campaign settings"] = partial(_campaign_settings, folder / "settings")
    made["judgements"] = partial(_judgements, folder / "judgements")
    made["expert samples"] = partial(_expert_sample, folder / "experts")
    made["published labels"] = partial(_published, folder / "published")
    file("ranking files", "preds.txt", partial(read_system, kind="anyburl"), *RANKING_FILES)
    file("ranking files as gzip", "preds.txt.gz", read_system, gzip.compress(RANKING_FILES[0].encode(), mtime=0))
    file("lists as JSON Lines", "a.jsonl", partial(read_system, kind="jsonl"), *JSON_LISTS)
    made["names of entities"] = partial(_names_of_entities, folder / "entity-names")
    made["predictions of SimKGC"] = partial(_simkgc, folder / "simkgc")
    made["ranks of KG-BERT"] = partial(_kg_bert, folder / "kg-bert")
    made["submissions to OGB"] = partial(_submission, folder / "ogb")
    made |= targets_of_large_models(folder)
    made["study manifests"] = partial(_study_manifest, folder / "study")
    made["steps of a study"] = partial(_step, folder / "step")
    return made


RUN = "".join(
    f"{q} Q0 {e} {r} {s} transe\n"
    for q in ("head0", "tail1")
    for r, (e, s) in enumerate([("ann", "0.75"), ("007", "1e-3"), ("caf\u00e9", "-inf"), ("NA", "-2")], 1)
)
QRELS = "head0 0 ann 1\nhead0 0 007 0\ntail1 0 caf\u00e9 -1\ntail1 0 NA 2\n"
TOPICS = "# id anchor relation\nhead0\tice cream\tlikes\ntail1\tann\tborn in\n"
TRIPLES = "ann\tlikes\ttea\nbob\tlikes\tjam\ncid\tknows\tann\n\u77e5\tknows\tbob\n"
NTRIPLES = (
    '<http://x/a> <http://x/p> <http://x/b> .\n_:b0 <http://x/p> "lit\\u00e9ral"@en .\n# note\n'
    "<http://x/b> <http://x/q> _:b0 .\n"
)
PUBLISHED_TABLES = (
    "model,FB15k-237 MR,FB15k-237 H@10 (%),count\nRotatE,177,**53.3**,\n\\textbf{TransE},357,46.5 \u00b1 .2,40932\n",
    'system,measure,value\n"a,b",micro.MRR,0.5\n"a,b",Hits@1,.25\n',
    "Method\tsetting\tside\tMean Rank\na\traw\ttail\t7,000\n",
)
SCORE_TABLES = (
    "System,Depth,micro_mrr,map\ntranse,0,0.3,0.4\ntranse,1,0.2,\nrotate,0,.5,1e-3\n",
    'system,measure,side,value,low,high\n"a,b",RR,head,0.5,0.1,0.9\n"a,b",RR,tail,0.25,,\n',
    "System\tmap\na\t0.5\nb\t0.25\n",
)
RANKING_FILES = (
    "ann likes tea\nHeads: bob\t0.5\tann\t1e-05\t\nTails: tea\t0.25\t\n"
    "caf\u00e9 likes jam\nHeads: \nTails: tea\t0.5\tjam\t0.5\t\n",
    "ice cream\tis a\tfood\r\nTails: food\t1\t\r\nHeads: ice cream\t1\tjam\t0.5\r\n",
    "ann likes tea\nHeads: bob 0.5 ann 0.25 \nTails: tea 0.25\n",
)
JSON_LISTS = (
    '{"head": "ann", "relation": "likes", "tail": null, "candidates": [["tea", 1], ["caf\\u00e9", 1], ["jam", -1]]}\n'
    '{"head": null, "relation": "likes", "tail": "jam", "candidates": [["ann", 1e3]], "answer": "bob"}\n',
    '{"relation": "knows", "tail": "jam", "candidates": ["ann", "bob"]}\n\n'
    '{"head": "\u77e5", "relation": "knows", "candidates": []}\n',
)
RUN_TABLE = pa.table(
    {"question": ["head0", "head0", "tail1"], "entity": ["ann", "bob", "ann"], "score": [0.5, 0.25, 1.0]}
)
QRELS_TABLE = pa.table(
    {"question": ["head0", "head0", "tail1"], "entity": ["ann", "bob", "ann"], "grade": pa.array([1, 0, 2], pa.int32())}
)
STUDY_CONFIGS = (
    """title = "T"
subtitle = "s"
about = ["One.", "Two."]
seed = 3
out = "x"

[data]
train = "study.toml"
valid = "study.toml"
test = "study.toml"
columns = "htr"
threshold = 1.5

[systems]
baselines = ["all"]
filter = ["train", "valid", "test"]

[[labels]]
name = "all"
kind = "test"

[[labels]]
name = "S"
kind = "sample"
size = 0.5
seed = 2

[measures]
names = ["micro.MRR", "AP@20"]
main = ["AP@20"]
resamples = 100
confidence = 0.9

[correlation]
pairs = [["all", "S"]]
coefficients = ["tau", "rbo"]
fixed_relations = true

[stability]
labels = ["all"]
repeats = 5
sizes = [0.5, 10, 1]

[power]
alpha = 0.05
repeats = 10

[report]
formats = ["html", "latex"]
""",
)


def _read_labels(read: Callable[[Path], Any]) -> Callable[[Path], object]:
    """A reader, and then every label as text."""

    def whole(path: Path) -> object:
        found = read(path)
        return list(found.questions), list(found.entities)

    return whole


def _collection(*, ids: bool = False) -> Collection:
    train = [("ann", "likes", "tea"), ("bob", "likes", "jam"), ("cid", "knows", "ann")]
    test = [("ann", "likes", "jam"), ("bob", "knows", "cid"), ("cid", "likes", "tea")]
    return build_questions(Triples.of(train), Triples.of([]), Triples.of(test), ids=ids)


def _zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(data)
    return sink.getvalue().to_pybytes()


def _parquet(table: pa.Table, **options: Any) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def _parquets(table: pa.Table, metadata: dict[str, object]) -> list[bytes]:
    """The table plain, compressed, without dictionaries, with codes, and as several groups of rows."""
    about = {b"kgtrec": json.dumps({"version": 1, **metadata}).encode()}
    named = table.replace_schema_metadata(about)
    columns = [column.dictionary_encode() if pa.types.is_string(column.type) else column for column in named.columns]
    codes = pa.table(columns, named.column_names).replace_schema_metadata(about)
    return [
        _parquet(named, compression="none", use_dictionary=False),
        _parquet(named, compression="none"),
        _parquet(named, compression="zstd"),
        _parquet(codes, compression="none", row_group_size=2),
        _parquet(named, compression="none", store_schema=False, data_page_version="2.0"),
    ]


def _npys(*arrays: np.ndarray) -> list[bytes]:
    found = []
    for array in arrays:
        for one in (array.astype(np.float32), np.asfortranarray(array), array.astype(">f2"), array.astype(np.int8)):
            sink = io.BytesIO()
            np.save(sink, one)
            found.append(sink.getvalue())
    return found


def _exports() -> list[bytes]:
    full = [
        task(annotation(1, 3, *YES), annotation(2, {"id": 9, "email": "Bob@Example.org"}, region("verdict", "Unsure")))
    ]
    return [json.dumps(each).encode() for each in (full, [minimal(1, 3, 4, verdict="Yes", source="https://a.b/c")])]


def _tasks(folder: Path, kind: str, person: str | None) -> Target:
    folder.mkdir(parents=True)
    path, example = folder / f"tasks.{kind}", folder / f"example.{kind}"
    write_tasks(example, tasks_for(campaign_of(), "ann"))
    data = example.read_bytes()
    filled = data.replace(b"\r\n,", b"\r\nY,").replace(b"?,,,", b"?,https://a.b/c,n,")
    filled = filled.replace(b'"verdict": ""', b'"verdict": "N"')
    assert filled != data or kind == "xlsx"
    return Target([data, filled], path.write_bytes, lambda: read_tasks(path, person=person))


def _workbook_part(folder: Path, part: str) -> Target:
    """A part of a workbook that is otherwise as it should be."""
    folder.mkdir(parents=True)
    path = folder / "tasks.xlsx"
    write_tasks(path, tasks_for(campaign_of(), "ann"))
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}

    def put(data: bytes) -> None:
        with zipfile.ZipFile(path, "w") as archive:
            for name, own in (parts | {part: data}).items():
                archive.writestr(name, own)

    filled = parts[part].replace(b"<v>", b"<f>1+1</f><v>")
    return Target([parts[part], filled], put, lambda: read_tasks(path))


def _score_matrix(folder: Path) -> Target:
    folder.mkdir(parents=True)
    collection = _collection()
    path = folder / "a.npy"
    write_collection(folder / "C", collection)
    shape = len(collection.questions), len(collection.entities)
    order = {"topics": folder / "C" / "topics.tsv", "entities": folder / "C" / "entities.txt"}
    return Target(
        _npys(np.arange(shape[0] * shape[1]).reshape(shape)),
        path.write_bytes,
        lambda: [np.array(scores) for _, scores in read_score_matrix(path, collection, **order)],
    )


def _origin(folder: Path) -> Target:
    folder.mkdir(parents=True)
    path = folder / "a.run"
    path.write_text(RUN)
    write_origin(path, "run", Origin("0123456789abcdef_01234567", ("train", "valid")))
    beside = origin_path(path)
    examples = [beside.read_bytes()]
    write_origin(path, "run", Origin("0123456789abcdef_01234567"))
    return Target([*examples, beside.read_bytes()], beside.write_bytes, lambda: _read_labels(read_run)(path))


def _order(folder: Path) -> Target:
    """Topics and entities beside a matrix; where the other one of them is whole."""
    write_collection(folder / "C", _collection(ids=True))
    collection = read_collection(folder / "C")
    path = folder / "C" / "a.npy"
    np.save(path, np.zeros((len(collection.questions), len(collection.entities))))
    whole = {name: (folder / "C" / name).read_bytes() for name in ("topics.tsv", "entities.tsv")}

    def put(data: bytes) -> None:
        name, _, rest = data.partition(b"\n")
        for file, bytes_of in whole.items():
            (folder / "C" / file).write_bytes(rest if file.encode() == name else bytes_of)

    return Target(
        [name.encode() + b"\n" + data for name, data in whole.items()],
        put,
        lambda: [np.array(scores) for _, scores in read_score_matrix(path, collection)],
    )


def _factors(collection: Collection) -> dict[str, np.ndarray]:
    questions = collection.questions
    asked = np.stack([questions.is_head, questions.relation, questions.anchor], axis=1).astype(np.int32)
    rng = np.random.default_rng(3)
    n = len(collection.entities)
    return {
        "E": rng.random((n, 3), np.float32),
        "Q": rng.random((len(asked), 3)),
        "b": rng.random(n),
        "questions": asked,
    }


def _archive(folder: Path) -> Target:
    folder.mkdir(parents=True)
    collection = _collection()
    (folder / "entities.txt").write_text("".join(f"{label}\n" for label in collection.entities))
    (folder / "relations.txt").write_text("".join(f"{label}\n" for label in collection.relations))
    path = folder / "a.npz"
    examples = []
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        sink = io.BytesIO()
        with zipfile.ZipFile(sink, "w", method) as archive:
            for name, array in _factors(collection).items():
                archive.writestr(zipfile.ZipInfo(f"{name}.npy"), npy(array), method)
        examples.append(sink.getvalue())
    return Target(examples, path.write_bytes, lambda: rank_system(collection, read_system(path, "factorised")))


def _array_in_archive(folder: Path) -> Target:
    """One array is changed, and the archive around it is whole."""
    target = _archive(folder)
    factors = _factors(_collection())

    def put(data: bytes) -> None:
        with zipfile.ZipFile(folder / "a.npz", "w") as archive:
            for name, array in factors.items():
                archive.writestr(f"{name}.npy", data if name == "E" else npy(array))

    return Target([npy(factors["E"])], put, target.read)


def _names_of_entities(folder: Path) -> Target:
    folder.mkdir(parents=True)
    (folder / "a.jsonl").write_text(JSON_LISTS[0])
    path = folder / "names.tsv"
    return Target(
        [b"Q1\tann\tx\nQ2\ttea\ty\nQ5\tjam\tz\nQ3\tdot\tx\nQ4\tdot\tx\n"],
        path.write_bytes,
        lambda: read_system(folder / "a.jsonl", entities=path, relations=None),
    )


def _simkgc(folder: Path) -> Target:
    """The predictions, or the triples and relations of the data, are changed."""
    folder.mkdir(parents=True)
    triple = {"head_id": "Q1", "head": "ann", "relation": "likes", "tail_id": "Q2", "tail": "caf\u00e9"}
    prediction = {"head": "ann", "relation": "likes", "tail": "caf\u00e9", "pred_tail": "x", "rank": 3}
    files = {
        "eval_test.txt.json_forward_a.json": [prediction, prediction | {"rank": 1}],
        "test.txt.json": [triple, triple],
        "relations.json": {"P1": "likes", "P2": "knows"},
    }
    texts = {name: json.dumps(value, indent=2).encode() for name, value in files.items()}
    return parts(folder, texts, lambda: read_system(folder, "simkgc", data=folder))


def _kg_bert(folder: Path) -> Target:
    folder.mkdir(parents=True)
    files = {"a_ranks.txt": b"0\t12\n7\t0\n", "test.tsv": b"ann\tlikes\ttea\nbob\tlikes\tjam\n"}
    return parts(folder, files, lambda: read_system(folder / "a_ranks.txt", "kg-bert", data=folder))


def _submission(folder: Path) -> Target:
    """The archive, the array in it, or that of the questions is changed."""
    folder.mkdir(parents=True)
    best, asked = np.array([[3, 2], [1, -1]], np.int32), np.array([[0, 1], [2, 0]])
    buffer = io.BytesIO()
    np.savez(buffer, t_pred_top10=best)
    files = {"t_pred.npz": buffer.getvalue(), "val_hr.npy": npy(asked)}
    path = folder / "t_pred.npz"
    return parts(folder, files, lambda: (is_submission(path), read_system(path, "ogb", data=folder)))


def _vectors(folder: Path) -> Target:
    folder.mkdir(parents=True)
    (folder / "right.npy").write_bytes(npy(np.eye(4, 3)))
    return Target(_npys(np.eye(5, 3)), (folder / "left.npy").write_bytes, lambda: read_alignment_system(folder).shape)


def _ranks(folder: Path) -> Target:
    folder.mkdir(parents=True)
    path = folder / "a.ranks.parquet"
    rows = np.array([0, 0, 1], np.int32)
    ranks = AnswerRanks(
        "a",
        rows,
        np.array([0, 1, 0], np.int32),
        np.array([True, False, True]),
        rows,
        rows * 0,
        rows + 3,
        np.array([0.5, 0.25, 1.0]),
        Vocabulary.of(["head0", "tail1"]),
        Vocabulary.of(["ann", "bob"]),
        ("train",),
        "abc",
    )
    write_answer_ranks(path, ranks)
    table = pq.read_table(path)
    examples = [
        path.read_bytes(),
        _parquet(table, compression="none"),
        _parquet(table, compression="none", use_dictionary=False),
    ]
    return Target(examples, path.write_bytes, lambda: _read_labels(read_answer_ranks)(path))


def _metadata(folder: Path) -> Target:
    """What kgtrec writes about answer ranks and runs is changed, and the file around it is whole."""
    target = _ranks(folder)
    path = folder / "a.ranks.parquet"
    table = pq.read_table(path)
    said = [table.schema.metadata[b"kgtrec"], b'{"version": 1, "format": "run", "name": "\\u00e9"}']

    def read() -> object:
        return list(read_run(path).questions) if sniff(path) == "run" else target.read()

    return Target(
        said,
        lambda data: pq.write_table(table.replace_schema_metadata({b"kgtrec": data}), path, compression="none"),
        read,
    )


def _schemas(folder: Path) -> Target:
    """Columns of any type and name in any order, some of them twice: a line is name, type."""
    folder.mkdir(parents=True)
    path = folder / "a.parquet"
    kinds = {
        b"t": pa.array(["a", "b"]),
        b"d": pa.array(["a", "b"]).dictionary_encode(),
        b"i": pa.array([1, 0], pa.int32()),
        b"f": pa.array([0.5, 1.5]),
        b"n": pa.array([None, "a"]),
        b"N": pa.nulls(2),
        b"b": pa.array([True, False]),
        b"L": pa.array([["a"], []]),
        b"s": pa.array([{"question": "a"}, {"question": "b"}]),
        b"T": pa.array(["a", "b"], pa.large_string()),
        b"y": pa.array([b"\xff", b"a"]),
        b"h": pa.array(np.array([0.5, 1.5], np.float16)),
        b"u": pa.array([1, 2**63], pa.uint64()),
        b"c": pa.array(["1.5", "2.5"]).cast(pa.decimal128(5, 2)),
        b"m": pa.array([1, 2], pa.timestamp("us")),
        b"D": pa.array([1.5, 2.5]).dictionary_encode(),
        b"x": pa.array([float("nan"), 1.0]),
    }

    def put(data: bytes) -> None:
        lines = [line.rpartition(b",") for line in data.split(b"\n") if line][:20]
        columns = [kinds.get(kind[:1], kinds[b"t"]) for _, _, kind in lines]
        names = [name.decode("utf-8", "replace").replace("\0", "0") for name, _, _ in lines]
        pq.write_table(pa.Table.from_arrays(columns, names), path)

    def read() -> object:
        for reader in (read_run, read_qrels, read_answer_ranks, sniff):
            with suppress(FormatError):
                reader(path)
        return None

    one = [
        f"question,{q}\nentity,{e}\nscore,{s}\ngrade,{s}\n".encode()
        for q in "tdTLsyi"
        for e in "tdnN"
        for s in "fihucmDxbt"
    ]
    ranks = b"question,d\nentity,d\nanswer,b\nabove,i\ntied,i\nn_other,i\nscore,f\n"
    return Target([*one, ranks, b"query_id,t\ndoc_id,t\nrelevance,i\n"], put, read)


def _numbered_triples(folder: Path, kind: str) -> Target:
    folder.mkdir(parents=True)
    files = {
        "openke": {
            "train2id.txt": "2\n0 1 0\n1 2 1\n",
            "entity2id.txt": "3\nann\t0\nbob\t1\ntea\t2\n",
            "relation2id.txt": "2\nr\t0\ns\t1\n",
        },
        "libkge": {
            "train.del": "0\t0\t1\n1\t1\t2\n",
            "entity_ids.del": "0\tann\n1\tbob\n2\ttea\n",
            "relation_ids.del": "0\tr\n1\ts\n",
        },
    }[kind]
    return parts(
        folder, {name: text.encode() for name, text in files.items()}, lambda: read_triples(folder / next(iter(files)))
    )


def _collection_parts(folder: Path) -> Target:
    """A part is changed, and the manifest tells its new checksum."""
    write_collection(folder, _collection())
    manifest = (folder / "manifest.json").read_bytes()
    about = json.loads(manifest)

    def adapt(name: str) -> None:
        if name != "manifest.json":
            sums = about["files"] | {name: sha256((folder / name).read_bytes()).hexdigest()}
            (folder / "manifest.json").write_text(json.dumps(about | {"files": sums}))

    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "report.txt"}
    names = sorted(files)
    return parts(folder, {name: files[name] for name in names}, lambda: read_collection(folder), adapt)


def _campaign_parts(folder: Path) -> Target:
    """A file of a campaign is changed, and the settings tell its new checksum."""
    events = [(0, "ann", "annotator", "Y", "https://en.wikipedia.org/a", "n"), (1, "bob", "annotator", "N", "", "")]
    folder_of(campaign_of(events), folder)
    settings = read_settings(folder)

    def adapt(name: str) -> None:
        if name in settings["files"]:
            sums = settings["files"] | {name: sha256((folder / name).read_bytes()).hexdigest()}
            (folder / SETTINGS).write_text(json.dumps(settings | {"files": sums}))

    files = {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()}
    return parts(folder, files, lambda: read_campaign(folder), adapt)


def _campaign_settings(folder: Path) -> Target:
    folder_of(campaign_of(), folder)
    path = folder / "campaign.json"
    return Target(
        [path.read_bytes()], path.write_bytes, lambda: (read_settings(folder), read_pool(folder), read_campaign(folder))
    )


def _judgements(folder: Path) -> Target:
    events = [
        (0, "ann", "annotator", "Y", "https://en.wikipedia.org/a", "n\u00e9"),
        (1, "bob", "annotator", "N", "", ""),
        (1, "cid", "adjudicator", "Y", "", '"x"'),
    ]
    folder_of(campaign_of(events), folder)
    pool = read_pool(folder).pool
    path = folder / JUDGEMENTS
    return Target([path.read_bytes()], path.write_bytes, lambda: read_judgements(path, pool))


def _expert_sample(folder: Path) -> Target:
    from kgtrec.data.campaign import ExpertSample

    folder_of(campaign_of(), folder)
    pool = read_pool(folder).pool
    sample = ExpertSample(np.array([0, 2, 3], np.int32), np.array([0, 1, 0], np.int8), np.array([0.5, 1.0, 0.5]))
    before = set(folder.iterdir())
    write_expert_sample(folder, pool, sample)
    (path,) = set(folder.iterdir()) - before
    return Target([path.read_bytes()], path.write_bytes, lambda: read_expert_sample(folder, pool))


def _published(folder: Path) -> Target:
    folder.mkdir(parents=True)
    published(folder)
    return parts(folder, {name: text.encode() for name, text in FILES.items()}, lambda: read_kgc_sparsity(folder))


def _study_manifest(folder: Path) -> Target:
    """The manifest, or the notes or the collection's manifest of a step."""
    write_study(folder)
    places = [folder / MANIFEST, *folder.glob(f"{STEPS}/*/{NOTES}"), *folder.glob(f"{STEPS}/*/*/{MANIFEST}")]
    files = {str(path.relative_to(folder)): path.read_bytes() for path in sorted(places)}
    return parts(folder, files, lambda: study_report(read_study(folder)))


def _step(folder: Path) -> Target:
    """What a step tells of itself, when it is asked for again."""
    steps = Steps(folder)

    def make(step: Path) -> None:
        (step / "a.txt").write_text("1")

    whole = steps.do("squares", make, options={"n": 3})
    text = (whole / STEP).read_bytes()

    def put(data: bytes) -> None:
        for other in set(folder.iterdir()) - {whole}:  # what was changed is kept under another name
            shutil.rmtree(other) if other.is_dir() else other.unlink()
        whole.mkdir(exist_ok=True)
        (whole / STEP).write_bytes(data)

    return Target([text], put, lambda: Steps(folder).do("squares", make, options={"n": 3}))


def main() -> int:
    """Fuzz the formats, one after the other; how many bugs there were."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="inputs of each format")
    parser.add_argument("--first", type=int, default=0, help="number of the first input")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--format", action="append", help="only this one")
    parser.add_argument("--show", type=int, default=3, help="bugs of each format that are shown")
    parser.add_argument("--keep", type=Path, help="folder for the inputs with a bug")
    chosen = parser.parse_args()
    n_bugs = 0
    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    try:
        for name, build in formats(folder).items():
            if chosen.format and name not in chosen.format:
                continue
            target = build()
            found = {"read": 0, "refused": 0}
            bugs: dict[str, int] = {}
            began = time.monotonic()
            for number, data in inputs(target, name, chosen.seed, chosen.first, chosen.count):
                what = outcome(target, data)
                if what in found:
                    found[what] += 1
                    continue
                n_bugs += 1
                kind = "\n".join(what.splitlines()[-3:])
                bugs[kind] = bugs.get(kind, 0) + 1
                if bugs[kind] == 1 and len(bugs) <= chosen.show:
                    print(f"{name}, input {number}: {data[:200]!r}\n{what}", flush=True)
                    if chosen.keep:
                        chosen.keep.mkdir(parents=True, exist_ok=True)
                        (chosen.keep / f"{name.replace(' ', '-')}-{number}").write_bytes(data)
            print(
                f"{name}: {chosen.count:,} inputs, {found['read']:,} read, {found['refused']:,} refused, "
                f"{sum(bugs.values()):,} with a bug, {time.monotonic() - began:.0f} s",
                flush=True,
            )
    finally:
        shutil.rmtree(folder)
    return n_bugs


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
