"""Everything that looks at one finished run, in one file, so that one process builds the run once."""

import pytest
from run_exports import *  # noqa: F403
from run_latex import *  # noqa: F403
from run_pipeline import *  # noqa: F403
from run_report_page import *  # noqa: F403
from run_report_tables import *  # noqa: F403
from run_study import *  # noqa: F403

pytestmark = pytest.mark.long
