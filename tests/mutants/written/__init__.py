"""The written list: lines on which rows, or somebody's files, hang, each with what to put in its place and the tests
that must then fail.

`before` stands exactly once in its file (a test of `make test` says so: whoever rewrites such a line brings its mutant
along). Those of `expressions/` are run by every `make test` (`tests/expressions/test_mutations.py`); these take
processes of their own: `make mutants`.
"""

from . import answers, doors, files, hudi, keys, log, rows, serve, statistics
from .mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    *files.MUTANTS,
    *statistics.MUTANTS,
    *keys.MUTANTS,
    *rows.MUTANTS,
    *log.MUTANTS,
    *doors.MUTANTS,
    *answers.MUTANTS,
    *hudi.MUTANTS,
    *serve.MUTANTS,
)

__all__ = ["MUTANTS", "Mutant"]
