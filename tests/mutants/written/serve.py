"""What a client of a served table believes: the files of a plan, their pages, and who is asked."""

from .mutant import Mutant

_PARTITIONS = ("tests/serve/test_partitions.py",)
_FILTERS = ("tests/serve/test_filters.py",)
_PLANS = ("tests/serve/test_plans.py",)
_PROTOCOL = ("tests/serve/test_protocol.py",)

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a plan keeps files that their partition values rule out",
        "metaindex/serve/plans.py",
        "return files[may_match(asked, served.partitions(), files)]",
        "return files",
        _PARTITIONS,
        "Spark counts their rows",
    ),
    Mutant(
        "periods of old writers are taken at their word",
        "metaindex/serve/partitions.py",
        "literals = [period + (period < 0) for period in literals]",
        "literals = list(literals)",
        _PARTITIONS,
        "rows of before 1970 are lost",
    ),
    Mutant(
        "a term of a partition column is compared with the column",
        "metaindex/serve/partitions.py",
        'if name == "identity":\n            raise Refusal(',
        'if name == "never":\n            raise Refusal(',
        _PARTITIONS,
        "Spark counts rows of other buckets",
    ),
    Mutant(
        "NOT is forgotten",
        "metaindex/serve/filters.py",
        "return Term(NEGATED[op] if turned else op,",
        "return Term(op,",
        _FILTERS,
        "rows are lost",
    ),
    Mutant(
        "a token of another table is taken",
        "metaindex/serve/plans.py",
        'if said["table"] != self.name:',
        "if False:",
        _PLANS,
        "tasks of other files",
    ),
    Mutant(
        "a token is taken for a snapshot that has other files",
        "metaindex/serve/plans.py",
        'if said["files"] != places.sign:',
        "if False:",
        _PLANS,
        "tasks of other files",
    ),
    Mutant(
        "an index names a file of another snapshot",
        "metaindex/serve/plans.py",
        "if not self._paths.take(pa.array(places)).equals(paths.combine_chunks()):",
        "if False:",
        _PLANS,
        "another file is in the plan",
    ),
    Mutant(
        "a name is believed that was another column's",
        "metaindex/serve/plans.py",
        'getattr(served, "unsure", frozenset())',
        "frozenset()",
        _PLANS,
        "the files of another column's values are left out",
    ),
    Mutant(
        "plans are made for clients that nobody tried",
        "metaindex/serve/plans.py",
        "if not client.tried:",
        "if False:",
        _PROTOCOL,
        "whatever such a client makes of them",
    ),
    Mutant(
        "a table that was moved is planned by its old locations",
        "metaindex/serve/in_place.py",
        "if served.details.place.moved:",
        "if False:",
        _PROTOCOL,
        "files of the place where it was",
    ),
)
