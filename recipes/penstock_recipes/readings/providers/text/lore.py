"""What the offline writer knows of signs, bodies, houses and angles, as phrases that fit into its sentences."""

SIGNS: dict[str, tuple[str, str, str, str]] = {
    # how it does things; what it wants; what it gives; what it costs
    "Aries": ("head first, before the kettle has boiled", "a beginning of its own",
              "the courage to go first", "impatience with whatever has to ripen"),
    "Taurus": ("slowly, with both hands, and only once", "something that lasts and can be touched",
               "a steadiness that others lean on without noticing", "a stubbornness that calls itself patience"),
    "Gemini": ("in two directions at once, and talking", "news, and somebody to tell it to",
               "a lightness that opens windows", "a way of leaving before the last sentence"),
    "Cancer": ("sideways, with the soft part protected", "both company and peace",
               "a memory for what mattered to whom", "a grievance kept warm for years"),
    "Leo": ("in the open, with a certain generosity of gesture", "a whole face turned towards it",
            "warmth that does not keep accounts", "hurt pride, which is slow to say so"),
    "Virgo": ("carefully, mending as it goes", "some actual use",
              "an eye for the one thing that would help", "a list of faults, with its own name at the top"),
    "Libra": ("by weighing, and then weighing the scales", "a fair word and a beautiful room",
              "the other side of every question", "a yes that meant perhaps"),
    "Scorpio": ("entirely, or not at all", "the truth, even if it bites",
                "loyalty past the point of comfort", "a silence with a blade in it"),
    "Sagittarius": ("by the long road, singing", "a reason, and a horizon to put behind it",
                    "faith that is catching", "promises made in the enthusiasm of the moment"),
    "Capricorn": ("step by step, with the end in view", "what has been properly earned",
                  "a back that does not bend in the wind", "coldness, when it is only tired"),
    "Aquarius": ("from the outside in, and by its own rules", "room, and company that does not crowd it",
                 "an idea from ten years ahead", "distance at the very moment of closeness"),
    "Pisces": ("as water does, by finding the level", "an hour without borders",
               "a mercy that asks for no reasons", "a fog in which appointments are lost"),
}  # fmt: skip

BODIES: dict[str, str] = {
    "Sun": "the part of a person that grows towards the light",
    "Moon": "the tide underneath, older than any opinion",
    "Mercury": "the messenger, who carries what can be put into words",
    "Venus": "the taste of things, and the wish to come nearer",
    "Mars": "the will when it has decided to move",
    "Jupiter": "the wide door through which good things are expected",
    "Saturn": "the teacher who marks in pencil and forgets nothing",
    "Uranus": "the sudden window in a wall that seemed solid",
    "Neptune": "the sea at the edge of every map",
    "Pluto": "the old heat far below the house",
    "North Node": "the direction in which a life leans when it is honest",
    "Ascendant": "the door by which the world is let in",
    "Earth": "the ground opposite the sun, on which the rest is balanced",
    "South Node": "what was learnt so long ago that it seems to be nature",
}

HOUSES: tuple[str, ...] = (
    "one meets the world in person", "one keeps what one can count on",
    "the daily talk of streets and siblings goes on", "the family table stands",
    "one plays, courts and makes things up", "the ordinary work of the day is done",
    "the other person sits down opposite", "things are shared that cannot be divided",
    "one travels, studies and believes", "one is known for something", "friends and plans for later are kept",
    "one is alone with what has no name",
)  # fmt: skip

