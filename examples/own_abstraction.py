"""An abstraction of one's own: Rhode Island hold'em's hands in a few buckets, solved and measured.

Each round has its own idea of which hands look alike. The first sees the rank of the card in five groups; the
later ones only what is made so far: a straight or flush that may come counts as little as a high card.
"""

import errai

GROUPS = ("23456", "789", "TJ", "QK", "A")


def bucket(hand: str, board: str, round_index: int) -> int:
    """Return the bucket of a hand: cards are text such as 'As', the board in the order of its deals."""
    rank, public = hand[0], board[::2]
    group = next(number for number, ranks in enumerate(GROUPS) if rank in ranks)
    if round_index == 0:
        return group
    pairs = public.count(rank)
    suited = all(suit == hand[1] for suit in board[1::2])
    return 15 * int(suited) + 5 * pairs + group


def main() -> None:
    """Build, solve, measure."""
    abstraction = errai.abstraction_from_function("rhode-island", bucket, "pairs and suits")
    print("buckets:", [abstraction.num_buckets(r) for r in range(3)])
    print("king of spades on two more spades:", abstraction.bucket("Ks", "9s2s"))
    run = errai.solve("rhode-island", "cfr+", 50, abstraction=abstraction)
    measured = errai.exploitability(run.strategy)
    print(f"exploitability in the whole game: {measured.mbb_per_game:.0f} mbb/g")


if __name__ == "__main__":
    main()
