"""Workloads. Conditions, SQL, event logs of Spark and logs of queries become a `Workload`: templates with weights.
Unreadable queries are counted with their reasons; the others are kept."""
