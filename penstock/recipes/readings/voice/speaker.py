"""Speaks one text and ends: espeak-ng in a process of its own, run by its path.

espeak-ng keeps its state in globals, which a second text in the same process would find changed: it would sound, and
last, a little different each time. A fresh process speaks the same text the same way, beside others, and may be killed.

Takes {"paragraphs", "voice", "words_per_minute", "pause"} as JSON; gives the sample rate in four bytes, then samples.
"""

import ctypes
import json
import sys
from typing import Any

_SYNCHRONOUS = 2  # AUDIO_OUTPUT_SYNCHRONOUS: samples come to the callback, from within espeak_Synth
_UTF8 = 1
_RATE, _PITCH, _RANGE = 1, 3, 4
_Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p)


def speak(paragraphs: list[str], voice: str, words_per_minute: int, pause: float) -> tuple[int, bytes]:
    try:
        import espeakng_loader
    except ImportError:
        sys.exit("the offline voice needs espeakng-loader: pip install 'penstock[readings]'")
    espeak: Any = ctypes.CDLL(espeakng_loader.get_library_path())
    espeak.espeak_Synth.argtypes = [
        ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint, ctypes.c_int, ctypes.c_uint, ctypes.c_uint, ctypes.c_void_p,
        ctypes.c_void_p,
    ]  # fmt: skip
    rate: int = espeak.espeak_Initialize(_SYNCHRONOUS, 0, str(espeakng_loader.get_data_path()).encode(), 0)
    if rate <= 0:
        sys.exit(f"espeak-ng does not start: error {rate}")
    if espeak.espeak_SetVoiceByName(voice.encode()) != 0:
        sys.exit(f"espeak-ng has no voice {voice!r}; try en, en-us or en-gb-x-rp")
    for parameter, setting in ((_RATE, words_per_minute), (_PITCH, 42), (_RANGE, 55)):
        espeak.espeak_SetParameter(parameter, setting, 0)
    spoken = bytearray()

    def take(samples: Any, count: int, _events: object) -> int:
        if samples and count > 0:
            spoken.extend(ctypes.string_at(samples, 2 * count))
        return 0

    callback = _Callback(take)
    espeak.espeak_SetSynthCallback(callback)
    for paragraph in paragraphs:
        text = paragraph.replace("\x00", " ").encode()  # which would end it early
        if espeak.espeak_Synth(text, len(text) + 1, 0, 1, 0, _UTF8, None, None) != 0:
            sys.exit("espeak-ng could not speak a paragraph")
        spoken.extend(bytes(2 * int(rate * pause)))
    return rate, bytes(spoken)


if __name__ == "__main__":
    rate, samples = speak(**json.load(sys.stdin.buffer))
    sys.stdout.buffer.write(rate.to_bytes(4) + samples)
