"""One changed line."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """`says`: what the changed line would do to a user."""

    name: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]
    says: str
