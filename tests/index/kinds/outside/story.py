"""Every verb over a table whose index is of a kind from another package: `story.py FORMAT FOLDER BUILDER`."""

import sys
from pathlib import Path

from hash_set import HashSet

from tests.index.contract.verbs import commands, story
from tests.index.contract.verbs_lake import Lake

if __name__ == "__main__":
    format_, folder, builder = sys.argv[1:]
    lake = Lake(Path(folder), format_)
    story(lake, HashSet("user", ("user", "n")), "hash_set", builder, 20)  # type: ignore[arg-type]
    commands(lake, "--hash-set", ("user", "user,n"), "hash_set(user, n)")
    sys.stdout.write("told\n")
