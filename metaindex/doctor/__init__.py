"""What is missing or wrong on this machine, and of a table's place: each with what to do about it."""

from .diagnosis import Diagnosis, Health, Symptom
from .looking import look

__all__ = ["Diagnosis", "Health", "Symptom", "look"]
