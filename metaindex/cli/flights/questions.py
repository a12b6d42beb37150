"""The demo's questions about flights: needles, ranges, NULLs, one without an answer, one that statistics cannot speed
up."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DemoQuestion:
    """`sql` is a condition that metaindex and Spark read alike."""

    name: str
    sql: str


QUESTIONS = (
    DemoQuestion("one day", "flight_date = DATE '2013-07-04'"),
    DemoQuestion("extreme delays", "dep_delay > 1000"),
    DemoQuestion("one aircraft on one day", "tailnum = 'N14228' AND flight_date = DATE '2013-01-09'"),
    DemoQuestion("longest in the air", "air_time >= 690 AND dest = 'HNL'"),
    DemoQuestion("short hops, or a day late", "distance < 90 OR arr_delay > 1200"),
    DemoQuestion("carrier and origin", "carrier = 'YV' AND origin = 'LGA'"),
    DemoQuestion(
        "cancelled in the blizzard", "dep_time IS NULL AND flight_date IN (DATE '2013-02-08', DATE '2013-02-09')"
    ),
    DemoQuestion("no tail number in June", "tailnum IS NULL AND month = 6"),
    DemoQuestion("without an answer", "distance > 5000"),
    DemoQuestion("statistics cannot help", "tailnum = 'N14228'"),
)

NEW_DAY = DemoQuestion("New Year's Eve", "flight_date = DATE '2013-12-31'")
DELAYS, BLIZZARD = QUESTIONS[1], QUESTIONS[6]

AFTER_COMMIT = (NEW_DAY, DELAYS, BLIZZARD)
"""Asked again after the commits, and of the old version."""

CORRECTION = "flight_date = DATE '2013-02-08' AND dep_time IS NULL"
"""What is deleted from the tables that can delete rows: the flights cancelled on the day of the blizzard."""
