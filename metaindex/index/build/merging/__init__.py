"""Merges runs into one that says the same of the same files; no data file is read."""

from .keys import keys_together as keys_together
from .keys import unkeyed_of as unkeyed_of
from .run import Merged as Merged
from .run import merge_runs as merge_runs
from .run import unmerged as unmerged
