"""Content of CSV and JSON files by the rules of Spark's readers, for builders and readers."""
