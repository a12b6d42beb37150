"""`python -m metaindex`: the command line."""

from metaindex.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
