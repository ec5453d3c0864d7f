"""The offline writer: chapters put together from the calculation, the same for the same births."""

from collections import Counter
from collections.abc import Iterator
from hashlib import blake2b
from itertools import zip_longest

from penstock_recipes.readings import sky
from penstock_recipes.readings.chapters import CHAPTERS, Chapter
from penstock_recipes.readings.chart import SIGNS, Aspect, Calculation, Chart, HumanDesign, Lunar, Placement
from penstock_recipes.readings.human_design import CENTERS
from penstock_recipes.readings.providers.text import Section, Written, lore

_ENOUGH = 720
"""Words after which a chapter takes up nothing further."""

_HEADINGS = {"western": "Under the tropical sky", "vedic": "Among the fixed stars", "human_design": "In the design"}
_ORDINALS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth",
)  # fmt: skip
_CENTER_NAMES = {center: f"the {center.lower()}" for center in CENTERS} | {"Emotions": "the center of the emotions"}
_ELEMENTS = ("fire", "earth", "air", "water")


class OfflineWriter:
    """Needs no service. Each chapter looks at other bodies, through the phrases of `lore`."""

    async def write(self, chapter: Chapter, calculation: Calculation) -> Written:
        return compose(chapter, calculation)


def compose(chapter: Chapter, calculation: Calculation) -> Written:
    between = _between(chapter, calculation)
    ending = [chapter.practice, _leave(chapter, calculation), chapter.closing]
    words = sum(len(text.split()) for text in (chapter.opening, *between, *ending))
    told: dict[str, list[str]] = {system: [] for system in calculation.systems}
    # one system after the other takes up a body, until there is enough to read
    for turn in zip_longest(*(_paragraphs(system, chapter, calculation) for system in calculation.systems)):
        for system, paragraph in zip(calculation.systems, turn, strict=True):
            if paragraph and (words < _ENOUGH or not told[system]):
                told[system].append(paragraph)
                words += len(paragraph.split())
    sections = [Section("", [chapter.opening])]
    sections += [Section(_HEADINGS[system], paragraphs) for system, paragraphs in told.items()]
    sections.append(Section("Between them" if len(calculation.charts) == 2 else "The angles", between))
    sections.append(Section("To take along", ending))
    return Written(chapter.title, sections, "offline")


def _pick(variants: int, *what: object) -> int:
    """The same choice for the same things, and another one for others."""
    return int.from_bytes(blake2b(repr(what).encode(), digest_size=4).digest()) % variants


def _earlier(body: str, chapter: Chapter) -> int:
    """How many chapters before this one look at the body: so that each says something else about it."""
    return sum(body in each.bodies for each in CHAPTERS[: chapter.number - 1])


def _article(body: str) -> str:
    return f"the {body}" if body in ("Sun", "Moon", "Earth", "North Node", "South Node", "Ascendant") else body


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _in_words(degree: float, sign: str) -> str:
    return f"{int(degree)}° {sign}"


def _paragraphs(system: str, chapter: Chapter, calculation: Calculation) -> Iterator[str]:
    bodies = [*chapter.bodies, "Ascendant", *(body for body in sky.BODIES if body not in chapter.bodies)]
    for place, body in enumerate(bodies):
        for chart in calculation.charts:
            turn = _pick(4, chart.name, chart.born, system) + _earlier(body, chapter)
            turn += place if body not in chapter.bodies else 0
            if system == "western" and chart.western:
                known = {each.body: each for each in chart.western.shown}
                said = _western(chart, known[body], chapter, turn) if body in known else ""
                yield (said + (_balance(chart) if place == 3 else "")).strip()
            elif system == "vedic" and chart.vedic:
                there = {each.body: each for each in chart.vedic.shown}
                yield _vedic(chart, there[body], chapter, turn) if body in there else ""
            elif system == "human_design" and chart.human_design and body != "Ascendant":
                yield _human_design(chart, body, chapter, turn, first=place == 0)


