"""Rows of small state (doc/formats/database.md), written as a role would have, and read."""
import sqlite3
import struct

P1, P2, P3, P4, P5 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9,
                      0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
M = (1 << 64) - 1
TABLES = ("tables", 1, "name=text:39 shape=text:1699 keys=uint:24 most=uint:0 writer=text:39 loss=text:239 lost=uint:1")
SQL = {"uint": "INTEGER", "time": "INTEGER", "text": "TEXT", "bytes": "BLOB", "str": "BLOB"}


def rotate(v, bits):
    return (v << bits | v >> 64 - bits) & M


def one_round(acc, lane):
    return rotate(acc + lane * P2 & M, 31) * P1 & M


def xxh64(data):
    acc = [P1 + P2 & M, P2, 0, -P1 & M]
    at = 0
    while at + 32 <= len(data):
        acc = [one_round(a, lane) for a, lane in zip(acc, struct.unpack_from("<4Q", data, at))]
        at += 32
    h = P5
    if len(data) >= 32:
        h = sum(rotate(a, bits) for a, bits in zip(acc, (1, 7, 12, 18))) & M
        for a in acc:
            h = ((h ^ one_round(0, a)) * P1 + P4) & M
    h = h + len(data) & M
    while at + 8 <= len(data):
        h = rotate(h ^ one_round(0, struct.unpack_from("<Q", data, at)[0]), 27) * P1 + P4 & M
        at += 8
    if at + 4 <= len(data):
        h = rotate(h ^ struct.unpack_from("<I", data, at)[0] * P1 & M, 23) * P2 + P3 & M
        at += 4
    for byte in data[at:]:
        h = rotate(h ^ byte * P5 & M, 11) * P1 & M
    h = (h ^ h >> 33) * P2 & M
    h = (h ^ h >> 29) * P3 & M
    return h ^ h >> 32


def row_sum(table, row):
    data = table.encode() + b"\0"
    for value in row:
        if isinstance(value, int):
            data += struct.pack("<Qq", 1, value)
        else:
            text = value.encode() if isinstance(value, str) else value
            data += struct.pack("<QQ", 2 if isinstance(value, str) else 3, len(text)) + text
    value = xxh64(data)
    return value - (value >> 63 << 64)


def make(db, name, keys, shape):
    columns = [c.split("=") for c in shape.split()]
    body = "".join(f'"{n}" {SQL[kind.split(":")[0]]} NOT NULL,' for n, kind in columns)
    key = ",".join(f'"{n}"' for n, _ in columns[:max(keys, 1)])
    db.execute(f'CREATE TABLE "{name}"({body}sum INTEGER NOT NULL,PRIMARY KEY({key})) STRICT, WITHOUT ROWID')


def add(db, table, row):
    row = [*row, row_sum(table, row)]
    db.execute(f'INSERT INTO "{table}" VALUES({",".join("?" * len(row))})', row)


def write(path, table, keys, shape, rows):
    """A table with these rows, in a database that is made where there is none."""
    fresh = not path.exists()
    with sqlite3.connect(path) as db:
        if fresh:
            db.execute("PRAGMA journal_mode=wal")
            db.execute(f"PRAGMA application_id={0x47534d4c}")
            db.execute("PRAGMA user_version=1")
            make(db, *TABLES)
        db.execute(f'DROP TABLE IF EXISTS "{table}"')
        db.execute("DELETE FROM tables WHERE name=?", (table,))
        make(db, table, keys, shape)
        add(db, "tables", (table, shape, keys, 1 << 62, "test", "nothing", 0))
        for row in rows:
            add(db, table, row)
    db.close()


def read(path, table):
    """Its rows, as dictionaries."""
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    db.row_factory = sqlite3.Row
    rows = [dict(row) for row in db.execute(f'SELECT * FROM "{table}"')]
    db.close()
    return rows
