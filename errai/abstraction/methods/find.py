"""Finds the object of each method."""

from errai.abstraction.methods.clusters import EarthMover, OpponentClusters
from errai.abstraction.methods.lossless import Lossless
from errai.abstraction.methods.method import Method, RoundMethod
from errai.abstraction.methods.percentiles import NestedStrength, Strength, SweptStrength
from errai.abstraction.methods.potential import PotentialAware

METHODS: dict[Method, RoundMethod] = {
    one.name: one
    for one in (
        Lossless(),
        Strength(),
        NestedStrength(),
        SweptStrength(),
        EarthMover(),
        OpponentClusters(),
        PotentialAware(),
    )
}
"""All methods, in the order in which they are told."""
