"""`errai reproduce` of a table: memory of CFR-BR's trunks, counted, beside the published numbers."""

import csv
import json
from collections.abc import Callable
from itertools import combinations, permutations, product
from pathlib import Path

import pytest

from errai.experiments.table import Entry
from errai.experiments.thesis_table_4_1 import CANONICAL, KEPT, kept_name_rows, make
from errai.games.catalogue import load_game
from errai.tree.size import game_size

RunErrai = Callable[..., tuple[int, str, str]]
Card = tuple[int, int]


def naive_form(rounds: list[tuple[Card, ...]]) -> tuple[tuple[Card, ...], ...]:
    """Rename the suits of a deal round by round; those of earlier rounds keep the names that they have."""
    names: dict[int, int] = {}
    form = []
    for cards in rounds:
        unseen = [suit for suit in range(4) if suit not in names]
        free = [suit for suit in range(4) if suit not in names.values()]
        options = [names | dict(zip(unseen, order, strict=True)) for order in permutations(free)]
        renamed = [tuple(sorted((rank, option[suit]) for rank, suit in cards)) for option in options]
        form.append(min(renamed))
        chosen = options[renamed.index(min(renamed))]
        names |= {suit: chosen[suit] for _, suit in cards}
    return tuple(form)


def naive_rows(num_ranks: int, num_rounds: int) -> list[int]:
    """How many forms the deals of each round have."""
    deck = list(product(range(num_ranks), range(4)))
    deals: list[list[tuple[Card, ...]]] = [[hand] for hand in combinations(deck, 2)]
    rows = [len({naive_form(deal) for deal in deals})]
    for number in (3, 1, 1)[: num_rounds - 1]:
        deals = [
            [*deal, cards]
            for deal in deals
            for cards in combinations(
                [card for card in deck if not any(card in dealt for dealt in deal)], number
            )
        ]
        rows.append(len({naive_form(deal) for deal in deals}))
    return rows


@pytest.mark.parametrize(("num_ranks", "num_rounds"), [(2, 4), (3, 2)])
def test_forms_as_naive(num_ranks: int, num_rounds: int) -> None:
    assert list(kept_name_rows(num_ranks)[:num_rounds]) == naive_rows(num_ranks, num_rounds)


def test_hands_where_suits_keep_their_names() -> None:
    """Thesis, section 3.2.3: [2-1] and [2-4] hold'em have 16 and 94 million information sets."""
    assert kept_name_rows(13) == (169, 1_348_620, 58_771_102, 2_608_750_924)
    for name, infosets, millions in (("holdem-2-1", 16_184_116, 16), ("holdem-2-4", 94_404_752, 94)):
        decisions = [one.betting.decisions for one in game_size(load_game(name)).rounds]
        assert decisions[0] * 169 + decisions[1] * 1_348_620 == infosets
        assert infosets // 10**6 == millions


def test_numbers_of_the_table() -> None:
    entries = {(entry.row, entry.form): entry for entry in make()}
    kept = [entries[f"trunk of {n} round{'s' * (n > 1)}", KEPT] for n in (1, 2, 3, 4)]
    assert [entry.memory_bytes for entry in kept] == [
        14_196,
        981_809_556,
        386_050_069_860,
        154_218_874_556_292,
    ]
    assert [entry.is_as_printed for entry in kept] == [False, True, True, True]
    assert kept[0].percent_off == pytest.approx(-4.5229, abs=1e-4)
    whole = entries["trunk of 4 rounds", CANONICAL]
    size = game_size(load_game("limit-holdem"))
    assert whole.memory_bytes == 4 * size.table_slots
    subgames = [entry for entry in entries.values() if entry.row.startswith("sub-game")]
    # 5 decisions of one player in a round below each of 9 ways to go on, at 49 turn and 48 river cards.
    river = 5 * 1_326
    turn = 5 * 1_326 + 9 * 48 * river
    assert [entry.memory_bytes for entry in subgames] == [5 * 1_326 + 9 * 49 * turn, turn, river]
    assert [entry.is_as_printed for entry in subgames] == [True, True, False]


def test_a_number_is_as_printed_to_two_decimals() -> None:
    entry = Entry("row", "form", 0, 1.005001, "KB", 1.01)
    assert entry.is_as_printed
    assert not entry._replace(value=1.004).is_as_printed
    assert entry._replace(value=2.02).percent_off == pytest.approx(100)


def test_the_command(run_errai: RunErrai, tmp_path: Path) -> None:
    status, out, _ = run_errai("reproduce", "thesis-table-4.1", "--out", "new")
    assert status == 0
    assert "  trunk of 1 round: 4.5% less than published\n" in out
    assert "  trunk of 4 rounds: as published, with 'dealt suits keep their names'\n" in out
    assert "  sub-game below 3 rounds: 1.0% less than published\n" in out
    with open(tmp_path / "new" / "thesis-table-4.1.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert len(rows) == 1 + 4 * 4 + 3
    assert rows[0] == ["row", "form", "memory_bytes", "value", "unit", "published", "percent_off"]
    assert rows[1][:3] == ["trunk of 1 round", "dealt suits keep their names", "14196"]
    status, out, _ = run_errai("reproduce", "thesis-table-4.1", "--json")
    told = json.loads(out)
    assert (status, told["data"], len(told["rows"])) == (0, "thesis-table-4.1.csv", 19)
    assert told["rows"][1]["published"] == 936.33


def test_a_table_has_no_iterations(run_errai: RunErrai) -> None:
    status, _, error = run_errai("reproduce", "thesis-table-4.1", "--iterations", "5")
    assert status == 2
    assert error == "errai: --iterations needs a figure, and 'thesis-table-4.1' is a table that is counted.\n"
