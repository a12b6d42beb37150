"""Selection of the indexes to build for a workload, within budgets: chosen one after another by what each adds to the
others."""
