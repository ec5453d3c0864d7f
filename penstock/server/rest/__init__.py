"""PostgREST's shape for the functions and views of the SQL adapters, so that supabase-js and supabase-py work here."""
