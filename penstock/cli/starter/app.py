"""Two handlers, and a flow that is made of them."""

import asyncio

from penstock import Context, Flow, Penstock

app = Penstock()  # on DATABASE_URL, or on a Postgres of its own under .penstock/


@app.job(max_attempts=3)
async def write_chapter(ctx: Context, number: int, words: int = 100) -> str:
    """Takes its time, and says how far it is."""
    for written in range(0, words, 10):
        await asyncio.sleep(0.1)  # something that takes a while
        await ctx.progress(100 * written / words, f"Chapter {number}: {written} words")
    return f"Chapter {number}: {words} words."


@app.job
async def bind_book(ctx: Context, title: str) -> dict[str, str]:
    """Runs when every chapter is written. Its file can be downloaded."""
    chapters = [str(chapter.output) for chapter in await ctx.outputs()]
    file = await ctx.artifacts.put("book.txt", "\n".join([title, *chapters]).encode())
    return {"title": title, "contents": "; ".join(chapters), "file": str(file.id)}


@app.flow(users=True)
def book(title: str, chapters: int = 3) -> Flow:
    """All chapters at once, then the book."""
    flow = Flow(then=bind_book.prepare(title=title))
    for number in range(1, chapters + 1):
        flow.add(write_chapter.prepare(number=number), name=f"chapter {number}")
    return flow
