"""`python -m metaindex_lake`."""

import sys

from . import main

sys.exit(main())
