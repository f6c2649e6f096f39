"""A client of schedweb's lab: ask what would happen if, from Python.

    with Lab() as lab:
        print(lab.cluster("demo").simulate(drain=["node-1"])["not_placed"])
        print(lab.fork("demo", "packed", version=50).replay(profile=PACKING).compare().pods)

The address and the token of the installation are arguments, or the environment variables
SCHEDWEB_URL and SCHEDWEB_TOKEN. Tables are pandas data frames if pandas is installed, else lists of
dicts.
"""

from schedweb_lab.cluster import LabCluster, LabDecision
from schedweb_lab.connection import LabError, as_table
from schedweb_lab.lab import Lab, LabFork
from schedweb_lab.runs import Comparison, LabReplay, LabScenario

__all__ = (
    "Comparison",
    "Lab",
    "LabCluster",
    "LabDecision",
    "LabError",
    "LabFork",
    "LabReplay",
    "LabScenario",
    "as_table",
)
