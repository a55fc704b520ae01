"""What is measured: one registration per measure."""
