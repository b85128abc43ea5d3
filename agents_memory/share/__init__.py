"""One file, many processes: who holds it, how the others reach it, and who takes it over."""