NAKSHATRAS: dict[str, str] = {
    "Ashwini": "the horse's head, quick to arrive and quick to heal",
    "Bharani": "the vessel that bears what others will not carry",
    "Krittika": "the blade that cuts away what is not true",
    "Rohini": "the ox cart, heavy with what has been grown",
    "Mrigashira": "the deer's head, forever following a scent",
    "Ardra": "the teardrop, and the clear air after the storm",
    "Punarvasu": "the quiver, to which every arrow returns",
    "Pushya": "the cow's udder, that feeds whoever comes",
    "Ashlesha": "the coiled serpent, which sees in the dark",
    "Magha": "the throne, and the ancestors behind it",
    "Purva Phalguni": "the hammock, where rest is also an art",
    "Uttara Phalguni": "the bed's firm legs, and promises that hold",
    "Hasta": "the open hand, skilled in small things",
    "Chitra": "the bright jewel, cut with patience",
    "Swati": "the young shoot that bends in the wind and stands",
    "Vishakha": "the archway, and a goal seen through it",
    "Anuradha": "the lotus, friendship that rises out of mud",
    "Jyeshtha": "the elder's earring, authority with its burdens",
    "Mula": "the bundle of roots, which goes down to the reason",
    "Purva Ashadha": "the fan, that stirs a small fire into a great one",
    "Uttara Ashadha": "the elephant's tusk, and victories that stay won",
    "Shravana": "the ear, which learns by keeping still",
    "Dhanishta": "the drum, and the wealth of good timing",
    "Shatabhisha": "the empty circle, where a hundred healers work unseen",
    "Purva Bhadrapada": "the sword at the edge of two worlds",
    "Uttara Bhadrapada": "the twins in deep water, calm below the wave",
    "Revati": "the fish, that finds its way home for everybody",
}

GATES: dict[int, str] = dict(enumerate((
    "making what was not there", "knowing the way without the map", "beginning in disorder", "offering answers",
    "keeping a rhythm", "opening only at the right time", "leading from within", "adding one's own voice",
    "attending to the detail", "being at ease with oneself", "holding ideas up to the light",
    "speaking when the mood is right", "listening to everyone's past", "power that wants good work",
    "living with extremes", "practising until it is a skill", "forming an opinion", "putting things right",
    "needing closeness", "being here this minute", "taking charge of the purse", "grace under feeling",
    "saying it simply", "returning to the same thought", "keeping an innocent heart", "telling it well",
    "caring for what is small", "playing for what matters", "saying yes and meaning it", "burning for an experience",
    "being asked to lead", "sensing what will last", "withdrawing to remember", "strength that answers",
    "wanting to have tried everything", "going through the crisis", "keeping the family's peace",
    "fighting for a purpose", "provoking the spirit", "resting after the work", "imagining what could be felt",
    "bringing things to their end", "the sudden insight", "smelling a pattern", "gathering the tribe",
    "being at home in the body", "making sense of the past", "the depth that fears to be shallow",
    "changing the principles", "holding to what is right", "the shock that wakes", "keeping still",
    "starting something", "climbing with ambition", "abundance and its moods", "telling stories",
    "hearing the truth in the now", "the joy of making it better", "breaking down the wall between two",
    "working within a limit", "the pressure of a mystery", "naming the particulars", "the useful doubt",
    "the picture before its meaning",
), 1))  # fmt: skip

TYPES: dict[str, str] = {
    "Generator": "waits for something to answer, and has great stamina once it has",
    "Manifesting Generator": "answers and acts almost in one movement, and skips the steps that were never needed",
    "Manifestor": "begins without being asked, and does best when others have been told",
    "Projector": "sees how other people work, and is heard when invited",
    "Reflector": "takes the colour of the place, and needs a whole moon to be sure",
}

LINES: tuple[str, ...] = (
    "wants firm ground under every step", "does well alone and is called out by others", "learns by what does not work",
    "moves through friendships", "is trusted with other people's hopes", "watches from the roof before coming down",
)  # fmt: skip

ASPECTS: dict[str, tuple[str, str]] = {
    "conjunction": ("stand in one place and speak with one voice, so that it is hard to say whose idea it was",
                    "Such closeness gives strength at once and perspective late"),
    "sextile": ("stand two signs apart and get on without having been introduced",
                "It is an opening, and it stays closed unless somebody knocks"),
    "square": ("stand at a right angle, as two people do who reach for the same door",
               "The friction is real, and it is also the only thing here that makes a spark"),
    "trine": ("stand a third of the sky apart and agree before the question is out",
              "What comes so easily is seldom counted, and ought to be"),
    "opposition": ("face each other across the whole wheel, as a shore faces a shore",
                   "Each holds what the other lacks, and says so"),
}  # fmt: skip

ELEMENTS: dict[str, str] = {
    "fire": "fire: it warms quickly, it forgives quickly, and it should not be asked to wait in the hall",
    "earth": "earth: it believes what it can hold, and it is seldom late",
    "air": "air: it needs conversation as others need lunch, and thinks best while being answered",
    "water": "water: it knows the mood of a room before the door is shut behind it",
}
