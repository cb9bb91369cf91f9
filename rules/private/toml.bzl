"""Writing values in TOML."""

def _string(s):
    return json.encode(s)  # a JSON string is a TOML string

def _table(d):
    """An inline table of values that are TOML already."""
    return "{ " + ", ".join(["%s = %s" % (_string(k), d[k]) for k in sorted(d.keys())]) + " }" if d else "{}"

def _literal(s):
    """A Python literal: numbers, strings and lists are written alike."""
    return {"False": "false", "True": "true"}.get(s, s)

toml = struct(
    literal = _literal,
    string = _string,
    table = _table,
)
