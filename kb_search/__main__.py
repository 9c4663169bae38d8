"""`python -m kb_search` is `kb-search`."""

import sys

from kb_search.cli import main

if __name__ == "__main__":
    sys.exit(main())
