"""Files that jobs produce: written by running jobs, read by whoever may, removed when their time is over."""

from penstock.artifacts.client import Artifacts
from penstock.artifacts.of_job import ArtifactsOfJob, Keeper, PutChoices, SyncArtifactsOfJob
from penstock.artifacts.sources import Source
from penstock.artifacts.storage import Storage
from penstock.artifacts.sweeping import Swept

__all__ = [
    "Artifacts",
    "ArtifactsOfJob",
    "Keeper",
    "PutChoices",
    "Source",
    "Storage",
    "Swept",
    "SyncArtifactsOfJob",
]
