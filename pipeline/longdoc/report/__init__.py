"""Results for people: pages, tables, pictures. Reads results, computes none."""
