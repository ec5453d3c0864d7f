"""Claude, through Anthropic's API, as the recipes ask it."""

from typing import TYPE_CHECKING, TypedDict

from penstock import PenstockError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anthropic.types import ContentBlockParam, Message, ToolParam

MODEL = "claude-sonnet-4-5"
_AS_ASKED = (400, 401, 403, 404, 413, 422)
"""These answers are about the request, and would be the same the next time."""


class Declined(PenstockError):
    """What another attempt would not change. The text goes on after the name of a service: "declined to …"."""


class Busy(PenstockError):
    """What another attempt may change; the text goes on in the same way."""


class ClaudeChoices(TypedDict, total=False):
    api_key: str | None
    base_url: str | None
    max_retries: int
    timeout: float


class Claude:
    """The key is ANTHROPIC_API_KEY's unless given. The SDK itself tries again what is busy (429, 529…), as late as it
    is told to; what still fails after `max_retries` is Busy."""

    def __init__(
        self,
        model: str = MODEL,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        max_retries: int = 4,
        timeout: float = 120.0,
    ) -> None:
        self._model = model
        self._api_key = api_key
        self._base_url = base_url
        self._max_retries = max_retries
        self._timeout = timeout

    async def ask(
        self,
        task: str,
        content: "str | Iterable[ContentBlockParam]",
        *,
        system: str,
        max_tokens: int,
        tool: "ToolParam | None" = None,
    ) -> "Message":
        """An answer that came to its end; one that was cut off is asked for once more, with twice the room."""
        try:
            import anthropic
        except ImportError:
            raise Declined("needs anthropic: pip install anthropic") from None
        # one for each question: a client belongs to the event loop it was first used in
        async with anthropic.AsyncAnthropic(
            api_key=self._api_key, base_url=self._base_url, max_retries=self._max_retries, timeout=self._timeout
        ) as client:
            for room in (max_tokens, 2 * max_tokens):
                try:
                    message = await client.messages.create(
                        model=self._model,
                        max_tokens=room,
                        system=system,
                        messages=[{"role": "user", "content": content}],
                        tools=anthropic.omit if tool is None else [tool],
                        tool_choice=anthropic.omit if tool is None else {"type": "tool", "name": tool["name"]},
                    )
                except anthropic.APIStatusError as error:
                    if error.status_code in _AS_ASKED:
                        raise Declined(f"does not accept the request ({error.status_code})") from error
                    raise Busy(f"is busy or out of reach ({error})") from error
                except anthropic.APIConnectionError as error:
                    raise Busy("is busy or out of reach") from error
                match message.stop_reason:
                    case "refusal":
                        raise Declined(f"declined to {task}")
                    case "model_context_window_exceeded":
                        break
                    case "max_tokens":
                        continue
                    case _:
                        return message
        raise Declined("did not come to an end")
