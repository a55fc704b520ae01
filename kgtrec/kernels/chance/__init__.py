"""Expected values of measures by chance."""
