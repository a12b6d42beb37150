"""The package of another kind, as an installer would lay it into a folder."""

import shutil
from pathlib import Path

PACKAGE = Path(__file__).parent / "package"


def lay_into(place: Path) -> None:
    told = place / "hash_set-0.0.1.dist-info"
    told.mkdir(parents=True)
    shutil.copy(PACKAGE / "hash_set.py", place)
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: hash-set\nVersion: 0.0.1\n")
    (told / "entry_points.txt").write_text("[metaindex.kinds]\nhash_set = hash_set:HashSet\n")