def _western(chart: Chart, placed: Placement, chapter: Chapter, turn: int) -> str:
    manner, wants, gift, shadow = lore.SIGNS[placed.sign]
    name, body = chart.name, _article(placed.body)
    where, meaning = _in_words(placed.degree, placed.sign), lore.BODIES[placed.body]
    inside = met = practised = ""
    kept = placed.sign
    if placed.house:
        house = f"{_ORDINALS[placed.house - 1]} house, where {lore.HOUSES[placed.house - 1]}"
        inside, kept = f", in the {house}", f"the {house}"
        met = f"It lives in the {house}, and that is where others will meet it. "
        practised = f"The {house}, gives it a place to practise. "
    match turn % 4:
        case 0:
            text = (
                f"{name} has {body} at {where}{inside}. This is {meaning}, and here it "
                f"goes about things {manner}. When it comes to {chapter.theme}, what it wants first is {wants}; the "
                f"reasons are found later. Its gift is {gift}."
            )
        case 1:
            text = (
                f"Consider {body}, {meaning}. For {name} it stands at {where}, and so {chapter.theme} is done "
                f"{manner}. {met}On a tired day it shows as {shadow}; on a good one, as {gift}."
            )
        case 2:
            text = (
                f"In the matter of {chapter.theme}, {name} is moved by {body} in {placed.sign}: {meaning}. At {where} "
                f"it looks for {wants}, and it looks for it {manner}. {practised}Those who know it well have been "
                f"given {gift}, and have also met {shadow}."
            )
        case _:
            text = (
                f"Ask where {name} keeps {chapter.theme}, and the answer is {kept}. "
                f"There, at {where}, stands {body}: {meaning}. What it longs for is {wants}. It has {gift} to offer "
                f"in exchange, and it would be unfair to hide the price, which is {shadow}."
            )
    if placed.retrograde and placed.body not in ("North Node",):
        text += (
            " It was moving backwards that day, which turns it inward: it thinks again, and is surer the second time."
        )
    return text


def _balance(chart: Chart) -> str:
    assert chart.western is not None
    counted = Counter(_ELEMENTS[SIGNS.index(each.sign) % 4] for each in chart.western.placements)
    strongest = min(_ELEMENTS, key=lambda element: (-counted[element], element))
    return f" A good deal of this chart is {lore.ELEMENTS[strongest]}."


def _vedic(chart: Chart, placed: Lunar, chapter: Chapter, turn: int) -> str:
    _, wants, gift, shadow = lore.SIGNS[placed.sign]
    name, body, image = chart.name, _article(placed.body), lore.NAKSHATRAS[placed.nakshatra]
    quarter, where = _ORDINALS[placed.pada - 1], _in_words(placed.degree, placed.sign)
    match turn % 4:
        case 0:
            return (
                f"Measured against the stars themselves, {name}'s {placed.body} falls at {where}, in the nakshatra "
                f"{placed.nakshatra}: {image}. Its {quarter} quarter adds a tone to {chapter.theme} that the tropical "
                f"chart does not know, a wish for {wants}."
            )
        case 1:
            return (
                f"{placed.nakshatra} is {image}. {name} has {body} there, in the {quarter} quarter, at sidereal "
                f"{where}. Older readers would say that {chapter.theme} brings {gift}, provided that it is not "
                "hurried."
            )
        case 2:
            return (
                f"The sidereal zodiac puts {body} of {name} into {placed.sign}, at {int(placed.degree)}°. There it "
                f"rests in {placed.nakshatra}, {image}, and whoever asks about {chapter.theme} should picture exactly "
                f"that. Against {shadow} it knows a remedy: to wait for the {quarter} quarter of anything."
            )
        case _:
            return (
                f"For {name}, {body} keeps company with {placed.nakshatra}, {image}. It is the {quarter} quarter, "
                f"sidereal {where}; a place from which {chapter.theme} can be borne lightly, because it asks only for "
                f"{wants}."
            )


def _human_design(chart: Chart, body: str, chapter: Chapter, turn: int, *, first: bool) -> str:
    design = chart.human_design
    assert design is not None
    conscious = next(each for each in design.personality if each.body == body)
    hidden = next(each for each in design.design if each.body == body)
    name, told = chart.name, _article(body)
    opening = _of_the_whole(name, design, chapter) if first else ""
    match turn % 3:
        case 0:
            return opening + (
                f"At birth {told} lit gate {conscious.gate}, {lore.GATES[conscious.gate]}, in its "
                f"{_ORDINALS[conscious.line - 1]} line. Three months earlier it had stood in gate {hidden.gate}, "
                f"{lore.GATES[hidden.gate]}. The first is how {name} would describe {chapter.theme}; the second is "
                "what others see."
            )
        case 1:
            return opening + (
                f"Two gates belong to {told} of {name}: {conscious.gate}, {lore.GATES[conscious.gate]}, which is "
                f"known, and {hidden.gate}, {lore.GATES[hidden.gate]}, which works unasked. Where {chapter.theme} "
                "feels like too much, it is usually the second that has not been told."
            )
        case _:
            return opening + (
                f"Look at gate {conscious.gate} for {chapter.theme}: {lore.GATES[conscious.gate]}, by {told}, on a "
                f"line that {lore.LINES[conscious.line - 1]}. Underneath, from before birth, {name} has gate "
                f"{hidden.gate}: {lore.GATES[hidden.gate]}. The body knew it first."
            )


