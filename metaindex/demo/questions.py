"""What is asked of the flights: needles, ranges, NULLs, a question without an answer, and one that statistics cannot
help with."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Question:
    """`sql` is a condition that metaindex and Spark read alike."""

    name: str
    sql: str


QUESTIONS = (
    Question("one day", "flight_date = DATE '2013-07-04'"),
    Question("extreme delays", "dep_delay > 1000"),
    Question("one aircraft on one day", "tailnum = 'N14228' AND flight_date = DATE '2013-01-09'"),
    Question("longest in the air", "air_time >= 690 AND dest = 'HNL'"),
    Question("short hops, or a day late", "distance < 90 OR arr_delay > 1200"),
    Question("carrier and origin", "carrier = 'YV' AND origin = 'LGA'"),
    Question("cancelled in the blizzard", "dep_time IS NULL AND flight_date IN (DATE '2013-02-08', DATE '2013-02-09')"),
    Question("no tail number in June", "tailnum IS NULL AND month = 6"),
    Question("without an answer", "distance > 5000"),
    Question("statistics cannot help", "tailnum = 'N14228'"),
)

NEW_DAY = Question("New Year's Eve", "flight_date = DATE '2013-12-31'")
DELAYS, BLIZZARD = QUESTIONS[1], QUESTIONS[6]

AFTER_COMMIT = (NEW_DAY, DELAYS, BLIZZARD)
"""Asked again after the commits, and of the old version."""

CORRECTION = "flight_date = DATE '2013-02-08' AND dep_time IS NULL"
"""What is deleted from the tables that can delete rows: the flights cancelled on the day of the blizzard."""
