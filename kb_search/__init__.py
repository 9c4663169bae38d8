"""Spanish knowledge-base search on nothing but PostgreSQL."""
