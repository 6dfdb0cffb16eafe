"""Everything that knows SQL: schema, views, connections, loads and queries."""
