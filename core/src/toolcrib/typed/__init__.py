"""Types of Python and values of JSON: schemas, constraints, and the way both ways."""
