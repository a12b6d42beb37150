"""Split-block bloom filters (the Parquet specification's BloomFilter.md), one a file and key, stored across the files
of a run.

sizing                                        how many blocks a filter of so many values has
blocks                                        the bits of a filter, and bits by files turned into files by bits
layout                                        where a block of all filters of a class stands in a part, and how its
                                              bytes are checked
reader                                        look-ups
distinct, writer, collector                   build: loaded by verbs that write
stored                                        filters read back, whole: merged, and checked
"""
