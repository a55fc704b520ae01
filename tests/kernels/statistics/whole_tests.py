"""P-values of the tests by resampling, from all parts of their samples."""

from __future__ import annotations

from kgtrec.kernels.statistics.resampled_tests import BootstrapTest, TukeyTest


def achieved_significance(value, cluster, repeats, seed):
    test = BootstrapTest.of(value, cluster)
    shape = len(value), len(test.size)
    return sum(test.beyond(*part) for part in test.parts(shape, repeats, seed, several=False)) / repeats


def randomised_tukey(value, cluster, repeats, seed):
    test = TukeyTest.of(value, cluster)
    return sum(test.beyond(*part) for part in test.parts(test.value.shape, repeats, seed, several=False)) / repeats
