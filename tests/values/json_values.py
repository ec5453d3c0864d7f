"""Whatever JSON can carry and Postgres can store, for Hypothesis."""

from hypothesis import strategies as st

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
json_values: st.SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
)
