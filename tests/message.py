"""Messages as garner's processes send them to each other, written after doc/protocols/message.md.

    sock.sendall(message("set", number=1, full=True, urls=2))     # in the order of the table
    name, said = read_message(file, counted={"notices"})          # {"number": "1", "full": True ...}; None: the end"""


def attribute(name, value):
    if value is True:
        return f"{name}\n".encode()
    if value is None or value is False:
        return b""
    if isinstance(value, bytes):
        return f"{name} {len(value)}\n".encode() + value + b"\n"
    if isinstance(value, list):
        items = b"".join(attributes(v) for v in value)
        return f"{name} {len(value)} {len(items)}\n".encode() + items if value else b""
    return f"{name} {value}\n".encode()


def attributes(said):
    return b"".join(attribute(k, v) for k, v in said.items())


def message(name, /, **said):
    body = attributes(said)
    return f"{name} {len(body)}\n".encode() + body


def walk(body, counted=(), lists=()):
    """Each attribute with its value: text, True of a flag, bytes where it is counted, or a list."""
    at = 0
    while at < len(body):
        end = body.index(b"\n", at)
        name, has, value = body[at:end].decode(errors="surrogateescape").partition(" ")
        at = end + 1
        if name in counted or name in lists:
            n = int(value.split(" ")[-1])
            value = body[at:at + n]
            assert len(value) == n and (name in lists or body[at + n:at + n + 1] == b"\n")
            at += n + (name in counted)
        yield name, value if has else True


def parse(body, **types):
    said = dict(walk(body, **types))
    assert len(said) == len(list(walk(body, **types)))
    return said


def number(v):
    out = b""
    while v >= 128:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def take_number(data, at):
    v = shift = 0
    while True:
        v |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return v, at


def pack(table, said):
    """An item of a packed list. table: (name, type) of each attribute; types are flag, number, signed, word, bytes."""
    bits, out = 0, b""
    for i, (name, kind) in enumerate(table):
        if name not in said:
            continue
        bits |= 1 << i
        if kind == "bytes":
            out += number(len(said[name])) + said[name]
        elif kind != "flag":
            out += number(said[name] if kind != "signed" else 2 * said[name] if said[name] >= 0 else -2 * said[name] - 1)
    return number(bits) + out


def unpack(table, data):
    """The items of a packed list."""
    at = 0
    while at < len(data):
        item = {}
        bits, at = take_number(data, at)
        for i, (name, kind) in enumerate(table):
            if not bits >> i & 1:
                continue
            if kind == "flag":
                item[name] = True
                continue
            v, at = take_number(data, at)
            if kind == "bytes":
                assert at + v <= len(data)
                item[name], at = data[at:at + v].decode(errors="surrogateescape"), at + v
            else:
                item[name] = v if kind != "signed" else v >> 1 ^ -(v & 1)
        assert bits < 1 << len(table)
        yield item


def read_message(file, **types):
    head = file.readline().decode()
    if not head:
        return None, {}
    name, _, n = head.rstrip("\n").partition(" ")
    body = file.read(int(n))
    assert len(body) == int(n)
    return name, parse(body, **types)
