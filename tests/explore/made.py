"""A page of `kgtrec explore` from made-up numbers, written by the description of its format alone.

python -m tests.explore.made explore.html [QUESTIONS]
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from kgtrec.explore.page import to_page

HOSTILE = "<script>alert(1)</script>"
SYSTEMS = ("rescal", HOSTILE, "conve & co", 'the "fourth"')
KINDS = {"side": ["head", "tail"], "category": ["1-1", "1-n", "n-1", "n-n"], "answers": ["1", "2 to 4", "5 or more"]}
BLOCK, DEPTH, N_ENTITIES = 256, 8, 500


def slice_of(columns: dict[str, Any]) -> bytes:
    """Columns as the page reads them: a header, then arrays, each at a multiple of 8 bytes."""
    header, parts = [], []
    for name, column in columns.items():
        if isinstance(column, list):
            texts = [text.encode() for text in column]
            header.append({"name": name, "type": "text", "length": len(column)})
            parts += [np.cumsum([0, *map(len, texts)]).astype("<u4").tobytes(), b"".join(texts)]
            continue
        kind = {"uint8": "u8", "uint16": "u16", "uint32": "u32", "float64": "f64"}[str(column.dtype)]
        entry = {"name": name, "type": kind, "shape": list(column.shape)}
        if name.startswith("score"):  # tenths
            least = int(column.min(initial=0) * 10)
            entry |= {"type": "u16", "from": least, "decimals": 1}
            column = np.rint(column * 10 - least).astype(np.uint16)
        elif kind == "f64":
            levels, codes = np.unique(column, return_inverse=True)
            codes = codes.reshape(-1).astype(np.uint8 if len(levels) <= 256 else np.uint16)
            entry |= {"type": f"u{codes.itemsize * 8}", "levels": len(levels)}
            parts.append(levels.astype("<f8").tobytes())
            column = codes
        elif kind != "u8":  # all lowest bytes first; ends as steps
            if name.endswith("_at") or "_at." in name:
                entry["delta"] = True
                column = np.diff(column, prepend=column.dtype.type(0))
            column = np.ascontiguousarray(column.reshape(-1)).view(np.uint8).reshape(-1, column.itemsize).T.copy()
        header.append(entry)
        parts.append(column.tobytes())
    head = json.dumps(header).encode()
    body = b"".join(part + bytes(-len(part) % 8) for part in (len(head).to_bytes(4, "little") + head, *parts))
    return gzip.compress(body, mtime=0)


def made(n_questions: int = 600, seed: int = 0) -> dict[str, Any]:
    """The data of a page, its slices, and its HTML."""
    rng = np.random.default_rng(seed)
    n_systems, n_labels = len(SYSTEMS), 2
    entities = [f"/m/{place:04x}" for place in range(N_ENTITIES)]
    entities[:2] = [HOSTILE, "=1+1"]
    names = [f"Person {place}" if place % 3 else "" for place in range(N_ENTITIES)]
    relations = ["/people/person/born", HOSTILE, "capital_of"]
    side = (np.arange(n_questions) % 2).astype(np.uint8)
    ids = [f"{('head', 'tail')[s]}{place // 2}" for place, s in enumerate(side)]
    n_answers = rng.integers(1, 5, n_questions)
    index: dict[str, Any] = {
        "question": ids,
        "side": side,
        "relation": rng.integers(0, 3, n_questions).astype(np.uint16),
        "anchor": rng.integers(0, N_ENTITIES, n_questions).astype(np.uint32),
        "n_answers": n_answers.astype(np.uint16),
        "n_known": rng.integers(0, 6, n_questions).astype(np.uint16),
        "stratum.side": side.astype(np.uint16),
        "stratum.category": rng.integers(0, 4, n_questions).astype(np.uint16),
        "stratum.answers": np.searchsorted([2, 5], n_answers, "right").astype(np.uint16),
    }
    values = np.full((n_labels, 2, n_systems, n_questions), np.nan)
    top = np.zeros(n_questions, np.uint8)
    blocks, candidates = {}, {}
    for first in range(0, n_questions, BLOCK):
        rows: dict[str, Any] = {name: [] for name in ("pool", "answer", "known", "known_split")}
        ends: dict[str, Any] = {name: [0] for name in ("pool_at", "answer_at", "known_at")}
        for system in range(n_systems):
            rows |= {f"{name}.{system}": [] for name in ("list", "score", "tie", "rank", "low", "high")}
            ends[f"list_at.{system}"] = [0]
        rows |= {f"status.{label}": [] for label in range(n_labels)}
        for question in range(first, min(first + BLOCK, n_questions)):
            pool = rng.permutation(N_ENTITIES)[: DEPTH + 10]
            status = np.zeros((n_labels, len(pool)), int)
            status[:, : n_answers[question]] = 1
            status[1, n_answers[question] :] = rng.choice([0, 0, 2, 3, 4, 5, 6], len(pool) - n_answers[question])
            tops: dict[int, int] = {}
            for system in range(n_systems):
                listed = rng.permutation(len(pool))[:DEPTH]
                score = np.sort(np.round(rng.normal(5, 3, DEPTH), 0))[::-1]
                rank = np.array([
                    [*listed, place].index(place) + 1 if place in listed else DEPTH + 1 + rng.integers(0, 200)
                    for place in range(n_answers[question])
                ])  # fmt: skip
                rows[f"list.{system}"] += listed.tolist()
                rows[f"score.{system}"] += score.tolist()
                rows[f"tie.{system}"] += np.unique(-score, return_inverse=True)[1].tolist()
                ends[f"list_at.{system}"].append(len(rows[f"list.{system}"]))
                rows[f"rank.{system}"] += rank.tolist()
                rows[f"low.{system}"] += rank.tolist()
                rows[f"high.{system}"] += (rank + (rank > DEPTH)).tolist()
                values[:, 0, system, question] = np.mean(1 / rank) ** (1 + system / 8)
                found = np.isin(status[:, listed], (1, 2, 4))
                values[:, 1, system, question] = found.mean(axis=1)
                if not status[:, listed[0]].any():
                    tops[int(pool[listed[0]])] = tops.get(int(pool[listed[0]]), 0) + 1
            top[question] = max(tops.values(), default=0)
            candidates[ids[question]] = tops
            rows["pool"] += pool.tolist()
            for label in range(n_labels):
                rows[f"status.{label}"] += status[label].tolist()
            rows["answer"] += range(n_answers[question])
            known = rng.permutation(N_ENTITIES)[: index["n_known"][question]]
            rows["known"] += known.tolist()
            rows["known_split"] += (known % 2).tolist()
            for name in ("pool", "answer", "known"):
                ends[f"{name}_at"].append(len(rows[name]))
        kinds = {"pool": np.uint32, "known": np.uint32, "known_split": np.uint8, "answer": np.uint16}
        kinds |= {"status": np.uint8, "list": np.uint16, "tie": np.uint16}
        columns = {name: np.array(column, kinds.get(name.split(".")[0], np.float64)) for name, column in rows.items()}
        columns |= {name: np.array(column, np.uint32) for name, column in ends.items()}
        blocks[f"block-{first // BLOCK}"] = slice_of(columns)
    index["top_unjudged"] = top
    values[1, 0, 0, ::7] = np.nan  # questions that have no value
    weights = np.ones((n_labels, 2, n_questions)) / n_questions
    for label in range(n_labels):
        for measure in range(2):
            index[f"value.{label}.{measure}"] = values[label, measure]
            index[f"weight.{label}.{measure}"] = weights[label, measure]
    totals = np.nansum(values * weights[:, :, None], axis=-1)
    data = _small(totals, values, n_questions, relations)
    strata = _strata(data["pairs"], values, index)
    slices = {"index": slice_of(index), "entities": slice_of({"label": entities, "name": names})}
    slices |= {"strata": slice_of(strata)} | blocks
    return {"data": data, "values": values, "candidates": candidates, "ids": ids, "html": to_page(data, slices.items())}


def _small(totals: Any, values: Any, n_questions: int, relations: list[str]) -> dict[str, Any]:
    """What a page has as JSON."""
    n_labels, n_measures, n_systems = totals.shape
    pairs = []
    for label in range(n_labels):
        for measure in range(n_measures):
            for a in range(n_systems):
                for b in range(a + 1, n_systems):
                    first, second = values[label, measure, a], values[label, measure, b]
                    d = float(totals[label, measure, a] - totals[label, measure, b])
                    is_clear = abs(d) > 0.01
                    verdict = f"{SYSTEMS[a if d > 0 else b]} is better" if is_clear else "The order is not settled"
                    pair = {"a": a, "b": b, "label": label, "measure": measure}
                    pair |= {"difference": d, "low": d - 0.01, "high": d + 0.01, "p": 0.001 if is_clear else 0.4}
                    pair |= {"better": (0 if d > 0 else 1) if is_clear else -1, "n90": _n90(first - second)}
                    wins, losses, ties = (int(n.sum()) for n in (first > second, first < second, first == second))
                    pair |= {"wins": wins, "losses": losses, "ties": ties}
                    sentence = f"{verdict}: {SYSTEMS[a]} minus {SYSTEMS[b]} is {d:.4f}."
                    pairs.append(pair | {"sentence": sentence})
    ends = [[f"[{value - 0.01:.4f}, {value + 0.01:.4f}]" for value in row] for row in totals.reshape(-1, n_systems)]
    return {
        "format": 1,
        "title": f"Made up & {HOSTILE}",
        "about": [f"{n_questions} questions of random numbers", "kgtrec explore made-up"],
        "systems": list(SYSTEMS),
        "labels": [
            {"name": "test answers", "about": "The answers of the test split."},
            {"name": "judged", "about": "The answers of the test split, and what people judged."},
        ],
        "measures": [
            {"name": "micro.MRR", "items": "answers", "higher": True, "digits": 4, "adds": True},
            {"name": "P@8", "items": "questions", "higher": True, "digits": 4, "adds": True},
        ],
        "scores": [
            [
                [
                    {"text": f"{totals[label, measure, s]:.4f}", "interval": ends[label * n_measures + measure][s]}
                    | {"letters": "ab"[s % 2]}
                    for s in range(n_systems)
                ]
                for measure in range(n_measures)
            ]
            for label in range(n_labels)
        ],
        "strata": [{"kind": kind, "labels": labels} for kind, labels in KINDS.items()]
        + [{"kind": "relation", "labels": relations}],
        "relations": relations,
        "relation_words": ["Was {head} born in {tail}?", "", "Is {head} the capital of {tail}?"],
        "block": BLOCK,
        "n_questions": n_questions,
        "depth": DEPTH,
        "pairs": pairs,
        "swapped": [{"a": 0, "b": 1, "label": 1, "measure": 1, "sentence": f"rescal and {HOSTILE} change places."}],
        "commands": {"pool": "kgtrec pool made-up"},
        "adjusted": "Holm",
    }  # fmt: skip


def _n90(parts: Any) -> int:
    sizes = np.sort(np.abs(np.nan_to_num(parts)))[::-1]
    return int(np.searchsorted(np.cumsum(sizes), 0.9 * sizes.sum() - 1e-12) + 1)


def _strata(pairs: list[dict[str, Any]], values: Any, index: dict[str, Any]) -> dict[str, Any]:
    rows = []
    kinds = {**{kind: index[f"stratum.{kind}"] for kind in KINDS}, "relation": index["relation"]}
    for row, pair in enumerate(pairs):
        first, second = (values[pair["label"], pair["measure"], pair[side]] for side in "ab")
        for kind, group_of in enumerate(kinds.values()):
            for group in np.unique(group_of):
                where = (group_of == group) & ~np.isnan(first) & ~np.isnan(second)
                a, b = first[where], second[where]
                d = a.mean() - b.mean()
                numbers = a.mean(), b.mean(), d, min(1, 0.01 / max(abs(d), 1e-9))
                rows.append((row, kind, group, where.sum(), *numbers, (a > b).sum(), (a < b).sum()))
    names = ("pair", "kind", "group", "n", "first", "second", "difference", "p", "wins", "losses")
    types = (np.uint16, np.uint8, np.uint16, np.uint32, *[np.float64] * 4, np.uint32, np.uint32)
    return {
        name: np.array(column, kind) for name, kind, column in zip(names, types, zip(*rows, strict=True), strict=True)
    }


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(made(int(sys.argv[2]) if len(sys.argv) > 2 else 600)["html"], encoding="utf-8")
