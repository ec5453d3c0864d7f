"""What a page says of itself: its title, its picture, its icon."""

import codecs
import html
import re
from collections.abc import Iterator
from urllib.parse import urldefrag, urljoin, urlsplit

import msgspec

MAX_HTML = 2 * 1024 * 1024
_TITLE = 300
_DESCRIPTION = 1_000
_URL = 2_048
_ICONS = 10

# Not html.parser, which takes 103 seconds for 100 kB of "<a " (Python 3.11.7). Here every look ahead that finds
# nothing ends the reading, as it does in a browser, and what has matched is never matched again in another way, so
# that the time is that of the length: by *+ behind a set of letters, by (?>…) around a group, because some that have
# *+ behind them are read wrong before Python 3.11.5 (gh-106052).
_OPENING = re.compile(r"<(?:!--|[a-zA-Z/!?])")
_TAG = re.compile(
    r"""<([a-zA-Z][^\s/>]*+)
    ((?>(?:
        [\s/]++
      | [^\s/>][^\s/>=]*+ (?>(?:\s*+=\s*+ (?:"[^"]*+" | '[^']*+' | (?!["'])[^\s>]++))?)
    )*))>""",
    re.VERBOSE,
)
_ATTRIBUTE = re.compile(
    r"""([^\s/>][^\s/>=]*+) (?>(?:\s*+=\s*+ (?:"([^"]*+)" | '([^']*+)' | (?!["'])([^\s>]++)))?)""", re.VERBOSE
)
# what is in them is text, not tags
_TEXTS = ("title", "script", "style", "textarea", "iframe", "xmp", "noembed", "noframes")
_ENDS = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in _TEXTS}
_CHARSET = re.compile(rb"""<meta[^>]{0,500}?charset\s{0,20}=\s{0,20}["']?\s{0,20}([\w.:-]{1,40})""", re.IGNORECASE)
_HEADER_CHARSET = re.compile(r"""charset\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE)
_BOMS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
# Python has stranger ones, some of them slow. These are what pages are written in.
_ENCODINGS = re.compile(
    r"utf-8|utf-16(-[lb]e)?|iso8859-\d+|cp125\d|cp932|cp949|koi8-[ru]|shift_jis|euc_(jp|kr)|iso2022_jp|gbk|gb2312|gb18030"
    r"|big5|mac-(roman|cyrillic)|cp866|tis-620"
)


class PageFacts(msgspec.Struct, frozen=True):
    """URLs are absolute. `icons` are all that the page names, the best first, and the usual one; `favicon` is the
    first of them."""

    title: str | None
    description: str | None
    og_image: str | None
    favicon: str | None
    icons: list[str]


class _Icon(msgspec.Struct, frozen=True):
    url: str
    touch: bool
    side: int
    png: bool


def read_html(page: bytes | str, url: str, content_type: str | None = None) -> PageFacts:
    """Whatever is wrong with a page, something is told of it. Only its beginning is read (MAX_HTML)."""
    text = page[:MAX_HTML] if isinstance(page, str) else _decoded(page[:MAX_HTML], content_type)
    title: str | None = None
    named: dict[str, str] = {}
    links: list[dict[str, str]] = []
    base: str | None = None
    for tag, written, inside in _tags(text):
        match tag:
            case "title":
                title = title or _plain(html.unescape(inside[: 10 * _TITLE]), _TITLE)
            case "meta":
                meta = _attributes(written)
                name = (meta.get("property") or meta.get("name") or "").strip().lower()
                if content := meta.get("content", "").strip():
                    named.setdefault(name, content)
            case "link":
                link = _attributes(written)
                if link.get("href") and len(links) < 1_000:
                    links.append(link)
            case "base":
                base = base or _absolute(url, _attributes(written).get("href"))
    at = base or url

    def first(*names: str) -> Iterator[str]:
        return (named[name] for name in names if name in named)

    title = title or next(
        (found for each in first("og:title", "twitter:title") if (found := _plain(each, _TITLE))), None
    )
    about = first("description", "og:description", "twitter:description")
    pictures = first("og:image:secure_url", "og:image", "og:image:url", "twitter:image", "twitter:image:src")
    icons = _icons(at, url, links)
    return PageFacts(
        title=title,
        description=next((found for each in about if (found := _plain(each, _DESCRIPTION))), None),
        og_image=next((found for each in pictures if (found := _absolute(at, each))), None),
        favicon=icons[0] if icons else None,
        icons=icons,
    )


def _tags(text: str) -> Iterator[tuple[str, str, str]]:
    """The tags that tell something: name, attributes as they are written, and what is inside a title."""
    at = 0
    while opening := _OPENING.search(text, at):
        start = opening.start()
        if opening[0] == "<!--":
            at = text.find("-->", start + 2)
        elif not opening[0][1].isalpha():
            at = text.find(">", start)
        else:
            tag = _TAG.match(text, start)
            if tag is None:
                return
            name = tag[1].lower()
            at = tag.end()
            inside = ""
            if name in _ENDS:
                end = _ENDS[name].search(text, at)
                if end is None:
                    return
                inside = text[at : end.start()] if name == "title" else ""
                at = end.start()
            if name in ("title", "meta", "link", "base"):
                yield name, tag[2], inside
        if at < 0:
            return


def _attributes(written: str) -> dict[str, str]:
    """The first of a name counts."""
    found: dict[str, str] = {}
    for each in _ATTRIBUTE.finditer(written[:50_000]):
        value = each[2] or each[3] or each[4] or ""
        found.setdefault(each[1].lower(), html.unescape(value[:20_000]))
    return found


def _icons(at: str, page: str, links: list[dict[str, str]]) -> list[str]:
    """Larger ones first, a PNG before others, then what phones use, then what every site is asked for. Without SVG:
    it is not drawn (see icons.py)."""
    found = []
    for link in links:
        rels = link.get("rel", "").lower().split()
        touch = "apple-touch-icon" in rels or "apple-touch-icon-precomposed" in rels
        url = _absolute(at, link["href"]) if touch or "icon" in rels else None
        if url is None:
            continue
        kind = link.get("type", "").lower()
        path = urlsplit(url).path.lower()
        if "svg" in kind or path.endswith((".svg", ".svgz")):
            continue
        sides = [int(side) for side in re.findall(r"(\d{1,4})x", link.get("sizes", "").lower()[:200])]
        found.append(_Icon(url, touch, max(sides, default=0), "png" in kind or path.endswith(".png")))
    found.sort(key=lambda icon: (icon.touch, -icon.side, not icon.png))
    usual = _absolute(page, "/favicon.ico")
    return list(dict.fromkeys([*(icon.url for icon in found[:_ICONS]), *([usual] if usual else [])]))


def _absolute(base: str, url: str | None) -> str | None:
    """An http(s) URL without a password in it; None for others."""
    # as browsers do: no blanks around it, and no line ends anywhere
    url = re.sub(r"[\t\r\n]", "", (url or "")[: 2 * _URL]).strip()
    if not url:
        return None
    try:
        absolute = urldefrag(urljoin(base, url)).url
        parts = urlsplit(absolute)
        fine = parts.scheme in ("http", "https") and parts.hostname and parts.username is None and parts.port != 0
    except ValueError:
        return None
    return absolute if fine and absolute.isprintable() and len(absolute) <= _URL else None


def _plain(text: str, most: int) -> str | None:
    """In one line."""
    words = " ".join("".join(each if each.isprintable() else " " for each in text[: 10 * most]).split())
    return (words if len(words) <= most else words[: most - 1].rstrip() + "…") or None


def _decoded(page: bytes, content_type: str | None) -> str:
    """By its mark, by its header, by its own word; else UTF-8, and if it is not that, Latin."""
    for mark, encoding in _BOMS:
        if page.startswith(mark):
            return page[len(mark) :].decode(encoding, errors="replace")
    told = _HEADER_CHARSET.search(content_type or "")
    if told and (known := _known(told[1])):
        return page.decode(known, errors="replace")
    said = _CHARSET.search(page, 0, 8_192)
    if said and (known := _known(said[1].decode("ascii", errors="replace"))):
        # who says in ASCII that it is UTF-16 is mistaken
        return page.decode("utf-8" if known.startswith("utf-16") else known, errors="replace")
    try:
        # only what is cut off at the end may be wrong
        return codecs.getincrementaldecoder("utf-8")().decode(page)
    except UnicodeDecodeError:
        return page.decode("cp1252", errors="replace")


def _known(name: str) -> str | None:
    try:
        known = codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
    if known in ("ascii", "iso8859-1"):
        # what calls itself so is written in this
        return "cp1252"
    return known if _ENCODINGS.fullmatch(known) else None
