"""Missing facts: a closed-world KG, theory and simulation."""
