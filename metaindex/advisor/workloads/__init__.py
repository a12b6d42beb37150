"""What do people ask of tables? Conditions, SQL, event logs of Spark and logs of queries become a `Workload`: templates
with weights. What cannot be read is told and counted, and the rest goes on."""
