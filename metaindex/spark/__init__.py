"""Spark uses indexes by itself: a rule of its optimizer, its extension, rows as DataFrames."""

from typing import TYPE_CHECKING

from metaindex.core import door

if TYPE_CHECKING:
    from .extension_jar import EXTENSION as EXTENSION
    from .extension_jar import digest_in as digest_in
    from .frames import create_index as create_index
    from .jars import JarGroup as JarGroup
    from .optimizer.enabling import RuleCounts as RuleCounts
    from .optimizer.enabling import counts as counts
    from .optimizer.enabling import disable as disable
    from .optimizer.enabling import enable as enable
    from .optimizer.enabling import hint as hint
    from .optimizer.enabling import is_enabled as is_enabled
    from .optimizer.executed import ScanRead as ScanRead
    from .optimizer.explaining import ExplainedScan as ExplainedScan
    from .optimizer.explaining import QueryExplanation as QueryExplanation
    from .optimizer.explaining import explain as explain
    from .optimizer.reasons import Reason as Reason
    from .optimizer.reasons import Unasked as Unasked
    from .optimizer.settings import RuleConfig as RuleConfig
    from .optimizer.why_not import IndexVerdict as IndexVerdict
    from .session import quiet_session as quiet_session
    from .session import spark_session as spark_session

__getattr__, __dir__ = door(__name__)
