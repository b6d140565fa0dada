"""The random streams of `errai.engine._streams` with Python's integers."""

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def mix(x: int) -> int:
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def stream_key(seed: int, iteration: int, lane: int) -> int:
    key = mix((seed + GOLDEN) & MASK)
    key = mix(key ^ ((iteration + GOLDEN) & MASK))
    return mix(key ^ ((lane * GOLDEN + GOLDEN) & MASK))


def draw(key: int, counter: int) -> int:
    return mix((key + (counter + 1) * GOLDEN) & MASK)


def draw_unit(key: int, counter: int) -> float:
    return (draw(key, counter) >> 11) / 2**53


def draw_below(key: int, counter: int, bound: int) -> int:
    return ((draw(key, counter) >> 32) * bound) >> 32
