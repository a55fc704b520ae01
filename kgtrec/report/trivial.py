"""What the rules for trivial triples would take of a pool, as text."""

from __future__ import annotations

import pyarrow as pa

from kgtrec.report.tables import aligned


def trivial_text(counts: pa.Table, *, pooled: int, limit: int | None = None) -> str:
    """Two aligned tables: how many triples each rule takes, and of which relations.

    Parameters
    ----------
    counts : pyarrow.Table
        As :func:`kgtrec.pooling.trivial.counts_by_rule_and_relation` gives it.
    pooled : int
        Triples in the pool.
    limit : int, optional
        Relations shown of each rule, those with most triples; the others are summed up in one line. Default: all.

    Examples
    --------
    >>> counts = pa.table({"rule": ["head type"], "relation": ["likes"], "triples": [3], "pooled": [4]})
    >>> print(trivial_text(counts, pooled=12), end="")
    rule           triples   share
    head type            3  25.00%
    all rules            3  25.00%
    left to judge        9  75.00%
    <BLANKLINE>
    rule       relation  triples  of pooled
    head type  likes           3          4
    """
    rows = counts.to_pylist()
    rules = list(dict.fromkeys(row["rule"] for row in rows))
    taken = {rule: sum(row["triples"] for row in rows if row["rule"] == rule) for rule in rules}
    total = sum(taken.values())
    summary = [["rule", "triples", "share"]]
    for name, count in (*taken.items(), ("all rules", total), ("left to judge", pooled - total)):
        summary.append([name, f"{count:,}", f"{count / pooled:.2%}" if pooled else "-"])
    text = aligned(summary, 1)
    if not rows:
        return text
    table = [["rule", "relation", "triples", "of pooled"]]
    for rule in rules:
        own = [row for row in rows if row["rule"] == rule]
        shown = own if limit is None else own[:limit]
        table += [[rule, row["relation"], f"{row['triples']:,}", f"{row['pooled']:,}"] for row in shown]
        if rest := own[len(shown) :]:
            sums = (sum(row[name] for row in rest) for name in ("triples", "pooled"))
            table.append([rule, f"{len(rest):,} more", *(f"{value:,}" for value in sums)])
    return text + "\n" + aligned(table, 2)
