"""Résumés of the tests."""

from typing import Any

SHORT: dict[str, Any] = {
    "profile": {"name": "Ada Wiśniewska", "headline": "Engineer", "email": "ada@example.com", "location": "Łódź"},
    "experience": [
        {
            "company": "Northwind Freight",
            "position": "Staff Engineer",
            "startDate": "2021-03",
            "highlights": ["Replaced a nightly batch by an event log.", "Wrote the incident handbook."],
        }
    ],
    "education": [{"institution": "Łódź University of Technology", "degree": "MSc", "endDate": "2012"}],
    "skills": [{"name": "Languages", "items": ["Python", "Rust", "SQL"]}, "Patience"],
    "languages": [{"name": "Polish", "level": "native"}],
    "certifications": [{"name": "PostgreSQL Professional", "issuer": "EDB", "date": "2020-05"}],
}


def resume_of(positions: int, *, points: int = 4) -> dict[str, Any]:
    """Of a long life: about three positions fill a page."""
    return SHORT | {
        "experience": [
            {
                "company": f"Company {number}",
                "position": f"Position {number}",
                "startDate": f"{2026 - number}-01",
                "endDate": f"{2026 - number}-12",
                "summary": "Led the team that owns ingestion, storage and access of all operational data. " * 3,
                "highlights": [f"Achievement {number}.{point}: " + "measured, and written down. " * 5
                               for point in range(points)],
            }
            for number in range(positions)
        ]
    }  # fmt: skip
