"""Makes the kit anew: `python -m tests.kit`."""

import shutil

from .make import KIT, make

if KIT.exists():
    shutil.rmtree(KIT)
make(KIT)
