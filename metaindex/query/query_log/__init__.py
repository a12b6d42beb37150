"""Which queries were asked of a table, what did the indexes spare them, and was it worth it?"""
