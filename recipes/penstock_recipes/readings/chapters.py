"""The sixteen chapters, in their order: what each is about and which bodies it is read from."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Chapter:
    """`theme` completes "when it comes to …"; `bodies` are looked at in this order."""

    number: int
    title: str
    theme: str
    bodies: tuple[str, ...]
    opening: str
    practice: str
    closing: str


def _chapters(*told: tuple[str, str, str, str, str, str]) -> tuple[Chapter, ...]:
    return tuple(
        Chapter(number, title, theme, tuple(bodies.split(", ")), opening, practice, closing)
        for number, (title, theme, bodies, opening, practice, closing) in enumerate(told, 1)
    )


CHAPTERS = _chapters(
    (
        "Portraits",
        "being seen",
        "Sun, Moon, Mars",
        "Before anything can be said about a life, somebody has to sit still for the light. A portrait is not a "
        "verdict. It is a record of where the light fell on one particular morning, and of how the sitter held their "
        "face while it did. What follows is drawn from the positions of the planets at a minute and a place that "
        "happened only once.",
        "Take an old photograph in which nobody is posing, and describe it aloud in three plain sentences. Leave out "
        "what came later. What you notice first is usually the part of the chart that has been doing the work "
        "unthanked, and it is glad to be named.",
        "A portrait is finished when the sitter forgets about it and gets up to make tea.",
    ),
    (
        "Hunger",
        "wanting",
        "Venus, Mars, Moon",
        "There are hungers that a meal ends, and hungers that only a life can. The chart does not judge between them. "
        "It shows where appetite sits in the body of the sky, what it reaches for when nobody is looking, and how it "
        "behaves when it is told to wait. Most quarrels that seem to be about time or money are about this.",
        "For one week, say what you want before you say what would be reasonable. Say it once, without an argument "
        "attached to it, and let the other answers arrive in their own time. Hunger that has been heard is half fed "
        "already.",
        "Nobody was ever made smaller by being asked what they would like.",
    ),
    (
        "Language",
        "finding words",
        "Mercury, Jupiter, Moon",
        "Every household has a dialect. Some of it is vocabulary, most of it is timing: who speaks first, who "
        "circles, who needs to walk to the end of the road before a sentence will come. Mercury never stands far from "
        "the sun, so that what we say stays near to what we are; but it is seldom in quite the same place.",
        "Choose one subject that always goes wrong and write about it to each other, or to yourself, by hand, without "
        "crossing anything out. Read it the next day. The words that still seem true then are the ones to say.",
        "A shared language is built one misunderstood sentence at a time.",
    ),
    (
        "Shelter",
        "feeling safe",
        "Moon, Saturn, Venus",
        "A home is a set of habits with a roof on it. Long before anybody chooses curtains they have chosen how much "
        "noise they can bear, how many doors must be open, and what has to be in the cupboard before the evening may "
        "begin. The moon keeps that inventory, and she has kept it since the first night.",
        "Walk through your rooms at the hour when you are usually most tired, and notice where your shoulders drop. "
        "Move one thing so that it happens sooner. Shelter is made of such small and slightly ridiculous arrangements.",
        "The safest house is the one that can be left and come back to.",
    ),
    (
        "Fire",
        "anger and desire",
        "Mars, Pluto, Sun",
        "Fire cooks and fire burns down, and it is the same fire. Mars tells how it is lit, Pluto how deep the seam "
        "runs that feeds it. People who say that they are never angry have usually given the job to somebody else in "
        "the house. It is cheaper, in the long run, to keep one's own matches.",
        "When the heat rises, do the next physical thing properly: chop the wood, climb the stairs, scrub the pan. "
        "Then say what it was about. Not the history of it; only this time. Fire wants a hearth, and a hearth is a "
        "limit.",
        "What burns cleanly leaves warmth and very little ash.",
    ),
    (
        "Mirrors",
        "the other person",
        "Venus, Sun, North Node",
        "We meet in others what we have not yet met at home. The face across the table is a good likeness of the part "
        "of the sky that sets as we rise, and for that reason it can be loved and resented within the same hour. To "
        "look into a mirror steadily is one of the quieter kinds of courage.",
        "Write down the three qualities that irritate you most in someone close. Beside each, put the name of the "
        "planet you would give it to, and look where that planet stands in your own chart. Do not draw a conclusion. "
        "Only look.",
        "A good mirror is one that does not move when we do.",
    ),
    (
        "Money",
        "what things are worth",
        "Venus, Saturn, Jupiter",
        "Money is a promise that strangers keep. How it is earned, hidden, poured out or counted twice tells more "
        "about a person's childhood than about their income. Jupiter assumes that there will be more, Saturn that "
        "there was once less, and Venus that some of it at least ought to become flowers.",
        "Name a sum that would count as enough, for this year and in figures. Then name one thing that you would do "
        "differently if it were already there. Often that thing is free, or nearly, and has only been waiting for "
        "leave.",
        "Enough is a number that can be said aloud.",
    ),
    (
        "Shadow",
        "what is kept out of sight",
        "Pluto, Saturn, Neptune",
        "Whatever stands in the light throws something behind it. The shadow is not the worst of a person; it is what "
        "there was no room for at the time. It keeps well in the dark, it does not age, and it returns in the voice of "
        "whoever happens to be nearest when we are tired.",
        "Ask of the last thing you were ashamed of: whose rule was it that I broke? Some of those rules are good, and "
        "will be kept. Some belong to people long dead, and can be handed back with thanks.",
        "What is looked at in good company loses its teeth.",
    ),
    (
        "Trust",
        "relying on somebody",
        "Saturn, Moon, Jupiter",
        "Trust is a forecast. It is made from few observations, revised slowly upward and very quickly down. Saturn "
        "keeps the records, the moon remembers how it felt, and Jupiter is the one who says: once more. Between the "
        "three of them they decide how long a door stays on the latch.",
        "Make a promise so small that it cannot fail, and keep it on the day you said. Then make another. Nothing "
        "that is said about reliability has the force of the fourth Tuesday in a row.",
        "Trust grows at the speed of the slowest kept promise.",
    ),
    (
        "Work",
        "getting things done",
        "Saturn, Mars, Mercury",
        "There is the work that pays and the work that is ours, and in a fortunate week they touch. The chart is "
        "plain about tempo: who begins, who finishes, who must be left alone until the plan has set. Much unhappiness "
        "at work comes from being paid to keep another planet's hours.",
        "Keep a tally for ten days of the hours after which you felt more awake than before. They need not be the "
        "impressive ones. Then defend the first of them against everything, including your own good manners.",
        "Work well begun has a way of asking for the next hour.",
    ),
    (
        "Play",
        "delight",
        "Jupiter, Venus, Mercury",
        "Play is what we do when nothing has to come of it, which is why so much does. It is the first thing to "
        "vanish under pressure and the last to be missed, and two people who can be silly in the same way have an "
        "alliance that serious people envy. Jupiter is the great permission in any chart.",
        "Do something badly, on purpose and with pleasure, for half an hour: sing in two parts, draw the cat, learn "
        "the first eight bars. Keep no record of it. Improvement is allowed only if it happens by accident.",
        "Those who laugh at the same moment have understood the same thing.",
    ),
    (
        "Inheritance",
        "what was handed down",
        "Moon, Saturn, Pluto",
        "Nobody starts from the beginning. There is a table that was laid before we came, a tone of voice, a list of "
        "what is not spoken of, and a recipe or two. The slow planets moved through whole generations while our own "
        "chart was still being drawn, and they left us some of their furniture.",
        "Ask the oldest person you can reach for a story about somebody you never met, and write it down in their "
        "words. Then ask yourself which of its sentences you have lived by without knowing where it came from.",
        "What we repeat knowingly is a tradition; the rest is only an echo.",
    ),
    (
        "Silence",
        "being alone",
        "Neptune, Moon, Saturn",
        "Silence has kinds, as snow has. There is the silence after a question and the one instead of an answer, the "
        "silence of somebody reading in the next room, and the one in which a person at last hears what they think. "
        "Neptune draws the coast of it, and it is never the same coast twice.",
        "Agree with yourself, and with whoever shares your days, on an hour in which nothing is owed: no reply, no "
        "meal, no news. Sit where you can see out. What comes after the first restless quarter of an hour is yours.",
        "Two solitudes that border and greet each other make a country.",
    ),
    (
        "Weather",
        "moods and change",
        "Uranus, Moon, Mercury",
        "Moods are weather and character is climate, and most grief comes from mistaking one for the other. Some "
        "charts are maritime, with a shower every hour and sun between; some are continental, and change twice a year "
        "with a great noise. Uranus is the lightning: rare, instructive, and hard to arrange.",
        "For one month write a single word for each day, as a ship's log has it: calm, gusts, fog, clearing. Do not "
        "explain. At the end of the month the pattern will be visible, and it will be less personal than it felt.",
        "It is possible to love a climate and still carry an umbrella.",
    ),
    (
        "Distance",
        "closeness and room",
        "Uranus, Sun, Jupiter",
        "Two planets may be joined by an angle across half the sky; nearness is not the only way to be related. Each "
        "person has a distance at which they are most themselves, and it is rarely mentioned when love is discussed. "
        "It can be measured, though, with some patience: it is where the breath becomes even.",
        "Plan one journey, of a day if need be, that you will make alone, and one that you will not. Talk afterwards "
        "about which of the two returns was the happier. The answer is a measurement and nobody's fault.",
        "The right distance is the one from which one can still wave.",
    ),
    (
        "Vows",
        "what is promised",
        "North Node, Sun, Saturn",
        "A vow is a sentence that goes on being spoken. The lunar nodes mark where the moon's road crosses the sun's, "
        "and old readers saw in them what a life is leaving and where it has agreed to go. This last chapter is about "
        "direction. It promises nothing itself; it points, and steps aside.",
        "Write one sentence that begins: from here on, I will. Make it short enough to remember and plain enough to "
        "be checked by a friend. Put a date under it. Read this reading again on that day next year, and see what it "
        "says.",
        "The sky has moved on already; the rest is yours.",
    ),
)
