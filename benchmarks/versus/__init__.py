"""This checkout beside an older one, turn by turn: has anything become slower?"""
