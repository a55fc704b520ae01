"""Triples to questions and qrels, and what belongs to them."""
