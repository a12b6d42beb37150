"""The same table where the package is back: `again.py FORMAT FOLDER`."""

import sys
from pathlib import Path

from hash_set import HashSet

from tests.index.contract.verbs import asked, sound
from tests.index.contract.verbs_lake import Lake

if __name__ == "__main__":
    lake = Lake(Path(sys.argv[2]), sys.argv[1])
    assert asked(lake, "hash_set", 20)
    sound(lake, HashSet("user"))
    sys.stdout.write("told\n")
