"""The PostgreSQL that the tests run on: how one is found, and by which road it is reached."""
