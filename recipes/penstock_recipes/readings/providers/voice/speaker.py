"""Speaks one text and ends: espeak-ng in a sandbox.

espeak-ng keeps its state in globals, which a second text in the same process would find changed: it would sound, and
last, a little different each time. A fresh process speaks the same text the same way, beside others, and may be killed.
"""

import ctypes
import json
from typing import Any

_SYNCHRONOUS = 2  # AUDIO_OUTPUT_SYNCHRONOUS: samples come to the callback, from within espeak_Synth
_UTF8 = 1
_RATE, _PITCH, _RANGE = 1, 3, 4
_Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p)


class Refused(Exception):
    """Said to whoever wants to hear it."""


def prepare(**_: object) -> None:
    import espeakng_loader  # noqa: F401


def speak(data: bytes, voice: str, words_per_minute: int, pause: float) -> tuple[dict[str, int], bytes]:
    """The paragraphs, which are a list in JSON, as samples; and how many of these are a second."""
    import espeakng_loader

    espeak: Any = ctypes.CDLL(espeakng_loader.get_library_path())
    espeak.espeak_Synth.argtypes = [
        ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint, ctypes.c_int, ctypes.c_uint, ctypes.c_uint, ctypes.c_void_p,
        ctypes.c_void_p,
    ]  # fmt: skip
    rate: int = espeak.espeak_Initialize(_SYNCHRONOUS, 0, str(espeakng_loader.get_data_path()).encode(), 0)
    if rate <= 0:
        raise Refused(f"espeak-ng does not start: error {rate}")
    # which it seeds by the time of day: the noise in its consonants would be another one each time
    espeak.espeak_ng_SetRandSeed(ctypes.c_long(1))
    if espeak.espeak_SetVoiceByName(voice.encode()) != 0:
        raise Refused(f"espeak-ng has no voice {voice!r}; try en, en-us or en-gb-x-rp")
    for parameter, setting in ((_RATE, words_per_minute), (_PITCH, 42), (_RANGE, 55)):
        espeak.espeak_SetParameter(parameter, setting, 0)
    spoken = bytearray()

    def take(samples: Any, count: int, _events: object) -> int:
        if samples and count > 0:
            spoken.extend(ctypes.string_at(samples, 2 * count))
        return 0

    callback = _Callback(take)
    espeak.espeak_SetSynthCallback(callback)
    for paragraph in json.loads(data):
        text = paragraph.replace("\x00", " ").encode()  # which would end it early
        if espeak.espeak_Synth(text, len(text) + 1, 0, 1, 0, _UTF8, None, None) != 0:
            raise Refused("espeak-ng could not speak a paragraph")
        spoken.extend(bytes(2 * int(rate * pause)))
    return {"rate": rate}, bytes(spoken)
