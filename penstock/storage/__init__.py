"""Files of jobs and of users: written by running jobs, read by whoever may, removed when their time is over; kept in a
folder, or in anything that speaks S3, behind one small protocol."""

from penstock.keeper import Keeper, PutChoices, Source
from penstock.storage.files import Artifacts
from penstock.storage.job_files import ArtifactsOfJob, SyncArtifactsOfJob
from penstock.storage.protocol import Found, Opened, Store, Written
from penstock.storage.settings import Storage, store_at
from penstock.storage.sweep import Swept

__all__ = [
    "Artifacts",
    "ArtifactsOfJob",
    "Found",
    "Keeper",
    "Opened",
    "PutChoices",
    "Source",
    "Storage",
    "Store",
    "Swept",
    "SyncArtifactsOfJob",
    "Written",
    "store_at",
]
