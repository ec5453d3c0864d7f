"""What a page says about itself, asked in a world of its own: the page's scripts cannot reach what is asked with."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from penstock_recipes.bookmarks.providers.browser.devtools import Json

TITLE = 500
DESCRIPTION = 2000
URL = 2048

# Through the prototypes: an element named "title" or "querySelector" hides the document's own.
ASK = """
(() => {
  const own = (of, name) => Object.getOwnPropertyDescriptor(of, name).get.call(document);
  const find = (selector) => Document.prototype.querySelector.call(document, selector);
  const read = (selector, attribute) => {
    const found = find(selector);
    const value = found && Element.prototype.getAttribute.call(found, attribute);
    return value && value.trim() ? value.trim().slice(0, 10000) : null;
  };
  const absolute = (href) => {
    try { return href && new URL(href, own(Node.prototype, 'baseURI')).href.slice(0, 10000); } catch { return null; }
  };
  const meta = (name) => read(`meta[property="${name}" i]`, 'content') || read(`meta[name="${name}" i]`, 'content');
  return {
    title: own(Document.prototype, 'title').slice(0, 10000) || meta('og:title'),
    description: meta('description') || meta('og:description'),
    image: absolute(meta('og:image') || meta('og:image:url')),
    icon: absolute(read('link[rel~="icon" i]', 'href') || read('link[rel~="apple-touch-icon" i]', 'href')),
  };
})()
"""


@dataclass(frozen=True, slots=True)
class Facts:
    title: str | None
    description: str | None
    image: str | None
    icon: str | None


def facts_from(answer: Json) -> Facts:
    """What came back is a stranger's: it is cut, and only web addresses are taken for addresses."""
    told = answer if isinstance(answer, dict) else {}
    return Facts(
        _words(told.get("title"), TITLE),
        _words(told.get("description"), DESCRIPTION),
        _address(told.get("image")),
        _address(told.get("icon")),
    )


def _words(value: Json, most: int) -> str | None:
    if not isinstance(value, str):
        return None
    # lone surrogates and NUL are not to be had in a database's text
    cleaned = value.encode("utf-8", "replace").decode().replace("\0", "")
    return " ".join(cleaned.split())[:most].strip() or None


def _address(value: Json) -> str | None:
    address = _words(value, URL + 1)
    if address is None or len(address) > URL:
        return None
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    return address if parts.scheme in ("http", "https") and parts.hostname else None
