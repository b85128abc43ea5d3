"""store owns DuckDB and every SQL statement; nothing above it imports `duckdb` or writes SQL."""
