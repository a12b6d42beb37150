"""Advice: the indexes and layouts that a workload would gain from, and what indexes saved."""

from typing import TYPE_CHECKING

from metaindex.core import door

if TYPE_CHECKING:
    from .clustering.clustering import Clustering as Clustering
    from .clustering.measure import known_clustering as known_clustering
    from .figures import Page as Page
    from .figures import Section as Section
    from .hypothetical.answer import WhatIf as WhatIf
    from .hypothetical.estimates import Estimate as Estimate
    from .ranking import Offer as Offer
    from .ranking import Restriction as Restriction
    from .report.page import workload_section as workload_section
    from .report.written import Reported as Reported
    from .report.written import check_folder as check_folder
    from .report.written import check_page as check_page
    from .report.written import draft_of as draft_of
    from .report.written import write_page as write_page
    from .savings import Savings as Savings
    from .savings import Spared as Spared
    from .savings import computed_savings as computed_savings
    from .selection.answer import Recommendation as Recommendation
    from .selection.recommend import named_below as named_below
    from .selection.recommend import recommend as recommend
    from .selection.recommend import recommend_for as recommend_for
    from .workloads.table_queries import TableNames as TableNames
    from .workloads.table_queries import TableQuery as TableQuery
    from .workloads.table_queries import of_table as of_table
    from .workloads.taking import from_texts as from_texts
    from .workloads.taking import workload as workload
    from .workloads.template import PlanReads as PlanReads
    from .workloads.template import UnreadNote as UnreadNote
    from .workloads.template import Workload as Workload
    from .workloads.text_files import opened as opened

__getattr__, __dir__ = door(__name__)
