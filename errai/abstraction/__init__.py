"""Card abstraction: which hands look alike to a player.

The room, from the ground up:

- `features/`: classes of hands, and what is known of each: strength, histograms of it, strength against
  clusters of opponent hands. Built once for a deck, kept in a cache, mapped when used.
- `clustering/`: percentiles, and k-means. `lloyd.py` is the loop of every k-means; `kmeans.py` and
  `potential_aware.py` say what a distance and a mean are; `nearest.py` finds nearest centres.
- `methods/`: one object for each way to make a round's buckets (C, HS, PHS, KE, KO, PA): which features and
  options it uses, how it clusters a round alone, how it refines the round before, what it costs.
- `recipe.py`: names such as `IR-KE-KO 169-200-200-200`; `options.py`: how much work to put in.
- `build.py`: `errai.abstract`, from a name to buckets on disk. `population.py` lists the deals that recall
  splits; `round_buckets.py` is what a round has become; `abstraction.py` keeps all rounds and their files.
- `public/`: boards clustered first, private hands inside each cluster; `errai.abstract_public`.
- `named_groups.py`: Leduc's abstractions by name; `own.py`: `errai.abstraction_from_function`, a user's own.
- `describe.py`, `compare.py`: what an abstraction looks like, and how alike two are.

`protocol.py` says what every abstraction can be asked, whichever way it was made; the rest of Errai relies on
nothing else. `folder.py` has what all saved ones share, `load.py` opens them; `seeds.py` has the random
numbers of all.
"""
