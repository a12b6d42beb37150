"""Advice: the indexes and layouts that a workload would gain from, and what indexes saved."""

from typing import TYPE_CHECKING

from metaindex.core import door

if TYPE_CHECKING:
    from .clustering.clustering import Clustering as Clustering
    from .clustering.measure import ClusteringQuestion as ClusteringQuestion
    from .clustering.measure import measure as measure
    from .credit.savings import Savings as Savings
    from .credit.savings import Spared as Spared
    from .credit.savings import computed_savings as computed_savings
    from .face.recommend_tables import is_named as is_named
    from .face.recommend_tables import named_below as named_below
    from .face.recommend_tables import recommend as recommend
    from .face.recommending import RecommendQuestion as RecommendQuestion
    from .face.recommending import recommendation as recommendation
    from .figures.shell import Page as Page
    from .figures.shell import Section as Section
    from .hypothetical.answer import WhatIf as WhatIf
    from .hypothetical.posterior import Estimate as Estimate
    from .report.workload import workload_section as workload_section
    from .report.written import Reported as Reported
    from .report.written import check_page as check_page
    from .report.written import write_page as write_page
    from .selection.answer import Recommendation as Recommendation
    from .workloads.asked import TableNames as TableNames
    from .workloads.asked import TableQuery as TableQuery
    from .workloads.asked import of_table as of_table
    from .workloads.plans import PlanReads as PlanReads
    from .workloads.plans import together as together
    from .workloads.streams import opened as opened
    from .workloads.taking import workload as workload
    from .workloads.template import NOT_READ as NOT_READ
    from .workloads.template import Workload as Workload
else:
    __getattr__, __dir__ = door(
        __name__,
        {
            "clustering.clustering": "Clustering",
            "clustering.measure": "ClusteringQuestion measure",
            "credit.savings": "Savings Spared computed_savings",
            "face.recommend_tables": "is_named named_below recommend",
            "face.recommending": "RecommendQuestion recommendation",
            "figures.shell": "Page Section",
            "hypothetical.answer": "WhatIf",
            "hypothetical.posterior": "Estimate",
            "report.workload": "workload_section",
            "report.written": "Reported check_page write_page",
            "selection.answer": "Recommendation",
            "workloads.asked": "TableNames TableQuery of_table",
            "workloads.plans": "PlanReads together",
            "workloads.streams": "opened",
            "workloads.taking": "workload",
            "workloads.template": "NOT_READ Workload",
        },
    )
