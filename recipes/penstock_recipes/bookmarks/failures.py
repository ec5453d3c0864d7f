"""What goes wrong with a page that a user gave."""

from penstock import PenstockError, StorageFull
from penstock.outbound import NoAddress, Refused


class PageFailed(PenstockError):
    """The page, or something it names, could not be had this time. The text is for whoever bookmarked it."""


class NotThere(PageFailed):
    """What was named does not exist, or is no such thing: asking again will not help."""


class UnknownHost(PageFailed):
    """A name that nobody knows: misspelled, given up, or its name server is away for a while."""

    @classmethod
    def of(cls, error: NoAddress) -> "UnknownHost":
        return cls(str(error))


class BookmarkGone(PenstockError):
    """It has been deleted meanwhile."""


FOR_PEOPLE = (PageFailed, BookmarkGone, Refused, StorageFull)
"""Whose text the owner of a bookmark may read. That of anything else may hold SQL, paths or secrets."""


def tries_for(error: Exception, most: int) -> int:
    """How often a message is read in all, if this is what goes wrong."""
    if isinstance(error, NotThere | BookmarkGone) or (isinstance(error, Refused) and error.lasting):
        return 1
    # a name server is back within minutes, and who misspelled a name never is
    return min(3, most) if isinstance(error, UnknownHost) else most
