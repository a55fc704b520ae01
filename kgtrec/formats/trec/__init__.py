"""Topics, qrels and runs, as TREC has them."""
