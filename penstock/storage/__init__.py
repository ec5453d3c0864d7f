"""Where files are kept: a folder, or anything that speaks S3, behind one small protocol."""

from penstock.storage.addresses import store_at
from penstock.storage.protocol import Found, Opened, Store, Written

__all__ = ["Found", "Opened", "Store", "Written", "store_at"]
