"""From a published table to what is impossible or doubtful in it."""
