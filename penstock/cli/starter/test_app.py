from penstock.testing import ThrowAwayDatabase, drain, run_inline

from app import app, book, write_chapter


def test_a_chapter_says_how_far_it_is() -> None:
    run = run_inline(write_chapter, number=1, words=20)
    assert run.output == "Chapter 1: 20 words."
    assert [report["percent"] for report in run.progress] == [0, 50]


def test_a_book_has_its_chapters(penstock_database: ThrowAwayDatabase) -> None:
    penstock_database.use(app)
    job = book.enqueue("Rivers", chapters=1)
    drain(app)
    assert job.result()["contents"] == "Chapter 1: 100 words."
