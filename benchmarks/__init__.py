"""Named workloads, one command each: `python -m benchmarks NAME`."""
