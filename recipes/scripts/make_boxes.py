# mypy: ignore-errors
"""Makes boxes.ttf, the font of last resort: one empty box for every character there is, in some 700 bytes.

With it a character that no other font has is a visible box, can be copied out of the PDF, and is allowed in PDF/A,
where a missing glyph is an error. Needs fonttools; run it in penstock_recipes/fonts when the box is to look different.
"""

from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from fontTools.ttLib.tables._c_m_a_p import cmap_format_13, table__c_m_a_p

SURROGATES = range(0xD800, 0xE000)


def box() -> object:
    pen = TTGlyphPen(None)
    for left, bottom, right, top, inside in ((60, -60, 740, 760, False), (110, -10, 690, 710, True)):
        first, *others = (left, bottom), (left, top), (right, top), (right, bottom)
        pen.moveTo(first)
        for point in reversed(others) if inside else others:
            pen.lineTo(point)
        pen.closePath()
    return pen.glyph()


font = FontBuilder(1000, isTTF=True)
font.setupGlyphOrder([".notdef", "box"])
font.setupGlyf({".notdef": box(), "box": box()})
font.setupHorizontalMetrics({".notdef": (800, 60), "box": (800, 60)})
font.setupHorizontalHeader(ascent=800, descent=-200)
font.setupNameTable({"familyName": "Boxes", "styleName": "Regular", "fullName": "Boxes", "psName": "Boxes-Regular"})
font.setupCharacterMap({32: "box"})
font.setupOS2(sTypoAscender=800, sTypoDescender=-200, usWinAscent=800, usWinDescent=200)
font.setupPost(keepGlyphNames=False)
# format 13 says of a whole range that it is one glyph
every = cmap_format_13(13)
every.platformID, every.platEncID, every.language = 3, 10, 0
every.cmap = {code: "box" for code in range(0x20, 0x110000) if code not in SURROGATES}
font.font["cmap"] = table__c_m_a_p()
font.font["cmap"].tableVersion = 0
font.font["cmap"].tables = [every]
font.save("boxes.ttf")
