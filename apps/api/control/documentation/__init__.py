"""The documentation of this API: areas, parameters, recorded examples, and the pages' schema."""
