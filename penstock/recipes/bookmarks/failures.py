"""What goes wrong with a page that a user gave."""

from penstock import PenstockError


class PageFailed(PenstockError):
    """The page, or something it names, could not be had this time. The text is for whoever bookmarked it."""
