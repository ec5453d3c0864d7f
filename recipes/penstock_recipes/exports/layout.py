"""A résumé as the templates print it: headings, entries and dates, in order and in words. Pure functions."""

import re
import unicodedata
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from penstock_recipes.exports.resume import Award, Dated, Position, Resume, Study

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH = re.compile(r"(\d{4})-(\d{2})(-\d{2})?")
# of letters that are only broken at spaces: Thai, Chinese and the like have places of their own
_LONG = re.compile(
    r"[^\s\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\ua4cf\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef"
    r"\U00020000-\U0003ffff]{36,}"
)
_JOINER = "\u200d"
_LABELS = {
    "summary": "Profile",
    "contact": "Contact",
    "experience": "Experience",
    "education": "Education",
    "projects": "Projects",
    "skills": "Skills",
    "certifications": "Certifications",
    "awards": "Awards",
    "languages": "Languages",
    "present": "Present",
}


def as_printed(resume: Resume) -> dict[str, Any]:
    """Everything that a template needs, without a decision left to it but how it looks."""
    labels = _LABELS | resume.labels
    profile = resume.profile
    sections = [
        _entries(labels["experience"], [_position(each, labels) for each in resume.experience]),
        _entries(labels["projects"], [_entry(each, each.name, each.role, labels) for each in resume.projects]),
        _entries(labels["education"], [_study(each, labels) for each in resume.education]),
        *(
            _entries(section.title, [_entry(each, each.title, each.subtitle, labels) for each in section.entries])
            for section in resume.sections
        ),
        _groups(labels["skills"], [(group.name, group.items) for group in resume.skills]),
        _lines(labels["languages"], [(each.name, each.level, "", None) for each in resume.languages]),
        _lines(labels["certifications"], map(_award, resume.certifications)),
        _lines(labels["awards"], map(_award, resume.awards)),
    ]
    printed: dict[str, Any] = _fit_to_print(
        {
            "profile": {
                "name": profile.name,
                "headline": profile.headline,
                "summary": profile.summary.strip(),
                "contacts": [
                    {"text": text, "href": href, "ltr": ltr}
                    for text, href, ltr in (
                        (profile.email, f"mailto:{profile.email}" if "@" in profile.email else None, True),
                        (profile.phone, None, True),
                        (profile.location, None, False),
                        (_bare(profile.website), _safe_link(profile.website), True),
                        *(
                            (link.label or _bare(link.url), _safe_link(link.url), not link.label)
                            for link in profile.links
                        ),
                    )
                    if text
                ],
            },
            "labels": labels,
            "sections": [section for section in sections if section is not None],
        }
    )
    return printed


def _entries(title: str, entries: list[dict[str, Any]]) -> dict[str, Any] | None:
    return _section("entries", title, entries=entries)


def _lines(title: str, lines: Iterable[tuple[str, str, str, str | None]]) -> dict[str, Any] | None:
    entries = [{"title": name, "subtitle": about, "when": when, "href": href} for name, about, when, href in lines]
    return _section("lines", title, side=True, entries=entries)


def _groups(title: str, groups: list[tuple[str, list[str]]]) -> dict[str, Any] | None:
    """Plain skills are one group."""
    plain = [item for name, items in groups if not name for item in items]
    named = [{"name": name, "items": items} for name, items in groups if name]
    return _section("groups", title, side=True, groups=named + ([{"name": "", "items": plain}] if plain else []))


def _section(kind: str, title: str, *, side: bool = False, **content: list[dict[str, Any]]) -> dict[str, Any] | None:
    """Nothing to print is no section."""
    return {"kind": kind, "title": title, "side": side, **content} if any(content.values()) else None


def _position(each: Position, labels: dict[str, str]) -> dict[str, Any]:
    if not each.position:
        return _entry(each, each.company, "", labels)
    return _entry(each, each.position, each.company, labels) | {"of": True}


def _study(each: Study, labels: dict[str, str]) -> dict[str, Any]:
    degree = ", ".join(part for part in (each.degree, each.field) if part)
    if not degree:
        return _entry(each, each.institution, "", labels, each.grade)
    return _entry(each, degree, each.institution, labels, each.grade) | {"of": True}


def _entry(dated: Dated, title: str, subtitle: str, labels: dict[str, str], remark: str = "") -> dict[str, Any]:
    return {
        "title": title,
        "subtitle": subtitle,
        # whether the subtitle is where it was
        "of": False,
        "place": dated.location,
        "when": _span(dated.start_date, dated.end_date, labels["present"]),
        "href": _safe_link(dated.url),
        "text": "\n".join(text for text in (remark, dated.summary.strip()) if text),
        "points": [point.strip() for point in dated.highlights if point.strip()],
    }


def _award(award: Award) -> tuple[str, str, str, str | None]:
    return award.name, award.issuer, _date(award.date), _safe_link(award.url)


def _span(start: str, end: str, present: str) -> str:
    if start and not end:
        end = present
    return " – ".join(_date(each) for each in (start, end) if each)


def _date(text: str) -> str:
    """2021-03 and 2021-03-15 as Mar 2021; anything else as it is."""
    found = _MONTH.fullmatch(text)
    return f"{_MONTHS[int(found[2]) - 1]} {found[1]}" if found and 1 <= int(found[2]) <= 12 else text


def _bare(url: str) -> str:
    return re.sub(r"^https?://(www\.)?", "", url).rstrip("/")


def _safe_link(url: str) -> str | None:
    """A link that only leads somewhere: in a viewer, others can do things."""
    if url and "://" not in url and re.match(r"[\w-]+(\.[\w-]+)+(/|$)", url):
        url = f"https://{url}"
    try:
        return url if urlsplit(url).scheme in ("http", "https") else None
    except ValueError:
        return None


def _fit_to_print(value: Any) -> Any:
    """Without characters that have no shape; and with places to break a line in what no line can hold."""
    if isinstance(value, dict):
        return {name: each if name == "href" else _fit_to_print(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_fit_to_print(each) for each in value]
    if not isinstance(value, str):
        return value
    text = value.replace("\r\n", "\n").replace("\r", "\n").replace("\t", " ")
    text = "".join(each for each in text if each == "\n" or unicodedata.category(each) != "Cc")
    return _LONG.sub(lambda word: _breakable(word[0]), text)


def _breakable(word: str) -> str:
    """With a place to break after every dozen of characters, but never between a letter and what belongs to it."""
    out, since = "", 0
    for before, each in zip(" " + word, word, strict=False):
        apart = unicodedata.category(each)[0] != "M" and _JOINER not in (before, each) and not _joins(before)
        if since >= 12 and apart:
            out, since = out + "\u200b", 0
        out, since = out + each, since + 1
    return out


def _joins(character: str) -> bool:
    """A virama makes one sign of the letters on both sides of it."""
    return unicodedata.combining(character) == 9
