"""``python -m bnmf_core``: the command line."""

import sys

from bnmf_core.cli import main

sys.exit(main())