def _of_the_whole(name: str, design: HumanDesign, chapter: Chapter) -> str:
    """One thing about the whole design, another one in each chapter."""
    what = chapter.number - 1
    if what == 0:
        line = int(design.profile[0])
        return (
            f"{name} is a {design.type} with the profile {design.profile}: one who {lore.TYPES[design.type]}, and who "
            f"{lore.LINES[line - 1]}. "
        )
    if what % 2 and design.channels:
        first, second = design.channels[what // 2 % len(design.channels)]
        return (
            f"A channel runs through {name} from {lore.GATES[first]} to {lore.GATES[second]}, gates {first} and "
            f"{second}. "
        )
    undefined = [center for center in CENTERS if center not in design.centers]
    center = (undefined or list(CENTERS))[what // 2 % len(undefined or CENTERS)]
    state = "open, and takes in what is around" if undefined else "defined, and gives out more than it takes"
    return f"As a {design.type}, {name} {lore.TYPES[design.type]}; {_CENTER_NAMES[center]} is {state}. "


def _between(chapter: Chapter, calculation: Calculation) -> list[str]:
    """The closest angles of the chapter's bodies, or of any when these make none."""
    touching = [each for each in calculation.aspects if {each.first, each.second} & set(chapter.bodies)]
    # a few of the closest, other ones in other chapters that look at the same bodies
    start = 2 * _earlier(chapter.bodies[0], chapter) % max(1, len(touching) - 2)
    chosen = (touching or calculation.aspects)[start : start + 3]
    if not chosen:
        return [
            "No close angle joins the bodies of this chapter. That is an answer too: they leave each other free, and "
            f"meet in {chapter.theme} only by choice."
        ]
    names = [chart.name for chart in calculation.charts]
    return [_aspect(each, names, chapter, place + chapter.number) for place, each in enumerate(chosen)]


def _aspect(aspect: Aspect, names: list[str], chapter: Chapter, turn: int) -> str:
    how, so = lore.ASPECTS[aspect.name]
    if len(names) == 2:
        first, second = f"{names[0]}'s {aspect.first}", f"{names[1]}'s {aspect.second}"
    else:
        first, second = f"{names[0]}'s {aspect.first}", _article(aspect.second)
    exact = f"{aspect.orb:.1f} degrees from exact"
    meaning = lore.BODIES[aspect.first if turn % 2 else aspect.second]
    match turn % 3:
        case 0:
            return (
                f"{first} and {second} {how}. It is {_a(aspect.name)}, {exact}. {so}. In {chapter.theme} it is felt "
                f"wherever {meaning} comes into play."
            )
        case 1:
            return (
                f"There is {_a(aspect.name)} here, {exact}: {first} and {second} {how}. {so}, above all in "
                f"{chapter.theme}."
            )
        case _:
            return (
                f"Of all the angles that touch {chapter.theme}, this one is worth remembering. {first} and {second} "
                f"{how}; the {aspect.name} is {exact}. {so}."
            )


def _leave(chapter: Chapter, calculation: Calculation) -> str:
    """A last look at one placement of each."""
    said = []
    for chart in calculation.charts:
        if chart.western:
            known = {each.body: each.sign for each in chart.western.placements}
        elif chart.vedic:
            known = {each.body: each.sign for each in chart.vedic.placements}
        else:
            assert chart.human_design is not None
            gate = next(each.gate for each in chart.human_design.personality if each.body == chapter.bodies[0])
            said.append(f"{chart.name} might begin with gate {gate}: {lore.GATES[gate]}.")
            continue
        body = chapter.bodies[0]
        manner, wants, gift, shadow = lore.SIGNS[known[body]]
        who = f"{chart.name}, with {_article(body)} in {known[body]},"
        match _earlier(body, chapter) % 4:
            case 0:
                said.append(f"{who} might begin with what comes easily there: {gift}.")
            case 1:
                said.append(f"{who} should allow for it to happen {manner}.")
            case 2:
                said.append(f"{who} can be helped by anyone who brings {wants}.")
            case _:
                said.append(f"{who} may smile at this, and know it again: {shadow}.")
    return " ".join(said)
