"""The same table in a process that runs on while the package is installed: `later.py FORMAT FOLDER SOURCE TARGET`."""

import logging
import os
import shutil
import sys
from pathlib import Path

from tests.index.contract.verbs_lake import Lake
from tests.index.kinds.outside.without import says_the_cure

if __name__ == "__main__":
    format_, folder, source, target = sys.argv[1:]
    logging.disable(logging.WARNING)
    lake = Lake(Path(folder), format_)
    table = lake.open()  # the same handle before and after
    (report,) = [one for one in table.prune("user = 'user-33'").indexes if one.name == "sets"]
    says_the_cure(report.reason)
    shutil.copytree(source, target, dirs_exist_ok=True)
    os.utime(target)
    result = table.prune("user = 'user-33'")
    (report,) = [one for one in result.indexes if one.name == "sets"]
    assert report.used, report
    assert result.kept_files < result.total_files
    assert table.indexes()[0].problem is None or not table.indexes()[0].problem, table.indexes()[0].problem
    assert table.refresh_index("sets", builder="local")
    sys.stdout.write("told\n")
